package run_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/runtest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A slow model is done in about the time of its slowest query, with fewer queries than a verdict needs, and says so. A bound that
// the user gave stays as it is, also below the time of a sample.
func TestPatternsOfASlowModel(t *testing.T) {
	type pattern struct {
		queries, needed uint64 // 0: there is a verdict
		limit           string
	}
	for _, c := range []struct {
		bound string
		most  time.Duration
		want  [4]pattern
	}{
		{"", 90 * time.Second, [4]pattern{{1, 11, "the model"}, {1, 11, "the model"}, {2, 7, "the rate chosen to keep the bound of 16 s"}, {1, 0, "the model"}}},
		{"100ms", 75 * time.Second, [4]pattern{{1, 11, "the model"}, {1, 11, "the model"}, {2, 0, "the latency bound of 100 ms at the 90th percentile: one sample alone takes 4 s"}, {1, 0, "the model"}}},
	} {
		q := runtest.Request(t)
		q.Model, q.DatasetPath, q.Scenario, q.Settings, q.Instances = "", "", "", nil, 1
		q.Engine.Latency, q.MaxBatch = 4*time.Second, 1
		if c.bound != "" {
			q.Settings = []config.Override{{Key: "target_latency", Value: c.bound, Origin: "flag"}}
		}
		o := &observer{}
		var list []report.Pattern
		var took time.Duration
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var err error
			list, err = run.Patterns(t.Context(), q, o)
			testenv.Must(t, err)
			took = time.Since(began)
		})
		if len(list) != 4 || took > c.most {
			t.Errorf("bound %q: %d patterns took %v", c.bound, len(list), took)
		}
		for i, want := range c.want {
			r := list[i].Results
			if r == nil || r.Performance.Queries != want.queries || r.Metric == nil || !strings.HasPrefix(r.Limit(), want.limit) {
				t.Fatalf("bound %q, %s: %+v", c.bound, list[i].Scenario, list[i])
			}
			few := fmt.Sprintf("too few queries for a verdict: %d of %d", want.queries, want.needed)
			below := strings.Contains(want.limit, "alone")
			if strings.Contains(r.Limit(), few) != (want.needed > 0) || r.Valid() != (want.needed == 0 && !below) {
				t.Errorf("bound %q, %s: %s, limited by %s", c.bound, list[i].Scenario, r.Result, r.Limit())
			}
			if s := report.MadeBy(r.Settings, "target_latency"); c.bound != "" && i < 3 && (s.Value != "100 ms" && s.Value != "100ms" || s.Origin != "flag") {
				t.Errorf("bound %q, %s: became %+v", c.bound, list[i].Scenario, s)
			}
		}
		for _, p := range list { // said as soon as it is known
			if !slices.Contains(o.notes, p.Note()) || p.Note() == "" {
				t.Errorf("bound %q, %s: no note %q", c.bound, p.Scenario, p.Note())
			}
		}
		for _, note := range o.notes {
			if strings.Contains(note, "division") {
				t.Errorf("an own model has no division: %s", note)
			}
		}
	}
}

// A Server run that was too fast is run again at half its rate, under the bound that it had.
func TestPatternsRunAFastServerAgain(t *testing.T) {
	const bound = 6001500 * time.Nanosecond // has more digits than are printed
	q := runtest.Request(t)
	q.Model, q.DatasetPath, q.Scenario, q.Instances = "", "", "", 1
	q.Engine.Latency, q.Engine.Jitter, q.MaxBatch = 3*time.Millisecond, 3*time.Millisecond, 1
	q.Settings = []config.Override{{Key: "target_latency", Value: bound.String(), Origin: "flag"}}
	synctest.Test(t, func(t *testing.T) {
		list, err := run.Patterns(t.Context(), q, &observer{})
		testenv.Must(t, err)
		r := list[2].Results
		if r == nil || list[2].Error != "" {
			t.Fatal(list[2].Error)
		}
		rate := report.MadeBy(r.Settings, "target_qps")
		i := slices.IndexFunc(r.Constraints, func(c report.Constraint) bool { return c.ID == loadgen.ConstraintLatency })
		if used := time.Duration(r.Constraints[i].Required.Value); used != bound || rate.Origin != "half of what the run before completed" {
			t.Errorf("the last run had the bound %v and %+v", used, rate)
		}
	})
}
