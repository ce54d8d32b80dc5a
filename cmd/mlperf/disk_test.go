//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// TestFullDisk runs where little or nothing can be written.
func TestFullDisk(t *testing.T) {
	testenv.SkipLong(t, "many processes")
	made := material(t)
	mount := func(options string) string {
		return "mount -t tmpfs -o " + options + ` disk out || exit 77; "$@"; s=$?; mkdir copy; cp -a out/. copy; exit $s`
	}
	disks := map[string]string{"read-only": mount("ro")}
	for _, kB := range []int{4, 12, 20, 28, 36, 44, 52, 60} {
		disks[fmt.Sprintf("disk of %d kB", kB)] = mount(fmt.Sprintf("size=%dk", kB))
	}
	for _, blocks := range []int{1, 8, 16, 24, 30} {
		disks[fmt.Sprintf("files of %d blocks", blocks)] = fmt.Sprintf(`ulimit -f %d; "$@"`, blocks)
	}
	for name, script := range disks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onDisk(t, made, script)
		})
	}
}

// onDisk runs within a script that makes the disk small.
func onDisk(t *testing.T, made, script string) {
	shell := []string{"sh", "-c", script, "sh"}
	if strings.HasPrefix(script, "mount") {
		shell = append([]string{"unshare", "--map-root-user", "--mount"}, shell...)
		if err := exec.Command("unshare", "--map-root-user", "--mount", "true").Run(); err != nil {
			t.Skipf("mounting is not allowed: %v", err)
		}
	}
	p := start(t, made, single+"300ms", shell...)
	status := p.wait(t)
	if copied := filepath.Join(p.cmd.Dir, "copy"); strings.HasPrefix(script, "mount") {
		if err := os.Rename(copied, filepath.Join(p.cmd.Dir, "out", "copy")); err != nil {
			t.Fatalf("%v: %s", err, p.text())
		}
		p.out = "out/copy"
	}
	if status != cli.ExitError {
		t.Errorf("status %d, want %d:\n%s", status, cli.ExitError, p.text())
	}
	if text := p.text(); !strings.Contains(text, "no space left") && !strings.Contains(text, "file too large") && !strings.Contains(text, "read-only") {
		t.Errorf("no reason: %s", text)
	}
	complete := strings.Contains(p.read("mlperf_log_summary.txt"), ": VALID")
	if !complete && (strings.Contains(p.read("results.json"), `"result": "VALID"`) || strings.Contains(p.text(), ": VALID")) {
		t.Errorf("it is VALID without its logs:\n%s", p.text())
	}
	if complete && !strings.Contains(p.read("mlperf_log_detail.txt"), `"result_validity", "value": "VALID"`) {
		t.Errorf("the summary is VALID without its detail log")
	}
	if strings.HasPrefix(script, "mount") && p.read("charts.json") != "" && (p.read("results.json") == "" || strings.Contains(p.read("results.json"), `"result": "INTERRUPTED"`)) {
		t.Errorf("the charts took the place of the result")
	}
	if left, _ := filepath.Glob(filepath.Join(p.cmd.Dir, p.out, ".*")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}
