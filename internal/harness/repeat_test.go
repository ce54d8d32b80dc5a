package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
)

func TestTheLowestOfSeveralRunsCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := config(t, n, loadgen.Server, loadgen.PerformanceOnly)
		cfg.Runs = 5
		cfg.Engine = engine(t, simulated.Config{Latency: 5 * time.Millisecond, Jitter: time.Millisecond})
		r := mustRun(t, n, cfg)
		if !r.Valid() || len(r.Runs) != 5 {
			t.Fatalf("%s %v: %+v", r.Result, r.Problems, r.Runs)
		}
		if o := cfg.Observer.(*observer); !o.noted("run 1 of 5") || !o.noted("run 5 of 5") {
			t.Errorf("the observer is told %q", o.notes)
		}
		for _, run := range r.Runs {
			if run.Metric.Value < r.Metric.Value || run.Result != report.Valid {
				t.Errorf("%+v, the result is %+v", run, r.Metric)
			}
			dir := filepath.Join(cfg.OutputDir, run.Folder)
			if single, err := report.Read(dir); err != nil || *single.Metric != *run.Metric {
				t.Errorf("%s: %+v, %v", dir, single, err)
			}
			if _, err := os.Stat(filepath.Join(dir, mlperflog.SummaryFile)); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestOneInvalidRunOfSeveralMakesTheResultInvalid(t *testing.T) {
	valid, slow := &report.Results{Result: report.Valid, Metric: &report.Metric{Value: 1}}, &report.Results{Result: report.Valid, Metric: &report.Metric{Value: 0.5}}
	invalid := &report.Results{Result: report.Invalid, Metric: &report.Metric{Value: 3}}
	if !lower(invalid, slow) || lower(slow, invalid) || !lower(slow, valid) || lower(valid, slow) {
		t.Error("the order is wrong")
	}
}

func TestAnInterruptedRunOfSeveralIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := config(t, n, loadgen.Server, loadgen.PerformanceOnly)
		cfg.Runs = 5
		stopped := errors.New("that is enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		go func() {
			time.Sleep(cfg.Settings.MinDuration * 5 / 2)
			cancel(stopped)
		}()
		r, err := Run(ctx, cfg)
		if !errors.Is(err, stopped) || r == nil || r.Result != report.Interrupted || len(r.Runs) < 2 || len(r.Runs) == 5 {
			t.Fatalf("%v, %+v", err, r)
		}
		if text := strings.Join(r.Problems, "; "); !strings.Contains(text, "stopped early") {
			t.Errorf("problems: %s", text)
		}
	})
}
