package harness

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
)

// TestAProgramThatIsKilledLeavesAMarkedResult looks at the folder while the test runs: that
// is what a killed program would leave.
func TestAProgramThatIsKilledLeavesAMarkedResult(t *testing.T) {
	t.Parallel()
	for _, mode := range []loadgen.Mode{loadgen.PerformanceOnly, loadgen.AccuracyOnly} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(400)
			cfg := config(t, n, loadgen.Server, mode)
			var looked atomic.Bool // by whichever worker comes first
			n.predict = func(k int64) error {
				if k < 60 || looked.Swap(true) {
					return nil
				}
				r, err := report.Read(cfg.OutputDir)
				if err != nil {
					t.Error(err)
					return nil
				}
				if r.Result != report.Interrupted || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "the test has not ended") || len(r.Settings) != len(cfg.Made) || len(r.Caveats) == 0 {
					t.Errorf("result %s, problems %q, settings %v, caveats %q", r.Result, r.Problems, r.Settings, r.Caveats)
				}
				d, err := mlperflog.ReadDetail(filepath.Join(cfg.OutputDir, mlperflog.DetailFile))
				if err != nil || len(d.Errors()) != 1 {
					t.Errorf("detail log %v, %v", d, err)
				}
				if s, err := d.Scenario(); err != nil || s != loadgen.Server {
					t.Errorf("scenario %v, %v", s, err)
				}
				return nil
			}
			if r := mustRun(t, n, cfg); r.Result != report.Valid || !looked.Load() {
				t.Errorf("result %s, looked %v: %q", r.Result, looked.Load(), r.Problems)
			}
		})
	}
}
