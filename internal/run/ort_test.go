//go:build ort

package run_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/run/runtest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// ortRequest is a request with the library that MLPERF_ORT_LIB names.
func ortRequest(t *testing.T) run.Request {
	t.Helper()
	library := os.Getenv("MLPERF_ORT_LIB")
	if library == "" {
		t.Fatal("MLPERF_ORT_LIB is not set")
	}
	q := runtest.Request(t)
	q.Engine = engine.Config{Library: library}
	return q
}

func TestORTConvertedModel(t *testing.T) {
	q := ortRequest(t)
	q.Precision, q.NoReport = "int8", true
	var paths []string
	for _, output := range []string{"first", "second"} {
		q.Output = output
		r, err := run.Resolve(q)
		testenv.Must(t, err)
		p, err := r.Provide(t.Context(), harness.Silent{})
		testenv.Must(t, err)
		results, err := p.Run(t.Context())
		testenv.Must(t, err)
		if in := results.Input; in.Precision != "int8" || results.Performance.Samples < 5 {
			t.Errorf("%s: precision %q, %d samples, want int8 and 5 or more", output, in.Precision, results.Performance.Samples)
		}
		paths = append(paths, p.ModelPath())
		probe, err := p.Open(t.Context(), run.Way{Instances: 1, Threads: 1, Samples: 2})
		testenv.Must(t, err)
		testenv.Must(t, errors.Join(probe.Close(), p.Close()))
	}
	if paths[0] != paths[1] || paths[0] == q.ModelPath {
		t.Errorf("the models are %q, want one that was converted", paths)
	}
	text, err := os.ReadFile(strings.TrimSuffix(paths[0], ".onnx") + ".md")
	if err != nil || !strings.Contains(string(text), `Starting weights: "tiny.onnx", SHA-256 `) {
		t.Errorf("the description is %.80q, %v", text, err)
	}
}

// The score of a part of the built-in data is compared with nothing: its reference, a run over the whole, is
// not measured for it.
func TestORTReferenceOfAllData(t *testing.T) {
	base := ortRequest(t)
	const measuring = "measuring the reference accuracy of dlrm"
	for count, measured := range map[int]bool{3: false, 0: true} {
		q := run.Request{
			Program: "test", Model: "dlrm", Scenario: "offline", Mode: "accuracy", Rows: 1000, Count: count,
			Engine: base.Engine, NoReport: true, Output: fmt.Sprint("of", count), NewPacer: base.NewPacer,
		}
		var o observer
		results, err := inFakeTime(t, q, &o)
		if err != nil || slices.Contains(o.phases, measuring) != measured {
			t.Fatalf("of %d samples: %v after %q, want the reference measured: %t", count, err, o.phases, measured)
		}
		if a := results.Accuracy; (a.NoTarget == "") != measured || (count > 0 && len(a.Warnings) > 0) {
			t.Errorf("of %d samples: %+v", count, a)
		}
	}
}
