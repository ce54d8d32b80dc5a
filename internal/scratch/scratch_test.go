package scratch

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// write makes a file, and the folder that it is in.
func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("something"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// needsLocks skips a test on systems where nothing is swept.
func needsLocks(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there are no locks that end with a process")
	}
}

func TestAFolderIsThereUntilItIsRemoved(t *testing.T) {
	root := t.TempDir()
	t.Setenv("TMPDIR", root)
	beside, err := In(root, "profile")
	if err != nil {
		t.Fatal(err)
	}
	common, err := Folder("profile")
	if err != nil {
		t.Fatal(err)
	}
	for pattern, folder := range map[string]*Temporary{".mlperf-profile-*": beside, "mlperf-profile-*": common} {
		write(t, filepath.Join(folder.Path, "file"))
		if match, _ := filepath.Match(pattern, filepath.Base(folder.Path)); !match {
			t.Errorf("the folder is %s, want %s", folder.Path, pattern)
		}
		if err := folder.Remove(); err != nil || there(folder.Path) {
			t.Errorf("after Remove (%v) %s is still there", err, folder.Path)
		}
	}
}

func TestFoldersOfDeadProcessesAreRemoved(t *testing.T) {
	needsLocks(t)
	root := t.TempDir()
	folders := map[string]*Temporary{}
	for _, what := range []string{"living", "dead"} {
		f, err := In(root, what)
		if err != nil {
			t.Fatal(err)
		}
		folders[what] = f
	}
	living, dead := folders["living"], folders["dead"]
	dead.lock.Close()                               // as at the end of a process
	early := filepath.Join(root, ".mlperf-early-1") // it ended at once
	if err := os.Mkdir(early, 0o755); err != nil {
		t.Fatal(err)
	}
	sweepFolders(root, time.Now().Add(time.Second))
	if !there(dead.Path) || !there(early) {
		t.Error("a folder was removed that is so young that it may not be locked yet")
	}
	sweepFolders(root, time.Now().Add(2*time.Hour))
	if there(dead.Path) || there(early) || !there(living.Path) {
		t.Errorf("after a sweep: dead %v, early %v, living %v; want only the living one", there(dead.Path), there(early), there(living.Path))
	}
	if err := living.Remove(); err != nil {
		t.Error(err)
	}
}

func TestWhatAUserHasIsNotSwept(t *testing.T) {
	root := t.TempDir()
	kept := []string{
		"mlperf-results-1/results.json", // named like ours
		"mlperf-suite/.lock",            // locked by another part of the program while it runs
		"mlperf-suite-2/.lock",
		"mlperf-kept/" + lockFile, // no name that is made
		"results-3/" + lockFile,
		"elsewhere/" + lockFile,
	}
	for _, path := range kept {
		write(t, filepath.Join(root, path))
	}
	if err := os.Symlink(filepath.Join(root, "elsewhere"), filepath.Join(root, "mlperf-link-4")); err != nil {
		t.Skip(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "mlperf-pipe-5", lockFile), 0o755); err != nil {
		t.Fatal(err)
	}
	sweepFolders(root, time.Now().Add(2*time.Hour))
	for _, path := range append(kept, "mlperf-pipe-5") {
		if !there(filepath.Join(root, path)) {
			t.Errorf("%s was removed", path)
		}
	}
}

func TestFilesOfDeadProcessesAreRemoved(t *testing.T) {
	needsLocks(t)
	root := filepath.Join(t.TempDir(), "[a] folder*") // no pattern, though it looks like one
	for _, name := range []string{".results.json.123.tmp", ".results.json.12x.tmp", ".results.json..tmp", ".other.json.123.tmp", "results.json"} {
		write(t, filepath.Join(root, name))
	}
	const pattern = ".results.json.*.tmp"
	mine, err := File(root, pattern)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(namesIn(root)); got != 6 {
		t.Errorf("%d files, want all 6: none of them is an hour old", got)
	}
	sweepFiles(root, pattern, time.Now().Add(2*time.Hour))
	want := []string{".other.json.123.tmp", ".results.json..tmp", ".results.json.12x.tmp", filepath.Base(mine.Name()), "results.json"}
	got := namesIn(root)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("after a sweep there are %q, want %q", got, want)
	}
	if err := mine.Close(); err != nil {
		t.Error(err)
	}
}

func TestOnlyNamesWithANumberInTheirPlaceAreMade(t *testing.T) {
	for name, want := range map[string]bool{
		".a.1.tmp": true, ".a.0123456789.tmp": true, ".a..tmp": false, ".a.x.tmp": false, ".a.1x.tmp": false, ".a.-1.tmp": false,
		".b.1.tmp": false, ".a.1.tmx": false, "a.1.tmp": false, ".a.1": false, "1.tmp": false, ".a.tmp": false, "1": false, "": false,
	} {
		if got := isMade(name, ".a.", ".tmp"); got != want {
			t.Errorf("isMade(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestAFolderIsEmptySinceItsLastChange(t *testing.T) {
	root := t.TempDir()
	folder, file, link := filepath.Join(root, "folder"), filepath.Join(root, "file"), filepath.Join(root, "link")
	write(t, file)
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(folder, link); err != nil {
		t.Skip(err)
	}
	now := time.Now()
	for _, c := range []struct {
		name, path string
		instant    time.Time
		want       bool
	}{
		{"later", folder, now.Add(time.Hour), true},
		{"earlier", folder, now.Add(-time.Hour), false},
		{"a file", file, now.Add(time.Hour), false},
		{"a link to a folder", link, now.Add(time.Hour), false},
		{"nothing", filepath.Join(root, "none"), now.Add(time.Hour), false},
	} {
		if got := emptySince(c.path, c.instant); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	write(t, filepath.Join(folder, "inside"))
	if emptySince(folder, time.Now().Add(time.Hour)) {
		t.Error("a folder with a file is empty")
	}
}

// TestSeveralFoldersOfOneKindAreApart makes some at once, each for its owner only.
func TestSeveralFoldersOfOneKindAreApart(t *testing.T) {
	root := t.TempDir()
	seen := map[string]bool{}
	for range 5 {
		f, err := In(root, "part")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Remove()
		if info, err := os.Stat(f.Path); err != nil || info.Mode().Perm() != 0o700 || seen[f.Path] {
			t.Errorf("%s has mode %v, seen before: %v", f.Path, info.Mode(), seen[f.Path])
		}
		seen[f.Path] = true
	}
	if got := len(namesIn(root)); got != 5 || namesIn(filepath.Join(root, "none")) == nil || len(namesIn(filepath.Join(root, "none"))) != 0 {
		t.Errorf("%d folders, want 5", got)
	}
}

func TestAFolderThatCannotBeMadeIsAnError(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	if _, err := In(none, "x"); err == nil {
		t.Error("a folder was made in one that is not there")
	}
	if _, err := File(none, "x*"); err == nil {
		t.Error("a file was made in a folder that is not there")
	}
}
