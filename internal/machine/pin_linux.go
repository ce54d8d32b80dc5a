package machine

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Processors returns the numbers of the processors that this process may use, in ascending order;
// nil where the system does not tell.
func Processors() []int { return processorsOf(os.Getpid()) }

// processorsOf are those that a thread may use; 0 is the one that calls.
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
