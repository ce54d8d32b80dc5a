package checker

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// set gives a key of a log another value, as JSON.
func (e *edit) set(path, key, value string) {
	e.t.Helper()
	re := regexp.MustCompile(`("key": "` + regexp.QuoteMeta(key) + `", "value": ).*?(, "time_ms")`)
	have := e.read(path)
	if !re.MatchString(have) {
		e.t.Fatalf("%s has no key %s", path, key)
	}
	e.write(path, re.ReplaceAllString(have, "${1}"+strings.ReplaceAll(value, "$", "$$")+"${2}"))
}

// drop takes a key out of a log.
func (e *edit) drop(path, key string) {
	e.t.Helper()
	re := regexp.MustCompile(`(?m)^.*"key": "` + regexp.QuoteMeta(key) + `".*\n`)
	have := e.read(path)
	if !re.MatchString(have) {
		e.t.Fatalf("%s has no key %s", path, key)
	}
	e.write(path, re.ReplaceAllString(have, ""))
}

// add adds a message to a log.
func (e *edit) add(path, key, value string) {
	e.t.Helper()
	e.message(path, key, value, "false")
}

func (e *edit) message(path, key, value, isError string) {
	e.t.Helper()
	e.appendTo(path, `:::MLLOG {"key": "`+key+`", "value": `+value+`, "time_ms": 1.0, "namespace": "mlperf::logging", "event_type": "POINT_IN_TIME", "metadata": {"is_error": `+isError+`, "is_warning": false, "file": "x.cc", "line_no": 1, "pid": 1, "tid": 1}}`+"\n")
}

// field gives a member of a JSON file, which has one a line, another value.
func (e *edit) field(path, name, value string) {
	e.t.Helper()
	re := regexp.MustCompile(`("` + regexp.QuoteMeta(name) + `": ).*?(,?\n)`)
	have := e.read(path)
	if !re.MatchString(have) {
		e.sub(path, "{\n", "{\n  \""+name+"\": "+value+",\n")
		return
	}
	e.write(path, re.ReplaceAllString(have, "${1}"+strings.ReplaceAll(value, "$", "$$")+"${2}"))
}

// system changes a field of the system's description.
func (e *edit) system(name, value string) {
	e.t.Helper()
	e.field(home+"/systems/board1.json", name, value)
}

func (e *edit) dropField(path, name string) {
	e.t.Helper()
	re := regexp.MustCompile(`  "` + regexp.QuoteMeta(name) + `": .*?\n`)
	have := re.ReplaceAllString(e.read(path), "")
	e.write(path, regexp.MustCompile(`,(\s*\})`).ReplaceAllString(have, "$1"))
}

// extract writes a tree of testdata, see make_trees.py, and returns its folder.
func extract(t testing.TB, version string) string {
	t.Helper()
	dir := t.TempDir()
	testenv.Extract(t, "testdata/"+version+".tar.gz", dir)
	return dir
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(ignoreMissing(os.Remove(path)), os.WriteFile(path, data, 0o644)); err != nil {
		t.Fatal(err)
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// An edit changes a tree. Paths start at the root; R is the folder of the benchmark,
// S the folder of its SingleStream result, O of Offline, M of MultiStream.
type edit struct {
	t    testing.TB
	root string
}

// link makes a copy of a tree whose files are the same until they are written.
func (e *edit) link(from string) {
	e.t.Helper()
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		to := filepath.Join(e.root, rel)
		switch {
		case entry.IsDir():
			return os.MkdirAll(to, 0o755)
		case entry.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			return errors.Join(err, os.Symlink(target, to))
		}
		return os.Link(path, to)
	})
	e.ok(err)
}

// borrow makes a tree that looks like another. Its folders are links into that, until
// something in them is changed: most changes need few.
func (e *edit) borrow(from string) {
	e.t.Helper()
	entries, err := os.ReadDir(from)
	e.ok(err)
	for _, entry := range entries {
		old, to := filepath.Join(from, entry.Name()), filepath.Join(e.root, entry.Name())
		if entry.Type().IsRegular() {
			e.ok(os.Link(old, to))
		} else {
			e.ok(os.Symlink(old, to))
		}
	}
}

// own makes the folders of a path the tree's own.
func (e *edit) own(path string) {
	e.t.Helper()
	if path == "." || path == "/" {
		return
	}
	e.own(filepath.Dir(path))
	folder := filepath.Join(e.root, path)
	from, err := os.Readlink(folder)
	if info, statErr := os.Stat(folder); err != nil || statErr != nil || !info.IsDir() || !filepath.IsAbs(from) {
		return
	}
	e.ok(os.Remove(folder))
	e.ok(os.Mkdir(folder, 0o755))
	(&edit{e.t, folder}).borrow(from)
}

func (e *edit) ok(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

const home = "closed/ExampleOrg"

var short = strings.NewReplacer("R/", home+"/results/board1/resnet50/", "S/", home+"/results/board1/resnet50/SingleStream/",
	"M/", home+"/results/board1/resnet50/MultiStream/", "O/", home+"/results/board1/resnet50/Offline/")

func (e *edit) at(path string) string {
	if i := strings.Index(path, "/"); i == 1 {
		path = short.Replace(path[:2]) + path[2:]
	}
	e.own(filepath.Dir(path))
	return filepath.Join(e.root, path)
}

func (e *edit) read(path string) string {
	e.t.Helper()
	data, err := os.ReadFile(e.at(path))
	e.ok(err)
	return string(data)
}

func (e *edit) exists(path string) bool { _, err := os.Lstat(e.at(path)); return err == nil }

func (e *edit) write(path, text string) { e.t.Helper(); writeFile(e.t, e.at(path), []byte(text)) }

func (e *edit) remove(path string) { e.t.Helper(); e.ok(os.RemoveAll(e.at(path))) }

func (e *edit) mkdir(path string) { e.t.Helper(); e.ok(os.MkdirAll(e.at(path), 0o755)) }

func (e *edit) rename(from, to string) {
	e.t.Helper()
	e.ok(os.MkdirAll(filepath.Dir(e.at(to)), 0o755))
	e.ok(os.Rename(e.at(from), e.at(to)))
}

func (e *edit) symlink(target, path string) { e.t.Helper(); e.ok(os.Symlink(target, e.at(path))) }

// copy replaces a folder by a copy of another.
func (e *edit) copy(from, to string) {
	e.t.Helper()
	e.remove(to)
	target, err := filepath.EvalSymlinks(e.at(from))
	e.ok(err)
	(&edit{e.t, e.at(to)}).link(target)
}

// sub replaces a text that a file must have.
func (e *edit) sub(path, old, text string) {
	e.t.Helper()
	have := e.read(path)
	if !strings.Contains(have, old) {
		e.t.Fatalf("%s has no %q", path, old)
	}
	e.write(path, strings.ReplaceAll(have, old, text))
}

func (e *edit) appendTo(path, text string) { e.t.Helper(); e.write(path, e.read(path)+text) }

// logs lists the detail logs of a submitter.
func (e *edit) logs(home string) []string {
	e.t.Helper()
	found := []string{}
	for _, run := range []string{"accuracy", "performance/run_1", "TEST*/performance/run_1"} {
		logs, err := filepath.Glob(e.at(home + "/results/*/*/*/" + run + "/mlperf_log_detail.txt"))
		e.ok(err)
		for _, at := range logs {
			rel, err := filepath.Rel(e.root, at)
			e.ok(err)
			found = append(found, filepath.ToSlash(rel))
		}
	}
	return found
}
