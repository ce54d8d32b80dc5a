package loadgen

import (
	"errors"
	"testing"
	"time"
)

func TestACheckpointIsAnInterruptedResult(t *testing.T) {
	for _, scenario := range Scenarios() {
		t.Run(scenario.String(), func(t *testing.T) {
			inFakeTime(t, func(t *testing.T) {
				var kept []*Result
				opts := timers
				opts.Checkpoint, opts.CheckpointEvery = func(r *Result) { kept = append(kept, r) }, time.Second
				s := quick(scenario)
				r := mustRun(t, after(100*time.Millisecond), &fakeQSL{total: 50, performance: 50}, s, opts)
				if scenario == Offline {
					if len(kept) != 1 { // it is over too soon
						t.Fatalf("%d checkpoints, want 1", len(kept))
					}
				} else if len(kept) < 4 {
					t.Fatalf("%d checkpoints, want one at the start and one every second", len(kept))
				}
				if r.Interrupted != nil {
					t.Errorf("the result itself is interrupted: %v", r.Interrupted)
				}
				last := uint64(0)
				for i, k := range kept {
					if k.Valid() || !errors.Is(k.Interrupted, ErrUnfinished) || k.Effective != r.Effective || k.Errors() != 1 || (k.Performance == nil) != (i == 0) {
						t.Fatalf("checkpoint %d: valid %v, interrupted by %v, %d errors, performance %v", i, k.Valid(), k.Interrupted, k.Errors(), k.Performance)
					}
					if p := k.Performance; p != nil {
						if p.SampleCount <= last || p.SampleLatency.Count != p.SampleCount {
							t.Errorf("checkpoint %d has %d samples, the one before %d", i, p.SampleCount, last)
						}
						last = p.SampleCount
					}
				}
			})
		})
	}
}

func TestACheckpointThatIsNotSavedDoesNotHangTheTest(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		opts := timers
		opts.Checkpoint, opts.LogTimeout = func(*Result) { <-release }, 7*time.Second
		r := mustRun(t, after(time.Millisecond), &fakeQSL{total: 50, performance: 50}, quick(Server), opts)
		mustFault(t, r, "a checkpoint has not been saved within 7s")
	})
}

func TestACheckpointIsMadeOnceAMinuteIfNobodySaysOtherwise(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		n := 0
		opts := timers
		opts.Checkpoint = func(*Result) { n++ }
		s := quick(Server)
		s.MinDuration, s.ServerTargetQPS = 130*time.Second, 10
		mustRun(t, after(time.Millisecond), &fakeQSL{total: 50, performance: 50}, s, opts)
		if n != 3 {
			t.Errorf("%d checkpoints in 130 seconds, want one at the start and one each minute", n)
		}
	})
}
