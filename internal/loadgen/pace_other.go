//go:build !linux

package loadgen

import (
	"context"
	"time"
)

// NewPacer returns a pacer that sleeps with the runtime's timers until shortly
// before an instant and then spins for at most the given time. Priorities are not
// raised on this system.
func NewPacer(spin time.Duration, _ bool) Pacer { return sleepPacer{spin: spin} }

type sleepPacer struct {
	TimerPacer
	spin time.Duration
}

// WaitUntil implements Pacer.
func (p sleepPacer) WaitUntil(ctx context.Context, start time.Time, offset time.Duration) time.Duration {
	now := p.TimerPacer.WaitUntil(ctx, start, offset-p.spin)
	if ctx.Err() != nil {
		return now
	}
	return spinUntil(start, offset)
}

// WithPriority calls f.
func WithPriority(_ string, f func()) { f() }
