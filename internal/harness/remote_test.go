package harness

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestWhatServersCountDecides(t *testing.T) {
	count := func(n, hits uint64) *backend.ServerCount {
		return &backend.ServerCount{Inferences: n, Executions: n, CacheHits: hits}
	}
	for _, c := range []struct {
		name      string
		account   backend.Account
		restarted bool
		result    string
		want      string // in a problem, caveat or warning
	}{
		{"as many as were sent", backend.Account{Server: count(100, 0)}, false, report.Valid, ""},
		{"a hit in a cache", backend.Account{Server: count(99, 1)}, false, report.Invalid, "from a cache"},
		{"fewer than were sent", backend.Account{Server: count(50, 0)}, false, report.Valid, "50 of 100 samples"},
		{"more than were sent", backend.Account{Server: count(150, 0)}, false, report.Valid, "others used them"},
		{"nothing is told", backend.Account{}, false, report.Valid, "tell no statistics (not found)"},
		{"a server that is gone", backend.Account{Server: count(100, 0), Down: []string{"a: reset"}}, false, report.Invalid, "a: reset"},
		{"requests that were sent twice", backend.Account{Server: count(100, 0), Retried: 2}, false, report.Valid, "2 requests were sent again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := serverCheck{noStats: errors.New("not found")}
			e.compare(c.account, c.restarted, 100, false)
			out := &report.Results{Result: report.Valid}
			e.apply(out)
			said := strings.Join(append(append(out.Problems, out.Caveats...), out.Warnings...), "\n")
			if out.Result != c.result || !strings.Contains(said, c.want) || c.want == "" && said != "" {
				t.Errorf("%s: %q, want %s: %q", out.Result, said, c.result, c.want)
			}
		})
	}
}

func TestOfSeveralFilesRequestsAreCounted(t *testing.T) {
	for _, c := range []struct {
		name              string
		answered, counted uint64
		want              string
	}{
		{"one for each request", 700, 700, ""},
		{"several samples in a request", 700, 900, ""},
		{"fewer than requests", 700, 350, "350 inferences, 700 requests"},
	} {
		e := serverCheck{}
		e.compare(backend.Account{RoundTrip: backend.Sum{Count: c.answered}, Server: &backend.ServerCount{Inferences: c.counted}}, false, 100, true)
		if said := strings.Join(append(append(e.problems, e.caveats...), e.warnings...), "\n"); !strings.Contains(said, c.want) || c.want == "" && said != "" {
			t.Errorf("%s: %q, want %q", c.name, said, c.want)
		}
	}
}

// An away is an engine that asks servers, which take their time.
type away struct{ *simulated.Engine }

func (away) Account(context.Context) (backend.Account, error) { return backend.Account{}, nil }
func (away) Check(context.Context) error                      { return nil }

// All workers of a run on servers ask the same ones: some of them warm these up for all.
func TestServersAreWarmedUpForAllWorkersTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := config(t, n, loadgen.Server, loadgen.PerformanceOnly)
		cfg.Engine, cfg.Instances, cfg.MaxBatch = away{engine(t, simulated.Config{Latency: time.Second})}, 64, 1
		r := newRun(cfg)
		defer r.close()
		if err := r.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := r.tryModel(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 4*warmUpBudget {
			t.Errorf("64 workers took %v to warm up servers", took)
		}
	})
}

// The networks that a score needs run on this machine, even if the model runs on servers.
func TestScoreIsComputedOnThisMachine(t *testing.T) {
	local, remote := bare(t), away{bare(t)}
	for name, c := range map[string]struct {
		engine, score, want backend.Engine
	}{
		"local model": {local, nil, local}, "remote model": {remote, local, local}, "no local engine": {remote, nil, nil},
	} {
		r := newRun(Config{Engine: c.engine, ScoreEngine: c.score, Observer: &observer{t: t}, OutputDir: t.TempDir()})
		r.workload, r.cfg.Model = newNumbers(3).workload(), newNumbers(3).model()
		var got backend.Engine
		r.cfg.Model.Score = func(_ context.Context, _ accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
			got = s.Engine
			return nil, errors.New("seen")
		}
		testenv.Tree(t, r.cfg.OutputDir, map[string]string{mlperflog.AccuracyFile: "[\n]\n"})
		test := &loadgen.Result{Effective: loadgen.EffectiveSettings{Mode: loadgen.AccuracyOnly}}
		if err := r.outcome(t.Context(), test, &report.Results{}, r.cfg.OutputDir); err == nil || !strings.Contains(err.Error(), "seen") {
			t.Errorf("%s: %v", name, err)
		}
		if got != c.want {
			t.Errorf("%s: the score is computed with %v, want %v", name, got, c.want)
		}
	}
}
