package run_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/runtest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A slow model is done in about the time of its slowest query, with fewer queries than a verdict needs, and says so.
func TestPatternsOfASlowModel(t *testing.T) {
	q := runtest.Request(t)
	q.Model, q.DatasetPath, q.Scenario, q.Settings, q.Instances = "", "", "", nil, 1
	q.Engine.Latency, q.MaxBatch = 4*time.Second, 1
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
	if len(list) != 4 || took > 90*time.Second {
		t.Errorf("%d patterns took %v", len(list), took)
	}
	for i, want := range []struct {
		queries, needed uint64
		limit           string
	}{{1, 11, "the model"}, {1, 11, "the model"}, {2, 7, "the rate chosen to keep the bound of 16 s"}, {1, 0, "the model"}} {
		r := list[i].Results
		if r == nil || r.Performance.Queries != want.queries || r.Metric == nil || !strings.HasPrefix(r.Limit(), want.limit) {
			t.Fatalf("%s: %+v", list[i].Scenario, list[i])
		}
		few := fmt.Sprintf("too few queries for a verdict: %d of %d", want.queries, want.needed)
		if strings.Contains(r.Limit(), few) != (want.needed > 0) || r.Valid() != (want.needed == 0) {
			t.Errorf("%s: %s, limited by %s", list[i].Scenario, r.Result, r.Limit())
		}
	}
	for _, note := range o.notes {
		if strings.Contains(note, "division") {
			t.Errorf("an own model has no division: %s", note)
		}
	}
}
