package machine

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Processors returns the numbers of the processors that this process may use, in ascending order;
// nil where the system does not tell.
func Processors() []int { return processorsOf(os.Getpid()) }

// processorsOf are those that a thread may use; 0: the calling thread.
func processorsOf(thread int) []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(thread, &set); err != nil {
		return nil
	}
	var list []int
	for n := 0; len(list) < set.Count(); n++ {
		if set.IsSet(n) {
			list = append(list, n)
		}
	}
	return list
}

// Pin keeps the goroutine that calls on one thread, and that on a processor, until release is
// called by the same goroutine.
func Pin(processor int) (release func(), err error) {
	runtime.LockOSThread()
	var before, one unix.CPUSet
	one.Set(processor)
	err = unix.SchedGetaffinity(0, &before)
	if err == nil {
		err = unix.SchedSetaffinity(0, &one)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("pinning a thread to processor %d: %w", processor, err)
	}
	return func() {
		if unix.SchedSetaffinity(0, &before) == nil {
			runtime.UnlockOSThread()
		} // else the thread stays locked, and ends with its goroutine
	}, nil
}

const hasNanosleep = true

// nanosleep sleeps in the system, past Go's timers. The end is an instant, so that going on
// after an interruption by a signal, which Go's scheduler sends at times, adds nothing.
func nanosleep(d time.Duration) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return
	}
	end := unix.NsecToTimespec(now.Nano() + int64(d))
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &end, nil) == unix.EINTR {
	}
}
