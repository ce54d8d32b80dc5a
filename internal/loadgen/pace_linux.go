package loadgen

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/machine/priority"
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
	slack    int           // of the thread's timers, to restore, ns
	restore  func()        // the priorities of the thread and of the program's others
	budget   *budget       // nil: the thread needs no breaks
	checked  time.Duration // the offset of the last look at the processors that the process may use
}

const (
	// closestGap is the mean gap below which a thread does not become a real-time one: the breaks
	// that it would have to take are longer than many gaps.
	closestGap = 10 * time.Microsecond
	// leastSleep: shorter sleeps are spun through while the budget lasts.
	leastSleep = 20 * time.Microsecond
	// checkPeriod is how often a real-time thread makes sure that the others still have a processor.
	checkPeriod = 100 * time.Millisecond
	// maxSleep bounds one sleep, and so how late a cancelled context is noticed.
	maxSleep = 20 * time.Millisecond
)

// Begin ties the goroutine to its thread, reduces the thread's timer slack, and raises
// its priority if the system permits that.
func (p *sleepPacer) Begin(gap time.Duration) string {
	runtime.LockOSThread()
	// The slack is how late the kernel may wake the thread in order to wake several at once, 50 µs by default.
	p.slack, _ = unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // only less precise if refused
	p.restore = func() {}
	if !p.priority {
		return "normal"
	}
	realTime := gap >= closestGap
	release := func() {}
	if realTime {
		release, realTime = priority.Reserve()
		p.spin = min(p.spin, gap/2)
	}
	ordinary := func() {}
	if !realTime { // nor does it become one when another issue thread raises the threads of the program
		c := priority.Compute("issue thread")
		ordinary = c.End
	}
	name, granted, restore := raisePriority(realTime)
	p.restore = func() { restore(); ordinary() }
	switch {
	case realTime && granted:
		p.budget = &budget{debt: mostCredit}
		others := priority.Raise()
		p.restore = func() { restore(); release(); others() } // others last: they give this thread, too, what it had before
	case realTime:
		release()
	}
	return name
}

// End gives the thread back as it was.
func (p *sleepPacer) End() {
	p.restore()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(p.slack), 0, 0, 0)
	runtime.UnlockOSThread()
}

// Rest implements Pacer.
func (p *sleepPacer) Rest(start time.Time, now time.Duration) time.Duration {
	p.budget.ran(now)
	if !p.budget.spent() {
		return now
	}
	return p.sleep(start, p.budget.debt)
}

// WaitUntil implements Pacer.
func (p *sleepPacer) WaitUntil(ctx context.Context, start time.Time, offset time.Duration) time.Duration {
	now := clock.Since(start)
	if p.budget != nil && now-p.checked >= checkPeriod {
		if p.checked = now; priority.Crowded() {
			p.restore()
			p.restore, p.budget = func() {}, nil
		}
	}
	p.budget.ran(now)
	for {
		switch rest := offset - now; {
		case rest <= 0 || ctx.Err() != nil:
			return now
		case p.budget.spent():
			now = p.sleep(start, max(rest-p.spin, p.budget.debt))
		case rest <= p.spin+leastSleep:
			return spinUntil(start, offset)
		default:
			// An interrupted sleep is shorter; the loop sleeps on.
			now = p.sleep(start, min(rest-p.spin, maxSleep))
		}
	}
}

// sleep sleeps for about d, and returns the offset at which it woke.
func (p *sleepPacer) sleep(start time.Time, d time.Duration) time.Duration {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil)
	now := clock.Since(start)
	p.budget.slept(now)
	return now
}

// A budget keeps a real-time thread from being stopped. Linux gives other threads 50 ms of
// every second on a core whose real-time threads leave them none (sched_rt_runtime_us), and
// that all at once. So the thread takes breaks of its own: one part of its time in ten, in
// pieces of some 50 µs, less what it sleeps anyway. A nil budget asks for no breaks.
type budget struct {
	last time.Duration // the offset until which debt is known
	debt time.Duration // how long the thread ought to sleep; negative: how much more it has
}

const (
	runShare   = 9                      // the thread may run for nine times as long as it sleeps
	leastBreak = 20 * time.Microsecond  // shorter ones cost as much and rest nothing
	mostCredit = -20 * time.Millisecond // of one long sleep
)

// spent reports whether it is time for a break.
func (b *budget) spent() bool { return b != nil && b.debt > leastBreak }

// ran records that the thread has run until now.
func (b *budget) ran(now time.Duration) {
	if b != nil {
		b.debt += (now - b.last) / runShare
		b.last = now
	}
}

// slept records that the thread has slept until now.
func (b *budget) slept(now time.Duration) {
	if b != nil {
		b.debt = max(b.debt-(now-b.last), mostCredit)
		b.last = now
	}
}

// priorities are the ways to have a thread run before others, the strongest first. The first two need a
// privilege. With them, threads that this one starts, for instance an engine's, begin as ordinary ones.
var priorities = []struct {
	name  string
	raise func(*unix.SchedAttr)
}{
	// As the program's other threads have it (see package priority), and not above: Go's scheduler polls, with calls of sched_yield,
	// until another thread has let go of a goroutine. On one processor, which may be all that is left during a test, a thread of a
	// higher priority would poll for ever.
	{"SCHED_FIFO", func(a *unix.SchedAttr) {
		*a = unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1, Flags: a.Flags | unix.SCHED_FLAG_RESET_ON_FORK}
	}},
	// Well above normal threads and below those of the system itself.
	{"nice -10", func(a *unix.SchedAttr) { a.Nice, a.Flags = -10, a.Flags|unix.SCHED_FLAG_RESET_ON_FORK }},
	// Since Linux 6.12 a thread with a shorter slice than the running one is run sooner when it wakes. This is the
	// shortest that Linux grants; older ones accept it and ignore it.
	{"short scheduler slice", func(a *unix.SchedAttr) { a.Runtime = uint64(100 * time.Microsecond) }},
}

// raisePriority gives the calling thread the strongest priority that the system permits. A thread of a program that was started
// as a real-time one stays what it is; one that was raised for another issue thread has SCHED_FLAG_RESET_ON_FORK.
func raisePriority(allowRealTime bool) (name string, realTime bool, restore func()) {
	restore = func() {}
	before, err := unix.SchedGetAttr(0, 0)
	if err == nil && (before.Policy == unix.SCHED_FIFO || before.Policy == unix.SCHED_RR) && before.Flags&unix.SCHED_FLAG_RESET_ON_FORK == 0 {
		return "real-time, as the program was started", true, restore
	}
	for i, p := range priorities {
		if err != nil || i == 0 && !allowRealTime {
			continue
		}
		attr := *before
		p.raise(&attr)
		if unix.SchedSetAttr(0, &attr, 0) != nil {
			continue
		}
		restore = func() {
			before.Flags |= unix.SCHED_FLAG_RESET_ON_FORK // stays (see package priority); without a privilege it must
			_ = unix.SchedSetAttr(0, before, 0)
		}
		if now, err := unix.SchedGetAttr(0, 0); err == nil && now.Policy == attr.Policy && now.Nice == attr.Nice && now.Runtime == attr.Runtime {
			return p.name, i == 0, restore
		}
	}
	return "normal: the system permits nothing better", false, restore
}

// WithPriority calls f on a thread with a priority that Performance.IssuePriority names. The programs that f starts have it too, unlike
// those that an issue thread starts. f runs as an ordinary call where the name is of no priority that a thread can be given.
func WithPriority(name string, f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, p := range priorities {
		before, err := unix.SchedGetAttr(0, 0)
		if err != nil || p.name != name {
			continue
		}
		attr := *before
		p.raise(&attr)
		attr.Flags &^= unix.SCHED_FLAG_RESET_ON_FORK
		if unix.SchedSetAttr(0, &attr, 0) == nil {
			defer func() { _ = unix.SchedSetAttr(0, before, 0) }()
		}
	}
	f()
}
