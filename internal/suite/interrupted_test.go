package suite

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// trafficOf is the step of which a phase is the traffic; empty: it is another phase.
func trafficOf(phase string) string {
	step, ok := strings.CutSuffix(phase, ": traffic")
	if !ok {
		return ""
	}
	_, name, _ := strings.Cut(step, "] ")
	return name
}

// TestASuiteThatIsStoppedAgainAndAgainComesToItsEnd stops a suite in the traffic of its first step, then of the second
// that is run in the process that goes on, and so on: what was done is never run again, and all is done in the end.
func TestASuiteThatIsStoppedAgainAndAgainComesToItsEnd(t *testing.T) {
	testenv.SkipLong(t, "some ten runs")
	material(t)
	stopped := errors.New("stopped")
	ran, done := map[string]int{}, map[string]bool{}
	for attempt := 0; ; attempt++ {
		if attempt > 10 {
			t.Fatalf("after %d attempts only %v are done", attempt, done)
		}
		var out *Outcome
		var err error
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			seen := &recorder{}
			first := true
			seen.traffic = func() {
				step := trafficOf(seen.phases[len(seen.phases)-1])
				if done[step] {
					t.Errorf("attempt %d: %s runs again, which is done", attempt, step)
				}
				ran[step]++
				if ran[step] == 1 || !first { // a step that was stopped before comes to its end, the next one does not
					cancel(stopped)
					return
				}
				first, done[step] = false, true
			}
			out, err = plan(t, twoScenarios, attempt > 0).Run(ctx, seen)
		})
		if err == nil {
			checkEnd(t, out, done)
			return
		}
		if !errors.Is(err, stopped) || !out.Interrupted || !unfinished("out", "mine", false) {
			t.Fatalf("attempt %d: %v, %+v", attempt, err, out)
		}
	}
}

// checkEnd wants every step to be done, and each score to be complete.
func checkEnd(t *testing.T, out *Outcome, done map[string]bool) {
	t.Helper()
	want := []string{"resnet50 Offline accuracy", "resnet50 Offline performance", "resnet50 SingleStream accuracy", "resnet50 SingleStream performance"}
	if got := slices.Sorted(maps.Keys(done)); !slices.Equal(got, want) {
		t.Errorf("done are %q, want %q", got, want)
	}
	if unfinished("out", "mine", false) || out.Interrupted || out.Left.Steps != 0 {
		t.Errorf("the suite is not over: %+v", out)
	}
	for _, s := range out.Scores {
		if s.Result != lacking && (s.Metric == nil || s.Accuracy == nil || s.Seconds == 0) {
			t.Errorf("%s has no metric, no accuracy or no time: %+v", s.name(), s)
		}
	}
}
