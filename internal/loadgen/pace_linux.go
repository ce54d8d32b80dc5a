package loadgen

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// NewPacer returns a pacer that sleeps in the kernel until shortly before an instant
// and then spins for at most the given time. The runtime's own timers wake up to a
// millisecond late, nanosleep within 60 µs.
//
// With priority it asks the system to run the thread before others when its time has
// come. Without that the thread is woken milliseconds late when all cores compute.
// A thread that never sleeps, because its instants are closer than spin, does not become
// a real-time thread: Linux stops those for 50 ms of every second (sched_rt_runtime_us).
func NewPacer(spin time.Duration, priority bool) Pacer {
	return &sleepPacer{spin: spin, priority: priority}
}

type sleepPacer struct {
	spin     time.Duration
	priority bool
	slack    uintptr // timer slack to restore, ns
	restore  func()  // the priority
}

// From linux/prctl.h. The slack is how late the kernel may wake the thread in
// order to wake several at once, 50 µs by default.
const (
	prSetTimerSlack = 29
	prGetTimerSlack = 30
)

// Begin ties the goroutine to its thread, reduces the thread's timer slack, and raises
// its priority as far as the system permits.
func (p *sleepPacer) Begin(gap time.Duration) string {
	runtime.LockOSThread()
	p.slack, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prGetTimerSlack, 0, 0)
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, 1, 0) // only less precise if refused
	p.restore = func() {}
	if !p.priority {
		return "normal"
	}
	raises := []func() (string, func(), bool){raiseRealTime, raiseNice, shortenSlice}
	if gap < p.spin {
		raises = raises[1:]
	}
	for _, raise := range raises {
		if name, restore, ok := raise(); ok {
			p.restore = restore
			return name
		}
	}
	return "normal: the system permits nothing better"
}

// End gives the thread back as it was.
func (p *sleepPacer) End() {
	p.restore()
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, p.slack, 0)
	runtime.UnlockOSThread()
}

// WaitUntil implements Pacer.
func (p *sleepPacer) WaitUntil(ctx context.Context, start time.Time, offset time.Duration) time.Duration {
	for {
		now := time.Since(start)
		switch rest := offset - now; {
		case rest <= 0 || ctx.Err() != nil:
			return now
		case rest <= p.spin:
			return spinUntil(start, offset)
		default:
			// An interrupted sleep is shorter; the loop goes on sleeping.
			ts := syscall.NsecToTimespec(int64(min(rest-p.spin, maxSleep)))
			_ = syscall.Nanosleep(&ts, nil)
		}
	}
}

// Scheduling policies of linux/sched.h. The lowest real-time priority suffices: it is
// above all normal threads.
const (
	schedNormal      = 0
	schedFIFO        = 1
	schedRR          = 2
	realTimePriority = 1
)

// raiseRealTime makes the calling thread a real-time thread, which needs a privilege.
func raiseRealTime() (string, func(), bool) {
	set := func(policy uintptr, priority int32) bool {
		_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, 0, policy, uintptr(unsafe.Pointer(&priority)))
		return errno == 0
	}
	before, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETSCHEDULER, 0, 0, 0)
	switch {
	case errno != 0:
		return "", nil, false
	case before == schedFIFO || before == schedRR:
		return "real-time, as the program was started", func() {}, true
	}
	ok := set(schedFIFO, realTimePriority)
	return "SCHED_FIFO", func() { set(before, 0) }, ok
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
	restore := func() { _ = syscall.Setpriority(syscall.PRIO_PROCESS, thread, before) }
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
