// Package testenv helps tests: it reads golden files below testdata and skips long tests. A file that cannot be read ends
// the test with its path.
package testenv

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Read returns the content of a file, unpacked if its name ends in .gz.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".gz") {
		data, err = unpack(data)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return data
}

func unpack(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// JSON returns the value that a file has, unpacked as Read does it.
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

// Extract writes the files of an archive, .tar.gz, into a folder, which is made if it is not there.
func Extract(t testing.TB, archive, dir string) {
	t.Helper()
	for name, data := range Files(t, archive) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// Note appends what a table of a test says, a line of JSON, to the file that an environment variable names; without it
// nothing is written. A script beside the table compares it with the reference.
func Note(t testing.TB, variable string, says any) {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	line := json.NewEncoder(f)
	line.SetEscapeHTML(false)
	if err := errors.Join(line.Encode(says), f.Close()); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// Long reports whether long tests run: MLPERF_LONG_TESTS is set, as by make nightly.
func Long() bool { return os.Getenv("MLPERF_LONG_TESTS") != "" }

// SkipLong skips a test unless long tests run, and says why it takes long.
func SkipLong(t testing.TB, why string) {
	t.Helper()
	if !Long() {
		t.Skip(why + ": make nightly")
	}
}
