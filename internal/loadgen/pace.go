package loadgen

import (
	"context"
	"time"

	"github.com/mlperf-go/mlperf/internal/machine/clock"
)

// A Pacer waits for instants on behalf of one issue thread. Instants are offsets
// from start, which carries a monotonic clock reading.
type Pacer interface {
	// Begin is called once, on the goroutine that will wait, with the mean time between
	// two instants. It returns the priority of the thread, in words.
	Begin(gap time.Duration) string
	// Rest is called instead of WaitUntil when the next instant has passed already, with the
	// present offset. A pacer that needs breaks takes one then. It returns the offset afterwards.
	Rest(start time.Time, now time.Duration) time.Duration
	// WaitUntil returns at the offset or as soon after it as it can, or earlier if ctx
	// is done. It returns the offset afterwards.
	WaitUntil(ctx context.Context, start time.Time, offset time.Duration) time.Duration
	// End is called once, on the same goroutine, after the last instant.
	End()
}

// DefaultSpin is how long before an instant the default pacer stops sleeping and
// spins. Linux wakes a sleeping thread 25 to 60 µs late, and one time in a hundred
// 150 µs; spinning through the last 200 µs hides that, and costs 2 % of a core at 100 queries
// per second, 18 % at 1,000. Where instants are close, it spins for a part of the gap only.
const DefaultSpin = 200 * time.Microsecond

// TimerPacer waits with the runtime's timers alone. It is up to a millisecond late, uses
// no processor time, and works in fake time.
type TimerPacer struct{}

// Begin does nothing.
func (TimerPacer) Begin(time.Duration) string { return "normal" }

// End does nothing.
func (TimerPacer) End() {}

// Rest does nothing.
func (TimerPacer) Rest(_ time.Time, now time.Duration) time.Duration { return now }

// WaitUntil implements Pacer.
func (TimerPacer) WaitUntil(ctx context.Context, start time.Time, offset time.Duration) time.Duration {
	now := clock.Since(start)
	if now >= offset {
		return now
	}
	timer := time.NewTimer(offset - now)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return clock.Since(start)
}

// leastSpinC is the shortest time that is worth a call of C, which takes about 50 ns.
const leastSpinC = 2 * time.Microsecond

// spinUntil polls the clock until the offset, in C where that pays (see spinC).
func spinUntil(start time.Time, offset time.Duration) time.Duration {
	if rest := offset - clock.Since(start); rest >= leastSpinC {
		spinC(rest)
	}
	for {
		if now := clock.Since(start); now >= offset {
			return now
		}
	}
}
