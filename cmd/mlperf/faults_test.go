//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A fault is a moment at which a command is hit.
type fault struct {
	name  string
	args  string        // without what all runs have
	when  string        // on standard error
	after time.Duration // later than that
	marks bool          // what is hit then leaves a result that says so
}

// commonArgs are of a run that only takes its time.
const commonArgs = " --model resnet50 --backend simulated --sim-latency 2ms --model-path tiny.onnx --dataset-path imagenet"

const (
	single = "run --scenario single-stream --quick --output out --min-duration "
	moment = 100 * time.Millisecond // enough for a test to begin
)

// faults are all phases of all that takes time.
func faults() []fault {
	list := []fault{
		{"data", single + "300ms", "data …", 0, false},
		{"model", single + "300ms", "model …", 0, false},
		{"warm-up", single + "300ms", "warm-up …", 0, false},
		{"calibration", "run --scenario server --quick --output out --min-duration 300ms", "calibration …", 0, false},
		{"accuracy mode", "run --scenario offline --mode accuracy --output out", "traffic …", 0, false},
		{"scoring", "run --scenario offline --mode accuracy --output out", "scoring …", 0, false},
		{"submission mode", "run --scenario offline --mode submission --target-qps 500 --quick --output out --min-duration 1s", "traffic …", moment, true},
		{"writing", single + "300ms", "traffic …", 300 * time.Millisecond, false},
		{"search", "run --scenario server --mode find-peak --target-qps 250 --quick --output out --min-duration 300ms", "search …", moment, false},
		{"confirmation", "run --scenario server --mode find-peak --target-qps 250 --quick --output out --min-duration 300ms", "confirming", 2 * moment, false},
		{"tune", "tune --scenario single-stream --intra-threads 1,2 --budget 2s --output out/best.json", "2 ways", 2 * moment, false},
		{"accuracy", "accuracy --log log.json", "", 5 * time.Millisecond, false},
	}
	for _, s := range []string{"single-stream --target-latency 2ms", "multistream --target-latency 5ms", "server --target-qps 50", "offline --target-qps 500"} {
		name, _, _ := strings.Cut(s, " ")
		list = append(list, fault{"traffic of " + name, "run --scenario " + s + " --quick --output out --min-duration 1s", "traffic …", moment, true})
	}
	return list
}

// soon is how long a command may take to end after a signal.
const soon = 3 * time.Second

// tally counts how commands ended.
type tally struct {
	mu   sync.Mutex
	runs int
	ends map[string]int
}

func (c *tally) add(end string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs++
	c.ends[end]++
}

// TestSignalsAtEveryPhase hits commands in every phase with every signal that ends a program.
// None hangs, shows a stack, claims to be VALID, loses a log or leaves temporary files, but
// that SIGKILL may leave those, whose names begin with a dot.
func TestSignalsAtEveryPhase(t *testing.T) {
	testenv.SkipLong(t, "many processes")
	made := material(t)
	count := tally{ends: map[string]int{}}
	t.Run("runs", func(t *testing.T) {
		for _, f := range faults() {
			for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
				t.Run(f.name+" "+s.String(), func(t *testing.T) {
					t.Parallel()
					count.add(f.hit(t, made, s))
				})
			}
		}
	})
	t.Logf("%d runs: %v", count.runs, count.ends)
}

// hit runs the command in a folder of its own, sends the signal, and says how it ended.
func (f fault) hit(t *testing.T, made string, s syscall.Signal) string {
	p := start(t, made, f.args)
	p.waitFor(t, "it says "+f.when, func() bool { return strings.Contains(p.text(), f.when) })
	if f.marks {
		p.waitFor(t, "results are there", func() bool { return p.read("results.json") != "" })
	}
	time.Sleep(f.after) // the command is real, and so is its time
	_ = p.cmd.Process.Signal(s)
	sent := time.Now()
	status := p.wait(t)
	if took := time.Since(sent); status != 0 && took > soon {
		t.Errorf("it ended %v after the signal", took)
	}
	end := fmt.Sprintf("status %d", status)
	whole := status == -1 && !f.marks && scored(p)
	switch {
	case whole:
		end = "was over before" // but for the end of the process
	case status == -1 && s == syscall.SIGKILL:
		end = "killed"
	case status == cli.ExitInterrupted && s != syscall.SIGKILL:
	case slices.Contains([]int{cli.ExitDone, cli.ExitInvalid, cli.ExitInaccurate}, status) && !f.marks:
		end = "was over before" // the phase is shorter than the way of the signal
	case f.name == "accuracy" && status == -1:
		end = "ended before it could listen"
	default:
		t.Errorf("status %d after %v:\n%s", status, s, p.text())
	}
	if !whole && (status == -1 || status == cli.ExitInterrupted) {
		f.checkLeft(t, p, s)
	}
	f.again(t, p)
	return end
}

// scored reports whether a run in accuracy mode has all of its result: the score, and what the official script
// says beside it. It is VALID then, rightly.
func scored(p *process) bool {
	var r report.Results
	return json.Unmarshal([]byte(p.read("results.json")), &r) == nil && r.Accuracy != nil && p.read("accuracy.txt") != ""
}

// checkLeft looks at what the command left behind.
func (f fault) checkLeft(t *testing.T, p *process, s syscall.Signal) {
	noValid(t, p)
	results := p.read("results.json")
	if f.marks && (!strings.Contains(results, `"result": "INTERRUPTED"`) || !strings.Contains(p.read("mlperf_log_detail.txt"), "error_runtime") ||
		p.read("mlperf_log_summary.txt") == "") {
		t.Errorf("the run is not marked as interrupted:\n%s", p.text())
	}
	if s == syscall.SIGKILL {
		return
	}
	for _, pattern := range []string{"out/.*", "out/*/.*", "out/*.new", "tmp/mlperf*", "cache/*/.*", "cache/*/*tmp*"} {
		if left, _ := filepath.Glob(filepath.Join(p.cmd.Dir, pattern)); len(left) > 0 {
			t.Errorf("temporary files are left: %v", left)
		}
	}
}

// again runs the same command once more, which comes to an end. What was killed while it wrote may have begun its
// summary and no more: that is a result that is not replaced unasked, too.
func (f fault) again(t *testing.T, p *process) {
	args := f.args
	_, noSummary := os.Stat(filepath.Join(p.cmd.Dir, p.out, "mlperf_log_summary.txt"))
	if (p.read("results.json") != "" || noSummary == nil) && p.read("find-peak.json") == "" {
		args += " --force"
	}
	next := p.next(t, args)
	if status := next.wait(t); !slices.Contains([]int{cli.ExitDone, cli.ExitInvalid, cli.ExitInaccurate}, status) {
		t.Errorf("the second time: status %d\n%s", status, next.text())
	}
}

// TestFullDisk runs where little or nothing can be written.
func TestFullDisk(t *testing.T) {
	testenv.SkipLong(t, "many processes")
	made := material(t)
	count := tally{ends: map[string]int{}}
	mount := func(options string) string {
		return "mount -t tmpfs -o " + options + ` disk out || exit 77; "$@"; s=$?; mkdir copy; cp -a out/. copy; exit $s`
	}
	disks := map[string]string{"read-only": mount("ro")}
	for _, kB := range []int{4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52} {
		disks[fmt.Sprintf("disk of %d kB", kB)] = mount(fmt.Sprintf("size=%dk", kB))
	}
	for _, blocks := range []int{1, 4, 8, 12, 16, 20, 24, 30} {
		disks[fmt.Sprintf("files of %d blocks", blocks)] = fmt.Sprintf(`ulimit -f %d; "$@"`, blocks)
	}
	t.Run("runs", func(t *testing.T) {
		for name, script := range disks {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				count.add(onDisk(t, made, script))
			})
		}
	})
	t.Logf("%d runs: %v", count.runs, count.ends)
}

// onDisk runs within a script that makes the disk small, and says how that ended.
func onDisk(t *testing.T, made, script string) string {
	shell := []string{"sh", "-c", script, "sh"}
	if strings.HasPrefix(script, "mount") {
		shell = append([]string{"unshare", "--map-root-user", "--mount"}, shell...)
		if err := exec.Command("unshare", "--map-root-user", "--mount", "true").Run(); err != nil {
			t.Skipf("this system lets nobody mount: %v", err)
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
		t.Errorf("the reason is not told: %s", text)
	}
	whole := strings.Contains(p.read("mlperf_log_summary.txt"), ": VALID")
	if strings.Contains(p.read("results.json"), `"result": "VALID"`) || !whole && strings.Contains(p.text(), ": VALID") {
		t.Errorf("it is VALID without its logs:\n%s", p.text())
	}
	if whole && !strings.Contains(p.read("mlperf_log_detail.txt"), `"result_validity", "value": "VALID"`) {
		t.Errorf("the summary is VALID without its detail log")
	}
	if left, _ := filepath.Glob(filepath.Join(p.cmd.Dir, p.out, ".*")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
	return fmt.Sprintf("status %d", status)
}

// noValid checks that nothing says VALID of a run that was not.
func noValid(t *testing.T, p *process) {
	for _, text := range []string{p.text(), p.read("results.json"), p.read("mlperf_log_summary.txt"), p.read("mlperf_log_detail.txt")} {
		for _, claim := range []string{": VALID", `"result": "VALID"`, `"result_validity", "value": "VALID"`} {
			if strings.Contains(text, claim) {
				t.Errorf("it claims to be %s:\n%s", claim, text)
			}
		}
	}
}
