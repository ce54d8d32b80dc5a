package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/cli"
)

// TestScriptArguments runs the shell scripts with this program.
func TestScriptArguments(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the scripts are for sh")
	}
	scripts, err := filepath.Abs("../../scripts")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := writeModels(t, dir); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"download_dataset.sh": {[]string{"coco", "--dry-run"}, cli.ExitDone, `dataset coco: COCO 2017`},
		"download_model.sh":   {[]string{"resnet50"}, cli.ExitUsage, `accept it with --accept-license`},
		"verify_dataset.sh":   {[]string{"coco", "--dir", "nowhere"}, cli.ExitError, `dataset coco is not in nowhere`},
		"run_and_time.sh": {[]string{"resnet50", "server", "--model-path", "nowhere.onnx", "--backend", "simulated"}, cli.ExitError,
			`(?s)STARTING TIMING RUN AT 2.*nowhere\.onnx.*ENDING TIMING RUN AT 2.*\nRESULT,resnet50-server,,[0-9]+,somebody,2`},
	} {
		t.Run(name, func(t *testing.T) {
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			// A program called mlperf, as the test's own name matters to it.
			link := filepath.Join(t.TempDir(), "mlperf")
			if err := os.Symlink(self, link); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", append([]string{filepath.Join(scripts, name)}, c.args...)...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "MLPERF="+link, "TEST_AS_MLPERF=1", "USER=somebody", "MLPERF_DATA_DIR="+filepath.Join(dir, "data"))
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			status := 0
			if errors.As(err, &exit) {
				status = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if status != c.status || !regexp.MustCompile(c.want).Match(out) {
				t.Errorf("status %d, want %d and %s:\n%s", status, c.status, c.want, strings.TrimSpace(string(out)))
			}
		})
	}
}

// checkout makes a copy of the scripts, beside a bin/mlperf that prints its arguments.
func checkout(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the scripts are for sh")
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "scripts"), os.DirFS("../../scripts")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "mlperf"), []byte("#!/bin/sh\necho \"ran $*\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runScript returns what a script prints, and its exit status.
func runScript(t *testing.T, program, path string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command("sh", append([]string{path}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "MLPERF="+program)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

var thinScripts = []string{"download_dataset.sh", "download_model.sh", "verify_dataset.sh", "run_and_time.sh"}

func TestScriptByLink(t *testing.T) {
	dir := checkout(t)
	elsewhere := t.TempDir()
	for _, name := range thinScripts {
		first, link := filepath.Join(elsewhere, "first-"+name), filepath.Join(elsewhere, name)
		if err := os.Symlink(filepath.Join(dir, "scripts", name), first); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("first-"+name, link); err != nil { // a link to a link, and relative
			t.Fatal(err)
		}
		for _, path := range []string{filepath.Join(dir, "scripts", name), first, link} {
			if out, status := runScript(t, "", path, "resnet50", "offline"); status != 0 || !strings.Contains(out, "ran ") || !strings.Contains(out, "resnet50") {
				t.Errorf("%s: status %d, %s", path, status, out)
			}
		}
	}
}

func TestScriptWithWrongMLPERF(t *testing.T) {
	dir := checkout(t)
	for _, program := range []string{"/nowhere/mlperf", dir, "no-such-command-anywhere"} {
		for _, name := range thinScripts {
			out, status := runScript(t, program, filepath.Join(dir, "scripts", name), "resnet50", "offline")
			if status != 1 || !strings.Contains(out, "MLPERF is '"+program+"', which is no program") {
				t.Errorf("MLPERF=%s %s: status %d, %q", program, name, status, out)
			}
		}
	}
}
