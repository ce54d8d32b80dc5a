package loadgen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestRunIssuesItsTrace(t *testing.T) {
	testenv.SkipLong(t, "takes long")
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
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
		total := 1 + r.Uint64N(200)
		performance := 1 + r.Uint64N(total)
		switch r.IntN(6) {
		case 0:
			s.PerformanceIssueUnique = true
		case 1:
			s.PerformanceIssueSame, s.PerformanceIssueSameIndex = true, r.Uint64N(performance)
			if last := total % performance; s.Mode != PerformanceOnly && last != 0 {
				s.PerformanceIssueSameIndex %= last
			}
		case 2:
			s.MaxQueryCount = s.MinQueryCount + r.Uint64N(9)
		}
		s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = r.Uint64(), r.Uint64(), r.Uint64()
		inFakeTime(t, func(t *testing.T) {
			where := fmt.Sprintf("%+v with %d of %d samples", s, performance, total)
			trace, err := NewTrace(t.Context(), s, performance, total)
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
				got.ScheduledNS = nil
				result.Performance.EachSample(func(r SampleRecord) { got.ScheduledNS = append(got.ScheduledNS, int64(r.Start)) })
				got.ScheduledNS = got.ScheduledNS[:len(trace.ScheduledNS)]
			}
			if diff := cmp.Diff(trace, got); diff != "" {
				t.Errorf("%s: the run is not its trace (-trace +run):\n%s", where, diff)
			}
		})
	}
}

func TestIDsMayRunOut(t *testing.T) {
	// A test with one block of ids left.
	lastIDs := func(sut SUT, s TestSettings) *test {
		return &test{
			sut: sut, qsl: samples(), e: s.Effective(100, 500), opts: timers.withDefaults(), events: &eventLog{},
			result: &Result{QSLTotalSampleCount: 500, QSLPerformanceSampleCount: 100, StartTime: time.Now()}, nextID: maxSamples - blockSamples,
		}
	}
	t.Run("a schedule that needs more is an error", func(t *testing.T) {
		err := lastIDs(atOnce(), quick(Server, count(2*blockSamples))).run(t.Context())
		if err == nil || err.Error() != "the test would have more than 4294967295 samples" {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a stream that goes on ends early", func(t *testing.T) {
		inFakeTime(t, func(t *testing.T) {
			s := quick(SingleStream)
			s.SingleStreamExpectedLatencyNS, s.MinDuration = 1e9, time.Minute
			test := lastIDs(blocking(10*time.Microsecond, 0), s)
			testenv.Must(t, test.run(t.Context()))
			test.result.Events = test.events.list
			p := test.result.Performance
			if p.QueryCount != blockSamples || p.Valid() || !hasEvent(test.result, "all prepared queries are issued") {
				t.Errorf("%d queries, valid %v; want %d, INVALID", p.QueryCount, p.Valid(), blockSamples)
			}
		})
	})
}
