package loadgen

import (
	"context"
	"time"
)

// A Pacer waits for instants on behalf of one issue thread. Instants are offsets
// from start, which carries a monotonic clock reading.
type Pacer interface {
	// Begin is called once, on the goroutine that will wait, with the mean time between
	// two instants. It returns which priority the thread has, in words.
	Begin(gap time.Duration) string
	// Rest is called with the present offset where there is nothing to wait for, because the
	// next instant has passed. A pacer that must not run without a break takes it then. It
	// returns the offset at which it returns.
	Rest(start time.Time, now time.Duration) time.Duration
	// WaitUntil returns at the offset or as soon after it as it can, or earlier if ctx
	// is done. It returns the offset at which it did.
	WaitUntil(ctx context.Context, start time.Time, offset time.Duration) time.Duration
	// End is called once, on the same goroutine, when the thread has no more to wait for.
	End()
}

// DefaultSpin is how long before an instant the default pacer stops sleeping and
// spins. A sleeping thread is woken 25 to 60 µs late on Linux, and one time in a hundred
// 150 µs; spinning through the last 200 µs hides that, and costs 2 % of a core at 100 queries
// per second, 18 % at 1,000. Where instants are close, it spins for a part of the gap only.
const DefaultSpin = 200 * time.Microsecond

// maxSleep bounds one sleep, and so how late a cancelled context is noticed.
const maxSleep = 20 * time.Millisecond

// TimerPacer waits with the runtime's timers alone. It is up to a millisecond late and
// uses no processor time. It is also the one that works in fake time.
type TimerPacer struct{}

// Begin does nothing.
func (TimerPacer) Begin(time.Duration) string { return "normal" }

// End does nothing.
func (TimerPacer) End() {}

// Rest does nothing.
func (TimerPacer) Rest(_ time.Time, now time.Duration) time.Duration { return now }

// WaitUntil implements Pacer.
func (TimerPacer) WaitUntil(ctx context.Context, start time.Time, offset time.Duration) time.Duration {
	now := time.Since(start)
	if now >= offset {
		return now
	}
	timer := time.NewTimer(offset - now)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return time.Since(start)
}

// pollUntil polls the clock until the offset.
func pollUntil(start time.Time, offset time.Duration) time.Duration {
	for {
		if now := time.Since(start); now >= offset {
			return now
		}
	}
}
