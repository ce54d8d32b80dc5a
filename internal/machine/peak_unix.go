//go:build unix && !linux

package machine

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// PeakRSS returns the most memory that this process has held at any time, in bytes; 0 if that
// is not known.
func PeakRSS() uint64 {
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &use); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return uint64(use.Maxrss) // in bytes there, in kilobytes elsewhere
	}
	return uint64(use.Maxrss) * 1024
}
