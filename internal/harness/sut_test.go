package harness

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// A fakePredictor takes a time for a batch and answers with the row and data index.
type fakePredictor struct {
	takes func(n int) time.Duration
	err   func(batch int) error // of the batch with that number

	mu      sync.Mutex
	batches [][]workload.Item
}

func (p *fakePredictor) Use(*workload.Store) error { return nil }

func (p *fakePredictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	p.mu.Lock()
	n := len(p.batches)
	p.batches = append(p.batches, slices.Clone(items))
	p.mu.Unlock()
	if p.takes != nil {
		time.Sleep(p.takes(len(items)))
	}
	if p.err != nil {
		if err := p.err(n); err != nil {
			return err
		}
	}
	for i, item := range items {
		reply.Done(i, []byte{byte(item.Index)}, 0)
	}
	return nil
}

func (p *fakePredictor) Close() error { return nil }

// memoryQSL loads nothing but knows the rows.
type memoryQSL struct {
	rows  *rows
	total int
}

func (*memoryQSL) Name() string                  { return "memory" }
func (q *memoryQSL) TotalSampleCount() int       { return q.total }
func (q *memoryQSL) PerformanceSampleCount() int { return q.total }
func (q *memoryQSL) LoadSamplesToRAM(_ context.Context, set []loadgen.QuerySampleIndex) error {
	q.rows.reset(set, q.total)
	return nil
}
func (q *memoryQSL) UnloadSamplesFromRAM([]loadgen.QuerySampleIndex) error { return nil }

// system is a SUT over fake predictors, and the QSL that it knows.
func system(b batching, predictors ...*fakePredictor) (*sut, *memoryQSL, *[]error) {
	return systemFor(false, b, predictors...)
}

func systemFor(oneAtATime bool, b batching, predictors ...*fakePredictor) (*sut, *memoryQSL, *[]error) {
	rows := &rows{}
	var mu sync.Mutex
	var failures []error
	var list []predictor
	for _, p := range predictors {
		list = append(list, predictor{Predictor: p})
	}
	s := newSUT("fake", list, rows, b, oneAtATime, func(err error) {
		mu.Lock()
		defer mu.Unlock()
		failures = append(failures, err)
	})
	return s, &memoryQSL{rows: rows, total: 100}, &failures
}

func each(d time.Duration) func(int) time.Duration {
	return func(n int) time.Duration { return time.Duration(n) * d }
}

func settings(s loadgen.Scenario) loadgen.TestSettings {
	t := loadgen.DefaultSettings()
	t.Scenario = s
	t.MinDuration = 2 * time.Second
	t.ServerTargetQPS, t.OfflineExpectedQPS = 200, 200
	t.SingleStreamExpectedLatencyNS = 1e7
	return t
}

var inFakeTime = loadgen.Options{NewPacer: func() loadgen.Pacer { return loadgen.TimerPacer{} }}

// Tests that run at once in a process share its processors: none takes any away.
func TestTheIssuingThreadTakesNoProcessorsAway(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		n.predict = func(int64) error {
			if procs := runtime.GOMAXPROCS(0); procs != 3 {
				t.Errorf("Go has %d processors", procs)
			}
			return nil
		}
		cfg := config(t, n, loadgen.SingleStream, loadgen.PerformanceOnly)
		cfg.Instances = 1
		cfg.Engine = engine(t, simulated.Config{Latency: 11 * time.Millisecond})
		mustRun(t, n, cfg)
	})
}

// Where one query is under way at a time, it is answered when IssueQuery returns.
func TestTheOnlyWorkerAnswersWhereItIsAsked(t *testing.T) {
	for _, scenario := range []loadgen.Scenario{loadgen.SingleStream, loadgen.MultiStream} {
		synctest.Test(t, func(t *testing.T) {
			p := &fakePredictor{takes: each(5 * time.Millisecond)}
			s, data, failures := systemFor(true, batching{maxBatch: 3}, p)
			asked := &asking{sut: s, answered: func() bool { return !s.queue.waiting() && s.queue.idle() }}
			r, err := loadgen.Run(t.Context(), asked, data, settings(scenario), inFakeTime)
			if err != nil || len(r.Faults) > 0 || r.Performance.QueryCount < 100 || len(*failures) > 0 {
				t.Fatalf("%v, %v, failures %v", err, r.Faults, *failures)
			}
			if asked.late > 0 {
				t.Errorf("%v: %d queries were not answered when IssueQuery returned", scenario, asked.late)
			}
			if err := s.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// asking looks at a SUT after each query.
type asking struct {
	*sut
	answered func() bool
	late     int
}

func (a *asking) IssueQuery(q loadgen.Query) {
	a.sut.IssueQuery(q)
	if !a.answered() {
		a.late++
	}
}

func TestEveryScenarioIsAnswered(t *testing.T) {
	for _, scenario := range loadgen.Scenarios() {
		t.Run(scenario.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := &fakePredictor{takes: each(5 * time.Millisecond)}, &fakePredictor{takes: each(5 * time.Millisecond)}
				s, data, failures := system(batching{maxBatch: 4}, a, b)
				r, err := loadgen.Run(t.Context(), s, data, settings(scenario), inFakeTime)
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Faults) > 0 || len(*failures) > 0 {
					t.Errorf("faults %v, failures %v", r.Faults, *failures)
				}
				if err := s.stop(); err != nil {
					t.Errorf("stop: %v", err)
				}
				samples := 0
				for _, batch := range slices.Concat(a.batches, b.batches) {
					samples += len(batch)
					if len(batch) > 4 {
						t.Errorf("a batch of %d, more than 4", len(batch))
					}
				}
				if uint64(samples) != r.Performance.SampleCount {
					t.Errorf("%d samples were predicted, %d counted", samples, r.Performance.SampleCount)
				}
			})
		})
	}
}

func TestLoadedRowsStaySideBySide(t *testing.T) {
	for _, scenario := range []loadgen.Scenario{loadgen.Offline, loadgen.MultiStream} {
		synctest.Test(t, func(t *testing.T) {
			p := &fakePredictor{takes: each(time.Millisecond)}
			s, data, _ := system(batching{maxBatch: 4}, p)
			set := settings(scenario)
			set.MultiStreamSamplesPerQuery = 4
			if _, err := loadgen.Run(t.Context(), s, data, set, inFakeTime); err != nil {
				t.Fatal(err)
			}
			s.stop()
			apart := 0
			for _, batch := range p.batches {
				for i, item := range batch[1:] {
					if item.Row != batch[i].Row+1 {
						apart++
					}
				}
			}
			// Offline goes through the 100 rows again and again: 100 is a multiple of 4.
			if apart > 0 {
				t.Errorf("%v: %d neighbours in batches are not neighbours in memory", scenario, apart)
			}
		})
	}
}

func TestGreedyBatchingTakesWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakePredictor{takes: func(int) time.Duration { return 10 * time.Millisecond }}
		s, data, _ := system(batching{maxBatch: 8}, p)
		set := settings(loadgen.Server)
		set.ServerTargetQPS = 400 // four arrive while a batch is computed
		r, err := loadgen.Run(t.Context(), s, data, set, inFakeTime)
		if err != nil {
			t.Fatal(err)
		}
		s.stop()
		if mean := float64(r.Performance.SampleCount) / float64(len(p.batches)); mean < 2 || mean > 6 {
			t.Errorf("batches have %.1f samples on average, want about 4", mean)
		}
		if got := r.Performance.SampleLatency.Max; got > 31*time.Millisecond {
			t.Errorf("the slowest sample took %v, want at most three batches", got)
		}
	})
}

func TestBatchesWaitAtMostTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakePredictor{takes: func(int) time.Duration { return time.Millisecond }}
		s, data, _ := system(batching{maxBatch: 100, maxDelay: 20 * time.Millisecond}, p)
		r, err := loadgen.Run(t.Context(), s, data, settings(loadgen.Server), inFakeTime)
		if err != nil {
			t.Fatal(err)
		}
		s.stop()
		l := r.Performance.SampleLatency
		if l.Max > 23*time.Millisecond || l.Percentiles[0] < 5*time.Millisecond {
			t.Errorf("latencies p50 %v, max %v; want the delay of 20ms to bound them", l.Percentiles[0], l.Max)
		}
		if mean := float64(r.Performance.SampleCount) / float64(len(p.batches)); mean < 3 {
			t.Errorf("batches have %.1f samples on average, want about 4", mean)
		}
	})
}

func TestFailedPredictionsFailTheRunAndNothingHangs(t *testing.T) {
	tests := []struct {
		name string
		p    *fakePredictor
		want string
	}{
		{"error", &fakePredictor{err: func(n int) error {
			if n == 3 {
				return errors.New("out of memory")
			}
			return nil
		}}, "out of memory"},
		{"panic", &fakePredictor{err: func(n int) error {
			if n == 3 {
				panic("index out of range")
			}
			return nil
		}}, "index out of range"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.p.takes = each(time.Millisecond)
				s, data, failures := system(batching{maxBatch: 4}, test.p)
				r, err := loadgen.Run(t.Context(), s, data, settings(loadgen.Offline), inFakeTime)
				if err != nil {
					t.Fatal(err)
				}
				s.stop()
				if r.Valid() || !strings.Contains(fmt.Sprint(r.Faults), test.want) {
					t.Errorf("valid %v, faults %v", r.Valid(), r.Faults)
				}
				if len(*failures) != 1 || !strings.Contains((*failures)[0].Error(), test.want) {
					t.Errorf("failures %v", *failures)
				}
			})
		})
	}
}

func TestCloseDoesNotWaitForLongPredictions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakePredictor{takes: func(int) time.Duration { return time.Minute }}
		s, data, _ := system(batching{maxBatch: 1}, p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		r, err := loadgen.Run(ctx, s, data, settings(loadgen.SingleStream), inFakeTime)
		if err != nil || r.Interrupted == nil {
			t.Fatalf("error %v, result %+v", err, r)
		}
		if err := s.stop(); !errors.Is(err, errStillRunning) {
			t.Errorf("stop: %v", err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("stopping took %v", took-time.Second)
		}
		time.Sleep(2 * time.Minute)
	})
}
