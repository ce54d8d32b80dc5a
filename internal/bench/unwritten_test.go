package bench

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

func TestARunWhoseLogCannotBeWrittenIsInvalid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(t, newNumbers(200), loadgen.SingleStream, loadgen.PerformanceOnly)
		if err := os.MkdirAll(filepath.Join(cfg.OutputDir, mlperflog.DetailFile), 0o755); err != nil {
			t.Fatal(err)
		}
		r, err := Run(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), mlperflog.DetailFile) {
			t.Fatalf("error %v, want one of %s", err, mlperflog.DetailFile)
		}
		told := slices.ContainsFunc(r.Problems, func(p string) bool { return strings.HasPrefix(p, "the logs are not whole: ") })
		if written, err := report.Read(cfg.OutputDir); err != nil || written.Result != report.Invalid || !told {
			t.Errorf("results %v (%v), problems %q; want them invalid", written, err, r.Problems)
		}
	})
}
