package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
)

// twoLoads makes the folder of a search: files of a load that was confirmed, and of a higher one that is to take their place.
func twoLoads(t *testing.T) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	names = []string{"charts.json", mlperflog.AccuracyFile, mlperflog.DetailFile, mlperflog.SummaryFile, report.FileName, "user.conf"}
	if err := os.Mkdir(filepath.Join(dir, confirmedDir), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		writeText(t, filepath.Join(dir, name), "low")
		writeText(t, filepath.Join(dir, confirmedDir, name), "high")
	}
	return dir, names
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// contents are what the files of a folder hold, those that are there.
func contents(dir string, names []string) string {
	var list []string
	for _, name := range names {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			list = append(list, string(text))
		}
	}
	return strings.Join(list, " ")
}

// TestResultsAreNeverBesideTheLogsOfAnotherLoad stops the move at each file in turn, and goes on with it.
func TestResultsAreNeverBesideTheLogsOfAnotherLoad(t *testing.T) {
	for i := range 6 {
		dir, names := twoLoads(t)
		obstacle := filepath.Join(dir, names[i])
		if err := os.Remove(obstacle); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(obstacle, "full"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := takeConfirmed(dir); err == nil || !strings.Contains(err.Error(), names[i]) {
			t.Fatalf("%v, want an error about %s", err, names[i])
		}
		if names[i] != report.FileName {
			if _, err := report.Read(dir); err == nil || !strings.Contains(err.Error(), report.ErrNoRun.Error()) {
				t.Errorf("stopped at %s: %v, want no results", names[i], err)
			}
		}
		if err := os.RemoveAll(obstacle); err != nil {
			t.Fatal(err)
		}
		if err := takeConfirmed(dir); err != nil {
			t.Fatal(err)
		}
		if got, want := contents(dir, names), strings.TrimSpace(strings.Repeat("high ", 6)); got != want {
			t.Errorf("stopped at %s, and gone on: %s, want %s", names[i], got, want)
		}
		if _, err := os.Stat(filepath.Join(dir, confirmedDir)); !os.IsNotExist(err) {
			t.Errorf("the folder is left: %v", err)
		}
		if err := takeConfirmed(dir); err != nil {
			t.Errorf("once more: %v", err)
		}
	}
}

// TestOnlyTheSearchThatWasKilledGoesOn: without its steps, what was confirmed is of another search.
func TestOnlyTheSearchThatWasKilledGoesOn(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []report.PeakStep
		want  string
	}{
		{"another search", nil, "low low low low low low"},
		{"the same", []report.PeakStep{{Load: 60, Full: true, Met: true}}, "high high high high high high"},
	} {
		dir, names := twoLoads(t)
		r := &run{cfg: Config{OutputDir: dir}}
		if err := r.resume(&peakState{Steps: c.steps}); err != nil {
			t.Fatal(err)
		}
		if got := contents(dir, names); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if _, err := os.Stat(filepath.Join(dir, confirmedDir)); !os.IsNotExist(err) {
			t.Errorf("%s: the folder is left: %v", c.name, err)
		}
	}
}
