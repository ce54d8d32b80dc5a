package harness

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// linear costs take a millisecond for each piece of a sample, and a start for each batch.
func linear(start time.Duration, lengths ...int) *batchCosts {
	c := &batchCosts{most: 4}
	for _, n := range lengths {
		one := start + time.Duration(n)*time.Millisecond
		c.add(n, one, one+3*time.Duration(n)*time.Millisecond)
	}
	return c
}

func TestABatchCostsWhatLiesBetweenWhatWasMeasured(t *testing.T) {
	c := linear(10*time.Millisecond, 20, 100)
	for _, test := range []struct {
		n, length int
		want      time.Duration
	}{
		{1, 20, 30 * time.Millisecond},
		{1, 60, 70 * time.Millisecond},
		{4, 100, 410 * time.Millisecond},
		{3, 60, 190 * time.Millisecond},
		{2, 5, 50 * time.Millisecond},    // as the shortest
		{1, 500, 110 * time.Millisecond}, // as the longest
	} {
		if got := c.of(test.n, test.length); got != test.want {
			t.Errorf("%d of %d take %v, want %v", test.n, test.length, got, test.want)
		}
	}
	c.add(200, 50*time.Millisecond, 40*time.Millisecond) // measured on a busy machine
	if one, full := c.of(1, 200), c.of(4, 200); one != 110*time.Millisecond || full != 410*time.Millisecond {
		t.Errorf("longer samples take %v and %v, want no less than shorter ones", one, full)
	}
}

func TestSamplesShareABatchOnlyIfThatIsQuickerThanOneByOne(t *testing.T) {
	lengths := []int{50, 52, 90, 50, 20, 51}
	for _, test := range []struct {
		name  string
		start time.Duration
		limit time.Duration
		want  []string // batches
	}{
		{"nothing is gained", 0, 0, []string{"[0]", "[1]", "[2]", "[3]", "[4]", "[5]"}},
		{"alike ones gain", 10 * time.Millisecond, 0, []string{"[0 1 3 5]", "[2]", "[4]"}},
		{"all gain", time.Second, 0, []string{"[0 1 3 5]", "[2 4]"}},
		{"a batch may not take long", 10 * time.Millisecond, 150 * time.Millisecond, []string{"[0 3]", "[1 5]", "[2]", "[4]"}},
		{"a sample alone takes longer than a batch may", time.Second, time.Millisecond, []string{"[0]", "[1]", "[2]", "[3]", "[4]", "[5]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := linear(test.start, 10, 100)
			c.limit = test.limit
			q := newQueue(batching{maxBatch: 4, costs: c, length: func(i loadgen.QuerySampleIndex) int { return lengths[i] }})
			for i := range lengths {
				q.add(loadgen.Query{Samples: []loadgen.QuerySample{{Index: loadgen.QuerySampleIndex(i)}}})
			}
			if got := batchesOf(q); !slices.Equal(got, test.want) {
				t.Errorf("batches %v, want %v", got, test.want)
			}
		})
	}
}

// longBatches are toy sequences that are answered in closed batches of about the same length.
func longBatches(open func(workload.Setup) (*workload.Workload, error)) func(workload.Setup) (*workload.Workload, error) {
	return func(s workload.Setup) (*workload.Workload, error) {
		w, err := closedBatches(open)(s)
		if err == nil {
			w.Length = toyLength
		}
		return w, err
	}
}

// Ways to run a model are compared with the batches that a run would make.
func TestAProbeKnowsWhatBatchesCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := sequenceConfig(t, loadgen.Server, loadgen.PerformanceOnly, nil)
		cfg.Model.Open = longBatches(cfg.Model.Open)
		p := openProbe(t, cfg)
		if p.r.costs == nil {
			t.Error("what batches cost is not known")
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// What batches cost is measured where samples of different lengths wait for each other, and only there.
func TestCostsAreMeasuredWhereTheyMatter(t *testing.T) {
	for _, test := range []struct {
		name     string
		scenario loadgen.Scenario
		batch    int
		pulls    bool
		want     bool
	}{
		{"closed batches in Server", loadgen.Server, 4, false, true},
		{"one by one", loadgen.Server, 1, false, false},
		{"who pulls has no batches", loadgen.Server, 4, true, false},
		{"nobody waits in Offline", loadgen.Offline, 4, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := sequenceConfig(t, test.scenario, loadgen.PerformanceOnly, nil)
				var err error
				if cfg.Engine, err = simulated.New(simulated.Config{Latency: 3 * time.Millisecond}); err != nil {
					t.Fatal(err)
				}
				cfg.MaxBatch = test.batch
				if !test.pulls {
					cfg.Model.Open = longBatches(cfg.Model.Open)
				}
				r := newRun(cfg)
				defer r.close()
				if err := r.open(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := r.calibrate(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := r.costs != nil; got != test.want {
					t.Fatalf("costs are known: %t", got)
				}
				if c := r.costs; c != nil {
					if !slices.Equal(c.lengths, []int{1, 4, 7}) || c.limit != cfg.Settings.ServerTargetLatency/2 {
						t.Errorf("lengths %v, a batch may take %v", c.lengths, c.limit)
					}
					if c.one[0] >= c.one[2] || c.one[2] > c.full[2] {
						t.Errorf("a sample takes %v, a batch %v", c.one, c.full)
					}
				}
			})
		})
	}
}
