//go:build ort && linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
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

// turns is how often both are measured, one after the other: the speed of a machine changes.
const turns = 3

// BenchmarkORTServed is Offline through mlperf serve beside Offline in one process: the medians of turns.
func BenchmarkORTServed(b *testing.B) {
	for _, c := range []struct{ model, want string }{{"resnet50", "ratio(≥0.98)"}, {"mobilenet", "ratio(≥0.93)"}} {
		b.Run(c.model, func(b *testing.B) {
			endpoint := served(b, c.model)
			here := "--scenario offline --min-duration 8s --model " + c.model
			there := here + " --backend oip --concurrency 16 --endpoint " + endpoint
			for b.Loop() {
				var own, over []float64
				for range turns {
					here := performance(b, here).SamplesPerSecond
					own = append(own, here)
					over = append(over, performance(b, there).SamplesPerSecond/here)
				}
				for _, list := range [][]float64{own, over} {
					slices.Sort(list)
				}
				b.ReportMetric(own[turns/2], "here/s")
				b.ReportMetric(over[turns/2], c.want)
				b.ReportMetric(over[0], "lowest")
				b.ReportMetric(over[turns-1], "highest")
			}
		})
	}
}

// A portsOfBERT is a model that has the ports of BERT, and does nothing.
type portsOfBERT struct{ oipserver.Model }

func (portsOfBERT) Metadata() *protocol.ModelMetadata {
	m := &protocol.ModelMetadata{Name: "bert", Platform: "test"}
	for _, name := range []string{"input_ids", "input_mask", "segment_ids"} {
		m.Inputs = append(m.Inputs, protocol.Port{Name: name, Datatype: "INT64", Shape: []int64{-1, -1}})
	}
	for _, name := range []string{"output_start_logits", "output_end_logits"} {
		m.Outputs = append(m.Outputs, protocol.Port{Name: name, Datatype: "FP32", Shape: []int64{-1, -1}})
	}
	return m
}

func (portsOfBERT) Ready() bool { return true }
func (portsOfBERT) Statistics() protocol.ModelStatistics {
	return protocol.ModelStatistics{Name: "bert"}
}
func (portsOfBERT) MaxBytes() int64 { return 1 << 20 }

// BenchmarkORTSmallRequests issues 10,000 requests of 9 kB a second, which a server answers at once: the load
// generator has to be at most 100 µs late at the 99th percentile. The server costs next to nothing, as it would on
// another machine.
func BenchmarkORTSmallRequests(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	const logits = 384 * 4 // bytes: a number for each token
	json := fmt.Sprintf(`{"model_name":"bert","outputs":[{"name":"output_start_logits","datatype":"FP32","shape":[1,384],"parameters":{"binary_data_size":%d}},{"name":"output_end_logits","datatype":"FP32","shape":[1,384],"parameters":{"binary_data_size":%d}}]}`, logits, logits)
	answer := append([]byte(json), make([]byte, 2*logits)...)
	s := oipserver.New(oipserver.Config{Name: "test", Models: []oipserver.Model{portsOfBERT{}}})
	about, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = s.ServeHTTP(about) }()
	defer func() { _ = s.Drain(b.Context()) }()
	rest := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: about.Addr().String()})
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/infer") {
				rest.ServeHTTP(w, r)
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set(protocol.HeaderLength, strconv.Itoa(len(json)))
			_, _ = w.Write(answer)
		}))
	}()
	for b.Loop() {
		p := performance(b, "--model bert --scenario server --target-qps 10000 --min-duration 5s --anyway --backend oip --endpoint http://"+l.Addr().String())
		b.ReportMetric(float64(p.Samples)/time.Duration(p.DurationNS).Seconds(), "req/s(10000)")
		b.ReportMetric(float64(p.IssueDelayNS.P99)/1e3, "late-p99-µs(≤100)")
		b.ReportMetric(float64(p.LatencyNS.P50)/1e3, "p50-µs")
	}
}
