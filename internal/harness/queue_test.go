package harness

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/testenv"
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

func TestCostsAreInterpolated(t *testing.T) {
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

func TestBatchesByCost(t *testing.T) {
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
			q := newQueue(batchOptions{maxBatch: 4, costs: c, length: func(i loadgen.QuerySampleIndex) int { return lengths[i] }})
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
func TestProbeMeasuresCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := sequenceConfig(t, loadgen.Server, loadgen.PerformanceOnly, nil)
		cfg.Model.Open = longBatches(cfg.Model.Open)
		p := openProbe(t, cfg)
		if p.r.costs == nil {
			t.Error("what batches cost is not known")
		}
		testenv.Must(t, p.Close())
	})
}

// What batches cost is measured where samples of different lengths wait for each other, and only there.
func TestCostsOfClosedBatches(t *testing.T) {
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
		{"no sample waits in Offline", loadgen.Offline, 4, false, false},
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
				testenv.Must(t, r.open(t.Context()))
				testenv.Must(t, r.calibrate(t.Context()))
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

// queryOf is a query of n samples whose ids begin with first.
func queryOf(first, n int) loadgen.Query {
	q := loadgen.Query{Samples: make([]loadgen.QuerySample, n)}
	for i := range q.Samples {
		q.Samples[i] = loadgen.QuerySample{ID: loadgen.ResponseID(first + i)}
	}
	return q
}

func ids(batch []task) []int {
	list := []int{}
	for _, t := range batch {
		list = append(list, int(t.sample.ID))
	}
	return list
}

// TestQueueTakesTheOldestFirst compares a queue with a list, for random queries.
func TestQueueTakesTheOldestFirst(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, maxBatch := range []int{1, 3, 8} {
		q := newQueue(batchOptions{maxBatch: maxBatch})
		next, list, longest := 0, []int{}, 0
		for range 5000 {
			if random.IntN(2) == 0 {
				n := 1 + random.IntN(12)*random.IntN(3)
				q.add(queryOf(next, n))
				for range n {
					list = append(list, next)
					next++
				}
				longest = max(longest, len(list))
			} else if len(list) > 0 {
				want := list[:min(maxBatch, len(list))]
				if got := ids(q.take(nil)); !slices.Equal(got, want) {
					t.Fatalf("took %v, want %v", got, want)
				}
				q.done()
				list = list[len(want):]
			}
		}
		if n, _, _ := q.stats(); n != longest {
			t.Errorf("%d samples waited at most, want %d", n, longest)
		}
	}
}

// taken is a batch and when it was taken.
type taken struct {
	at  time.Duration
	ids []int
}

// takers starts workers that note what they take and then work for a time.
func takers(q *queue, workers int, work time.Duration) (got *[]taken, stop func()) {
	got = &[]taken{}
	began := time.Now()
	ended := make(chan bool)
	lock := make(chan bool, 1)
	for range workers {
		go func() {
			defer func() { ended <- true }()
			for {
				batch := q.take(nil)
				if len(batch) == 0 {
					return
				}
				lock <- true
				*got = append(*got, taken{time.Since(began), ids(batch)})
				<-lock
				time.Sleep(work)
				q.done()
			}
		}()
	}
	return got, func() {
		q.close()
		for range workers {
			<-ended
		}
	}
}

// TestBatchesWaitForMaxDelay goes through two phases: what was flushed
// in the first has to wait again in the second.
func TestBatchesWaitForMaxDelay(t *testing.T) {
	const ms = time.Millisecond
	for _, workers := range []int{1, 2, 5} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(batchOptions{maxBatch: 4, maxDelay: 20 * ms})
			got, stop := takers(q, workers, 0)
			at := func(d time.Duration, f func()) { time.AfterFunc(d, f) }
			at(0, func() { q.add(queryOf(0, 3)) })    // waits
			at(5*ms, func() { q.add(queryOf(3, 1)) }) // makes it full
			at(10*ms, func() { q.add(queryOf(4, 2)) })
			at(12*ms, func() { q.add(queryOf(6, 1)) }) // not full until the delay is over
			at(40*ms, func() { q.add(queryOf(7, 2)) })
			at(45*ms, func() { q.flush() })              // the end of the phase
			at(100*ms, func() { q.add(queryOf(9, 2)) })  // the next phase
			at(110*ms, func() { q.add(queryOf(11, 3)) }) // one too many: the last waits on
			at(200*ms, func() { q.add(queryOf(14, 9)) }) // two full ones and a rest
			at(210*ms, func() { q.flush() })
			time.Sleep(300 * ms)
			stop()
			want := []taken{
				{5 * ms, []int{0, 1, 2, 3}}, {30 * ms, []int{4, 5, 6}}, {45 * ms, []int{7, 8}},
				{110 * ms, []int{9, 10, 11, 12}}, {130 * ms, []int{13}},
				{200 * ms, []int{14, 15, 16, 17}}, {200 * ms, []int{18, 19, 20, 21}}, {210 * ms, []int{22}},
			}
			slices.SortFunc(*got, func(a, b taken) int { return a.ids[0] - b.ids[0] })
			if g, w := fmt.Sprint(*got), fmt.Sprint(want); g != w {
				t.Errorf("%d workers took %s, want %s", workers, g, w)
			}
		})
	}
}

// TestQueueLosesNoSample has random queries, delays and workers: every sample is taken
// once, none waits longer than the delay while a worker is free.
func TestQueueLosesNoSample(t *testing.T) {
	const ms = time.Millisecond
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 5))
			delay := time.Duration(random.IntN(3)) * 10 * ms
			q := newQueue(batchOptions{maxBatch: 1 + random.IntN(6), maxDelay: delay})
			// More workers than batches can be under way: one is always free.
			got, stop := takers(q, 30, time.Duration(random.IntN(3))*ms)
			began := time.Now()
			var added []time.Duration
			for range 100 {
				time.Sleep(time.Duration(random.IntN(8)) * ms)
				n := 1 + random.IntN(4)
				q.add(queryOf(len(added), n))
				for range n {
					added = append(added, time.Since(began))
				}
			}
			time.Sleep(time.Second)
			stop()
			seen := make([]bool, len(added))
			for _, batch := range *got {
				for _, id := range batch.ids {
					if wait := batch.at - added[id]; seen[id] || wait > delay {
						t.Errorf("seed %d: sample %d waited %v of %v, was there before: %v", seed, id, wait, delay, seen[id])
					}
					seen[id] = true
				}
			}
			if slices.Contains(seen, false) {
				t.Errorf("seed %d: samples were forgotten", seed)
			}
		})
	}
}

func TestClosedQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(batchOptions{maxBatch: 2, maxDelay: time.Second})
		got, stop := takers(q, 3, 0)
		q.add(queryOf(0, 1)) // waits for a second one
		synctest.Wait()
		stop()
		if len(*got) > 0 || len(q.take(nil)) > 0 {
			t.Errorf("took %v", *got)
		}
		time.Sleep(time.Minute)
	})
}

func TestQueueIdle(t *testing.T) {
	q := newQueue(batchOptions{maxBatch: 2})
	if !q.idle() {
		t.Error("a new queue is not idle")
	}
	q.add(queryOf(0, 5))
	if batch := q.take(nil); len(batch) != 2 || q.idle() {
		t.Errorf("took %v; idle while a worker has a batch", ids(batch))
	}
	q.done()
	if !q.idle() {
		t.Error("not idle, and no worker has a batch")
	}
	q.add(queryOf(5, 1))
	if got := ids(q.take(nil)); !slices.Equal(got, []int{5}) {
		t.Errorf("took %v, want what came after it was idle", got)
	}
}

func TestQueueStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(batchOptions{maxBatch: 8})
		began := time.Now()
		q.add(queryOf(0, 3))
		time.Sleep(time.Second)
		q.add(queryOf(3, 2))
		time.Sleep(time.Second)
		q.take(nil)
		q.add(queryOf(5, 5))
		if n, when, _ := q.stats(); n != 5 || when.Sub(began) != time.Second {
			t.Errorf("%d samples after %v", n, when.Sub(began))
		}
	})
}

// BenchmarkQueue is the way of a Server query through the queue.
func BenchmarkQueue(b *testing.B) {
	q := newQueue(batchOptions{maxBatch: 8})
	query := queryOf(0, 1)
	batch := make([]task, 0, 8)
	b.ReportAllocs()
	for b.Loop() {
		q.add(query)
		batch = q.take(batch)
		q.done()
	}
}

// batchesOf takes all that waits, batch by batch, and returns the samples of each.
func batchesOf(q *queue) (batches []string) {
	for q.waiting() {
		var indices []int
		for _, task := range q.take(nil) {
			indices = append(indices, int(task.sample.Index))
		}
		batches = append(batches, fmt.Sprint(indices))
		q.done()
	}
	return batches
}

func TestBatchesByLength(t *testing.T) {
	lengths := []int{5, 1, 9, 5, 1, 9, 4, 6, 1}
	q := newQueue(batchOptions{maxBatch: 3, length: func(i loadgen.QuerySampleIndex) int { return lengths[i] }})
	var query loadgen.Query
	for i := range lengths {
		query.Samples = append(query.Samples, loadgen.QuerySample{Index: loadgen.QuerySampleIndex(i)})
	}
	q.add(query)
	if got, want := batchesOf(q), []string{"[0 3 6]", "[1 4 8]", "[2 5 7]"}; !slices.Equal(got, want) {
		t.Errorf("batches %v, want %v", got, want)
	}
}

func TestOvertakingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lengths := []int{5, 1, 5, 1, 1}
		q := newQueue(batchOptions{maxBatch: 2, overtake: time.Second, length: func(i loadgen.QuerySampleIndex) int { return lengths[i] }})
		for i := range lengths {
			q.add(loadgen.Query{Samples: []loadgen.QuerySample{{Index: loadgen.QuerySampleIndex(i)}}})
		}
		if batch := q.take(nil); batch[1].sample.Index != 2 {
			t.Errorf("the second sample is %d", batch[1].sample.Index)
		}
		time.Sleep(1001 * time.Millisecond)
		q.add(loadgen.Query{Samples: []loadgen.QuerySample{{Index: 1}}})
		if batch := q.take(nil); batch[0].sample.Index != 1 || batch[1].sample.Index != 3 {
			t.Errorf("the samples are %d and %d", batch[0].sample.Index, batch[1].sample.Index)
		}
	})
}

func TestBatchesByLengthWaitForMaxDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(batchOptions{maxBatch: 2, maxDelay: 20 * time.Millisecond, length: func(loadgen.QuerySampleIndex) int { return 1 }})
		q.add(queryOf(0, 3))
		began := time.Now()
		for i, want := range []time.Duration{0, 20 * time.Millisecond} {
			if q.take(nil); time.Since(began) != want {
				t.Errorf("batch %d is taken after %v, want %v", i, time.Since(began), want)
			}
		}
	})
}

// A benchmark may say which sample follows which, in all modes.
func TestSamplesInTheOrderOfTheBenchmark(t *testing.T) {
	for _, mode := range []loadgen.Mode{loadgen.AccuracyOnly, loadgen.PerformanceOnly} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(40)
			cfg := configOf(t, n, loadgen.Server, mode)
			cfg.Instances, cfg.MaxBatch = 1, 4
			var got []int
			var expected uint64
			open := cfg.Model.Open
			cfg.Model.Open = func(s workload.Setup) (*workload.Workload, error) {
				w, err := open(s)
				w.Order = func(n, of uint64) int {
					expected = of
					got = append(got, int(n))
					return int(n*7) % 40
				}
				return w, err
			}
			r := newRun(cfg)
			defer r.close()
			testenv.Must(t, r.open(t.Context()))
			test, err := r.traffic(t.Context(), r.cfg.Settings, nil, nil)
			testenv.Must(t, err)
			want := uint64(40)
			if mode == loadgen.PerformanceOnly {
				want = test.Performance.SampleCount
			}
			if uint64(len(got)) != want || !slices.IsSorted(got) || got[0] != 0 || mode == loadgen.AccuracyOnly && expected != 0 || mode == loadgen.PerformanceOnly && expected == 0 {
				t.Errorf("%v: %d samples are asked for, %d were issued, %d were expected", mode, len(got), want, expected)
			}
			cfg.Settings.PerformanceSampleCountOverride = 39
			r = newRun(cfg)
			defer r.close()
			if err := r.open(t.Context()); !testenv.Names(err, "39 samples … 40") {
				t.Errorf("with less than all samples: %v", err)
			}
		})
	}
}

// The sample of a task is that of the order, not the one that LoadGen chose.
func TestOrderReplacesSamples(t *testing.T) {
	q := newQueue(batchOptions{maxBatch: 2, order: func(n uint64) int { return int(10 + n) }})
	for range 3 {
		q.add(loadgen.Query{Samples: []loadgen.QuerySample{{ID: 5, Index: 3}}})
	}
	if got, want := batchesOf(q), []string{"[10 11]", "[12]"}; !slices.Equal(got, want) {
		t.Errorf("batches %v, want %v", got, want)
	}
}
