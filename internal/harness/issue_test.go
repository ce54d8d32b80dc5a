package harness

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
)

// Only where the next query is issued when the one before was answered may a worker answer on the thread that issues:
// elsewhere that would hold the schedule up.
func TestQueriesComeOneAtATimeWhereEachWaitsForTheOneBefore(t *testing.T) {
	for _, c := range []struct {
		scenario loadgen.Scenario
		interval float64 // rate of MultiStream before v2.0
		want     bool
	}{
		{loadgen.SingleStream, 0, true}, {loadgen.SingleStream, 20, true}, {loadgen.MultiStream, 0, true}, {loadgen.MultiStream, 20, false}, {loadgen.Server, 0, false}, {loadgen.Offline, 0, false},
	} {
		if got := oneAtATime(loadgen.TestSettings{Scenario: c.scenario, MultiStreamQPS: c.interval}); got != c.want {
			t.Errorf("%v at %g/s: %t, want %t", c.scenario, c.interval, got, c.want)
		}
	}
}

// measured is a run whose model takes some time for a sample.
func measured(latency time.Duration, s shape) *run {
	r := &run{warm: warmUp{latency: latency}}
	r.model.shape = s
	return r
}

func TestAQueueIsHopelessAfterSecondsOfWorkAndSomeBounds(t *testing.T) {
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
		{"and four bounds of the rate", 10 * time.Millisecond, shape{1, 1, 1}, 500, 100 * time.Millisecond, false, 1000 + 200 + 1000},
		{"never, where tokens have bounds", 10 * time.Millisecond, shape{1, 1, 1}, 500, 100 * time.Millisecond, true, 0},
		{"a model that takes minutes", 5 * time.Minute, shape{1, 1, 1}, 0, 0, false, 1000},
	} {
		r := measured(c.latency, c.shape)
		r.settings.ServerTargetQPS, r.settings.ServerTargetLatency, r.settings.UseTokenLatencies = c.rate, c.bound, c.tokens
		if got := r.hopeless(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestAnAnswerIsWaitedForMuchLongerThanABatchTakes(t *testing.T) {
	for _, c := range []struct {
		latency time.Duration
		batch   int
		want    time.Duration
	}{
		{time.Millisecond, 64, 2 * time.Minute}, {time.Second, 8, 160 * time.Second}, {time.Minute, 4, 80 * time.Minute},
	} {
		if got := measured(c.latency, shape{1, 1, c.batch}).stallTimeout(); got != c.want {
			t.Errorf("batches of %d, %v each: %v, want %v", c.batch, c.latency, got, c.want)
		}
	}
}

func TestATestGoesOnWhileOtherServersAnswer(t *testing.T) {
	var told []error
	failed := unlessOthersAnswer(func(err error) { told = append(told, err) })
	plain, last := errors.New("out of memory"), loss{0}
	for _, err := range []error{loss{2}, fmt.Errorf("sample 7: %w", loss{1}), plain, last} {
		failed(err)
	}
	if !slices.Equal(told, []error{plain, last}) {
		t.Errorf("the test ends for %v, want %v", told, []error{plain, last})
	}
}

func TestOnlyTheFirstFailureEndsATest(t *testing.T) {
	r, stopped := &run{}, []error(nil)
	failed := r.failOnce(func(err error) { stopped = append(stopped, err) })
	first := errors.New("first")
	failed(first)
	failed(errors.New("second"))
	if !slices.Equal(stopped, []error{first}) || *r.failure.Load() != first {
		t.Errorf("stopped for %v, kept is %v", stopped, *r.failure.Load())
	}
}

func TestResultsThatAreNotKeptAreNotValid(t *testing.T) {
	problem := errors.New("no room left")
	for _, c := range []struct {
		before string
		err    error
		after  string
		said   int
	}{
		{report.Valid, nil, report.Valid, 0}, {report.Valid, problem, report.Invalid, 1}, {report.Invalid, problem, report.Invalid, 1}, {report.Interrupted, problem, report.Interrupted, 1},
	} {
		out := &report.Results{Result: c.before}
		incomplete(out, "the logs are not whole", c.err)
		if out.Result != c.after || len(out.Problems) != c.said || c.said > 0 && out.Problems[0] != "the logs are not whole: no room left" {
			t.Errorf("%s with %v is %s: %q", c.before, c.err, out.Result, out.Problems)
		}
	}
}

func TestSamplesOfDifferentLengthsMayBeOvertakenForHalfOfTheirBound(t *testing.T) {
	for _, c := range []struct {
		scenario        loadgen.Scenario
		tokens          bool
		bound, patience time.Duration
	}{
		{loadgen.Server, false, 100 * time.Millisecond, 50 * time.Millisecond}, {loadgen.Server, true, 0, 3 * time.Second}, {loadgen.Offline, false, 0, 0},
	} {
		r := measured(time.Millisecond, shape{1, 1, 4})
		r.workload = &workload.Workload{Length: func(index int) int { return []int{5, 7}[index] }}
		r.settings = loadgen.TestSettings{Scenario: c.scenario, UseTokenLatencies: c.tokens, ServerTargetLatency: 100 * time.Millisecond, ServerTTFTLatency: 6 * time.Second}
		b := r.batching()
		if b.bound != c.bound || b.patience != c.patience || b.maxBatch != 4 || b.length(1) != 7 {
			t.Errorf("%v, tokens %t: bound %v, patience %v, length %d", c.scenario, c.tokens, b.bound, b.patience, b.length(1))
		}
		if r.workload = (&workload.Workload{}); r.batching().length != nil {
			t.Error("samples that are all alike have lengths")
		}
	}
}
