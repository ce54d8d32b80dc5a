//go:build ort && linux

package builtin

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// loopTime is how long a turn of the loop in C takes, and of the run beside it.
const loopTime = 3 * time.Second

// A cLoop is a loop over ONNX Runtime's C interface, in a process of its own.
type cLoop struct {
	program string
	args    []string
}

// newCLoop compiles the loop and prepares what it needs for the images of a run.
func newCLoop(b *testing.B, cfg harness.Config, threads int) *cLoop {
	b.Helper()
	dir := b.TempDir()
	program, samples := filepath.Join(dir, "cloop"), filepath.Join(dir, "samples")
	if out, err := exec.Command("cc", "-O2", "-w", "-o", program, "testdata/cloop/cloop.c", "-ldl").CombinedOutput(); err != nil {
		b.Skipf("the C loop cannot be compiled: %v: %s", err, out)
	}
	inputs, outputs, err := cfg.Engine.Ports(b.Context(), cfg.Backend)
	if err != nil {
		b.Fatal(err)
	}
	w, err := cfg.Model.Open(workload.Setup{DatasetDir: cfg.DatasetDir, Count: cfg.Count, Ports: map[string]workload.Ports{workload.Only: {Inputs: inputs, Outputs: outputs}}})
	if err != nil {
		b.Fatal(err)
	}
	store, err := workload.NewStore(w.Samples, w.Row)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	var data bytes.Buffer
	for i := range w.Samples {
		if err := w.Prepare(i, store.Row(i)); err != nil {
			b.Fatal(err)
		}
		data.Write(store.Slot(0, i, 1).Bytes())
	}
	if err := os.WriteFile(samples, data.Bytes(), 0o644); err != nil {
		b.Fatal(err)
	}
	l := &cLoop{program: program, args: []string{
		os.Getenv(ort.LibraryVariable), cfg.Backend.ModelPath, inputs[0].Name, outputs[0].Name, samples, strconv.Itoa(w.Samples),
		strconv.Itoa(threads), fmt.Sprint(loopTime.Seconds()), fmt.Sprint(int(onnx.ElemTypeOf(outputs[0].Type))),
	}}
	for i, shape := range [][]int64{inputs[0].Shape, outputs[0].Shape} {
		if i == 1 {
			l.args = append(l.args, "/")
		}
		for _, extent := range shape {
			l.args = append(l.args, strconv.FormatInt(max(extent, 1), 10))
		}
	}
	return l
}

// run returns percentiles of the time that a run takes, ms.
func (l *cLoop) run(b *testing.B) (p streamTimes) {
	b.Helper()
	out, err := exec.CommandContext(b.Context(), l.program, l.args...).Output()
	if err != nil {
		b.Fatalf("the C loop: %v", err)
	}
	if _, err := fmt.Sscan(string(out), &p[0], &p[1], &p[2]); err != nil {
		b.Fatalf("the C loop says %q: %v", out, err)
	}
	return p
}

// streamTimes are the 50th, 90th and 99th percentile of what a query takes, ms.
type streamTimes [3]float64

// BenchmarkORTCLoop compares percentiles of SingleStream with those of a loop in C over the same
// images. They take turns in being first; of the ratios there are the median and the range over all turns.
func BenchmarkORTCLoop(b *testing.B) {
	for _, model := range []string{"mobilenet", "resnet50"} {
		b.Run(model, func(b *testing.B) {
			cfg := builtIn(b, ortMaker(b), lookup(b, model), subset)
			cfg.Settings.Scenario, cfg.Settings.Mode = loadgen.SingleStream, loadgen.PerformanceOnly
			cfg.Settings.MinDuration, cfg.Settings.MinQueryCount = loopTime, 64
			cfg.Backend.IntraThreads = runtime.GOMAXPROCS(0)
			loop := newCLoop(b, cfg, cfg.Backend.IntraThreads)
			ways := []func() streamTimes{func() streamTimes { return runPercentiles(b, cfg) }, func() streamTimes { return loop.run(b) }}
			var all [2][3][]float64
			for b.Loop() {
				for turn := range replayTurns {
					for i := range ways {
						way := (turn + i) % len(ways)
						for k, ms := range ways[way]() {
							all[way][k] = append(all[way][k], ms)
						}
					}
				}
			}
			for k, name := range []string{"p50", "p90", "p99"} {
				b.ReportMetric(median(all[1][k]), "C-"+name+"-ms")
				b.ReportMetric(median(all[0][k]), name+"-ms")
				reportRatios(b, name+"-", all[0][k], all[1][k])
			}
		})
	}
}

func runPercentiles(b *testing.B, cfg harness.Config) streamTimes {
	b.Helper()
	cfg.OutputDir = b.TempDir()
	r, err := results(harness.Run(b.Context(), cfg))
	if err != nil {
		b.Fatal(err)
	}
	l := r.Performance.LatencyNS
	return streamTimes{float64(l.P50) / 1e6, float64(l.P90) / 1e6, float64(l.P99) / 1e6}
}
