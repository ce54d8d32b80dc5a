package loadgen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// A randomRun is a test with settings, a QSL and a SUT at random.
type randomRun struct {
	settings TestSettings
	qsl      *fakeQSL
	sut      *fakeSUT
	result   *Result
	samples  []SampleRecord
}

func drawRun(t *testing.T, r *rand.Rand) *randomRun {
	t.Helper()
	s := DefaultSettings()
	s.Scenario = Scenarios()[r.IntN(4)]
	s.MinDuration, s.MinQueryCount = time.Duration(r.IntN(300))*time.Millisecond, uint64(r.IntN(200))
	if r.IntN(4) == 0 {
		s.MaxQueryCount = s.MinQueryCount + 1 + uint64(r.IntN(100))
	}
	s.MultiStreamSamplesPerQuery = 1 + uint64(r.IntN(5))
	s.ServerTargetQPS, s.OfflineExpectedQPS = 1+r.Float64()*2000, 1+r.Float64()*2000
	s.ServerTargetLatency = time.Duration(r.IntN(20)) * time.Millisecond
	s.ServerCoalesceQueries = r.IntN(3) == 0
	s.SingleStreamExpectedLatencyNS, s.MultiStreamExpectedLatencyNS = 1e5+r.Float64()*1e7, 1e5+r.Float64()*1e7
	s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = r.Uint64(), r.Uint64(), r.Uint64()
	s.PerformanceIssueSame = r.IntN(6) == 0
	run := &randomRun{settings: s, qsl: &fakeQSL{total: 1 + r.IntN(40)}}
	run.qsl.performance = 1 + r.IntN(run.qsl.total)
	run.sut = drawSUT(r)
	inFakeTime(t, func(t *testing.T) {
		run.result = mustRun(t, run.sut, run.qsl, s, timers)
	})
	run.result.Performance.EachSample(func(s SampleRecord) { run.samples = append(run.samples, s) })
	return run
}

// drawSUT answers inside IssueQuery, or each sample of a query by itself at some time.
func drawSUT(r *rand.Rand) *fakeSUT {
	base, spread, inside := time.Duration(r.IntN(5_000_000)), 1+r.Int64N(10_000_000), r.IntN(2) == 0
	var mu sync.Mutex
	latency := rand.New(rand.NewPCG(r.Uint64(), 1))
	draw := func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return base + time.Duration(latency.Int64N(spread))
	}
	return &fakeSUT{issue: func(q Query) {
		if inside {
			time.Sleep(draw())
			answer(q)
			return
		}
		for _, sample := range q.Samples {
			time.AfterFunc(draw(), func() { q.Complete([]QuerySampleResponse{{ID: sample.ID}}) })
		}
	}}
}

func (run *randomRun) String() string {
	s := run.settings
	return fmt.Sprintf("%v of %d samples, %d loaded, min %v and %d queries, max %d", s.Scenario, run.qsl.total, run.qsl.performance, s.MinDuration, s.MinQueryCount, s.MaxQueryCount)
}

func TestInvariantsOfEveryRun(t *testing.T) {
	r := rand.New(rand.NewPCG(91, 92))
	valid := 0
	for range 120 {
		run := drawRun(t, r)
		for name, check := range map[string]func(*randomRun) error{
			"traffic": (*randomRun).checkTraffic, "instants": (*randomRun).checkInstants,
			"statistics": (*randomRun).checkStatistics, "verdict": (*randomRun).checkVerdict,
		} {
			if err := check(run); err != nil {
				t.Fatalf("%v: %s: %v", run, name, err)
			}
		}
		if run.result.Valid() {
			valid++
		}
	}
	if valid == 0 || valid == 120 {
		t.Errorf("%d of 120 runs are VALID", valid)
	}
}

// checkTraffic compares what the SUT was given with what the result says was issued.
func (run *randomRun) checkTraffic() error {
	p := run.result.Performance
	if len(run.result.Faults) > 0 {
		return fmt.Errorf("faults %v", run.result.Faults)
	}
	issued := slices.Concat(run.sut.queries...)
	if len(issued) != len(run.samples) || p.SampleCount != uint64(len(issued)) || run.sut.flushed == 0 {
		return fmt.Errorf("%d samples were issued, the result has %d and counts %d, flushed %d times", len(issued), len(run.samples), p.SampleCount, run.sut.flushed)
	}
	queries := len(run.sut.queries)
	if !run.settings.ServerCoalesceQueries && p.QueryCount != uint64(queries) {
		return fmt.Errorf("%d queries were issued, the result counts %d", queries, p.QueryCount)
	}
	loaded := run.qsl.loads[len(run.qsl.loads)-1]
	seen := map[ResponseID]bool{}
	for i, s := range run.samples {
		if s.Index != issued[i] || !slices.Contains(loaded, s.Index) || seen[s.ID] {
			return fmt.Errorf("sample %d is %d, id %v; the SUT was given %d of the set %v", i, s.Index, s.ID, issued[i], loaded)
		}
		seen[s.ID] = true
	}
	for i, query := range run.sut.queries {
		if run.settings.PerformanceIssueSame && run.settings.Scenario != Offline && !slices.Equal(query[:1], run.sut.queries[0][:1]) {
			return fmt.Errorf("query %d begins with %d, want the sample of the first", i, query[0])
		}
	}
	return nil
}

// checkInstants looks at when samples were issued and answered.
func (run *randomRun) checkInstants() error {
	for i, s := range run.samples {
		if s.Completed < s.Issued || s.Issued < s.Start || s.Start < 0 {
			return fmt.Errorf("sample %d counts from %v, was issued at %v and answered at %v", i, s.Start, s.Issued, s.Completed)
		}
		if i == 0 {
			continue
		}
		before := run.samples[i-1]
		same := before.Query == s.Query
		switch run.settings.Scenario {
		case Offline:
			if s.Start != 0 || !same {
				return fmt.Errorf("sample %d counts from %v, query %d", i, s.Start, s.Query)
			}
		case Server:
			if s.Start < before.Start {
				return fmt.Errorf("sample %d is due at %v, the one before at %v", i, s.Start, before.Start)
			}
		default: // a query follows the answer to the one before
			if !same && s.Issued < before.Completed || same && s.Issued != before.Issued {
				return fmt.Errorf("sample %d of query %d is issued at %v, the one before, of query %d, at %v and answered at %v", i, s.Query, s.Issued, before.Query, before.Issued, before.Completed)
			}
		}
	}
	return nil
}

// checkStatistics computes them from a sorted list.
func (run *randomRun) checkStatistics() error {
	p := run.result.Performance
	var list []time.Duration
	over, sum := uint64(0), time.Duration(0)
	for _, s := range run.samples {
		latency := s.Completed - s.Start
		list, sum = append(list, latency), sum+latency
		if latency > p.Effective.TargetLatency {
			over++
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	at := func(fraction float64) time.Duration {
		return list[min(int(float64(len(list))*fraction), len(list)-1)]
	}
	got := p.SampleLatency
	want := LatencyStats{Count: uint64(len(list)), Min: list[0], Max: list[len(list)-1], Mean: sum / time.Duration(len(list)), Target: at(p.Effective.TargetLatencyPercentile)}
	for i, fraction := range Percentiles() {
		want.Percentiles[i] = at(fraction)
	}
	if got != want {
		return fmt.Errorf("latencies are %+v, want %+v", got, want)
	}
	if run.settings.Scenario == Server && p.Overlatency != over {
		return fmt.Errorf("%d samples are too late, want %d", p.Overlatency, over)
	}
	return nil
}

// checkVerdict compares the verdict with the constraints, and these with the settings.
func (run *randomRun) checkVerdict() error {
	p, r := run.result.Performance, run.result
	broken := 0
	for _, c := range p.Constraints() {
		if !c.Met && !c.ReferenceOnly {
			broken++
		}
		if c.Met && c.Advice != "" || !c.Met && c.String() == "" {
			return fmt.Errorf("the constraint %+v", c)
		}
	}
	if r.Valid() != (broken == 0) || r.Valid() != (len(r.Problems()) == 0) {
		return fmt.Errorf("valid %t, %d constraints are broken, problems %q", r.Valid(), broken, r.Problems())
	}
	e := p.Effective
	enough := p.QueryCount >= e.MinQueryCount && p.SampleCount >= e.MinSampleCount
	if p.MinQueriesMet != enough {
		return fmt.Errorf("enough queries: %t, of %d queries and %d samples, want %d and %d", p.MinQueriesMet, p.QueryCount, p.SampleCount, e.MinQueryCount, e.MinSampleCount)
	}
	if e.MaxQueryCount > 0 && p.QueryCount > e.MaxQueryCount && !run.settings.ServerCoalesceQueries { // late ones go together
		return fmt.Errorf("%d queries, at most %d", p.QueryCount, e.MaxQueryCount)
	}
	return nil
}

// In accuracy mode every sample of the QSL is issued once, whatever is loaded at a time. In MultiStream samples
// may come again to fill up a query, as in the reference.
func TestAccuracyModeIssuesEverySampleOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(93, 94))
	for range 60 {
		s := quick(Scenarios()[r.IntN(4)])
		s.Mode, s.MultiStreamSamplesPerQuery = AccuracyOnly, 1
		s.QSLRNGSeed, s.SampleIndexRNGSeed = r.Uint64(), r.Uint64()
		qsl := &fakeQSL{total: 1 + r.IntN(60)}
		qsl.performance = 1 + r.IntN(qsl.total)
		sut, log := atOnce(), &memoryLog{}
		var result *Result
		inFakeTime(t, func(t *testing.T) {
			result = mustRun(t, sut, qsl, s, Options{NewPacer: timers.NewPacer, AccuracyLog: log})
		})
		seen := make([]int, qsl.total)
		for _, index := range slices.Concat(sut.queries...) {
			seen[index]++
		}
		for _, record := range log.records {
			seen[record.QSLIndex] += 10
		}
		log.check(t, uint64(qsl.total))
		if i := slices.IndexFunc(seen, func(n int) bool { return n != 11 }); i >= 0 || result.AccuracySamples != uint64(qsl.total) || !result.Valid() {
			t.Fatalf("%v of %d samples, %d loaded at once: sample %d was issued and logged %d times, %d are counted", s.Scenario, qsl.total, qsl.performance, i, seen[max(i, 0)], result.AccuracySamples)
		}
		loaded := slices.Sorted(slices.Values(slices.Concat(qsl.loads...)))
		if len(loaded) != qsl.total || len(slices.Compact(loaded)) != qsl.total {
			t.Fatalf("%v: %d samples were loaded, want each of %d once", s.Scenario, len(loaded), qsl.total)
		}
	}
}
