package checker

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// extract writes a tree of testdata, see make_trees.py, and returns its folder.
func extract(t testing.TB, version string) string {
	t.Helper()
	packed, err := os.ReadFile("testdata/" + version + ".tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, header.Name), data)
	}
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
	return filepath.Join(e.root, path)
}

func (e *edit) read(path string) string {
	e.t.Helper()
	data, err := os.ReadFile(e.at(path))
	e.ok(err)
	return string(data)
}

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
	(&edit{e.t, e.at(to)}).link(e.at(from))
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

// logs lists the detail logs below a path.
func (e *edit) logs(path string) []string {
	e.t.Helper()
	found := []string{}
	e.ok(filepath.WalkDir(e.at(path), func(at string, _ fs.DirEntry, err error) error {
		if filepath.Base(at) == "mlperf_log_detail.txt" {
			rel, relErr := filepath.Rel(e.root, at)
			found = append(found, filepath.ToSlash(rel))
			return errors.Join(err, relErr)
		}
		return err
	}))
	return found
}

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
