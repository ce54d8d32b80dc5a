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
// and then spins for at most the given time, and at most half of the mean gap. The runtime's
// own timers wake up to a millisecond late, nanosleep within 60 µs.
//
// With priority it asks the system to run the thread before others when its time has
// come. Without that the thread is woken milliseconds late when all cores compute.
func NewPacer(spin time.Duration, priority bool) Pacer {
	return &sleepPacer{spin: spin, priority: priority}
}

type sleepPacer struct {
	spin     time.Duration
	priority bool
	slack    uintptr // of timers, to restore, ns
	restore  func()  // the priority
	budget   *budget // nil: the thread may run without a break
}

// closestGap is the mean gap below which a thread is not a real-time one: the breaks that it
// would have to take are longer than many gaps.
const closestGap = 10 * time.Microsecond

// A budget keeps a real-time thread from being stopped. Linux gives other threads 50 ms of
// every second on a core whose real-time threads leave them none (sched_rt_runtime_us), and
// that all at once. So the thread takes breaks of its own: one part of its time in ten, in
// pieces of some 50 µs, less what it sleeps anyway.
type budget struct {
	last time.Duration // the offset until which debt is known
	debt time.Duration // how long the thread ought to sleep; negative: how much more it has
}

const (
	runShare   = 9                      // the thread may run for nine times as long as it sleeps
	leastBreak = 20 * time.Microsecond  // shorter ones cost as much and rest nobody
	leastSleep = 20 * time.Microsecond  // shorter ones are spun through while the budget lasts
	mostCredit = -20 * time.Millisecond // of one long sleep
)

// spent reports whether it is time for a break.
func (b *budget) spent() bool { return b != nil && b.debt > leastBreak }

// ran says that the thread has run until now.
func (b *budget) ran(now time.Duration) {
	b.debt += (now - b.last) / runShare
	b.last = now
}

// slept says that the thread has slept until now.
func (b *budget) slept(now time.Duration) {
	b.debt = max(b.debt-(now-b.last), mostCredit)
	b.last = now
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
	if gap < closestGap {
		raises = raises[1:]
	} else {
		p.spin = min(p.spin, gap/2)
	}
	for i, raise := range raises {
		if name, restore, ok := raise(); ok {
			p.restore = restore
			if i == 0 && gap >= closestGap {
				p.budget = &budget{debt: mostCredit}
			}
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

// Rest implements Pacer.
func (p *sleepPacer) Rest(start time.Time, now time.Duration) time.Duration {
	if p.budget == nil {
		return now
	}
	if p.budget.ran(now); !p.budget.spent() {
		return now
	}
	return p.sleep(start, p.budget.debt)
}

// WaitUntil implements Pacer.
func (p *sleepPacer) WaitUntil(ctx context.Context, start time.Time, offset time.Duration) time.Duration {
	now := time.Since(start)
	if p.budget != nil {
		p.budget.ran(now)
	}
	for {
		switch rest := offset - now; {
		case rest <= 0 || ctx.Err() != nil:
			return now
		case p.budget.spent():
			now = p.sleep(start, max(rest-p.spin, p.budget.debt))
		case rest <= p.spin+leastSleep:
			return spinUntil(start, offset)
		default:
			// An interrupted sleep is shorter; the loop goes on sleeping.
			now = p.sleep(start, min(rest-p.spin, maxSleep))
		}
	}
}

// sleep sleeps for about so long, and returns the offset at which it woke.
func (p *sleepPacer) sleep(start time.Time, d time.Duration) time.Duration {
	ts := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&ts, nil)
	now := time.Since(start)
	if p.budget != nil {
		p.budget.slept(now)
	}
	return now
}

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
