package machine

import (
	"fmt"
	"os"
	"strings"
)

// PeakRSS returns the most memory that this process has held at any time, in bytes; 0 if that
// is not known. Getrusage would count what the process held before it became this program,
// which is its parent's memory.
func PeakRSS() uint64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	return highWater(string(text))
}

// highWater reads VmHWM of a /proc/PID/status, in bytes.
func highWater(status string) uint64 {
	for line := range strings.Lines(status) {
		var kib uint64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib * 1024
		}
	}
	return 0
}
