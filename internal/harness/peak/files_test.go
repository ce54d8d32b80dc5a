package peak

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// names are the files of a load.
var names = []string{"charts.json", mlperflog.AccuracyFile, mlperflog.DetailFile, mlperflog.SummaryFile, report.FileName, mlperflog.TraceFile}

// twoLoads makes the folder of a search: files of a confirmed load, and of a higher one that are to replace them.
func twoLoads(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		testenv.Tree(t, dir, map[string]string{name: "low", confirmedDir + "/" + name: "high"})
	}
	return dir
}

// contents are the texts of the files in a folder.
func contents(dir string) string {
	var list []string
	for _, name := range names {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			list = append(list, string(text))
		}
	}
	return strings.Join(list, " ")
}

// The move stops at each file in turn, and continues.
func TestResultsAreNeverBesideTheLogsOfAnotherLoad(t *testing.T) {
	for _, name := range names {
		dir := twoLoads(t)
		s := &State{dir: dir}
		obstacle := filepath.Join(dir, name)
		testenv.Must(t, os.Remove(obstacle))
		testenv.Must(t, os.MkdirAll(filepath.Join(obstacle, "full"), 0o755))
		if err := s.takeConfirmed(); err == nil || !strings.Contains(err.Error(), name) {
			t.Fatalf("%v, want an error about %s", err, name)
		}
		if _, err := report.Read(dir); name != report.FileName && (err == nil || !strings.Contains(err.Error(), report.ErrNoRun.Error())) {
			t.Errorf("stopped at %s: %v, want no results", name, err)
		}
		testenv.Must(t, os.RemoveAll(obstacle))
		for range 2 {
			testenv.Must(t, s.takeConfirmed())
			if got := contents(dir); got != "high high high high high high" {
				t.Errorf("stopped at %s, and continued: %s", name, got)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, confirmedDir)); !os.IsNotExist(err) {
			t.Errorf("the folder is left: %v", err)
		}
	}
}

// What is in the folders of a search, and not of this one, stays.
func TestFoldersOfOthersStay(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"confirmed without a search": {map[string]string{"confirmed/results.json": "theirs"}, "is there already"},
		"higher without a search":    {map[string]string{"higher/notes.txt": "theirs"}, "is there already"},
		"a file of that name":        {map[string]string{"higher": "theirs"}, "is there already"},
		"notes in confirmed":         {map[string]string{File: `{"key":"k","steps":[{"load":60}]}`, "confirmed/notes.txt": "theirs"}, "not of a search"},
		"a folder in higher":         {map[string]string{File: `{"key":"k","steps":[{"load":60}]}`, "higher/results.json/x": "theirs"}, "not of a search"},
	} {
		dir := t.TempDir()
		testenv.Tree(t, dir, c.files)
		if _, _, err := (Search{}).Open(dir, "k", "queries/s"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		for file, text := range c.files {
			if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != text {
				t.Errorf("%s: %s has %q, %v", name, file, got, err)
			}
		}
	}
}

func TestConfirmedFilesAreTaken(t *testing.T) {
	dir := twoLoads(t)
	testenv.Tree(t, dir, map[string]string{File: `{"key":"k","steps":[{"load":60}]}`})
	_, _, err := Search{}.Open(dir, "k", "queries/s")
	testenv.Must(t, err)
	if got := contents(dir); got != "high high high high high high" {
		t.Errorf("the folder has %s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, confirmedDir)); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}

// A process may be killed after it noted that a load was confirmed, and before it wrote the results.
func TestLoadIsConfirmedWithItsResults(t *testing.T) {
	short, failed := report.PeakStep{Load: 50, Met: true}, report.PeakStep{Load: 70, Full: true}
	confirmed, higher := report.PeakStep{Load: 50, Full: true, Met: true}, report.PeakStep{Load: 60, Full: true, Met: true}
	of := func(load float64) *report.Results { return &report.Results{Peak: &report.Peak{Best: load}} }
	for _, c := range []struct {
		name    string
		steps   []report.PeakStep
		results *report.Results
		left    int     // steps
		best    float64 // 0: none
	}{
		{"nothing was confirmed", []report.PeakStep{short, failed}, nil, 2, 0},
		{"nothing was confirmed, and the folder has results", []report.PeakStep{short, failed}, of(0), 2, 0},
		{"one load", []report.PeakStep{short, confirmed}, of(50), 2, 50},
		{"one load, and tests of higher ones", []report.PeakStep{short, confirmed, {Load: 55, Met: true}, failed}, of(50), 4, 50},
		{"a higher one", []report.PeakStep{short, confirmed, {Load: 60, Met: true}, higher}, of(60), 4, 60},
		{"killed before the first results", []report.PeakStep{short, confirmed}, nil, 1, 0},
		{"killed before the results of the higher one", []report.PeakStep{short, confirmed, {Load: 60, Met: true}, higher}, of(50), 3, 50},
		{"without results", []report.PeakStep{short, confirmed, {Load: 60, Met: true}, higher}, nil, 1, 0},
		{"results of a run that searched nothing", []report.PeakStep{short, confirmed}, &report.Results{}, 1, 0},
	} {
		dir := t.TempDir()
		s, _, err := Search{}.Open(dir, "k", "queries/s")
		testenv.Must(t, err)
		for _, step := range c.steps {
			testenv.Must(t, s.Add(step))
		}
		if c.results != nil {
			c.results.Schema, c.results.Result = report.Schema, report.Valid
			testenv.Must(t, c.results.Write(dir))
		}
		s, best, err := Search{}.Open(dir, "k", "queries/s")
		if err != nil || len(s.Steps) != c.left || (best == nil) != (c.best == 0) || best != nil && best.Peak.Best != c.best {
			t.Errorf("%s: %+v after %+v, %v, want %g after %d", c.name, best, s, err, c.best, c.left)
		}
	}
}

func TestBrokenState(t *testing.T) {
	for text, want := range map[string]string{
		`{"key":"k","steps":[{"load":5},{"load":0}]}`: "step 2: the load is 0: must be one above 0",
		`{"key":"k","steps":[{"load":-5}]}`:           "step 1: the load is -5: must be one above 0",
		`{"key":"k","steps":[{"load":1e999}]}`:        "cannot unmarshal number 1e999",
		`{"key":"k","steps":[{"load":5}`:              "unexpected end of JSON input",
		`{"key":"other","steps":[]}`:                  "is of a search with another model, data, settings or machine: choose another output folder, or delete it",
	} {
		dir := t.TempDir()
		testenv.Tree(t, dir, map[string]string{File: text})
		if s, _, err := (Search{}).Open(dir, "k", "queries/s"); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, File)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %q", text, s, err, want)
		}
	}
	dir := t.TempDir()
	testenv.Tree(t, dir, map[string]string{File: `{"key":"k","steps":[{"load":5,"full_length":true,"met":true}]}`, report.FileName: "{"})
	if _, _, err := (Search{}).Open(dir, "k", "queries/s"); err == nil || !strings.Contains(err.Error(), report.FileName) {
		t.Errorf("results that cannot be read: %v", err)
	}
}
