package loadgen

import (
	"context"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/machine/clock"
)

// pacers are those of a program, in real time. How late they are depends on the machine.
func pacers() map[string]Pacer {
	return map[string]Pacer{
		"sleeps and spins":     NewPacer(DefaultSpin, true),
		"sleeps only":          NewPacer(0, false),
		"spins only":           NewPacer(time.Hour, true),
		"has normal priority":  NewPacer(DefaultSpin, false),
		"the runtime's timers": TimerPacer{},
	}
}

func TestPacerIsNeverEarly(t *testing.T) {
	for name, p := range pacers() {
		start := clock.Now()
		p.Begin(time.Millisecond)
		for _, wait := range []time.Duration{-time.Second, 0, 100, 1900, 2 * time.Microsecond, 30 * time.Microsecond, 250 * time.Microsecond, 3 * time.Millisecond} {
			offset := clock.Since(start) + wait
			got := p.WaitUntil(t.Context(), start, offset)
			if now := clock.Since(start); got < offset || got > now {
				t.Errorf("%s: WaitUntil(%v) = %v, at %v", name, offset, got, now)
			}
		}
		p.End()
	}
}

func TestCancelledPacerReturns(t *testing.T) {
	for name, p := range pacers() {
		if name == "spins only" {
			continue // a spin does not look at the context: it lasts a fraction of a millisecond
		}
		start := clock.Now()
		p.Begin(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		for range 2 { // the second wait is cancelled already
			if got := p.WaitUntil(ctx, start, time.Hour); got < 5*time.Millisecond || got > 10*time.Second {
				t.Errorf("%s: a wait that is cancelled after 5ms returns after %v", name, got)
			}
		}
		cancel()
		p.End()
	}
}

func TestRunWithTheDefaultPacer(t *testing.T) {
	s := quick(Server)
	s.MinDuration, s.MinQueryCount, s.ServerTargetQPS, s.ServerTargetLatency, s.WithoutEarlyStopping = 0, 40, 4000, time.Minute, true
	p := mustRun(t, atOnce(), &fakeQSL{total: 50, performance: 50}, s, Options{}).Performance
	if !p.Valid() || p.IssuePriority == "" {
		t.Errorf("priority %q: %v", p.IssuePriority, p.Problems())
	}
	p.EachSample(func(s SampleRecord) {
		if s.Issued < s.Start || s.Completed < s.Issued {
			t.Errorf("sample %d, scheduled at %v, was issued at %v and completed at %v", s.ID, s.Start, s.Issued, s.Completed)
		}
	})
}
