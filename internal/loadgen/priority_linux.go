package loadgen

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// Scheduling policies of linux/sched.h. The lowest real-time priority suffices: it is
// above all normal threads.
const (
	schedNormal      = 0
	schedFIFO        = 1
	schedRR          = 2
	realTimePriority = 1

	// schedResetOnFork has threads that this thread starts, such as an engine's, begin as
	// ordinary ones.
	schedResetOnFork = 0x40000000
)

// raiseRealTime makes the calling thread a real-time thread, which needs a privilege.
func raiseRealTime() (string, func(), bool) {
	before, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETSCHEDULER, 0, 0, 0)
	switch policy := before &^ schedResetOnFork; {
	case errno != 0:
		return "", nil, false
	case policy == schedFIFO || policy == schedRR:
		return "real-time, as the program was started", func() {}, true
	}
	ok := setScheduler(schedFIFO|schedResetOnFork, realTimePriority)
	return "SCHED_FIFO", func() { restoreScheduler(before) }, ok
}

func setScheduler(policy uintptr, priority int32) bool {
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, 0, policy, uintptr(unsafe.Pointer(&priority)))
	return errno == 0
}

// restoreScheduler gives the calling thread a policy of ordinary threads. Who has no
// privilege may not take the mark back by which the threads that it starts are ordinary.
func restoreScheduler(policy uintptr) {
	if !setScheduler(policy, 0) {
		setScheduler(policy|schedResetOnFork, 0)
	}
}

// raisedNice is well above normal threads and below what the system itself uses.
const raisedNice = -10

// raiseNice raises the calling thread above normal ones, which also needs a privilege.
func raiseNice() (string, func(), bool) {
	thread := syscall.Gettid()
	before := niceness(thread)
	if syscall.Setpriority(syscall.PRIO_PROCESS, thread, raisedNice) != nil {
		return "", nil, false
	}
	policy, _, _ := syscall.RawSyscall(syscall.SYS_SCHED_GETSCHEDULER, 0, 0, 0)
	setScheduler(policy|schedResetOnFork, 0) // it keeps the nice value
	restore := func() {
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, thread, before)
		restoreScheduler(policy)
	}
	return fmt.Sprintf("nice %d", raisedNice), restore, true
}

// niceness is the nice value of a thread. The system call returns 20 minus it.
func niceness(thread int) int {
	v, err := syscall.Getpriority(syscall.PRIO_PROCESS, thread)
	if err != nil {
		return 0
	}
	return 20 - v
}

// schedAttr is struct sched_attr of linux/sched/types.h, up to its first version.
type schedAttr struct {
	size     uint32
	policy   uint32
	flags    uint64
	nice     int32
	priority uint32
	runtime  uint64 // of normal threads since Linux 6.12: the slice, ns
	deadline uint64
	period   uint64
}

// shortSlice is the shortest slice that Linux grants. A thread with a shorter slice than
// the running one is run sooner when it wakes.
const shortSlice = 100 * time.Microsecond

// shortenSlice asks for a short slice, which needs no privilege but Linux 6.12. Older ones
// accept the wish and ignore it.
func shortenSlice() (string, func(), bool) {
	attr, ok := getAttr()
	if !ok {
		return "", nil, false
	}
	set := func(slice time.Duration) {
		attr.runtime = uint64(slice)
		_, _, _ = syscall.RawSyscall(sysSchedSetattr, 0, uintptr(unsafe.Pointer(&attr)), 0)
	}
	set(shortSlice)
	if now, _ := getAttr(); now.runtime != uint64(shortSlice) {
		return "", nil, false
	}
	return "short scheduler slice", func() { set(0) }, true
}

// getAttr returns the attributes of the calling thread.
func getAttr() (attr schedAttr, ok bool) {
	const sysSchedGetattr = sysSchedSetattr + 1
	_, _, errno := syscall.RawSyscall6(sysSchedGetattr, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0, 0, 0)
	return attr, errno == 0
}
