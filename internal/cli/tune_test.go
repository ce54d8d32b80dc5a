package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/profile"
	"github.com/mlperf-go/mlperf/internal/tune"
)

func TestShowTuned(t *testing.T) {
	slow, fast, failed := tune.Point{Instances: 1, Threads: 2, MaxBatch: 1}, tune.Point{Instances: 2, Threads: 1, MaxBatch: 4}, tune.Point{Instances: 4, Threads: 1, MaxBatch: 8}
	out := &tune.Outcome{Done: []tune.Measurement{
		{Point: slow, Value: 50}, {Point: fast, Value: 90}, {Point: failed, Err: "no memory"}, {Point: slow, Stage: 1, Value: 55}, {Point: fast, Stage: 1, Value: 95.5}, {Point: fast, Stage: 2, Value: 97},
	}, Found: true, Finished: true, Winner: tune.Measurement{Point: fast, Stage: 2}, Path: "best.json"}
	out.Points, out.Objective = []tune.Point{slow, fast, failed}, tune.Objective{Name: "samples", Unit: "samples/s"}
	out.Profile = &profile.Profile{Value: 97, Default: 55, Points: 2, Objective: profile.Objective{Unit: "samples/s"}}
	show := func(wants ...string) {
		t.Helper()
		var b strings.Builder
		if err := showTuned(&b, out, false); err != nil {
			t.Fatal(err)
		}
		rest := b.String()
		for _, want := range wants { // in this order
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Errorf("no %q in\n%s", want, b.String())
			}
			rest = after
		}
	}
	show("ESTIMATE, SAMPLES/S", "97", "fastest", "55", "default", "failed", fmt.Sprintf("\nFastest: %v: 97 samples/s; the default of a run (%v) reaches 55\n", fast, slow),
		"The budget was too short for 1 of 3 ways: --budget gives more time.\n", "Profile: best.json\n")
	out.Winner, out.Bound, out.Profile.Points = tune.Measurement{Point: slow}, 15*time.Millisecond, 3
	show(" (an estimate: the budget was too short for the traffic of the scenario), the default of a run\nLatency bound: 15ms\nProfile: best.json\n")
	out.Winner.Point.Variant = "int8"
	show("Speed alone decided: run --mode accuracy shows whether the answers are good enough.\n")
	out.Finished = false
	show("The search was interrupted: no profile is written.\n")
}
