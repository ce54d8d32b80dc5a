//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// answered is in an object of progress once a node has answered.
var answered = regexp.MustCompile(`"completed_samples":[1-9]`)

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// serveNode starts mlperf serve with a simulated engine, and waits until it listens.
func serveNode(t *testing.T, dir, model, listen string) (node *process, endpoint string) {
	t.Helper()
	words := strings.Fields("serve resnet50 --backend simulated --sim-latency 5ms --instances 4 --max-batchsize 1 --dataset-path imagenet --listen " + listen + " --model-path " + model)
	node = begin(t, dir, append([]string{self(t)}, words...))
	t.Cleanup(func() {
		_ = node.cmd.Process.Kill()
		<-node.done
	})
	node.waitFor(t, "it listens", func() bool { return listening.MatchString(node.text()) })
	found := listening.FindStringSubmatch(node.text())
	if found == nil {
		t.Fatalf("it does not listen:\n%s", node.text())
	}
	return node, found[1]
}

// askNodes starts a run that asks nodes, and waits for its traffic.
func askNodes(t *testing.T, dir, more string, endpoints ...string) *process {
	t.Helper()
	words := append([]string{self(t)}, strings.Fields("run --model resnet50 --backend oip --scenario server --target-qps 100 --quick --dataset-path imagenet --concurrency 8 --output out --progress json "+more)...)
	for _, e := range endpoints {
		words = append(words, "--endpoint", e)
	}
	p := begin(t, dir, words)
	p.waitFor(t, "answers", func() bool { return answered.MatchString(p.text()) })
	return p
}

// resultsOf reads what a run left: results and all logs.
func resultsOf(t *testing.T, p *process) *report.Results {
	t.Helper()
	for _, name := range []string{"mlperf_log_summary.txt", "mlperf_log_detail.txt", "mlperf_log_accuracy.json"} {
		if p.read(name) == "" {
			t.Errorf("%s is missing:\n%s", name, p.text())
		}
	}
	r, err := report.Read(filepath.Join(p.cmd.Dir, p.out))
	if err != nil {
		t.Fatalf("%v\n%s", err, p.text())
	}
	return r
}

// place is a folder with models and data.
func place(t *testing.T, made string) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.CopyFS(dir, os.DirFS(made)), os.Mkdir(filepath.Join(dir, "tmp"), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestNodesEndDuringRun(t *testing.T) {
	testenv.SkipLong(t, "many processes")
	made := material(t)
	for _, c := range []struct {
		name    string
		signals [2]os.Signal // to each node
		goesOn  bool
		status  int // of the first node; -1: ended by the signal
	}{
		{"one is killed", [2]os.Signal{syscall.SIGKILL, nil}, true, -1},
		{"one is drained", [2]os.Signal{syscall.SIGTERM, nil}, true, 0},
		{"all are killed", [2]os.Signal{syscall.SIGKILL, syscall.SIGKILL}, false, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := place(t, made)
			var nodes [2]*process
			var endpoints [2]string
			for i := range nodes {
				nodes[i], endpoints[i] = serveNode(t, dir, "tiny.onnx", "127.0.0.1:0")
			}
			p := askNodes(t, dir, "--min-duration 2s", endpoints[:]...)
			for i, s := range c.signals {
				if s != nil {
					_ = nodes[i].cmd.Process.Signal(s)
				}
			}
			if got := nodes[0].wait(t); got != c.status {
				t.Errorf("the node ended with %d, want %d:\n%s", got, c.status, nodes[0].text())
			}
			status := p.wait(t)
			r := resultsOf(t, p)
			problems := strings.Join(r.Problems, "\n")
			if r.Result != report.Invalid || status != 3 && c.goesOn || status == 0 {
				t.Errorf("status %d, %s, want it INVALID:\n%s", status, r.Result, p.text())
			}
			if lasted := time.Duration(r.Performance.DurationNS); (lasted >= 2*time.Second) != c.goesOn {
				t.Errorf("the traffic lasted %v, goes on: %v", lasted, c.goesOn)
			}
			if !regexp.MustCompile(regexp.QuoteMeta(endpoints[0])+`, \d+ of its \d+ requests`).MatchString(problems) || c.goesOn && strings.Contains(problems, endpoints[1]) {
				t.Errorf("problems are\n%s", problems)
			}
			if r.Remote.Endpoints[1].Requests == 0 {
				t.Errorf("the second node was asked nothing: %+v", r.Remote.Endpoints)
			}
		})
	}
}

// balanced starts HAProxy in front of addresses.
func balanced(t *testing.T, addresses ...string) (endpoint string) {
	t.Helper()
	program, err := exec.LookPath("haproxy")
	if err != nil {
		program = "/usr/sbin/haproxy"
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("no haproxy (Debian: apt install haproxy)")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	text := "global\n  maxconn 1000\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n  option redispatch\n" +
		"frontend f\n  bind " + address + "\n  default_backend b\nbackend b\n  balance leastconn\n"
	for i, a := range addresses {
		text += fmt.Sprintf("  server s%d %s\n", i, strings.TrimPrefix(a, "http://"))
	}
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-db", "-f", file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(longest); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return "http://" + address
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// onlyLate reports whether nothing but latencies speaks against a run, which a busy machine may cause.
func onlyLate(problems []string) bool {
	return !slices.ContainsFunc(problems, func(problem string) bool {
		return !strings.HasPrefix(problem, "latency: ") && !strings.HasPrefix(problem, "early stopping: ")
	})
}

func TestNodesBehindABalancer(t *testing.T) {
	testenv.SkipLong(t, "many processes")
	dir := place(t, material(t))
	_, first := serveNode(t, dir, "tiny.onnx", "127.0.0.1:0")
	second, address := serveNode(t, dir, "tiny.onnx", "127.0.0.1:0")
	balancer := balanced(t, first, address)

	p := askNodes(t, dir, "--division network --min-duration 1s", balancer)
	if status := p.wait(t); status != 0 && status != 3 { // a busy machine may miss the bound
		t.Fatalf("status %d:\n%s", status, p.text())
	}
	r := resultsOf(t, p)
	if !onlyLate(r.Problems) || !r.Limitations.Has(limitation.UncountedSample) {
		t.Errorf("problems %q, limitations %v", r.Problems, r.Limitations)
	}

	// A node that comes back with another model, which the balancer hides.
	_ = second.cmd.Process.Signal(syscall.SIGTERM)
	if status := second.wait(t); status != 0 {
		t.Errorf("the node ended with %d", status)
	}
	p = askNodes(t, dir, "--min-duration 4s --force", balancer)
	_, _ = serveNode(t, dir, "other.onnx", strings.TrimPrefix(address, "http://"))
	if status := p.wait(t); status == 0 {
		t.Errorf("answers of two models are VALID:\n%s", p.text())
	}
	r = resultsOf(t, p)
	if all := strings.Join(r.Problems, "\n"); r.Result != report.Invalid || !strings.Contains(all, "of the model, those before of") && !strings.Contains(all, "another model") {
		t.Errorf("%s, problems\n%s", r.Result, all)
	}
}
