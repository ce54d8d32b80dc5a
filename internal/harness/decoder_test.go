package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// sequenceConfig is a run of the toy benchmark, with one worker that has room for four.
func sequenceConfig(t *testing.T, s loadgen.Scenario, m loadgen.Mode, observe func(live int, admitted []int)) Config {
	t.Helper()
	engine, err := simulated.New(simulated.Config{Latency: time.Millisecond, PerSample: 100 * time.Microsecond})
	testenv.Must(t, err)
	if observe == nil {
		observe = func(int, []int) {}
	}
	cfg := configOf(t, newNumbers(1), s, m)
	cfg.Model, cfg.Engine, cfg.Instances, cfg.MaxBatch = toyTranslation(observe), engine, 1, 4
	cfg.Settings.ServerTargetQPS, cfg.Settings.OfflineExpectedQPS = 50, 150
	if s == loadgen.Server {
		cfg.Settings.MinQueryCount = 662
	}
	return cfg
}

func TestSequences(t *testing.T) {
	t.Parallel()
	for _, scenario := range loadgen.Scenarios() {
		for _, mode := range []loadgen.Mode{loadgen.PerformanceOnly, loadgen.AccuracyOnly} {
			if mode == loadgen.PerformanceOnly && scenario != loadgen.Offline && !testenv.Long() {
				continue // thousands of sequences, one by one
			}
			synctest.Test(t, func(t *testing.T) {
				cfg := sequenceConfig(t, scenario, mode, nil)
				r, err := measure(t.Context(), cfg)
				if err != nil || !r.Valid() {
					t.Fatalf("%v %v: %v, %+v", scenario, mode, err, r)
				}
				if mode == loadgen.AccuracyOnly && (r.Accuracy.Value != 100 || r.Accuracy.Samples != 64) {
					t.Errorf("%v: accuracy %+v", scenario, r.Accuracy)
				}
				testenv.Must(t, cfg.Engine.Close())
			})
		}
	}
}

func TestSequencesAreAdmittedBesideOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		beside, most := 0, 0
		cfg := sequenceConfig(t, loadgen.Offline, loadgen.PerformanceOnly, func(live int, admitted []int) {
			if live > 0 && len(admitted) < 4 {
				beside++
			}
			most = max(most, live)
		})
		if r, err := measure(t.Context(), cfg); err != nil || !r.Valid() {
			t.Fatalf("%v, %+v", err, r)
		}
		if beside < 100 || most != 3 {
			t.Errorf("%d sequences were admitted beside others, at most beside %d; want most of them, beside 3", beside, most)
		}
	})
}

// All sequences that are under way may take longer than a system that has stalled is waited for: as long as they go
// on it has not.
func TestLongSequenceIsNotStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := sequenceConfig(t, loadgen.Offline, loadgen.AccuracyOnly, nil)
		var traffic atomic.Bool
		cfg.Observer.(*observer).on = func(what string) {
			if what == "traffic" {
				traffic.Store(true)
			}
		}
		cfg.Model.Open = func(workload.Setup) (*workload.Workload, error) {
			return (&toySequences{samples: 64, observe: func(int, []int) {}, pause: func() {
				if traffic.Load() {
					time.Sleep(time.Minute)
				}
			}}).workload(), nil
		}
		if r, err := measure(t.Context(), cfg); err != nil || !r.Valid() {
			t.Errorf("%v, %+v", err, r)
		}
	})
}

func TestFirstTokensOfSequences(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := sequenceConfig(t, loadgen.Server, loadgen.PerformanceOnly, nil)
		s := &cfg.Settings
		s.UseTokenLatencies, s.ServerTTFTLatency, s.ServerTPOTLatency = true, 50*time.Millisecond, 20*time.Millisecond
		s.ServerTargetQPS = 40
		r, err := measure(t.Context(), cfg)
		if err != nil || !r.Valid() {
			t.Fatalf("%v, %+v", err, r)
		}
		detail, err := os.ReadFile(filepath.Join(cfg.OutputDir, mlperflog.DetailFile))
		if err != nil || !strings.Contains(string(detail), "result_time_to_first_token") && !strings.Contains(string(detail), "result_first_token") {
			t.Errorf("the detail log has no first tokens, %v", err)
		}
	})
}

// A run that is interrupted while sequences are under way ends at once, and is a result.
func TestInterruptedSequences(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		cfg := sequenceConfig(t, loadgen.Offline, loadgen.PerformanceOnly, nil)
		cfg.Settings.MinDuration = time.Hour
		time.AfterFunc(10*time.Second, func() { stop(errStopped) })
		began := time.Now()
		r, err := measure(ctx, cfg)
		if !errors.Is(err, errStopped) || errors.Is(err, errFailed) || r == nil || r.Result != report.Interrupted {
			t.Fatalf("%v, %+v", err, r)
		}
		if took := time.Since(began); took > 11*time.Second {
			t.Errorf("it took %v", took)
		}
		testenv.Must(t, cfg.Engine.Close())
	})
}

// A predictor that gives up has all samples answered with its error: nothing is lost.
func TestFailedDecoderAnswersItsSequences(t *testing.T) {
	t.Parallel()
	for _, scenario := range []loadgen.Scenario{loadgen.Offline, loadgen.Server, loadgen.SingleStream} {
		synctest.Test(t, func(t *testing.T) {
			cfg := sequenceConfig(t, scenario, loadgen.PerformanceOnly, nil)
			var err error
			if cfg.Engine, err = simulated.New(simulated.Config{Latency: time.Millisecond, FailEvery: 2000}); err != nil {
				t.Fatal(err)
			}
			r, err := measure(t.Context(), cfg)
			if !errors.Is(err, errFailed) || !errors.Is(err, simulated.ErrInjected) || r == nil || r.Valid() {
				t.Fatalf("%v: %v, %+v", scenario, err, r)
			}
			if _, err := mlperflog.ReadDetail(filepath.Join(cfg.OutputDir, mlperflog.DetailFile)); err != nil {
				t.Error(err)
			}
			testenv.Must(t, cfg.Engine.Close())
		})
	}
}

// Sequences that end one by one make room for others: batches would wait for the longest.
func TestDecodingIsFasterThanBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := sequenceConfig(t, loadgen.Offline, loadgen.PerformanceOnly, nil)
		r, err := measure(t.Context(), cfg)
		testenv.Must(t, err)
		open := cfg.Model.Open
		cfg.OutputDir = t.TempDir()
		cfg.Model.Open = closedBatches(open)
		batches, err := measure(t.Context(), cfg)
		testenv.Must(t, err)
		if ratio := r.Metric.Value / batches.Metric.Value; ratio < 1.2 {
			t.Errorf("admitting is %.2f times as fast as closed batches: %v, %v", ratio, r.Metric.Value, batches.Metric.Value)
		}
	})
}

// A fakeDecoder is a decoder with one fault.
type fakeDecoder struct {
	workload.Predictor
	serve func(context.Context, workload.Source) error
}

func (m fakeDecoder) Serve(ctx context.Context, s workload.Source) error { return m.serve(ctx, s) }

// A ticket that no sample has would answer another one, or none.
// While samples wait, slots are in use: that is what the charts count, not how many samples were admitted at once.
func TestChartsCountSlotsInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := sequenceConfig(t, loadgen.Offline, loadgen.PerformanceOnly, nil)
		if _, err := measure(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		c, err := charts.Read(cfg.OutputDir)
		if err != nil || c == nil || c.Gauges == nil {
			t.Fatalf("charts %+v, %v", c, err)
		}
		full, all := 0.0, 0.0
		for _, s := range c.BatchSizes {
			all += float64(s.Batches)
			if s.Samples == 4 {
				full = float64(s.Batches)
			}
		}
		if full < 0.9*all {
			t.Errorf("%v of %v steps had all slots, want most: samples waited", full, all)
		}
		read := map[string]float64{}
		for _, s := range c.Gauges.Series {
			read[s.Name] = s.Values[len(s.Values)/2]
		}
		if slots, tokens := read["slots in use"], read["tokens"]; slots < 3.5 || slots > 4.001 || tokens < 100 || read["workers busy"] < 99 {
			t.Errorf("in the middle: %v, want 4 slots, busy, that make some hundred tokens per second", read)
		}
	})
}

func TestUnknownTicketFails(t *testing.T) {
	for _, ticket := range []int{-1, 0, 1, 2, 1 << 30} {
		var failures []error
		s := newSUT("fake", []predictor{{decoder: fakeDecoder{}}}, &rows{}, batchOptions{maxBatch: 2}, false, func(err error) { failures = append(failures, err) })
		source := newSource(s.workers[0])
		for _, reply := range []func(){func() { source.Done(ticket, nil, 1) }, func() { source.FirstToken(ticket, nil) }} {
			reply()
			if last := len(failures) - 1; last < 0 || !testenv.Names(failures[last], fmt.Sprintf("ticket %d", ticket)) {
				t.Errorf("ticket %d: failures %v", ticket, failures)
			}
			failures = nil
		}
	}
}
