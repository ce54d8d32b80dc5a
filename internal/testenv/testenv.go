// Package testenv helps tests: it reads golden files below testdata, writes trees of files, and skips long tests. A file that
// cannot be read or written ends the test with its path.
package testenv

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Must ends a test in which a preparation failed.
func Must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// RunAgain runs a test again in its own process, with these environment variables. The last value of a variable counts.
func RunAgain(t *testing.T, variables ...string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), variables...)
	out, err := child.CombinedOutput()
	switch {
	case err == nil && strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	case err != nil || !strings.Contains(string(out), "--- PASS"):
		t.Errorf("%v:\n%s", err, out)
	}
}

// Read returns the content of a file, unpacked if its name ends in .gz.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".gz") {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, err = io.ReadAll(z)
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return data
}

// JSON returns the value of a file, unpacked as by Read.
func JSON[T any](t testing.TB, path string) (v T) {
	t.Helper()
	if err := json.Unmarshal(Read(t, path), &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// Files returns the files of an archive, .tar.gz, by their names in it.
func Files(t testing.TB, archive string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(Read(t, archive))); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err == nil && header.Typeflag == tar.TypeReg {
			files[header.Name], err = io.ReadAll(r)
		}
		if err != nil {
			t.Fatalf("%s: %v", archive, err)
		}
	}
}

// Extract writes the files of an archive, .tar.gz, into a folder, which it makes.
func Extract(t testing.TB, archive, dir string) {
	t.Helper()
	Tree(t, dir, Files(t, archive))
}

// Tree writes files into a folder, which it makes: contents by names with slashes.
func Tree[T string | []byte](t testing.TB, dir string, files map[string]T) {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		Must(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(data), 0o644))
	}
}

// Long reports whether long tests run: MLPERF_LONG_TESTS is set, as by make nightly.
func Long() bool { return os.Getenv("MLPERF_LONG_TESTS") != "" }

// SkipLong skips a test unless long tests run, and says why the test takes long.
func SkipLong(t testing.TB, why string) {
	t.Helper()
	if !Long() {
		t.Skip(why + ": make nightly")
	}
}
