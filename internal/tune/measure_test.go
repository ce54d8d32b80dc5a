package tune

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A fakeModel takes a time for a batch, and as much more for each further sample. It answers
// tests by computing what they would come to.
type fakeModel struct {
	point     Point
	first     time.Duration
	perSample time.Duration
	fixed     int
	capacity  float64 // of Server, in queries per second
	err       error
	tests     []loadgen.TestSettings
	timed     []int // batches
	closed    bool
}

func (f *fakeModel) Shape() (workers, threads, batch int) {
	return f.point.Instances, f.point.Threads, f.point.MaxBatch
}
func (f *fakeModel) FixedBatch() int             { return f.fixed }
func (f *fakeModel) LatencyBound() time.Duration { return 20 * time.Millisecond }

func (f *fakeModel) Close() error {
	f.closed = true
	return nil
}

func (f *fakeModel) service(n int) time.Duration { return f.first + time.Duration(n-1)*f.perSample }

func (f *fakeModel) Times(_ context.Context, workers, batch int, _ time.Duration) ([]time.Duration, error) {
	f.timed = append(f.timed, batch)
	return slices.Repeat([]time.Duration{f.service(batch)}, workers), f.err
}

func (f *fakeModel) Test(_ context.Context, s loadgen.TestSettings) (*loadgen.Result, error) {
	f.tests = append(f.tests, s)
	if f.err != nil {
		return nil, f.err
	}
	p := &loadgen.Performance{MinDurationMet: true, MinQueriesMet: true, PerfConstraintsMet: s.ServerTargetQPS <= f.capacity}
	p.SampleLatency.Target, p.QueryLatency.Target = f.service(1), f.service(int(s.MultiStreamSamplesPerQuery))
	p.SampleCount = s.MinQueryCount
	batches := math.Ceil(float64(p.SampleCount) / float64(f.point.MaxBatch*f.point.Instances))
	p.SampleLatency.Max = time.Duration(batches) * f.service(f.point.MaxBatch)
	return &loadgen.Result{Performance: p}, nil
}

func TestMeasure(t *testing.T) {
	const first, perSample = 10 * time.Millisecond, 2 * time.Millisecond
	for _, c := range []struct {
		name     string
		scenario loadgen.Scenario
		point    Point
		stage    int
		want     float64
		tests    int
	}{
		{"Offline, estimate", loadgen.Offline, Point{Instances: 2, Threads: 1, MaxBatch: 6}, 0, 600, 0},
		{"Offline", loadgen.Offline, Point{Instances: 2, Threads: 1, MaxBatch: 6}, 1, 600, 1},
		{"Offline with batches that take longer than the test", loadgen.Offline, Point{Instances: 1, Threads: 1, MaxBatch: 5000}, 1, 499.6, 1},
		{"SingleStream, estimate", loadgen.SingleStream, Point{Instances: 1, Threads: 2, MaxBatch: 1}, 0, 10, 0},
		{"SingleStream", loadgen.SingleStream, Point{Instances: 1, Threads: 2, MaxBatch: 1}, 2, 10, 1},
		{"MultiStream, estimate: eight samples are two rounds of two batches", loadgen.MultiStream, Point{Instances: 2, Threads: 1, MaxBatch: 2}, 0, 24, 0},
		{"MultiStream, estimate: more workers than batches", loadgen.MultiStream, Point{Instances: 4, Threads: 1, MaxBatch: 8}, 0, 24, 0},
		{"MultiStream", loadgen.MultiStream, Point{Instances: 1, Threads: 1, MaxBatch: 8}, 1, 24, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := &fakeModel{point: c.point, first: first, perSample: perSample}
			got, err := meter{model, c.point, settingsOf(c.scenario)}.measure(t.Context(), c.stage, 4*time.Second)
			if err != nil || slices.ContainsFunc(got, func(v float64) bool { return math.Abs(v-c.want) > c.want/1000 }) || len(got) == 0 {
				t.Errorf("measure = %v, %v, want %v", got, err, c.want)
			}
			if len(model.tests) != c.tests {
				t.Errorf("%d tests, want %d", len(model.tests), c.tests)
			}
			for _, s := range model.tests {
				if err := s.Validate(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestServerTriesRates(t *testing.T) {
	point := Point{Instances: 2, Threads: 1, MaxBatch: 4, MaxDelay: time.Millisecond}
	s := settingsOf(loadgen.Server)
	s.ServerTargetLatency = 40 * time.Millisecond
	estimator := &fakeModel{point: point, first: 10 * time.Millisecond, perSample: 2 * time.Millisecond}
	expected, err := meter{estimator, point, s}.estimate(t.Context(), time.Second)
	if err != nil || expected <= 0 {
		t.Fatalf("estimate = %v, %v", expected, err)
	}
	if !slices.Equal(estimator.timed, []int{1, 2, 4}) {
		t.Errorf("batches of %v are timed", estimator.timed)
	}
	for _, share := range []float64{0.3, 0.6, 0.9, 1, 1.1, 1.4} {
		model := &fakeModel{point: point, first: estimator.first, perSample: estimator.perSample, capacity: share * expected}
		got, err := meter{model, point, s}.measure(t.Context(), 1, 60*time.Second)
		testenv.Must(t, err)
		if got := got[0]; got > model.capacity || got < 0.6*model.capacity && share < 1.3 {
			t.Errorf("measure = %.4g, the capacity is %.4g, %g of the estimate", got, model.capacity, share)
		}
	}
	model := &fakeModel{point: point, first: estimator.first, perSample: estimator.perSample, capacity: 0.01}
	if got, err := (meter{model, point, s}).measure(t.Context(), 1, time.Second); err != nil || got[0] != 0 {
		t.Errorf("measure = %v, %v of a model that never keeps the bound, want 0", got, err)
	}
	if n := len(model.tests); n != leastTests {
		t.Errorf("%d tests in a short time, want %d", n, leastTests)
	}
}

func TestMeasureReturnsTheModelsFailure(t *testing.T) {
	broken := errors.New("out of memory")
	for _, scenario := range loadgen.Scenarios() {
		for stage := range stageCount {
			model := &fakeModel{point: Point{Instances: 1, Threads: 1, MaxBatch: 1}, first: 1, err: broken}
			if _, err := (meter{model, model.point, settingsOf(scenario)}).measure(t.Context(), stage, time.Second); !errors.Is(err, broken) {
				t.Errorf("%v, stage %d: err = %v, want %v", scenario, stage, err, broken)
			}
		}
	}
}

// The rate that is found is one that the machine keeps, and near the highest.
func TestRatesNarrowDown(t *testing.T) {
	for _, capacity := range []float64{0.1, 0.3, 0.5, 0.8, 0.95, 1, 1.05, 1.3, 2, 10} {
		var tried rates
		for range mostTests {
			rate := tried.next(1)
			tried.add(rate, rate <= capacity)
		}
		least := 0.0
		if capacity >= 0.5 && capacity < 1.9 {
			least = 0.85 * capacity
		}
		if tried.low > capacity || tried.low < least || tried.high != 0 && tried.high <= capacity {
			t.Errorf("capacity %g: %g is kept, and %g is not", capacity, tried.low, tried.high)
		}
	}
	r := rates{} // a test that misses by chance below a rate that was kept does not take that back
	r.add(1, true)
	r.add(0.9, false)
	r.add(0.8, true)
	if r.low != 1 {
		t.Errorf("%+v, want 1 as kept", r)
	}
}

func TestServerEstimateKeepsTheBound(t *testing.T) {
	s := settingsOf(loadgen.Server)
	for _, c := range []struct {
		name  string
		bound time.Duration
		delay time.Duration
		least float64 // of the throughput of 200/s with single samples, 400/s with two
		most  float64
	}{
		{"a batch takes longer than the bound", 9 * time.Millisecond, 0, 0, 0},
		{"little time to wait", 12 * time.Millisecond, 0, 1, 100},
		{"time for a queue", time.Second, 0, 380, 400},
		{"the delay takes the time", time.Second, 995 * time.Millisecond, 0, 0},
	} {
		s.ServerTargetLatency = c.bound
		m := meter{&fakeModel{first: 10 * time.Millisecond}, Point{Instances: 2, Threads: 1, MaxBatch: 2, MaxDelay: c.delay}, s}
		if got, err := m.estimate(t.Context(), time.Second); err != nil || got < c.least || got > c.most {
			t.Errorf("%s: %g, %v, want %g to %g", c.name, got, err, c.least, c.most)
		}
	}
}

func TestObjectiveOrdersValues(t *testing.T) {
	for least, want := range map[bool][]float64{
		false: {1e300, 7, 2, 1e-300, 0}, true: {1e-300, 2, 7, 1e300, 0},
	} {
		o := Objective{Least: least}
		got := slices.Clone(want)
		slices.Reverse(got)
		slices.SortStableFunc(got, o.Compare)
		if !slices.Equal(got, want) {
			t.Errorf("least %t: %v, want %v", least, got, want)
		}
		for _, nothing := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
			if o.Compare(nothing, 1) <= 0 || o.Compare(1, nothing) >= 0 || o.Compare(nothing, 0) != 0 {
				t.Errorf("least %t: %g is not worse than 1 and like 0", least, nothing)
			}
		}
	}
}
