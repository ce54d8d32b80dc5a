package loadgen

import (
	"context"
	"runtime"
	"syscall"
	"time"
)

// NewPacer returns a pacer that sleeps in the kernel until shortly before an
// instant and then spins for at most the given time. The runtime's own timers wake
// up to a millisecond late, nanosleep within 60 µs.
func NewPacer(spin time.Duration) Pacer { return &sleepPacer{spin: spin} }

type sleepPacer struct {
	spin  time.Duration
	slack uintptr // timer slack to restore, ns
}

// From linux/prctl.h. The slack is how late the kernel may wake the thread in
// order to wake several at once, 50 µs by default.
const (
	prSetTimerSlack = 29
	prGetTimerSlack = 30
)

// Begin ties the goroutine to its thread, whose timer slack it reduces.
func (p *sleepPacer) Begin() {
	runtime.LockOSThread()
	p.slack, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prGetTimerSlack, 0, 0)
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, 1, 0) // only less precise if refused
}

// End gives the thread back as it was.
func (p *sleepPacer) End() {
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
