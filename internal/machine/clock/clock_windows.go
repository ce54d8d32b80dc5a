package clock

import (
	"math/bits"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel32  = windows.NewLazySystemDLL("kernel32.dll")
	counter   = kernel32.NewProc("QueryPerformanceCounter")
	frequency = ticks(kernel32.NewProc("QueryPerformanceFrequency")) // in a second
	began     = time.Now()
	first     = ticks(counter)
)

// ticks reads a number of 64 bits. Neither of the two functions fails on Windows XP or later. LazyProc.Call would allocate memory.
func ticks(read *windows.LazyProc) uint64 {
	var n uint64
	_, _, _ = syscall.SyscallN(read.Addr(), uintptr(unsafe.Pointer(&n)))
	return n
}

// drift is more than the two clocks move apart in the longest run, and less than fake time is away from any day.
const drift = 24 * time.Hour

// Now is time.Now in the resolution of the performance counter, typically 100 ns. In fake time it is time.Now.
func Now() time.Time {
	coarse := time.Now()
	high, low := bits.Mul64(ticks(counter)-first, uint64(time.Second))
	passed, _ := bits.Div64(high, low, frequency)
	ahead := time.Duration(passed) - coarse.Sub(began)
	if ahead.Abs() > drift {
		return coarse
	}
	return coarse.Add(ahead)
}

// Since is the time that passed since t, which Now returned.
func Since(t time.Time) time.Duration { return Now().Sub(t) }
