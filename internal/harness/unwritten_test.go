package harness

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
)

func TestUnwrittenLogIsInvalid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(t, newNumbers(200), loadgen.SingleStream, loadgen.PerformanceOnly)
		if err := os.MkdirAll(filepath.Join(cfg.OutputDir, mlperflog.DetailFile), 0o755); err != nil {
			t.Fatal(err)
		}
		r, err := Run(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), mlperflog.DetailFile) {
			t.Fatalf("error %v, want one of %s", err, mlperflog.DetailFile)
		}
		told := slices.ContainsFunc(r.Problems, func(p string) bool { return strings.HasPrefix(p, "the logs are not complete: ") })
		if written, err := report.Read(cfg.OutputDir); err != nil || written.Result != report.Invalid || !told {
			t.Errorf("results %v (%v), problems %q; want them invalid", written, err, r.Problems)
		}
	})
}

func TestUnwrittenResultsFileIsInvalid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, runs := range []int{0, 2} {
			cfg := config(t, newNumbers(200), loadgen.SingleStream, loadgen.PerformanceOnly)
			cfg.Runs = runs
			if err := os.MkdirAll(filepath.Join(cfg.OutputDir, report.FileName, "inside"), 0o755); err != nil {
				t.Fatal(err)
			}
			r, err := Run(t.Context(), cfg)
			if err == nil || !strings.Contains(err.Error(), report.FileName) {
				t.Fatalf("%d runs: error %v, want one of %s", runs, err, report.FileName)
			}
			if r == nil {
				continue // nothing could be said of it
			}
			told := slices.ContainsFunc(r.Problems, func(p string) bool { return strings.HasPrefix(p, "the results were not written: ") })
			if r.Result != report.Invalid || !told {
				t.Errorf("%d runs: result %v, problems %q; want it invalid", runs, r.Result, r.Problems)
			}
		}
	})
}
