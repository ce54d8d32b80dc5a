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
	result := func(p tune.Point, stage int, value float64) tune.Result {
		return tune.Result{Point: p, Stage: stage, Value: value, Low: 0.9 * value, High: 1.1 * value}
	}
	out := &tune.Outcome{Results: []tune.Result{
		result(slow, 0, 50), result(fast, 0, 90), {Point: failed, Err: "no memory"}, result(slow, 1, 55), result(fast, 1, 95.5), result(fast, 2, 97),
	}, Found: true, Finished: true, Winner: result(fast, 2, 97), Path: "best.json"}
	out.Points, out.Objective = []tune.Point{slow, fast, failed}, tune.Objective{Name: "samples", Unit: "samples/s"}
	out.Profile = &profile.Profile{Value: 97, Default: 55, Points: 2, Objective: profile.Objective{Unit: "samples/s"}}
	show := func(wants ...string) {
		t.Helper()
		var b strings.Builder
		if err := showTuned(&b, out, "mlperf run it", false); err != nil {
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
	show("ESTIMATE, SAMPLES/S", "97 (87.3 to 106.7)", "best", "55", "default", "failed", fmt.Sprintf("\nBest: %v: 97 (87.3 to 106.7) samples/s; the default of a run (%v) reaches 55\n", fast, slow),
		"The budget was too short for 1 of 3 ways: --budget gives more time.\n", "Profile: best.json\nmlperf run it\n")
	out.Winner, out.Bound, out.Profile.Points = tune.Result{Point: slow, Value: 50}, 15*time.Millisecond, 3
	out.Tied, out.Load = []tune.Point{fast}, []string{"busy"}
	show("tie", "50 samples/s (an estimate: the budget was too short for the traffic of the scenario), the default of a run\nA tie with 1 other way within noise: the simplest is taken.\nLatency bound: 15 ms\n",
		"This machine: busy\nProfile: best.json\n")
	out.Winner.Point.Variant = "int8"
	show("Speed alone decided: run --mode accuracy shows whether the answers are good enough.\n")
	out.Finished = false
	show("The search was interrupted: no profile is written.\n")
}

func TestTunedCommand(t *testing.T) {
	for line, want := range map[string]string{
		"tune --model resnet50 --budget 2m --max-batchsize=1,2 --precision fp32,int8 --device cuda --json": "mlperf run --model resnet50 --device cuda --scenario offline --profile auto",
		"tune my.onnx --intra_threads 1,2 --scenario OFFLINE --output my.json":                             "mlperf run my.onnx --scenario offline --profile auto",
	} {
		if got := tunedCommand(strings.Fields(line), "Offline", ""); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	if got := tunedCommand([]string{"tune", "--model", "bert"}, "server", "my.json"); got != "mlperf run --model bert --scenario server --profile my.json" {
		t.Error(got)
	}
}
