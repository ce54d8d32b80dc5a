//go:build ort

package builtin

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// BenchmarkORTOffline compares an Offline run with a bare loop over a session that was
// opened in the same way, on as many goroutines and with the same batch. Both take turns,
// because the speed of a machine changes with time; the ratio is the median over all turns.
func BenchmarkORTOffline(b *testing.B) {
	for _, model := range []string{"mobilenet", "resnet50"} {
		b.Run(model, func(b *testing.B) {
			m := ortMaker(b)
			cfg := builtIn(b, m, lookup(b, model), subset)
			cfg.Settings.Mode = loadgen.PerformanceOnly
			cfg.Settings.MinDuration = offlineTime
			cfg.Settings.MinQueryCount = 1
			var bare, whole, ratios []float64
			for b.Loop() {
				for range offlineTurns {
					cfg.OutputDir = b.TempDir()
					r, err := results(harness.Run(b.Context(), cfg))
					if err != nil {
						b.Fatal(err)
					}
					loop := bareLoop(b, cfg, r.Backend.Instances, r.Backend.MaxBatch)
					bare, whole = append(bare, loop), append(whole, r.Performance.SamplesPerSecond)
					ratios = append(ratios, r.Performance.SamplesPerSecond/loop)
				}
			}
			b.ReportMetric(median(bare), "bare-samples/s")
			b.ReportMetric(median(whole), "samples/s")
			b.ReportMetric(100*(1-median(ratios)), "%overhead")
		})
	}
}

const (
	offlineTime  = 4 * time.Second
	offlineTurns = 7
	streamTurns  = 21 // a 90th percentile of 4 s is less sure than a rate
)

func median[T cmp.Ordered](values []T) T {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// BenchmarkORTSingleStream compares the 90th percentile of SingleStream with that of a bare
// loop over the same images and a session that was opened in the same way. They take turns
// in being first.
func BenchmarkORTSingleStream(b *testing.B) {
	for _, model := range []string{"mobilenet", "resnet50"} {
		b.Run(model, func(b *testing.B) {
			m := ortMaker(b)
			cfg := builtIn(b, m, lookup(b, model), subset)
			cfg.Settings.Scenario, cfg.Settings.Mode = loadgen.SingleStream, loadgen.PerformanceOnly
			cfg.Settings.MinDuration, cfg.Settings.MinQueryCount = offlineTime, 64
			cfg.Backend.IntraThreads = runtime.GOMAXPROCS(0)
			ways := []func() float64{func() float64 { return runLatency(b, cfg) }, func() float64 { return bareLatency(b, cfg) }}
			var p90 [2][]float64
			var ratios []float64
			for b.Loop() {
				for turn := range streamTurns {
					var ms [2]float64
					for i := range ways {
						way := (turn + i) % len(ways)
						ms[way] = ways[way]()
						p90[way] = append(p90[way], ms[way])
					}
					ratios = append(ratios, ms[0]/ms[1])
				}
			}
			b.ReportMetric(median(p90[1]), "bare-p90-ms")
			b.ReportMetric(median(p90[0]), "p90-ms")
			b.ReportMetric(100*(median(ratios)-1), "%overhead")
		})
	}
}

// runLatency is the 90th percentile of a run, ms.
func runLatency(b *testing.B, cfg harness.Config) float64 {
	cfg.OutputDir = b.TempDir()
	r, err := results(harness.Run(b.Context(), cfg))
	if err != nil {
		b.Fatal(err)
	}
	return float64(r.Performance.LatencyNS.P90) / 1e6
}

// bareLatency is the 90th percentile of the time that the model takes for one of the images
// of cfg in a loop, ms.
func bareLatency(b *testing.B, cfg harness.Config) float64 {
	session, err := cfg.Engine.Open(b.Context(), cfg.Backend)
	if err != nil {
		b.Fatal(err)
	}
	defer session.Close()
	info := session.Info()
	w, err := cfg.Model.Open(workload.Setup{DatasetDir: cfg.DatasetDir, Count: cfg.Count, Ports: map[string]workload.Ports{workload.Only: {Inputs: info.Inputs, Outputs: info.Outputs}}})
	if err != nil {
		b.Fatal(err)
	}
	store, err := workload.NewStore(w.Samples, w.Row)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	inputs := make([][]backend.Value, w.Samples)
	for i := range inputs {
		if err := w.Prepare(i, store.Row(i)); err != nil {
			b.Fatal(err)
		}
		v, err := session.Bind(store.Slot(0, i, 1))
		if err != nil {
			b.Fatal(err)
		}
		inputs[i] = []backend.Value{v}
	}
	out := bound(b, session, info.Outputs, 1)
	pick := rand.New(rand.NewPCG(1, 2))
	var times []time.Duration
	for began := time.Now(); time.Since(began) < offlineTime; {
		in := inputs[pick.IntN(len(inputs))]
		start := time.Now()
		if err := session.Run(b.Context(), in, out); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	return float64(times[len(times)*9/10]) / 1e6
}

// BenchmarkORTServer compares ways to gather samples in Server, at 70 and 90 % of what
// Offline does: none, taking what waits, and waiting for a batch to fill.
func BenchmarkORTServer(b *testing.B) {
	const model = "mobilenet"
	m := ortMaker(b)
	base := builtIn(b, m, lookup(b, model), subset)
	base.Settings.Mode = loadgen.PerformanceOnly
	base.Settings.MinDuration, base.Settings.MinQueryCount = offlineTime, 1
	base.OutputDir = b.TempDir()
	offline, err := results(harness.Run(b.Context(), base))
	if err != nil {
		b.Fatal(err)
	}
	base.Settings.Scenario, base.Settings.ServerTargetLatency = loadgen.Server, 100*time.Millisecond
	base.Calibrate = false
	for _, load := range []float64{0.7, 0.9} {
		for _, way := range []struct {
			name               string
			instances, threads int
			batch              int
			wait               time.Duration
		}{
			{"one by one", 0, 1, 1, 0},
			{"greedy up to 4", 0, 1, 4, 0},
			{"waiting 5 ms for 8", 0, 1, 8, 5 * time.Millisecond},
			{"one worker, greedy up to 4", 1, 0, 4, 0},
		} {
			b.Run(fmt.Sprintf("%s, %g %% load", way.name, 100*load), func(b *testing.B) {
				cfg := base
				cfg.Settings.ServerTargetQPS = load * offline.Performance.SamplesPerSecond
				cfg.Instances, cfg.Backend.IntraThreads, cfg.MaxBatch, cfg.MaxDelay = way.instances, way.threads, way.batch, way.wait
				var p50, p99 []float64
				for b.Loop() {
					for range serverTurns {
						cfg.OutputDir = b.TempDir()
						r, err := results(harness.Run(b.Context(), cfg))
						if err != nil {
							b.Fatal(err)
						}
						p50 = append(p50, float64(r.Performance.LatencyNS.P50)/1e6)
						p99 = append(p99, float64(r.Performance.LatencyNS.P99)/1e6)
					}
				}
				b.ReportMetric(median(p50), "p50-ms")
				b.ReportMetric(median(p99), "p99-ms")
			})
		}
	}
}

const serverTurns = 3

// BenchmarkORTPeak compares the highest Server rate that keeps 100 ms at the 99th percentile:
// one by one, as a run chooses, and waiting for batches to fill, as a naive harness does.
func BenchmarkORTPeak(b *testing.B) {
	const model = "mobilenet"
	m := ortMaker(b)
	for _, way := range []struct {
		name  string
		batch int
		wait  time.Duration
	}{{"one by one", 1, 0}, {"waiting 20 ms for 8", 8, 20 * time.Millisecond}} {
		b.Run(way.name, func(b *testing.B) {
			cfg := builtIn(b, m, lookup(b, model), subset)
			cfg.FindPeak, cfg.MaxBatch, cfg.MaxDelay = true, way.batch, way.wait
			cfg.Settings.Scenario, cfg.Settings.Mode = loadgen.Server, loadgen.PerformanceOnly
			cfg.Settings.MinDuration, cfg.Settings.ServerTargetLatency = 2*offlineTime, 100*time.Millisecond
			for b.Loop() {
				cfg.OutputDir = b.TempDir()
				r, err := results(harness.Run(b.Context(), cfg))
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(r.Peak.Best, "peak-qps")
			}
		})
	}
}

// BenchmarkORTMemory tells how much more memory a process takes that runs Offline than one
// that runs a bare loop, beyond the samples that are loaded.
func BenchmarkORTMemory(b *testing.B) {
	for _, model := range []string{"mobilenet", "resnet50"} {
		b.Run(model, func(b *testing.B) {
			for b.Loop() {
				bare, whole := childPeak(b, model, "bare"), childPeak(b, model, "run")
				loaded := float64(subset*3*224*224*4) / (1 << 20)
				b.ReportMetric(bare, "bare-MiB")
				b.ReportMetric(whole, "MiB")
				b.ReportMetric(whole-bare-loaded, "MiB-beyond")
			}
		})
	}
}

// childPeak runs BenchmarkORTChild in a process of its own and returns its peak memory, MiB.
func childPeak(b *testing.B, model, what string) float64 {
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run", "^$", "-test.bench", "^BenchmarkORTChild$", "-test.benchtime", "1x")
	cmd.Env = append(os.Environ(), "MLPERF_CHILD="+model+","+what)
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	_, peak, _ := strings.Cut(string(out), childPeakLine)
	var mib float64
	if _, err := fmt.Sscan(peak, &mib); err != nil {
		b.Fatalf("the child said %s", out)
	}
	return mib
}

// childPeakLine comes before the number in what a child prints.
const childPeakLine = "peak memory, MiB: "

// BenchmarkORTChild is the other process of BenchmarkORTMemory.
func BenchmarkORTChild(b *testing.B) {
	model, what, ok := strings.Cut(os.Getenv("MLPERF_CHILD"), ",")
	if !ok {
		b.Skip("part of BenchmarkORTMemory")
	}
	m := ortMaker(b)
	cfg := builtIn(b, m, lookup(b, model), subset)
	cfg.Settings.Mode, cfg.Settings.MinDuration, cfg.Settings.MinQueryCount = loadgen.PerformanceOnly, offlineTime, 1
	for b.Loop() {
		if what == "bare" {
			bareLoop(b, cfg, runtime.GOMAXPROCS(0), 4) // as a run chooses
		} else if _, err := harness.Run(b.Context(), cfg); err != nil {
			b.Fatal(err)
		}
	}
	fmt.Printf("%s%d\n", childPeakLine, machine.PeakRSS()>>20)
}

// bareLoop runs the model on as many goroutines as there were workers, always with the
// same full batch, and returns samples per second.
func bareLoop(b *testing.B, cfg harness.Config, workers, batch int) float64 {
	opts := cfg.Backend
	opts.IntraThreads = 1
	session, err := cfg.Engine.Open(b.Context(), opts)
	if err != nil {
		b.Fatal(err)
	}
	defer session.Close()
	var samples atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for range workers {
		wg.Go(func() {
			in, out := bound(b, session, session.Info().Inputs, batch), bound(b, session, session.Info().Outputs, batch)
			for time.Since(began) < offlineTime {
				if err := session.Run(b.Context(), in, out); err != nil {
					b.Error(err)
					return
				}
				samples.Add(int64(batch))
			}
		})
	}
	wg.Wait()
	return float64(samples.Load()) / time.Since(began).Seconds()
}

// bound makes a batch of values for each port.
func bound(b *testing.B, session backend.Session, ports []backend.Port, batch int) []backend.Value {
	var values []backend.Value
	for _, p := range ports {
		shape := append(tensor.Shape{int64(batch)}, p.Shape[1:]...)
		v, err := session.Bind(tensor.New(p.Type, shape...))
		if err != nil {
			b.Error(err)
			return nil
		}
		values = append(values, v)
	}
	return values
}
