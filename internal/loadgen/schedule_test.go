package loadgen

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// anySettings draws settings of a small test that ends by itself.
func anySettings(r *rand.Rand) TestSettings {
	s := DefaultSettings()
	s.Scenario = Scenarios()[r.IntN(4)]
	s.Mode = []Mode{AccuracyOnly, PerformanceOnly, SubmissionRun}[r.IntN(3)]
	s.MinDuration, s.MinQueryCount = 0, 1+r.Uint64N(300)
	if s.Scenario == Server || s.Scenario == Offline {
		s.MinDuration = time.Duration(r.Int64N(int64(time.Second)))
	}
	if s.Scenario == Server && r.IntN(4) == 0 {
		s.MinQueryCount, s.MinDuration = 0, s.MinDuration+1
	}
	s.ServerTargetQPS, s.OfflineExpectedQPS = 1+r.Float64()*500, 1+r.Float64()*500
	s.MultiStreamSamplesPerQuery = 1 + r.Uint64N(9)
	s.SampleConcatenatePermutation = r.IntN(3) == 0
	switch r.IntN(6) {
	case 0:
		s.PerformanceIssueUnique = true
	case 1:
		s.PerformanceIssueSame = true
	case 2:
		s.MaxQueryCount = s.MinQueryCount + r.Uint64N(9)
	}
	s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = r.Uint64(), r.Uint64(), r.Uint64()
	return s
}

// anyTest draws settings, and how many samples there are and fit in memory. The index of the same sample may be
// beyond the last set.
func anyTest(r *rand.Rand) (s TestSettings, performance, total uint64) {
	s, total = anySettings(r), 1+r.Uint64N(200)
	performance = 1 + r.Uint64N(total)
	s.PerformanceIssueSameIndex = r.Uint64N(performance)
	return s, performance, total
}

// wantsTooMuch reports whether the same sample is wanted of a last set that does not have it.
func wantsTooMuch(s TestSettings, performance, total uint64) bool {
	smallest := total % performance
	return s.PerformanceIssueSame && s.Mode != PerformanceOnly && smallest != 0 && s.PerformanceIssueSameIndex >= smallest
}

func TestATraceIsWhatARunIssues(t *testing.T) {
	testenv.SkipLong(t, "takes long")
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		s, performance, total := anyTest(r)
		if wantsTooMuch(s, performance, total) {
			continue
		}
		inFakeTime(t, func(t *testing.T) {
			where := fmt.Sprintf("%+v with %d of %d samples", s, performance, total)
			trace, err := NewTrace(s, performance, total)
			if err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			sut, qsl := atOnce(), &fakeQSL{total: int(total), performance: int(performance)}
			result := mustRun(t, sut, qsl, s, timers)
			if len(result.Faults) > 0 {
				t.Errorf("%s: %v", where, result.Faults)
			}
			got := &Trace{Queries: uint64(len(sut.queries)), Loads: qsl.loads, Samples: slices.Concat(sut.queries...), ScheduledNS: trace.ScheduledNS}
			for _, q := range sut.queries {
				got.QuerySizes = append(got.QuerySizes, len(q))
			}
			if s.Scenario == Server && s.Mode == PerformanceOnly {
				got.ScheduledNS = startsOf(result.Performance)[:len(trace.ScheduledNS)]
			}
			if diff := cmp.Diff(trace, got); diff != "" {
				t.Errorf("%s: the run is not its trace (-trace +run):\n%s", where, diff)
			}
		})
	}
}

// startsOf are the instants from which latencies count, in nanoseconds.
func startsOf(p *Performance) (at []int64) {
	p.EachSample(func(r SampleRecord) { at = append(at, int64(r.Start)) })
	return at
}

func TestTheSameSampleIsInEverySetOrTheTestIsRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for refused := 0; refused < 5; {
		s, performance, total := anyTest(r)
		if !wantsTooMuch(s, performance, total) {
			continue
		}
		refused++
		_, err := NewTrace(s, performance, total)
		_, runErr := Run(t.Context(), atOnce(), &fakeQSL{total: int(total), performance: int(performance)}, s, timers)
		for _, err := range []error{err, runErr} {
			if err == nil || !strings.Contains(err.Error(), "samples of the smallest set that is loaded") {
				t.Errorf("sample %d is wanted of each set, %d of %d are loaded at once: error %v", s.PerformanceIssueSameIndex, performance, total, err)
			}
		}
	}
}

func TestEverySampleIsIssuedOnceInAccuracyMode(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		s, total := anySettings(r), 1+r.Uint64N(500)
		s.Mode, s.PerformanceIssueSame = AccuracyOnly, false // which the reference applies to accuracy mode, too
		trace, err := NewTrace(s, 1+r.Uint64N(total), total)
		if err != nil {
			t.Fatal(err)
		}
		seen := make([]int, total)
		for _, index := range trace.Samples {
			seen[index]++
		}
		for index, n := range seen {
			if n == 0 || n > 1 && s.Scenario != MultiStream {
				t.Fatalf("%+v: sample %d is issued %d times", s, index, n)
			}
		}
	}
}

func TestATestHasAsManySamplesAsIds(t *testing.T) {
	// A test of which almost all ids are used up.
	few := func(s TestSettings) *test {
		e := s.Effective(100, 500)
		return &test{
			sut: atOnce(), qsl: &fakeQSL{total: 500, performance: 100}, e: e, opts: timers.withDefaults(), events: &eventLog{},
			result: &Result{QSLTotalSampleCount: 500, QSLPerformanceSampleCount: 100, StartTime: time.Now()}, nextID: maxSamples - blockSamples,
		}
	}
	t.Run("a schedule that needs more is an error", func(t *testing.T) {
		s := quick(Server)
		s.MinQueryCount = 2 * blockSamples
		err := few(s).run(t.Context())
		if err == nil || err.Error() != "the test would have more than 4294967295 samples" {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a stream that goes on ends early", func(t *testing.T) {
		inFakeTime(t, func(t *testing.T) {
			s := quick(SingleStream)
			s.SingleStreamExpectedLatencyNS, s.MinDuration = 1e9, time.Minute
			test := few(s)
			test.sut = &fakeSUT{issue: func(q Query) {
				time.Sleep(10 * time.Microsecond)
				answer(q)
			}}
			if err := test.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			test.result.Events = test.events.list
			p := test.result.Performance
			if p.QueryCount != blockSamples || p.Valid() || !hasEvent(test.result, "all prepared queries are issued") {
				t.Errorf("%d queries, valid %v; want %d, INVALID", p.QueryCount, p.Valid(), blockSamples)
			}
		})
	})
}

// A deafQSL does not notice that it should stop loading.
type deafQSL struct{ fakeQSL }

func (q *deafQSL) LoadSamplesToRAM(_ context.Context, set []QuerySampleIndex) error {
	return q.fakeQSL.LoadSamplesToRAM(context.Background(), set)
}

func TestPreparingCanBeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("never mind")
	qsl := &deafQSL{fakeQSL{total: 500, performance: 100, loading: func() { cancel(why) }}}
	sut := atOnce()
	r, err := Run(ctx, sut, qsl, quick(Server), timers)
	if err != nil {
		t.Fatal(err)
	}
	if len(sut.queries) > 0 || !errors.Is(r.Interrupted, why) || r.Performance != nil || r.Valid() {
		t.Errorf("%d queries were issued, interrupted by %v, valid %v", len(sut.queries), r.Interrupted, r.Valid())
	}
}
