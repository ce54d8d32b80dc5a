package tune

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A fakeModel takes a time for a batch, and as much more for each further sample. It answers
// tests by computing what they would come to.
type fakeModel struct {
	point      Point
	first      time.Duration
	perSample  time.Duration
	fixed      int
	capacity   float64 // of Server, in queries per second
	err        error
	tests      []loadgen.TestSettings
	timed      []int // batches
	closed     bool
	wrongClose error
}

func (f *fakeModel) Shape() (workers, threads, batch int) {
	return f.point.Instances, f.point.Threads, f.point.MaxBatch
}
func (f *fakeModel) FixedBatch() int             { return f.fixed }
func (f *fakeModel) Engine() string              { return "fake 1" }
func (f *fakeModel) LatencyBound() time.Duration { return 20 * time.Millisecond }

func (f *fakeModel) Close() error {
	f.closed = true
	return f.wrongClose
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
			if err != nil || math.Abs(got-c.want) > c.want/1000 {
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

func TestServerTriesRatesAroundTheEstimate(t *testing.T) {
	point := Point{Instances: 2, Threads: 1, MaxBatch: 4, MaxDelay: time.Millisecond}
	s := settingsOf(loadgen.Server)
	s.ServerTargetLatency = 40 * time.Millisecond
	estimator := &fakeModel{point: point, first: 10 * time.Millisecond, perSample: 2 * time.Millisecond}
	expected, err := meter{estimator, point, s}.measure(t.Context(), 0, time.Second)
	if err != nil || expected <= 0 {
		t.Fatalf("estimate = %v, %v", expected, err)
	}
	if !slices.Equal(estimator.timed, []int{1, 2, 4}) {
		t.Errorf("batches of %v are timed", estimator.timed)
	}
	for _, share := range []float64{0.3, 0.6, 0.9, 1, 1.1, 1.4} {
		model := &fakeModel{point: point, first: estimator.first, perSample: estimator.perSample, capacity: share * expected}
		got, err := meter{model, point, s}.measure(t.Context(), 1, 60*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if got > model.capacity || got < 0.65*model.capacity && share < 1.3 {
			t.Errorf("measure = %.4g, the capacity is %.4g, %g of the estimate", got, model.capacity, share)
		}
	}
	model := &fakeModel{point: point, first: estimator.first, perSample: estimator.perSample, capacity: 0.01}
	if got, err := (meter{model, point, s}).measure(t.Context(), 1, time.Second); got != 0 || err != nil {
		t.Errorf("measure = %v, %v of a model that never keeps the bound, want 0", got, err)
	}
	if n := len(model.tests); n != leastTests {
		t.Errorf("%d tests in a short time, want %d", n, leastTests)
	}
}

func TestAFailureOfTheModelIsReturned(t *testing.T) {
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
