package run

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/report"
)

// list are the files and folders below a folder, by their paths from it.
func list(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if name, _ := filepath.Rel(dir, path); name != "." {
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// tree makes empty files, and their folders.
func tree(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, name := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, "")
	}
}

func TestAFolderThatIsTakenGetsANumber(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "offline", "20260708-091011")
	for _, want := range []string{name, name + "-2", name + "-3"} {
		if got, err := newFolder(name); got != want || err != nil {
			t.Errorf("newFolder = %q, %v, want %q", got, err, want)
		}
	}
	writeFile(t, filepath.Join(dir, "file"), "")
	if _, err := newFolder(filepath.Join(dir, "file", "x")); err == nil || !strings.Contains(err.Error(), "file") {
		t.Errorf("below a file: %v, want an error that names it", err)
	}
}

// Runs may begin in the same second, in one process or in several.
func TestEveryRunOfTheSameSecondHasAFolderOfItsOwn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run")
	const runs = 16
	folders := make([]string, runs)
	var group sync.WaitGroup
	for i := range runs {
		group.Go(func() { folders[i], _ = newFolder(name) })
	}
	group.Wait()
	slices.Sort(folders)
	if got := slices.Compact(folders); len(got) != runs || got[0] != name {
		t.Errorf("%d runs have the folders %q", runs, got)
	}
}

func TestOnlyAFolderThatNobodyGaveIsChosenAnew(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name          string
		given         bool
		ranging       bool
		output, again string
	}{
		{"nobody gave one", false, false, "a", "a-2"},
		{"somebody gave one", true, false, "b", "b"},
		{"two runs of a measurement of power lie in one folder", false, true, "c/run_1", "c-2/run_1"},
		{"and in that which was given", true, true, "d/run_1", "d/run_1"},
	} {
		for _, want := range []string{c.output, c.again} {
			p := &Prepared{Resolved: &Resolved{chosenFolder: !c.given}, bench: &harness.Config{OutputDir: filepath.Join(dir, c.output)}}
			p.Request.Ranging, p.Request.Output = c.ranging, p.bench.OutputDir
			if err := p.claimFolder(); err != nil {
				t.Fatal(err)
			}
			if want := filepath.Join(dir, want); p.bench.OutputDir != want || p.Request.Output != want {
				t.Errorf("%s: results go to %s, and to %s is said, want %s", c.name, p.bench.OutputDir, p.Request.Output, want)
			}
		}
	}
	p := &Prepared{Resolved: &Resolved{chosenFolder: true}, bench: &harness.Config{OutputDir: os.DevNull + "/results/x"}}
	if err := p.claimFolder(); err == nil || !strings.HasPrefix(err.Error(), "making the output folder: ") {
		t.Errorf("where there can be no folder: %v", err)
	}
}

func TestAFolderHasResultsIfItHasAnyRunsRecord(t *testing.T) {
	for name, want := range map[string]bool{
		"results.json": true, "mlperf_log_summary.txt": true, "mlperf_log_detail.txt": false, "notes.txt": false, "run_1/results.json": false,
	} {
		dir := t.TempDir()
		tree(t, dir, name)
		if got := hasResults(dir); got != want {
			t.Errorf("a folder with %s has results: %t, want %t", name, got, want)
		}
	}
	if hasResults(filepath.Join(t.TempDir(), "nowhere")) {
		t.Error("a folder that is not there has results")
	}
}

func TestWhatIsReplacedIsWhatRunsWriteAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	mine := []string{"mine.txt", "run_1/mine.txt", "run_x/results.json", "runs/results.json", "sub/results.json"}
	theirs := []string{
		"results.json", "report.html", "accuracy.txt", "mlperf_log_summary.txt", "mlperf_log_detail.txt", "mlperf_log_accuracy.json", "mlperf_log_trace.json",
		"run_1/results.json", "run_12/mlperf_log_detail.txt",
	}
	tree(t, dir, append(slices.Clone(mine), theirs...)...)
	for range 2 { // the second time there is nothing left
		if err := clearFolder(dir); err != nil {
			t.Fatal(err)
		}
	}
	left := list(t, dir)
	for _, name := range mine {
		if !slices.Contains(left, name) {
			t.Errorf("%s is gone", name)
		}
	}
	for _, name := range theirs {
		if slices.Contains(left, name) {
			t.Errorf("%s is still there", name)
		}
	}
	if err := clearFolder(filepath.Join(dir, "nowhere")); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestTheLatestRunIsLinkedToBesideTheOthers(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "latest")
	tree(t, dir, "1/a", "2/b")
	for _, name := range []string{"1", "2", "1"} {
		if err := linkLatest(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if to, err := os.Readlink(link); to != name || err != nil {
			t.Errorf("after run %s the link leads to %q, %v", name, to, err)
		}
	}
	// A run that was killed in between left its temporary link.
	if err := os.Symlink("gone", fmt.Sprintf("%s.%d", link, os.Getpid())); err != nil {
		t.Fatal(err)
	}
	if err := linkLatest(filepath.Join(dir, "2")); err != nil {
		t.Errorf("beside the link of a run that was killed: %v", err)
	}
	if got, want := list(t, dir), []string{"1", "1/a", "2", "2/b", "latest"}; !slices.Equal(got, want) {
		t.Errorf("the folder has %q, want %q", got, want)
	}
	if err := linkLatest(filepath.Join(dir, "nowhere", "1")); err == nil || !strings.HasPrefix(err.Error(), "linking the latest results: ") {
		t.Errorf("where there is no folder: %v", err)
	}
}

// Conf files are kept with the results as they were when the settings were read from them.
func TestAConfFileThatChangesBeforeTheRunIsKeptAsItWasRead(t *testing.T) {
	t.Chdir(t.TempDir())
	const text = "\uFEFF# mine\r\nresnet50.Offline.target_qps = 12\r\n"
	writeFile(t, "user.conf", text)
	writeFile(t, "audit.config", "*.*.mode = 2\n")
	r, err := Resolve(Request{Model: "resnet50", Scenario: "offline", Engine: Engine{Name: Simulated}, AuditConf: "audit.config"})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, "user.conf", "*.Offline.target_qps = 99999\n")
	if err := os.Remove("audit.config"); err != nil {
		t.Fatal(err)
	}
	cfg, err := r.config()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(cfg.Files["user.conf"]); got != text || cfg.Settings.OfflineExpectedQPS != 12 {
		t.Errorf("a rate of %g is kept with the user.conf %q, want %q", cfg.Settings.OfflineExpectedQPS, got, text)
	}
	if got := string(cfg.Files["audit.config"]); got != "*.*.mode = 2\n" {
		t.Errorf("the audit.config is kept as %q", got)
	}
	if got := string(cfg.Files["mlperf.conf"]); !strings.Contains(got, "*.*.qsl_rng_seed = ") {
		t.Errorf("the rules' mlperf.conf is kept as %q", got)
	}
	writeFile(t, "mlperf.conf", "*.*.min_duration = 1000\n")
	r, err = Resolve(Request{Model: "resnet50", Scenario: "offline", Engine: Engine{Name: Simulated}, MLPerfConf: "mlperf.conf"})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.files()["mlperf.conf"]); got != "*.*.min_duration = 1000\n" {
		t.Errorf("in place of the rules' mlperf.conf, %q is kept", got)
	}
}

func TestOneFolderMayHoldASearchThatIsNotOver(t *testing.T) {
	t.Chdir(t.TempDir())
	tree(t, "out", report.FileName, harness.PeakFile)
	q := Request{Model: "resnet50", Scenario: "server", Engine: Engine{Name: Simulated}, Output: "out", Mode: FindPeak}
	if _, err := Resolve(q); err != nil {
		t.Errorf("the search cannot go on: %v", err)
	}
	q.Mode = ""
	if _, err := Resolve(q); err == nil || err.Error() != "out has the results of a run already: choose another folder, or have them replaced" {
		t.Errorf("another run in its folder: %v", err)
	}
	q.Force = true
	if _, err := Resolve(q); err != nil {
		t.Errorf("to be replaced: %v", err)
	}
}
