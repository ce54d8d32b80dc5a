//go:build ort && linux

package builtin

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// BenchmarkORTReplay compares runs of models on sequences with a program in C that repeats the same runs
// of the same sessions with the same inputs, the warm-up too. They take turns in being first, because the speed of a machine
// changes with time; of the ratio there are the median and the range over all turns. What of our time is outside of ONNX Runtime's runs
// hardly depends on that: outside-%.
func BenchmarkORTReplay(b *testing.B) {
	for _, w := range []struct {
		name, model   string
		samples       uint64
		batch, answer int // answer: samples of the data set
	}{
		{"BERT Offline, batches of 4", "bert", 16, 4, 8},
		{"GNMT, one sentence at once", "gnmt", 4, 1, 4},
		{"GNMT, eight sentences at once", "gnmt", 24, 8, 8},
		{"RNN-T, one recording at once", "rnnt", 8, 1, 8},
		{"DLRM Offline, batches of 4", "dlrm", 400, 4, 100},
		{"DLRMv3, one request at once", "dlrm-v3", 20, 1, 20},
		{"R-GAT, one paper at once", "rgat", 8, 1, 8},
		{"YOLO11l, one picture at once", "yolo-95", 2, 1, 2},
		{"PointPainting, one frame at once", "pointpainting", 2, 1, 2},
	} {
		b.Run(w.name, func(b *testing.B) {
			cfg := builtIn(b, ortMaker(b), lookup(b, w.model), w.answer)
			cfg.Settings.Mode, cfg.Settings.Scenario = loadgen.PerformanceOnly, loadgen.Offline
			cfg.Settings.MinDuration, cfg.Settings.MinQueryCount, cfg.Settings.OfflineExpectedQPS = time.Millisecond, w.samples, 1
			cfg.Calibrate, cfg.Instances, cfg.MaxBatch, cfg.Backend.IntraThreads = false, 1, w.batch, runtime.GOMAXPROCS(0)
			replay := record(b, cfg)
			var outside []float64
			ways := []func() float64{
				func() float64 {
					cfg, clock := cfg, &runClock{Engine: cfg.Engine}
					cfg.OutputDir, cfg.Engine, cfg.Observer = b.TempDir(), clock, onTraffic{cfg.Observer, &clock.on}
					r, err := results(harness.Run(b.Context(), cfg))
					if err != nil {
						b.Fatal(err)
					}
					outside = append(outside, 100-100*clock.inside.Seconds()*r.Performance.SamplesPerSecond/float64(w.samples))
					return r.Performance.SamplesPerSecond
				},
				func() float64 { return float64(w.samples) / replay() },
			}
			var rates [2][]float64
			for b.Loop() {
				for turn := range replayTurns {
					for i := range ways {
						way := (turn + i) % len(ways)
						rates[way] = append(rates[way], ways[way]())
					}
				}
			}
			b.ReportMetric(median(rates[1]), "C-samples/s")
			b.ReportMetric(median(rates[0]), "samples/s")
			reportRatios(b, "", rates[0], rates[1])
			b.ReportMetric(median(outside), "outside-%")
		})
	}
}

// replayTurns is how often a loop in C and what is compared with it take turns: many short turns, because the speed of a machine
// changes with time.
const replayTurns = 25

// reportRatios reports the median and the range of the ratios of two values of each turn.
func reportRatios(b *testing.B, prefix string, here, c []float64) {
	b.Helper()
	ratios := make([]float64, len(here))
	for turn := range ratios {
		ratios[turn] = here[turn] / c[turn]
	}
	b.ReportMetric(median(ratios), prefix+"ratio")
	b.ReportMetric(slices.Min(ratios), prefix+"lowest-ratio")
	b.ReportMetric(slices.Max(ratios), prefix+"highest-ratio")
}

// A runClock is an engine that adds up how long runs of its sessions take during the test. One worker at a
// time may use it.
type runClock struct {
	backend.Engine
	on     bool
	inside time.Duration
}

type clockedSession struct {
	backend.Session
	clock *runClock
}

func (c *runClock) Open(ctx context.Context, o backend.Options) (backend.Session, error) {
	s, err := c.Engine.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &clockedSession{s, c}, nil
}

func (s *clockedSession) Run(ctx context.Context, inputs, outputs []backend.Value) error {
	began := time.Now()
	err := s.Session.Run(ctx, inputs, outputs)
	if s.clock.on {
		s.clock.inside += time.Since(began)
	}
	return err
}
