//go:build unix

package machine

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// PeakRSS returns the most memory that this process has held at any time, in bytes; 0 if that is not known.
func PeakRSS() uint64 {
	// On Linux, Getrusage would count what the process held before it became this program, which is its parent's memory.
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		var kib uint64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib * 1024
		}
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return uint64(u.Maxrss) // in bytes there, in kilobytes elsewhere
	}
	return uint64(u.Maxrss) * 1024
}

// CPUTime is how long processors have worked for this process, all together.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// OpenFiles is how many files and connections this process may have open; 0: not known.
func OpenFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return uint64(limit.Cur)
}
