package machine

import (
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var processMemoryInfo = windows.NewLazySystemDLL("kernel32.dll").NewProc("K32GetProcessMemoryInfo")

// PeakRSS returns the most memory that this process has held at any time, in bytes; 0 if that is not known.
func PeakRSS() uint64 {
	// PROCESS_MEMORY_COUNTERS of psapi.h.
	var c struct {
		size, faults   uint32
		peakWorkingSet uintptr
		_              [7]uintptr
	}
	c.size = uint32(unsafe.Sizeof(c))
	if done, _, _ := processMemoryInfo.Call(uintptr(windows.CurrentProcess()), uintptr(unsafe.Pointer(&c)), uintptr(c.size)); done == 0 {
		return 0
	}
	return uint64(c.peakWorkingSet)
}

// CPUTime is how long processors have worked for this process, all together; 0 if that is not known.
func CPUTime() time.Duration {
	var created, ended, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &ended, &kernel, &user); err != nil {
		return 0
	}
	const unit = 100 * time.Nanosecond // of a FILETIME
	ticks := func(t windows.Filetime) time.Duration {
		return time.Duration(t.HighDateTime)<<32 | time.Duration(t.LowDateTime)
	}
	return (ticks(kernel) + ticks(user)) * unit
}

// OpenFiles is how many files and connections this process may have open; 0: Windows has no limit of its own.
func OpenFiles() uint64 { return 0 }
