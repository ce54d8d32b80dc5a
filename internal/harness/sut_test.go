package harness

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// On the issue thread a worker would delay the queries that come at fixed times.
func TestIssueThreadAnswersOnlyOneQueryAtATime(t *testing.T) {
	for _, c := range []struct {
		scenario loadgen.Scenario
		interval float64 // rate of MultiStream before v2.0
		want     bool
	}{
		{loadgen.SingleStream, 0, true}, {loadgen.SingleStream, 20, true}, {loadgen.MultiStream, 0, true}, {loadgen.MultiStream, 20, false}, {loadgen.Server, 0, false}, {loadgen.Offline, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			cfg := configOf(t, newNumbers(100), c.scenario, loadgen.PerformanceOnly)
			cfg.Instances, cfg.MaxBatch = 1, 8
			cfg.Settings.MultiStreamQPS = c.interval
			r := newRun(cfg)
			defer r.close()
			testenv.Must(t, r.open(t.Context()))
			_, err := r.traffic(t.Context(), r.cfg.Settings, nil, nil)
			testenv.Must(t, err)
			if _, got := r.sut.how.(inline); got != c.want {
				t.Errorf("%v at %g/s: %t, want %t", c.scenario, c.interval, got, c.want)
			}
		})
	}
}

func TestSlowModelIsNotStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.SingleStream, loadgen.PerformanceOnly)
		cfg.Engine = engine(t, simulated.Config{Latency: 10 * time.Minute})
		cfg.Settings.MinQueryCount, cfg.Settings.WithoutEarlyStopping = 3, true
		if r := mustRun(t, n, cfg); !r.Valid() {
			t.Errorf("%s: %v", r.Result, r.Problems)
		}
	})
}

// measured is a run whose model takes some time for a sample.
func measured(latency time.Duration, s shape) *run {
	r := &run{warm: warmUp{latency: latency}}
	r.model.shape = s
	return r
}

func TestMaxOutstanding(t *testing.T) {
	for _, c := range []struct {
		name    string
		latency time.Duration
		shape   shape
		rate    float64
		bound   time.Duration
		tokens  bool
		want    uint64 // 0: never
	}{
		{"ten seconds of a worker, and a thousand", 10 * time.Millisecond, shape{1, 1, 1}, 0, 0, false, 1000 + 1000},
		{"of several workers with batches", 10 * time.Millisecond, shape{4, 1, 8}, 0, 0, false, 32000 + 1000},
		{"of four longer bounds", 10 * time.Millisecond, shape{1, 1, 1}, 500, 5 * time.Second, false, 2000 + 1000},
		{"whatever the rate", 10 * time.Millisecond, shape{1, 1, 1}, 1e8, 100 * time.Millisecond, false, 1000 + 1000},
		{"never, where tokens have bounds", 10 * time.Millisecond, shape{1, 1, 1}, 500, 100 * time.Millisecond, true, 0},
		{"a model that takes minutes", 5 * time.Minute, shape{1, 1, 1}, 0, 0, false, 1000},
	} {
		r := measured(c.latency, c.shape)
		r.cfg.Settings.ServerTargetQPS, r.cfg.Settings.ServerTargetLatency, r.cfg.Settings.UseTokenLatencies = c.rate, c.bound, c.tokens
		if got := r.maxOutstanding(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestBatching(t *testing.T) {
	for _, c := range []struct {
		scenario        loadgen.Scenario
		tokens          bool
		bound, overtake time.Duration
	}{
		{loadgen.Server, false, 100 * time.Millisecond, 50 * time.Millisecond}, {loadgen.Server, true, 0, 3 * time.Second}, {loadgen.Offline, false, 0, 0},
	} {
		r := measured(time.Millisecond, shape{1, 1, 4})
		r.cfg.MaxDelay = time.Millisecond
		r.workload = &workload.Workload{Length: func(index int) int { return []int{5, 7}[index] }}
		r.cfg.Settings = loadgen.TestSettings{Scenario: c.scenario, ServerTargetLatency: 100 * time.Millisecond, Common: loadgen.Common{UseTokenLatencies: c.tokens, ServerTTFTLatency: 6 * time.Second}}
		b := r.batchOptions()
		if b.bound != c.bound || b.overtake != c.overtake || b.maxBatch != 4 || b.maxDelay != time.Millisecond || b.length(1) != 7 {
			t.Errorf("%v, tokens %t: %+v, want the bound %v, overtaking for %v", c.scenario, c.tokens, b, c.bound, c.overtake)
		}
		if r.workload = (&workload.Workload{}); r.batchOptions().length != nil {
			t.Error("samples that are all alike have lengths")
		}
	}
}

// Neighbours in memory go into the model without being copied.
func TestRowsOfABatchAreNeighbours(t *testing.T) {
	for _, scenario := range []loadgen.Scenario{loadgen.Offline, loadgen.MultiStream} {
		synctest.Test(t, func(t *testing.T) {
			cfg := configOf(t, newNumbers(100), scenario, loadgen.PerformanceOnly) // 40 rows are loaded
			cfg.Instances, cfg.MaxBatch, cfg.Settings.MultiStreamSamplesPerQuery = 1, 4, 4
			r := newRun(cfg)
			defer r.close()
			testenv.Must(t, r.open(t.Context()))
			var batches [][]workload.Item
			r.model.predictors[0].Predictor = recordingPredictor{r.model.predictors[0].Predictor, &batches}
			_, err := r.traffic(t.Context(), r.cfg.Settings, nil, nil)
			testenv.Must(t, err)
			apart := 0
			for _, batch := range batches {
				for i, item := range batch[1:] {
					if item.Row != batch[i].Row+1 {
						apart++
					}
				}
			}
			if apart > 0 || len(batches) < 100 {
				t.Errorf("%v: in %d batches, %d neighbours are not neighbours in memory", scenario, len(batches), apart)
			}
		})
	}
}
