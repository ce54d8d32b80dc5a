//go:build ort && linux

package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/oip/server"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// make bench-network runs these: whole programs beside each other on one machine, with the built-in models of the
// user's cache.

// child is the program itself, to be started.
func child(b *testing.B, args ...string) (*exec.Cmd, *bytes.Buffer) {
	b.Helper()
	path, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	said := &bytes.Buffer{}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "TEST_AS_MLPERF=1")
	cmd.Stderr = said
	return cmd, said
}

// served starts mlperf serve, and ends it with the benchmark.
func served(b *testing.B, args ...string) (endpoint string) {
	b.Helper()
	cmd, said := child(b, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			b.Errorf("serve ended with %v\n%s", err, said)
		}
	})
	var text []byte
	for buffer := make([]byte, 1024); ; {
		n, err := out.Read(buffer)
		text = append(text, buffer[:n]...)
		if found := listening.FindSubmatch(text); found != nil && bytes.HasSuffix(text, []byte("\n")) {
			return string(found[1])
		}
		if err != nil {
			b.Fatalf("it does not listen: %v\n%s", err, said)
		}
	}
}

// performance runs a benchmark.
func performance(b *testing.B, args string) *report.Performance {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "out")
	cmd, said := child(b, append(strings.Fields("run --quick --no-report --output "+dir), strings.Fields(args)...)...)
	_ = cmd.Run() // INVALID or not
	r, err := report.Read(dir)
	if err != nil {
		b.Fatalf("%v\n%s", err, said)
	}
	return r.Performance
}

// BenchmarkORTServed is Offline through mlperf serve beside Offline in one process.
func BenchmarkORTServed(b *testing.B) {
	for _, c := range []struct{ model, want string }{{"resnet50", "ratio(≥0.98)"}, {"mobilenet", "ratio(≥0.93)"}} {
		b.Run(c.model, func(b *testing.B) {
			endpoint := served(b, c.model, "--shared-memory")
			here := "--scenario offline --min-duration 8s --model " + c.model
			there := here + " --backend oip --concurrency 16 --endpoint " + endpoint
			for b.Loop() {
				own := performance(b, here).SamplesPerSecond
				over := performance(b, there).SamplesPerSecond
				shared := performance(b, there+" --shared-memory").SamplesPerSecond
				b.ReportMetric(own, "here/s")
				b.ReportMetric(over, "served/s")
				b.ReportMetric(over/own, c.want)
				b.ReportMetric(shared/own, "shared-memory-ratio")
			}
		})
	}
}

// An instantBERT has the ports of BERT and answers at once.
type instantBERT struct{ answered atomic.Uint64 }

func (*instantBERT) Metadata() *oip.ModelMetadata {
	m := &oip.ModelMetadata{Name: "bert", Platform: "test"}
	for _, name := range []string{"input_ids", "input_mask", "segment_ids"} {
		m.Inputs = append(m.Inputs, oip.Port{Name: name, Datatype: "INT64", Shape: []int64{-1, -1}})
	}
	for _, name := range []string{"output_start_logits", "output_end_logits"} {
		m.Outputs = append(m.Outputs, oip.Port{Name: name, Datatype: "FP32", Shape: []int64{-1, -1}})
	}
	return m
}

func (*instantBERT) Ready() bool { return true }

func (m *instantBERT) Statistics() oip.ModelStatistics {
	n := m.answered.Load()
	return oip.ModelStatistics{Name: "bert", InferenceCount: n, ExecutionCount: n}
}

func (*instantBERT) MaxBytes() int64 { return 1 << 20 }

func (m *instantBERT) Begin(h *oip.Head) (server.Job, error) { return &instantJob{m, h}, nil }

type instantJob struct {
	model *instantBERT
	head  *oip.Head
}

func (*instantJob) Place(_ int, s oip.Spec) (tensor.Tensor, error) {
	return tensor.New(s.Type, s.Shape...), nil
}

func (j *instantJob) Run(context.Context) (specs []oip.Spec, list []tensor.Tensor, err error) {
	j.model.answered.Add(1)
	for _, name := range j.head.Wanted {
		out := tensor.New(tensor.Float32, j.head.Tensors[0].Shape...)
		specs, list = append(specs, oip.Spec{Name: name, Type: out.Type, Shape: out.Shape}), append(list, out)
	}
	return specs, list, nil
}

func (*instantJob) End() {}

// BenchmarkORTSmallRequests issues 10,000 requests of 9 kB a second, which a server answers at once: the load
// generator has to be at most 100 µs late at the 99th percentile.
func BenchmarkORTSmallRequests(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := server.New(server.Config{Name: "test", Models: []server.Model{&instantBERT{}}})
	go func() { _ = s.ServeHTTP(l) }()
	defer func() { _ = s.Drain(b.Context()) }()
	for b.Loop() {
		p := performance(b, "--model bert --scenario server --target-qps 10000 --min-duration 5s --anyway --backend oip --endpoint http://"+l.Addr().String())
		b.ReportMetric(float64(p.Samples)/time.Duration(p.DurationNS).Seconds(), "req/s(10000)")
		b.ReportMetric(float64(p.IssueDelayNS.P99)/1e3, "late-p99-µs(≤100)")
		b.ReportMetric(float64(p.LatencyNS.P50)/1e3, "p50-µs")
	}
}
