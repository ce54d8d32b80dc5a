//go:build ort && linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/report"
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

// BenchmarkORTSmallRequests issues 10,000 requests of 9 kB a second, which a simulated engine answers at once: the
// load generator has to be at most 100 µs late at the 99th percentile.
func BenchmarkORTSmallRequests(b *testing.B) {
	endpoint := served(b, "bert", "--backend", "simulated", "--sim-latency", "1us", "--max-queue", "4096")
	for b.Loop() {
		p := performance(b, "--model bert --scenario server --target-qps 10000 --min-duration 5s --anyway --backend oip --endpoint "+endpoint)
		b.ReportMetric(float64(p.Samples)/time.Duration(p.DurationNS).Seconds(), "req/s(10000)")
		b.ReportMetric(float64(p.IssueDelayNS.P99)/1e3, "late-p99-µs(≤100)")
		b.ReportMetric(float64(p.LatencyNS.P50)/1e3, "p50-µs")
	}
}
