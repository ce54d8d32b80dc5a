package loadgen

import (
	"context"
	"runtime"
	"syscall"
	"time"
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
