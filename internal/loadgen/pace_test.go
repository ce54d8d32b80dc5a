package loadgen

import (
	"context"
	"testing"
	"time"
)

func TestTheTimerPacerIsExactInFakeTime(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		start := time.Now()
		var p TimerPacer
		if got := p.Begin(time.Second); got != "normal" {
			t.Errorf("priority %q", got)
		}
		for _, offset := range []time.Duration{time.Nanosecond, time.Millisecond, time.Hour, time.Minute, 0, -1} {
			before := time.Since(start)
			if got := p.WaitUntil(t.Context(), start, offset); got != max(before, offset) || got != time.Since(start) {
				t.Errorf("WaitUntil(%v) = %v at %v", offset, got, time.Since(start))
			}
		}
		if got := p.Rest(start, 5); got != 5 {
			t.Errorf("Rest(5) = %v, though it needs none", got)
		}
		p.End()
	})
}

func TestACancelledTimerPacerReturns(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := (TimerPacer{}).WaitUntil(ctx, time.Now(), time.Hour); got != time.Second {
			t.Errorf("WaitUntil = %v, want 1s, when the context is done", got)
		}
	})
}

// The pacers of a program, in real time. How late they are depends on the machine.
func realPacers() map[string]Pacer {
	return map[string]Pacer{
		"sleeps and spins":     NewPacer(DefaultSpin, true),
		"sleeps only":          NewPacer(0, false),
		"spins only":           NewPacer(time.Hour, true),
		"has normal priority":  NewPacer(DefaultSpin, false),
		"the runtime's timers": TimerPacer{},
	}
}

func TestAPacerIsNeverEarly(t *testing.T) {
	for name, p := range realPacers() {
		start := time.Now()
		p.Begin(time.Millisecond)
		for _, offset := range []time.Duration{200 * time.Microsecond, 250 * time.Microsecond, 3 * time.Millisecond, time.Millisecond, 0, -time.Second} {
			got := p.WaitUntil(t.Context(), start, offset)
			if now := time.Since(start); got < offset || got > now {
				t.Errorf("%s: WaitUntil(%v) = %v, at %v", name, offset, got, now)
			}
		}
		p.End()
	}
}

func TestAPacerWithoutABudgetDoesNotRest(t *testing.T) {
	for name, p := range realPacers() {
		start := time.Now()
		p.Begin(0) // too close for a real-time thread
		for range 1000 {
			if got := p.Rest(start, time.Second); got != time.Second {
				t.Fatalf("%s: Rest(1s) = %v", name, got)
			}
		}
		p.End()
	}
}

func TestACancelledPacerReturns(t *testing.T) {
	for name, p := range realPacers() {
		if name == "spins only" {
			continue // it does not look, because it spins for no longer than a fraction of a millisecond
		}
		start := time.Now()
		p.Begin(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		got := p.WaitUntil(ctx, start, time.Hour)
		if got < 5*time.Millisecond || got > 10*time.Second {
			t.Errorf("%s: a wait that is cancelled after 5ms returns after %v", name, got)
		}
		before := time.Now()
		if p.WaitUntil(ctx, start, time.Hour); time.Since(before) > 10*time.Second {
			t.Errorf("%s: a wait that is cancelled already takes %v", name, time.Since(before))
		}
		cancel()
		p.End()
	}
}

func TestARunPacesItselfAndSaysHow(t *testing.T) {
	// With the pacer that a program uses: nothing is issued before its time.
	s := quick(Server)
	s.MinDuration, s.MinQueryCount, s.ServerTargetQPS, s.ServerTargetLatency, s.WithoutEarlyStopping = 0, 40, 4000, time.Minute, true
	r := mustRun(t, atOnce(), &fakeQSL{total: 50, performance: 50}, s, Options{})
	p := r.Performance
	if !r.Valid() || p.IssuePriority == "" {
		t.Errorf("valid %v, priority %q: %v", r.Valid(), p.IssuePriority, p.Problems())
	}
	p.EachSample(func(s SampleRecord) {
		if s.Issued < s.Start || s.Completed < s.Issued {
			t.Errorf("sample %d, scheduled at %v, was issued at %v and completed at %v", s.ID, s.Start, s.Issued, s.Completed)
		}
	})
}
