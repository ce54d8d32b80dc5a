package run_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/runtest"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// together resolves the request of a Server run, and of a SingleStream run that fails if its folder is a file.
func together(t *testing.T) (list []*run.Resolved) {
	t.Helper()
	dir, base := t.TempDir(), runtest.Request(t)
	for _, scenario := range []string{"server", "singlestream"} {
		q := base
		q.Scenario, q.Output = scenario, filepath.Join(dir, scenario)
		q.Settings = append([]config.Override{}, config.Override{Key: "min_duration", Value: "2s", Origin: "test"})
		if scenario == "server" {
			q.Settings = append(q.Settings, config.Override{Key: "target_qps", Value: "50", Origin: "test"})
		}
		r, err := run.Resolve(q)
		testenv.Must(t, err)
		list = append(list, r)
	}
	return list
}

func TestTogether(t *testing.T) {
	list := together(t)
	synctest.Test(t, func(t *testing.T) {
		results, err := run.Together(t.Context(), list, harness.Silent{})
		testenv.Must(t, err)
		for i, other := range []string{"resnet50 SingleStream", "resnet50 Server"} {
			want := "not of the rules: it ran at the same time as " + other + " on this machine"
			if r := results[i]; !slices.Contains(r.Limitations, limitation.Limitation{ID: limitation.AtSameTime, Value: other}) || r.Scenario != list[i].ScenarioName() {
				t.Errorf("%s: limitations %v, want %s at the same time", r.Scenario, r.Limitations, other)
			}
			log, err := os.ReadFile(filepath.Join(list[i].Request.Output, "mlperf_log_summary.txt"))
			if testenv.Must(t, err); !strings.Contains(string(log), want) {
				t.Errorf("the summary log does not say %q", want)
			}
		}
		if got := run.Overlap(results); got < 1900*time.Millisecond {
			t.Errorf("the traffic overlaps for %v, want about 2s", got)
		}
	})
}

// A benchmark that cannot begin keeps the others from running for nothing.
func TestTogetherNeedsAll(t *testing.T) {
	list := together(t)
	testenv.Must(t, os.WriteFile(list[1].Request.Output, nil, 0o644))
	synctest.Test(t, func(t *testing.T) {
		results, err := run.Together(t.Context(), list, harness.Silent{})
		if err == nil || !strings.Contains(err.Error(), "resnet50 SingleStream: ") || results[0] != nil {
			t.Errorf("results %v, error %v, want one of SingleStream and no results", results[0], err)
		}
	})
	list[0].Request.Power = "auto"
	_, err := run.Together(t.Context(), list, harness.Silent{})
	var of *userinput.Error
	if !errors.As(err, &of) || of.Field != "with" {
		t.Errorf("a power measurement: %v", err)
	}
	if got := run.Overlap([]*report.Results{{}}); got != 0 {
		t.Errorf("runs without traffic overlap for %v", got)
	}
}
