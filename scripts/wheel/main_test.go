package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	_ "os/user" // with cgo, this program then asks for glibc, as mlperf does
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func TestWheel(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the wheel of this test's own program, on Linux")
	}
	t.Chdir("../..") // LICENSE
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	path, err := build(program, "1.2.0", folder)
	if err != nil && strings.Contains(err.Error(), "without cgo") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if name := filepath.Base(path); !regexp.MustCompile(`^mlperf-1\.2\.0-py3-none-manylinux_2_\d\d_(x86_64|aarch64)\.whl$`).MatchString(name) {
		t.Errorf("name %s", name)
	}
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	content := map[string]string{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		content[f.Name] = string(data)
		if executable := f.Mode()&0o111 != 0; executable != (f.Name == "mlperf-1.2.0.data/scripts/mlperf") {
			t.Errorf("%s has mode %v", f.Name, f.Mode())
		}
	}
	for line := range strings.Lines(content["mlperf-1.2.0.dist-info/RECORD"]) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ",")
		sum := sha256.Sum256([]byte(content[name]))
		want := fmt.Sprintf("sha256=%s,%d", base64.RawURLEncoding.EncodeToString(sum[:]), len(content[name]))
		if rest != want && rest != "," {
			t.Errorf("RECORD of %s: %s, want %s", name, rest, want)
		}
		delete(content, name)
	}
	if len(content) > 0 {
		t.Errorf("files that RECORD does not have: %d", len(content))
	}
	for version, want := range map[string]string{"1.2.0-rc.1": "1.2.0rc1", "1.2.1-dev.0": "1.2.1.dev0"} {
		if path, err := build(program, version, folder); err != nil || !strings.HasPrefix(filepath.Base(path), "mlperf-"+want+"-py3-") {
			t.Errorf("the wheel of %s is %s, %v, want version %s", version, path, err, want)
		}
	}
	if _, err := build(program, "1.2.0-3-g123", folder); err == nil || !strings.Contains(err.Error(), "1.2.0-3-g123") {
		t.Errorf("a version that pip does not read: %v", err)
	}
	if _, err := build("LICENSE", "1.2.0", folder); err == nil || !strings.Contains(err.Error(), "LICENSE: not a program") {
		t.Errorf("a text as program: %v", err)
	}
}
