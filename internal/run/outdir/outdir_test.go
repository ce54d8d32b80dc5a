package outdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// tree makes empty files.
func tree(t *testing.T, dir string, names ...string) {
	t.Helper()
	files := map[string]string{}
	for _, name := range names {
		files[name] = ""
	}
	testenv.Tree(t, dir, files)
}

// Runs may begin in the same second, in one process or in several.
func TestNew(t *testing.T) {
	name := filepath.Join(t.TempDir(), "offline", "20260708-091011")
	folders := make([]string, 16)
	var group sync.WaitGroup
	for i := range folders {
		group.Go(func() { folders[i], _ = New(name) })
	}
	group.Wait()
	slices.Sort(folders)
	if got := slices.Compact(folders); len(got) != 16 || got[0] != name || !slices.Contains(got, name+"-16") {
		t.Errorf("16 runs have the folders %q", folders)
	}
	tree(t, filepath.Dir(name), "file")
	if _, err := New(filepath.Join(filepath.Dir(name), "file", "x")); err == nil || !strings.Contains(err.Error(), "file") {
		t.Errorf("below a file: %v, want an error that names it", err)
	}
}

func TestCheck(t *testing.T) {
	for name, want := range map[string]bool{
		"results.json": true, "mlperf_log_summary.txt": true, "mlperf_log_detail.txt": true, "report.html": true, "mlperf.conf": true, "spl.txt": true,
		"notes.txt": false, "run_1/results.json": false, "user.conf": false,
	} {
		dir := t.TempDir()
		tree(t, dir, name)
		if err := Check(dir, map[string][]byte{"mlperf.conf": []byte("x"), "user.conf": nil}); (err != nil) != want {
			t.Errorf("a folder with %s: %v", name, err)
		}
	}
	if err := Check(filepath.Join(t.TempDir(), "nowhere"), nil); err != nil {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestClear(t *testing.T) {
	dir := t.TempDir()
	mine := []string{"mine.txt", "run_1/mine.txt", "run_x/results.json", "runs/results.json", "sub/results.json", "higher/mine.txt", "confirmed/mine.txt"}
	ofRuns := []string{
		"report.html", "accuracy.txt", "mlperf_log_summary.txt", "mlperf_log_detail.txt", "mlperf_log_accuracy.json", "mlperf_log_trace.json",
		"run_12/mlperf_log_detail.txt", "find-peak.json", "higher/mlperf_log_detail.txt", "confirmed/charts.json",
	}
	tree(t, dir, slices.Concat(mine, ofRuns)...)
	testenv.Tree(t, dir, map[string]string{"results.json": `{"schema":"mlperf-go/results/3"}`, "run_1/results.json": `{"schema":"mlperf-go/results/3"}`})
	outside := filepath.Join(t.TempDir(), "outside")
	tree(t, outside, "results.json", "mlperf_log_detail.txt")
	testenv.Must(t, os.Symlink(outside, filepath.Join(dir, "run_7")), os.Remove(filepath.Join(dir, "accuracy.txt")),
		os.Symlink(filepath.Join(outside, "results.json"), filepath.Join(dir, "accuracy.txt")))
	for range 2 { // the second time there is nothing left
		testenv.Must(t, Clear(dir))
	}
	for _, name := range append(slices.Concat(mine, ofRuns), "results.json", "run_1/results.json") {
		if _, err := os.Lstat(filepath.Join(dir, name)); errors.Is(err, os.ErrNotExist) == slices.Contains(mine, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"results.json", "mlperf_log_detail.txt"} {
		if _, err := os.Stat(filepath.Join(outside, name)); err != nil {
			t.Error(err)
		}
	}
	testenv.Must(t, Clear(filepath.Join(dir, "nowhere")))
	for _, foreign := range []string{"{}", `{"tool":"pytest"}`} {
		testenv.Tree(t, dir, map[string]string{"results.json": foreign, "mlperf_log_detail.txt": "x"})
		if err := Clear(dir); err == nil || !strings.Contains(err.Error(), "another program") {
			t.Errorf("results %s: %v", foreign, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "mlperf_log_detail.txt")); err != nil {
			t.Error(err)
		}
	}
}

// Without the file of a search, the folders are not of one.
func TestClearLeavesFoldersOfOthers(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, "higher/results.json", "confirmed/results.json")
	testenv.Must(t, Clear(dir))
	for _, name := range []string{"higher/results.json", "confirmed/results.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestLinkLatest(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "latest")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Skip("no links here: ", err)
	}
	tree(t, dir, "1/a", "2/b")
	for _, name := range []string{"1", "2", "1"} {
		testenv.Must(t, LinkLatest(filepath.Join(dir, name)))
		if to, err := os.Readlink(link); to != name || err != nil {
			t.Errorf("after run %s the link leads to %q, %v", name, to, err)
		}
	}
	if err := LinkLatest(filepath.Join(dir, "nowhere", "1")); err == nil || !strings.HasPrefix(err.Error(), "no link to the latest results: ") {
		t.Errorf("in a missing folder: %v", err)
	}
	for _, theirs := range []string{"latest", "latest/file"} { // a file or folder of the user
		testenv.Must(t, os.RemoveAll(link))
		tree(t, dir, theirs)
		if err := LinkLatest(filepath.Join(dir, "1")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s is there: %v", theirs, err)
		}
		if _, err := os.ReadFile(filepath.Join(dir, theirs)); err != nil {
			t.Error(err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*latest*")); len(left) != 1 {
		t.Errorf("%q are left, %v", left, err)
	}
}

func TestLatestWithoutALink(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, "20260101-100000/results.json", "20260102-090000/results.json", "20260103-080000/other", "confirmed/results.json")
	link := filepath.Join(dir, "latest")
	if got, want := Latest(link), filepath.Join(dir, "20260102-090000"); got != want {
		t.Errorf("Latest(%s) = %s, want %s", link, got, want)
	}
	testenv.Must(t, os.Mkdir(link, 0o755))
	for _, path := range []string{link, "latest", "--mode=latest", filepath.Join(dir, "none", "latest")} {
		if got := Latest(path); got != path {
			t.Errorf("Latest(%s) = %s, want the same", path, got)
		}
	}
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	if Locked(dir) {
		t.Error("a folder without a run is locked")
	}
	release, err := Lock(dir)
	testenv.Must(t, err)
	if !Locked(dir) {
		t.Error("the folder of a run is not locked")
	}
	if _, err := Lock(dir); err == nil {
		t.Error("two runs have a folder")
	}
	release()
	if Locked(dir) {
		t.Error("the folder is locked after the run")
	}
}
