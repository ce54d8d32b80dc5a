package testfile_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testfile"
)

// packed is a gzip file of a text.
func packed(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(text)
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// archive is a .tar.gz of a folder and the files in it.
func archive(t *testing.T, files [][2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tree/", Mode: 0o755})
	for _, f := range files {
		err2 := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f[0], Size: int64(len(f[1])), Mode: 0o600})
		_, err3 := w.Write([]byte(f[1]))
		err = errors.Join(err, err2, err3)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return packed(t, b.Bytes())
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilesAreReadPackedOrNot(t *testing.T) {
	const text = `{"A":[1,2]}` + "\n"
	for _, path := range []string{write(t, "plain.json", []byte(text)), write(t, "packed.json.gz", packed(t, []byte(text)))} {
		if got := testfile.Read(t, path); string(got) != text {
			t.Errorf("%s: %q", path, got)
		}
		if got := testfile.JSON[map[string][]int](t, path); !cmp.Equal(got, map[string][]int{"A": {1, 2}}) {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestArchivesAreUnpacked(t *testing.T) {
	list := [][2]string{{"tree/a.txt", "first"}, {"tree/in/b.txt", ""}, {"tree/in/deep/c.txt", strings.Repeat("third\n", 1000)}}
	path, want := write(t, "tree.tar.gz", archive(t, list)), map[string]string{}
	for _, f := range list {
		want[f[0]] = f[1]
	}
	got := map[string]string{}
	for name, data := range testfile.Files(t, path) {
		got[name] = string(data)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	dir := filepath.Join(t.TempDir(), "new")
	testfile.Extract(t, path, dir)
	for name, text := range want {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != text {
			t.Errorf("%s has %d bytes, %v, want %d", name, len(data), err, len(text))
		}
	}
}

func TestNotesAreAppendedWhereTheyAreWanted(t *testing.T) {
	testfile.Note(t, "TESTFILE_NOTES", "nobody asked")
	path := filepath.Join(t.TempDir(), "notes")
	t.Setenv("TESTFILE_NOTES", path)
	testfile.Note(t, "TESTFILE_NOTES", map[string]string{"a": "<&>"})
	testfile.Note(t, "TESTFILE_NOTES", []int{1, 2})
	if text, err := os.ReadFile(path); err != nil || string(text) != "{\"a\":\"<&>\"}\n[1,2]\n" {
		t.Errorf("notes %q, %v", text, err)
	}
	if got := said(func(t testing.TB) { testfile.Note(t, "TESTFILE_NOTES", func() {}) }); !strings.Contains(got, path) || !strings.Contains(got, "unsupported type") {
		t.Errorf("what is no JSON: %q", got)
	}
	t.Setenv("TESTFILE_NOTES", filepath.Dir(path))
	if got := said(func(t testing.TB) { testfile.Note(t, "TESTFILE_NOTES", 1) }); !strings.Contains(got, "is a directory") {
		t.Errorf("a folder: %q", got)
	}
}

// failing is a test that ends at its first failure, and keeps what it said.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}

func (f *failing) Fatal(args ...any) {
	f.said = fmt.Sprint(args...)
	runtime.Goexit()
}

func (f *failing) Fatalf(format string, args ...any) { f.Fatal(fmt.Sprintf(format, args...)) }

// said is what a test ends with; empty: it does not.
func said(test func(testing.TB)) string {
	f := &failing{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(f)
	}()
	<-done
	return f.said
}

func TestWhatCannotBeReadEndsTheTestWithItsPath(t *testing.T) {
	whole := archive(t, [][2]string{{"a", "text"}})
	none, text := filepath.Join(t.TempDir(), "none"), write(t, "x.gz", []byte("more than ten bytes of text"))
	cut, wrong := write(t, "y.gz", whole[:len(whole)-9]), write(t, "x.json", []byte(`{"A":1} 2`))
	noTar, tree := write(t, "x.tar.gz", packed(t, []byte("text"))), write(t, "tree.tar.gz", whole)
	for _, c := range []struct {
		name, path, want string
		read             func(t testing.TB, path string)
	}{
		{"a file that is not there", none, "no such file", func(t testing.TB, path string) { testfile.Read(t, path) }},
		{"a file that is not packed", text, "gzip: invalid header", func(t testing.TB, path string) { testfile.Read(t, path) }},
		{"a packed file that was cut", cut, "unexpected EOF", func(t testing.TB, path string) { testfile.Read(t, path) }},
		{"more than a value", wrong, "invalid character '2'", func(t testing.TB, path string) { testfile.JSON[any](t, path) }},
		{"a value of another type", write(t, "map.json", []byte("{}")), "cannot unmarshal object", func(t testing.TB, path string) { testfile.JSON[[]int](t, path) }},
		{"what is no archive", noTar, "unexpected EOF", func(t testing.TB, path string) { testfile.Files(t, path) }},
		{"a folder that is a file", tree, "not a directory", func(t testing.TB, path string) { testfile.Extract(t, path, path) }},
	} {
		if got := said(func(t testing.TB) { c.read(t, c.path) }); !strings.Contains(got, c.path) || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want the path and %q", c.name, got, c.want)
		}
	}
}
