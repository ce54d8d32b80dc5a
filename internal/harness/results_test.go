package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
)

// described runs a test of Server of which everything is said that can be said.
func described(t *testing.T) (Config, *report.Results) {
	t.Helper()
	n := newNumbers(100)
	cfg := config(t, n, loadgen.Server, loadgen.PerformanceOnly)
	cfg.Made = []report.Setting{
		{Key: "target_latency", Value: "15 ms", Origin: "rules v6.1"},
		{Key: "target_latency", Value: "100 ms", Origin: "user.conf:3"},
		{Key: "min_query_count", Value: "100", Origin: "flag --min-query-count"},
	}
	cfg.Caveats, cfg.Warnings = []string{"a caveat of the caller"}, []string{"an unknown key"}
	cfg.Judge = func(s loadgen.TestSettings, origin func(string) string) (caveats, notes []string) {
		return []string{fmt.Sprintf("the bound is %v (%s)", s.ServerTargetLatency, origin("target_latency"))}, []string{"a note"}
	}
	cfg.JudgeData = func(int, int) []string { return []string{"made data and parts have caveats of their own"} }
	cfg.Fingerprint = "f"
	cfg.BuiltInModel, cfg.BuiltInData, cfg.Count = true, true, 100
	cfg.Files = map[string][]byte{"user.conf": []byte("*.Server.target_qps = 200\n")}
	cfg.Trace, cfg.System = true, map[string]any{"cpu": "a processor"}
	cfg.Backend.ModelPath = filepath.Join(t.TempDir(), "model")
	write(t, cfg.Backend.ModelPath, "a model")
	return cfg, mustRun(t, n, cfg)
}

func TestResultsSayWhoSetWhatIsRequired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r := described(t)
		origins := map[string]string{}
		for _, c := range r.Constraints {
			origins[c.ID.String()] = c.Origin
		}
		want := map[string]string{"latency": "user.conf:3", "queries": "flag --min-query-count", "samples": "flag --min-query-count", "duration": "default", "early stopping": "", "generator": ""}
		if diff := cmp.Diff(want, origins); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestResultsSayWhatWasRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r := described(t)
		if in := r.Input; in.ModelBytes != 7 || !strings.HasPrefix(in.ModelSHA256, "97ff8a35544d") || !in.BuiltIn || !in.BuiltInData || in.Samples != 100 {
			t.Errorf("input %+v", in)
		}
		if r.Backend.Instances != 2 || r.Backend.MaxBatch != 1 || r.Backend.Devices["cpu"] != 1 || r.Backend.Facts["sim_latency"] != "5ms" || r.Fingerprint != "f" {
			t.Errorf("backend %+v, fingerprint %q", r.Backend, r.Fingerprint)
		}
		var phases []string
		for _, p := range r.Phases {
			phases = append(phases, p.Name)
		}
		if diff := cmp.Diff([]string{"data", "model", "warm-up", "traffic"}, phases); diff != "" {
			t.Errorf("phases (-want +got):\n%s", diff)
		}
	})
}

func TestResultsHaveCaveatsNotesAndWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r := described(t)
		for i, want := range []string{"a caveat of the caller", "(user.conf:3)", "built-in model", "synthetic", "the first 100 samples", "not an official MLPerf result"} {
			if i >= len(r.Caveats) || !strings.Contains(r.Caveats[i], want) {
				t.Errorf("caveats %q, want %q at %d", r.Caveats, want, i)
			}
		}
		if !slices.Equal(r.Notes, []string{"a note"}) || !slices.Equal(r.Warnings, []string{"an unknown key"}) {
			t.Errorf("notes %q, warnings %q", r.Notes, r.Warnings)
		}
	})
}

func TestARunLeavesFilesAndTellsItsObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, _ := described(t)
		for _, name := range []string{"user.conf", mlperflog.TraceFile} {
			if _, err := os.Stat(filepath.Join(cfg.OutputDir, name)); err != nil {
				t.Error(err)
			}
		}
		if o := cfg.Observer.(*observer); !o.noted("numbers go in as they are") || o.loading == 0 || o.traffic == 0 {
			t.Errorf("the observer got notes %q, %d and %d progress reports", o.notes, o.loading, o.traffic)
		}
	})
}
