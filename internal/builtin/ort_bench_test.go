//go:build ort

package builtin

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/bench"
	"github.com/mlperf-go/mlperf/internal/loadgen"
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
					r, err := bench.Run(b.Context(), cfg)
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
)

func median[T cmp.Ordered](values []T) T {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// bareLoop runs the model on as many goroutines as there were workers, always with the
// same full batch, and returns samples per second.
func bareLoop(b *testing.B, cfg bench.Config, workers, batch int) float64 {
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
				if err := session.Run(in, out); err != nil {
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
