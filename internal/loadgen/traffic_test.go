package loadgen

import (
	"fmt"
	"math"
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
		if !testenv.Names(err, "4294967295 samples") {
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

// Bursts have the target rate on average, Factor times that rate inside, and a schedule that depends on the seed alone.
func TestBurstArrivals(t *testing.T) {
	s := DefaultSettings()
	s.Scenario, s.ServerTargetQPS, s.MinDuration = Server, 200, 2000*time.Second
	schedule := func(a Arrivals, seed uint64) []int64 {
		s.ServerArrivals, s.ScheduleRNGSeed = a, seed
		trace, err := NewTrace(t.Context(), s, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		return trace.ScheduledNS
	}
	a := Arrivals{Factor: 4, Burst: 500 * time.Millisecond}
	got := schedule(a, 7)
	if again, other := schedule(a, 7), schedule(a, 8); !slices.Equal(got, again) || slices.Equal(got, other) {
		t.Error("the schedule does not follow from the seed")
	}
	// The first draw is the length of a burst. The next ones are those of the Poisson schedule, at four times its rate.
	poisson := schedule(Arrivals{}, 7)
	for i := range 3 {
		if gap, want := got[i+1]-got[i], (poisson[i+2]-poisson[i+1])/4; gap < want-1 || gap > want+1 {
			t.Errorf("gap %d is %d ns, want %d", i, gap, want)
		}
	}
	if rate := float64(len(got)) / 2000; rate < 190 || rate > 210 {
		t.Errorf("%.1f queries/s on average, want 200", rate)
	}
	// Pauses of 1.5 s on average divide the queries into bursts of 400 on average; gaps of 100 ms are rare inside at 800 queries/s.
	pauses, paused := 0, 0.0
	for i := range got[1:] {
		if gap := got[i+1] - got[i]; gap > 1e8 {
			pauses++
			paused += float64(gap) / 1e9
		}
	}
	if n := float64(len(got)) / float64(pauses); n < 350 || n > 480 {
		t.Errorf("%.0f queries a burst, want about 400", n)
	}
	if share := paused / 2000; share < 0.70 || share > 0.80 {
		t.Errorf("%.2f of the time are pauses, want 0.75", share)
	}
}

// A replay issues each sample once, in the order of the data, at the times of the file.
func TestReplay(t *testing.T) {
	ms := time.Millisecond
	s := DefaultSettings()
	s.Scenario, s.ServerTargetQPS, s.MinDuration, s.MinQueryCount, s.SampleConcatenatePermutation = Server, 200, time.Hour, 1, true
	s.ServerArrivals = Arrivals{Factor: 1, Replay: "trace.csv"}
	for _, samples := range []uint64{5, 3} {
		s.ServerReplay = []time.Duration{0, 7 * ms, 7 * ms, 9 * ms, 2 * time.Second}
		trace, err := NewTrace(t.Context(), s, samples, samples)
		if err != nil {
			t.Fatal(err)
		}
		want := []QuerySampleIndex{0, 1, 2, 3, 4}
		if samples == 3 {
			want = []QuerySampleIndex{0, 1, 2, 0, 1}
		}
		if !slices.Equal(trace.Samples, want) || !slices.Equal(trace.ScheduledNS, []int64{0, 7e6, 7e6, 9e6, 2e9}) || trace.Arrivals != "replay:trace.csv" {
			t.Errorf("samples %v at %v, %s", trace.Samples, trace.ScheduledNS, trace.Arrivals)
		}
	}
	if s.ServerReplay = nil; s.Effective(3, 3).Validate(3) == nil {
		t.Error("a replay without times is accepted")
	}
}

// In a ramp of 100 s to 50/s half of the 2,500 arrivals come in its last 29 %, and then 50 come a second.
func TestRamp(t *testing.T) {
	s := DefaultSettings()
	s.Scenario, s.ServerTargetQPS, s.MinDuration, s.MinQueryCount = Server, 50, 200*time.Second, 1
	s.ServerArrivals = Arrivals{Ramp: 100 * time.Second}
	trace, err := NewTrace(t.Context(), s, 10, 10)
	if err != nil {
		t.Fatal(err)
	}
	var parts [4]int // until 50, 71, 100 and 200 s
	for _, at := range trace.ScheduledNS {
		for i, end := range []float64{50e9, 70.71e9, 100e9, 200e9} {
			if float64(at) < end {
				parts[i]++
				break
			}
		}
	}
	for i, want := range []float64{625, 625, 1250, 5000} {
		if off := math.Abs(float64(parts[i]) - want); off > 4*math.Sqrt(want) {
			t.Errorf("part %d has %d arrivals, want about %g", i, parts[i], want)
		}
	}
	if !slices.IsSorted(trace.ScheduledNS) || trace.Arrivals != "ramp:1m40s" {
		t.Errorf("%s, sorted: %v", trace.Arrivals, slices.IsSorted(trace.ScheduledNS))
	}
}

func TestParseArrivals(t *testing.T) {
	for text, want := range map[string]Arrivals{
		"poisson": {}, "burst:4x500ms": {Factor: 4, Burst: 500 * time.Millisecond}, "burst:1.5x2s": {Factor: 1.5, Burst: 2 * time.Second}, "ramp:30s": {Ramp: 30 * time.Second},
		"replay:a b/c.csv": {Factor: 1, Replay: "a b/c.csv"}, "replay:0.5x:a:b,c": {Factor: 0.5, Replay: "a:b,c"}, "replay:1x:2x:a": {Factor: 1, Replay: "2x:a"}, "replay:x:a": {Factor: 1, Replay: "x:a"},
	} {
		if got, err := ParseArrivals(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "Poisson", "burst", "burst:4", "burst:4x", "burst:x1s", "burst:1x1s", "burst:0x0s", "burst:NaNx1s", "burst:-2x1s", "burst:1e9x1s", "burst:4x0s", "burst:4x-1s", "burst:4x9999h", "burst:4x5",
		"ramp:", "ramp:0s", "ramp:-1s", "ramp:9999h", "ramp:30", "replay:", "replay:2x:", "replay:0x:a", "replay:1.2.3x:a", "replay:9999999x:a", "replay:a\nb"} {
		if a, err := ParseArrivals(text); err == nil {
			t.Errorf("%q is %v", text, a)
		}
	}
	s := DefaultSettings()
	s.Scenario, s.ServerArrivals = Server, Arrivals{Factor: 2, Burst: time.Millisecond} // a burst has no query at 1 query/s
	if _, err := NewTrace(t.Context(), s, 1, 1); err == nil {
		t.Error("bursts without a query are accepted")
	}
}
