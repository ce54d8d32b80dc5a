//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A phase is a moment at which a command gets a signal.
type phase struct {
	name  string
	args  string        // without commonArgs
	when  string        // on standard error
	after time.Duration // later than that
	marks bool          // the command then leaves a result that is marked
}

// commonArgs are of a run on the simulated engine.
const commonArgs = " --model resnet50 --backend simulated --sim-latency 2ms --model-path tiny.onnx --dataset-path imagenet --progress json"

const (
	single = "run --scenario single-stream --quick --output out --min-duration "
	moment = 100 * time.Millisecond // enough for a test to begin

	traffic = `"phase":"traffic"`
)

// phases are all phases of all that takes time.
func phases() []phase {
	list := []phase{
		{"data", single + "300ms", `"phase":"data"`, 0, false},
		{"model", single + "300ms", `"phase":"model"`, 0, false},
		{"warm-up", single + "300ms", `"phase":"warm-up"`, 0, false},
		{"calibration", "run --scenario server --quick --output out --min-duration 300ms", `"phase":"calibration"`, 0, false},
		{"accuracy mode", "run --scenario offline --mode accuracy --output out", traffic, 0, false},
		{"scoring", "run --scenario offline --mode accuracy --output out", `"phase":"scoring"`, 0, false},
		{"submission mode", "run --scenario offline --mode submission --target-qps 500 --quick --output out --min-duration 1s", traffic, moment, true},
		{"writing", single + "300ms", traffic, 300 * time.Millisecond, false},
		{"search", "run --scenario server --mode find-peak --target-qps 250 --quick --output out --min-duration 300ms", `"phase":"search"`, moment, false},
		{"confirmation", "run --scenario server --mode find-peak --target-qps 250 --quick --output out --min-duration 300ms", "confirming", 2 * moment, false},
		{"tune", "tune --scenario single-stream --intra-threads 1,2 --budget 2s --output out/best.json", "2 ways", 2 * moment, false},
		{"accuracy", "accuracy --log log.json", "", 5 * time.Millisecond, false},
	}
	for _, s := range []string{"single-stream --target-latency 2ms", "multistream --target-latency 5ms", "server --target-qps 50", "offline --target-qps 500"} {
		name, _, _ := strings.Cut(s, " ")
		list = append(list, phase{"traffic of " + name, "run --scenario " + s + " --quick --output out --min-duration 1s", traffic, moment, true})
	}
	return list
}

// soon is how long a command may take to end after a signal.
const soon = 3 * time.Second

// TestSignals sends signals to commands in their phases. No command hangs, shows a stack, claims to be VALID, loses a log or leaves
// temporary files (SIGKILL may leave those whose names begin with a dot). Two phases get one signal each, chosen by the day; in
// long tests each phase gets SIGKILL and another one.
func TestSignals(t *testing.T) {
	made := material(t)
	all, day := phases(), int(time.Now().Unix()/86400)
	for i, p := range all {
		signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}[(i+day)%3:][:1]
		switch {
		case testenv.Long():
			signals = append(signals, syscall.SIGKILL)
		case i != day%len(all) && i != (day+len(all)/2)%len(all):
			continue
		}
		for _, s := range signals {
			t.Run(p.name+" "+s.String(), func(t *testing.T) {
				t.Parallel()
				p.hit(t, made, s)
			})
		}
	}
}

// hit runs the command in a folder of its own, sends the signal, and runs it again.
func (f phase) hit(t *testing.T, made string, s syscall.Signal) {
	p := start(t, made, f.args)
	p.waitFor(t, f.when, func() bool { return strings.Contains(p.text(), f.when) })
	if f.marks {
		p.waitFor(t, "results.json", func() bool { return p.read("results.json") != "" })
	}
	time.Sleep(f.after) // the command is real, and so is its time
	_ = p.cmd.Process.Signal(s)
	sent := time.Now()
	status := p.wait(t)
	if took := time.Since(sent); status != 0 && took > soon {
		t.Errorf("it ended %v after the signal", took)
	}
	complete := status == -1 && !f.marks && scored(p) // only the end of the process was to come
	switch {
	case complete, status == -1 && s == syscall.SIGKILL, status == cli.ExitInterrupted && s != syscall.SIGKILL:
	case slices.Contains([]int{cli.ExitDone, cli.ExitInvalid, cli.ExitInaccurate}, status) && !f.marks: // the phase is shorter than the way of the signal
	case f.name == "accuracy" && status == -1: // before the process listened to signals
	default:
		t.Errorf("status %d after %v:\n%s", status, s, p.text())
	}
	if !complete && (status == -1 || status == cli.ExitInterrupted) {
		f.checkLeft(t, p, s)
	}
	f.again(t, p)
}

// scored reports whether a run in accuracy mode has all of its result, the score and accuracy.txt. It is VALID then, rightly.
func scored(p *process) bool {
	var r report.Results
	return json.Unmarshal([]byte(p.read("results.json")), &r) == nil && r.Accuracy != nil && p.read("accuracy.txt") != ""
}

// checkLeft checks the files that the command left.
func (f phase) checkLeft(t *testing.T, p *process, s syscall.Signal) {
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

// again runs the same command to its end. A killed command may have left some of its logs, which are a result that only --force
// replaces, too.
func (f phase) again(t *testing.T, p *process) {
	args := f.args
	logs, _ := filepath.Glob(filepath.Join(p.cmd.Dir, p.out, "mlperf_log_*"))
	if (p.read("results.json") != "" || len(logs) > 0) && p.read("find-peak.json") == "" {
		args += " --force"
	}
	next := p.next(t, args)
	if status := next.wait(t); !slices.Contains([]int{cli.ExitDone, cli.ExitInvalid, cli.ExitInaccurate}, status) {
		t.Errorf("the second time: status %d\n%s", status, next.text())
	}
}

// noValid checks that no text and no file claims VALID.
func noValid(t *testing.T, p *process) {
	for _, text := range []string{p.text(), p.read("results.json"), p.read("mlperf_log_summary.txt"), p.read("mlperf_log_detail.txt")} {
		for _, claim := range []string{": VALID", `"result": "VALID"`, `"result_validity", "value": "VALID"`} {
			if strings.Contains(text, claim) {
				t.Errorf("it claims to be %s:\n%s", claim, text)
			}
		}
	}
}

// Verbs that may take long end with the status of an interruption, also before their work begins.
func TestInterruptedAtStart(t *testing.T) {
	made := material(t)
	t.Chdir(t.TempDir())
	t.Setenv("MLPERF_CACHE_DIR", filepath.Join(t.TempDir(), "cache"))
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(t.TempDir(), "data"))
	if err := os.CopyFS(".", os.DirFS(made)); err != nil {
		t.Fatal(err)
	}
	images, err := filepath.Glob("imagenet/*.JPEG")
	if err != nil || len(images) == 0 {
		t.Fatalf("the material has no images: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.ErrInterrupted)
	for _, line := range []string{
		"run --model resnet50 --scenario offline --backend simulated --model-path tiny.onnx --dataset-path imagenet --quick --output r",
		"tune --model resnet50 --backend simulated --model-path tiny.onnx --dataset-path imagenet --output t.json",
		"audit TEST01 --model resnet50 --scenario offline --backend simulated --model-path tiny.onnx --dataset-path imagenet --quick --output a",
		"audit v0.5 --model resnet50 --scenario offline --backend simulated --model-path tiny.onnx --dataset-path imagenet --quick --output b",
		"suite run mlmark --only resnet50 --backend simulated --quick --output s",
		"preprocess --model resnet50 --output p ONE.JPEG",
		"verify dataset imagenet --dir imagenet --count 12",
		"download dataset squad --accept-license --mirror http://127.0.0.1:1 --mirror-only --dir d",
		"selftest --duration 10s",
		"selftest --all",
		"selftest --endpoint",
		"doctor",
		"serve resnet50 --backend simulated --model-path tiny.onnx --listen 127.0.0.1:0",
	} {
		t.Run(strings.SplitN(line, " -", 2)[0], func(t *testing.T) {
			var stdout, stderr strings.Builder
			args := strings.Fields(line + " --progress none")
			for i, a := range args {
				if a == "ONE.JPEG" {
					args[i] = images[0]
				}
			}
			if got := cli.Run(ctx, args, &stdout, &stderr); got != cli.ExitInterrupted {
				t.Errorf("status %d, want %d:\n%s%s", got, cli.ExitInterrupted, stdout.String(), stderr.String())
			}
		})
	}
}

// An interrupted download keeps its part, and says how to go on.
func TestInterruptedDownload(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(2<<20))
		_, _ = w.Write(make([]byte, 1<<20))
		close(begun) // the second half never comes
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}))
	defer slow.Close()
	defer close(release)
	dir := t.TempDir()
	p := begin(t, dir, []string{self(t), "download", "model", "mobilenet", "--mirror", slow.URL, "--dir", "m", "--accept-license"})
	select {
	case <-begun:
	case <-time.After(longest):
		t.Error("the download does not begin")
	}
	_ = p.cmd.Process.Signal(os.Interrupt)
	if status := p.wait(t); status != cli.ExitInterrupted || !strings.Contains(p.text(), "the same command goes on with it") {
		t.Errorf("status %d: %s", status, p.text())
	}
	if parts, err := filepath.Glob(filepath.Join(dir, "m", ".mlperf-download", "*.part")); err != nil || len(parts) != 1 {
		t.Errorf("parts %q, %v", parts, err)
	}
}

// A process that is killed while it makes something in the cache leaves files, which may be gigabytes: the next one removes them.
func TestKilledProcessLeftovers(t *testing.T) {
	testenv.SkipLong(t, "many processes")
	made := material(t)
	for name, c := range map[string]struct{ args, left string }{
		"data set": {"run --scenario offline --model mobilenet --backend simulated --sim-latency 1ms --quick --output out --force", "cache/datasets/.mlperf-*-*"},
		"model":    {"run --scenario offline --model resnet50 --backend simulated --sim-latency 1ms --dataset-path imagenet --quick --output out --force", "cache/models/.mlperf-*-*"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, command := place(t, made), append([]string{self(t)}, strings.Fields(c.args)...)
			left := killedWith(t, dir, command, c.left)
			next := begin(t, dir, command)
			next.waitFor(t, "the removal of leftovers", func() bool { return !slices.ContainsFunc(left, exists) })
			_ = next.cmd.Process.Kill()
			<-next.done
			if slices.ContainsFunc(left, exists) {
				t.Errorf("%v still exist:\n%s", left, next.text())
			}
		})
	}
}

// killedWith runs a command in a folder, kills it when files match a pattern, and returns them. If they were renamed just before, it
// tries again.
func killedWith(t *testing.T, dir string, command []string, pattern string) []string {
	found := func() []string {
		left, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	for range 50 {
		p := begin(t, dir, command)
		p.waitFor(t, pattern, func() bool { return len(found()) > 0 })
		_ = p.cmd.Process.Kill()
		<-p.done
		if left := found(); len(left) > 0 {
			return left
		}
	}
	t.Fatalf("no command was killed in time for %s", pattern)
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// The token server of a self-test ends with its standard input, as it does when the process that started it is killed.
func TestTokenServerEndsWithInput(t *testing.T) {
	cmd := exec.Command(self(t), "selftest", "--token-server", "127.0.0.1:0", "--token-server-guided")
	cmd.Env = append(os.Environ(), "TEST_AS_MLPERF=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(longest, func() { _ = cmd.Process.Kill() }).Stop()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get(strings.TrimSpace(url) + "/v1/models")
	if err != nil {
		t.Fatal("no answer while its input is open: ", err)
	}
	answer.Body.Close()
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Error("it did not end by itself: ", err)
	}
}

// A run whose output is no longer read ends as after SIGHUP: all that was measured is written and marked.
func TestBrokenPipe(t *testing.T) {
	made := material(t)
	p := start(t, made, single+"20s", "sh", "-c", `{ "$@" 2>&1; echo $? >status; } | grep -m 1 '"phase":"traffic"'`, "sh")
	if p.wait(t); p.text() == "" {
		t.Fatal("no traffic")
	}
	p.out = "."
	if status := strings.TrimSpace(p.read("status")); status != strconv.Itoa(cli.ExitInterrupted) {
		t.Errorf("status %s, want %d", status, cli.ExitInterrupted)
	}
	p.out = "out"
	if results := p.read("results.json"); !strings.Contains(results, "the test was stopped early: interrupted") {
		t.Errorf("not the results of an interrupted run: %s", results)
	}
	noValid(t, p)
}

// Signals that end the program at once have their own status, not that of a wrong command line.
func TestFatalSignals(t *testing.T) {
	made := material(t)
	for _, s := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGABRT} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			p := start(t, made, single+"20s")
			p.waitFor(t, "a checkpoint", func() bool { return p.read("results.json") != "" })
			testenv.Must(t, p.cmd.Process.Signal(s))
			<-p.done
			if status := p.cmd.ProcessState.ExitCode(); status != cli.ExitSignal+int(s) || !strings.Contains(p.text(), "goroutine ") {
				t.Errorf("status %d: %s", status, p.text())
			}
			noValid(t, p)
		})
	}
}
