//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// doctor --fix installs ONNX Runtime if it is missing, and only after a yes.
func TestDoctorFix(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash: ", err)
	}
	t.Parallel()
	for _, c := range []struct {
		name, flags, library string
		installs             bool
		want                 string
	}{
		{"without --fix", "", "", false, "fix: mlperf doctor --fix"},
		{"no user to ask", "--fix", "", false, "nothing was installed: --yes installs without asking"},
		{"a named library is missing, which an install does not mend", "--fix --yes", "nowhere.so", false, "MISSING: ONNX Runtime"},
		{"yes", "--fix --yes", "", true, "MISSING: ONNX Runtime"},
		{"a device, and no user to ask", "--fix --device cuda", "", false, map[bool]string{true: "accept it with --yes", false: "nothing was installed"}[runtime.GOARCH == "amd64"]},
	} {
		dir := t.TempDir()
		called := filepath.Join(dir, "called")
		// A shell that only notes that it was called with the script.
		shell := "#!" + bash + "\ngrep -c onnxruntime-node \"$1\" >>" + called + "\n"
		if err := os.WriteFile(filepath.Join(dir, "sh"), []byte(shell), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self(t), append([]string{"doctor"}, strings.Fields(c.flags)...)...)
		cmd.Dir = dir
		cmd.Stdin = strings.NewReader("y\n")
		cmd.Env = append(os.Environ(), "TEST_AS_MLPERF=1", "HOME="+dir, "MLPERF_DATA_DIR="+filepath.Join(dir, "data"), "MLPERF_CACHE_DIR="+filepath.Join(dir, "cache"),
			"MLPERF_ORT_LIB="+c.library, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if c.flags == "" && !strings.Contains(string(out), "MISSING: ONNX Runtime") {
			t.Skipf("this machine has ONNX Runtime where all programs find it:\n%s", out)
		}
		text, _ := os.ReadFile(called)
		if (len(text) > 0) != c.installs || c.installs && strings.TrimSpace(string(text)) == "0" {
			t.Errorf("%s: the shell got %q, want the script to install: %v", c.name, text, c.installs)
		}
		if !strings.Contains(string(out), c.want) || err == nil {
			t.Errorf("%s: %v, want a failure and %q in\n%s", c.name, err, c.want, out)
		}
	}
}
