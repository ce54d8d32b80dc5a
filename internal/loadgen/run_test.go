package loadgen

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestEveryScenarioIsValidWithAFastSUT(t *testing.T) {
	for _, scenario := range Scenarios() {
		want := time.Millisecond
		if scenario == Offline {
			want = 6 * time.Second
		}
		sut := after(want)
		r := runFake(t, sut, quick(scenario), Options{})
		if !r.Valid() || sut.flushed != 1 {
			t.Errorf("%v is INVALID: %v; FlushQueries was called %d times", scenario, r.Problems(), sut.flushed)
		}
		if got := r.Performance.SampleLatency; got.Min != want || got.Max != want || got.Mean != want || got.Target != want {
			t.Errorf("%v: latencies %+v, want all %v", scenario, got, want)
		}
	}
}

func TestLatencyCountsFromTheRightInstant(t *testing.T) {
	inTurn := func(each time.Duration) *fakeSUT { // samples of a query one after another
		return &fakeSUT{issue: func(q Query) {
			for i, sample := range q.Samples {
				time.AfterFunc(time.Duration(i+1)*each, func() { q.Complete([]QuerySampleResponse{{ID: sample.ID}}) })
			}
		}}
	}
	t.Run("Server: its schedule", func(t *testing.T) {
		// All three queries are due almost at once, and each takes 10 ms inside IssueQuery.
		p := runFake(t, blocking(10*time.Millisecond, 0), quick(Server, func(s *TestSettings) {
			s.ServerTargetQPS, s.MaxQueryCount, s.MinDuration = 1e6, 3, time.Millisecond
		}), Options{}).Performance
		if got, late := p.SampleLatency.Max, p.IssueDelay.Max; got < 29*time.Millisecond || got > 30*time.Millisecond || late < 19*time.Millisecond {
			t.Errorf("the third query was issued %v late and its latency is %v, want about 20ms and just below 30ms", late, got)
		}
	})
	t.Run("SingleStream: its issue", func(t *testing.T) {
		p := runFake(t, blocking(4*time.Millisecond, time.Millisecond), quick(SingleStream, count(101)), Options{}).Performance
		if got := p.SampleLatency; got.Min != 4*time.Millisecond || got.Max != 4*time.Millisecond {
			t.Errorf("latencies from %v to %v, want 4ms", got.Min, got.Max)
		}
		if p.FinalQueryIssued != 500*time.Millisecond || p.FinalQueryCompleted != 504*time.Millisecond || p.FinalQueryScheduled != 0 {
			t.Errorf("the last query was issued at %v, completed at %v", p.FinalQueryIssued, p.FinalQueryCompleted)
		}
		if p.QPSWithOverhead() != 200 || p.QPSWithoutOverhead() != 250 {
			t.Errorf("%g QPS with overhead, %g without; want 200 and 250", p.QPSWithOverhead(), p.QPSWithoutOverhead())
		}
	})
	t.Run("Offline: the start", func(t *testing.T) {
		p := runFake(t, inTurn(time.Second), quick(Offline, count(4)), Options{}).Performance
		if p.SamplesPerSecond() != 1 || p.SampleLatency.Min != time.Second {
			t.Errorf("%g samples per second, the first after %v; want 1 and 1s", p.SamplesPerSecond(), p.SampleLatency.Min)
		}
	})
	t.Run("MultiStream: until the last sample", func(t *testing.T) {
		p := runFake(t, inTurn(time.Millisecond), quick(MultiStream, func(s *TestSettings) { s.MultiStreamSamplesPerQuery = 2 }), Options{}).Performance
		if q := p.QueryLatency; q.Min != 2*time.Millisecond || q.Max != 2*time.Millisecond || q.Mean != 2*time.Millisecond || p.SampleLatency.Min != time.Millisecond {
			t.Errorf("query latencies from %v to %v, of samples from %v on; want 2ms and 1ms", q.Min, q.Max, p.SampleLatency.Min)
		}
	})
}

func TestServerKeepsItsSchedule(t *testing.T) {
	s := quick(Server)
	s.MinDuration, s.ServerTargetQPS = 10*time.Minute, 50
	trace, err := NewTrace(t.Context(), s, 100, 500)
	testenv.Must(t, err)
	p := runFake(t, after(250*time.Millisecond), s, Options{}).Performance
	n, last := float64(trace.Queries), float64(slices.Max(trace.ScheduledNS))/1e9
	if got, want := p.ScheduledQPS(), (n-1)/last; got != want {
		t.Errorf("scheduled: %g QPS, want %g", got, want)
	}
	if got, want := p.CompletedQPS(), (n-1)/(last+0.25); math.Abs(got-want) > 1e-9 {
		t.Errorf("completed: %g QPS, want %g", got, want)
	}
	if p.IssueDelay.Max != 0 || p.LastCompletion != p.FinalQueryCompleted || p.LastCompletion < 10*time.Minute || p.LastCompletion > 11*time.Minute {
		t.Errorf("issued up to %v late; last completion at %v, of the last query at %v", p.IssueDelay.Max, p.LastCompletion, p.FinalQueryCompleted)
	}
}

func TestIssueThreadsShareTheTraffic(t *testing.T) {
	trace, err := NewTrace(t.Context(), quick(Server), 100, 500)
	testenv.Must(t, err)
	for _, threads := range []uint64{1, 2, 3, 7} {
		r := runFake(t, atOnce(), quick(Server, func(s *TestSettings) { s.ServerNumIssueQueryThreads = threads }), Options{})
		if !r.Valid() || r.Performance.QueryCount != trace.Queries {
			t.Errorf("%d threads issued %d queries, want %d: %v", threads, r.Performance.QueryCount, trace.Queries, r.Problems())
		}
		r = runFake(t, atOnce(), quick(Server, func(s *TestSettings) { s.ServerNumIssueQueryThreads, s.MaxQueryCount = threads, 10 }), Options{})
		if r.Valid() || r.Performance.QueryCount != 10 || !hasEvent(r, "max_query_count is reached") {
			t.Errorf("%d threads issued %d queries, valid %v; want 10, INVALID", threads, r.Performance.QueryCount, r.Valid())
		}
	}
}

// A lazyPacer takes its time until it is ready, the second one longer.
type lazyPacer struct {
	TimerPacer
	begins *atomic.Int64
}

func (p lazyPacer) Begin(time.Duration) string {
	time.Sleep(time.Duration(p.begins.Add(1)) * time.Second)
	return "lazy"
}

func TestClockStartsWhenIssueThreadsAreReady(t *testing.T) {
	for _, threads := range []uint64{1, 2} {
		var begins atomic.Int64
		r := runFake(t, atOnce(), quick(Server, func(s *TestSettings) { s.ServerNumIssueQueryThreads = threads }),
			Options{NewPacer: func() Pacer { return lazyPacer{begins: &begins} }})
		if p := r.Performance; p.IssueDelay.Max != 0 || p.Started != time.Duration(threads)*time.Second {
			t.Errorf("%d threads issued up to %v late, and the clock started after %v", threads, p.IssueDelay.Max, p.Started)
		}
	}
}

func TestRunsOfManyBlocks(t *testing.T) {
	for _, scenario := range []Scenario{SingleStream, Server, Offline} {
		s := quick(scenario, count(2*blockSamples+1), func(s *TestSettings) { s.ServerTargetQPS = 1e9 })
		r := mustRun(t, nullSUT(answer), samples(), s, Options{})
		if got := r.Performance.SampleCount; got < s.MinQueryCount || len(r.Faults) > 0 {
			t.Errorf("%v: %d samples, want %d; faults %v", scenario, got, s.MinQueryCount, r.Faults)
		}
	}
}

func TestCoalescing(t *testing.T) {
	for _, threads := range []uint64{1, 2} {
		sut := blocking(20*time.Millisecond, 0)
		r := runFake(t, sut, quick(Server, func(s *TestSettings) { s.ServerCoalesceQueries, s.ServerNumIssueQueryThreads = true, threads }), Options{})
		samples, largest := uint64(0), 0
		for _, q := range sut.queries {
			samples += uint64(len(q))
			largest = max(largest, len(q))
		}
		if samples != r.Performance.QueryCount || samples != r.Performance.SampleCount || largest < 10 || len(r.Faults) > 0 {
			t.Errorf("%d samples for %d queries, the largest of %d, want about 20 for each thread; faults %v", samples, r.Performance.QueryCount, largest, r.Faults)
		}
	}
}

func TestTest05TakesTheAlternativeSeeds(t *testing.T) {
	s := quick(Server)
	s.MinDuration = 100 * time.Millisecond
	traffic := func(s TestSettings) (samples []QuerySampleIndex, due []time.Duration, r *Result) {
		r = runFake(t, atOnce(), s, Options{})
		r.Performance.EachSample(func(s SampleRecord) { samples, due = append(samples, s.Index), append(due, s.Start) })
		return samples[:100], due[:100], r
	}
	plain, when, _ := traffic(s)
	for _, c := range []struct {
		name                      string
		change                    func(*TestSettings)
		sameSamples, sameInstants bool
	}{
		{"the same seeds", func(*TestSettings) {}, true, true},
		{"qsl_rng_seed", func(s *TestSettings) { s.Test05QSLRNGSeed = 77 }, false, true},
		{"sample_index_rng_seed", func(s *TestSettings) { s.Test05SampleIndexRNGSeed = 77 }, false, true},
		{"schedule_rng_seed", func(s *TestSettings) { s.Test05ScheduleRNGSeed = 77 }, true, false},
	} {
		o := s
		o.Test05, o.Mode = true, SubmissionRun // which would have an accuracy part too
		o.Test05QSLRNGSeed, o.Test05SampleIndexRNGSeed, o.Test05ScheduleRNGSeed = s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed
		c.change(&o)
		samples, due, r := traffic(o)
		if slices.Equal(samples, plain) != c.sameSamples || slices.Equal(due, when) != c.sameInstants {
			t.Errorf("%s: samples %v at %v, without the switch %v at %v", c.name, samples[:5], due[:5], plain[:5], when[:5])
		}
		if r.AccuracySamples != 0 || r.Effective.Mode != PerformanceOnly || r.Requested.Mode != SubmissionRun || r.Warnings() != 1 || !hasEvent(r, "test05") {
			t.Errorf("%s: %d samples of accuracy mode, mode %v, %d warnings", c.name, r.AccuracySamples, r.Effective.Mode, r.Warnings())
		}
	}
}

func TestValidity(t *testing.T) {
	type set = func(*TestSettings)
	for name, c := range map[string]struct {
		scenario Scenario
		change   set
		latency  time.Duration
		problem  string // the beginning of the first; "" if valid
	}{
		"Server within its latency":  {Server, func(*TestSettings) {}, 100 * time.Millisecond, ""},
		"Server above its latency":   {Server, func(*TestSettings) {}, 101 * time.Millisecond, "latency: 101 ms, must be at most 100 ms at the 99th percentile; lower the target QPS"},
		"Server cut by max queries":  {Server, func(s *TestSettings) { s.MaxQueryCount = 2000 }, 1, "duration: "},
		"Server too few to stop":     {Server, count(400), 1, "early stopping: 400 queries, must be at least 459 queries; run longer"},
		"Server enough to stop":      {Server, count(459), 1, ""},
		"Server too few queries":     {Server, func(s *TestSettings) { count(500)(s); s.MaxQueryCount = 499 }, 1, "queries: 499 "},
		"Server below max queries":   {Server, func(s *TestSettings) { count(500)(s); s.MaxQueryCount = 501 }, 1, ""},
		"Server of older rules":      {Server, func(s *TestSettings) { count(400)(s); s.WithoutEarlyStopping = true }, 1, ""},
		"SingleStream too few":       {SingleStream, func(s *TestSettings) { count(100)(s); s.MaxQueryCount = 99 }, 1, "queries: 99 "},
		"SingleStream at max":        {SingleStream, func(s *TestSettings) { count(100)(s); s.MaxQueryCount = 100 }, 1, ""},
		"SingleStream few to stop":   {SingleStream, count(63), 1, "early stopping: 63 "},
		"SingleStream to stop":       {SingleStream, count(64), 1, ""},
		"SingleStream older rules":   {SingleStream, func(s *TestSettings) { count(63)(s); s.WithoutEarlyStopping = true }, 1, ""},
		"SingleStream cut":           {SingleStream, func(s *TestSettings) { s.MaxDuration = 4 * time.Second }, time.Millisecond, "duration: "},
		"SingleStream not cut":       {SingleStream, func(s *TestSettings) { s.MaxDuration = 6 * time.Second }, time.Millisecond, ""},
		"SingleStream out of unique": {SingleStream, func(s *TestSettings) { count(101)(s); s.PerformanceIssueUnique = true }, time.Millisecond, "queries: 100 "},
		"SingleStream all unique":    {SingleStream, func(s *TestSettings) { count(100)(s); s.PerformanceIssueUnique = true }, time.Millisecond, ""},
		"MultiStream few to stop":    {MultiStream, count(661), 1, "early stopping: 661 "},
		"MultiStream to stop":        {MultiStream, count(662), 1, ""},
		"MultiStream too short":      {MultiStream, func(s *TestSettings) { s.MaxQueryCount, s.MinQueryCount = 700, 662 }, time.Millisecond, "duration: "},
		"MultiStream long enough":    {MultiStream, func(*TestSettings) {}, time.Millisecond, ""},
		"MultiStream too few":        {MultiStream, func(s *TestSettings) { count(800)(s); s.MaxQueryCount = 799 }, 1, "queries: 799 "},
		"Offline too short":          {Offline, func(*TestSettings) {}, 4 * time.Second, "duration: 4 s, must be at least 5 s; raise the target QPS"},
		"Offline long enough":        {Offline, func(*TestSettings) {}, 5 * time.Second, ""},
		"more than was prepared":     {SingleStream, func(s *TestSettings) { s.SetTargetQPS(1); s.MinQueryCount = 1 }, 10 * time.Millisecond, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := runFake(t, after(c.latency), quick(c.scenario, c.change), Options{})
			problems := append(r.Problems(), "")
			if r.Valid() != (c.problem == "") || !strings.HasPrefix(problems[0], c.problem) || r.Valid() && !r.Performance.EarlyStoppingMet() {
				t.Errorf("valid %v, problems %q, want %q", r.Valid(), problems, c.problem)
			}
		})
	}
}

func TestSlowQueryNeedsMoreQueries(t *testing.T) {
	// Early stopping wants 662 queries if one of them is above the limit, although 1 of 661
	// is well below the percentile.
	for queries, valid := range map[uint64]bool{661: false, 662: true} {
		sut := &fakeSUT{issue: firstQuery(func(q Query) { time.AfterFunc(time.Second, func() { answer(q) }) })}
		p := runFake(t, sut, quick(Server, count(queries)), Options{}).Performance
		if es := p.EarlyStopping; p.Valid() != valid || !p.PerfConstraintsMet || p.Overlatency != 1 || es.Processed != queries || es.Needed != 662 {
			t.Errorf("%d queries, %d above the limit: valid %v, want %v: %v", queries, p.Overlatency, p.Valid(), valid, p.Problems())
		}
	}
}

func TestNoAnswerKeepsNoBound(t *testing.T) {
	p := runFake(t, nullSUT(func(Query) {}), quick(Server), Options{}).Performance
	if p.Valid() || p.PerfConstraintsMet || p.SampleCount != 0 {
		t.Errorf("valid %v, bound met %v with %d samples", p.Valid(), p.PerfConstraintsMet, p.SampleCount)
	}
}

func TestMaxAsyncQueriesEndsARun(t *testing.T) {
	for _, test := range []struct {
		latency                 time.Duration
		max, maxDefault, issued uint64
	}{{time.Second, 10, 0, 11}, {time.Second, 0, 10, 11}, {time.Nanosecond, 1, 0, 0}, {time.Second, 0, 0, 0}} { // 0: all
		s := quick(Server, func(s *TestSettings) { s.ServerMaxAsyncQueries, s.ServerTargetLatency = test.max, time.Second })
		r := runFake(t, after(test.latency), s, Options{MaxOutstanding: test.maxDefault})
		if n, all := r.Performance.QueryCount, test.issued == 0; !all && n != test.issued || r.Valid() != all || hasEvent(r, "outstanding") == all {
			t.Errorf("%+v: %d queries, valid %v, events %v", test, n, r.Valid(), r.Events)
		}
	}
}

func TestMaxDurationEndsARun(t *testing.T) {
	for _, scenario := range []Scenario{SingleStream, MultiStream, Server} {
		r := runFake(t, after(time.Millisecond), quick(scenario, func(s *TestSettings) { s.MaxDuration = 2 * time.Second }), Options{})
		if got := r.Performance.LastCompletion; got < 2*time.Second || got > 2100*time.Millisecond || r.Valid() || !hasEvent(r, "max_duration is reached") {
			t.Errorf("%v: the test lasted %v, want little more than 2s; valid %v, events %v", scenario, got, r.Valid(), r.Events)
		}
	}
}

func TestEachSample(t *testing.T) {
	s := quick(Server, count(300), func(s *TestSettings) { s.ServerCoalesceQueries, s.ServerNumIssueQueryThreads = true, 2 })
	p := runFake(t, after(7*time.Millisecond), s, late(2*time.Millisecond)).Performance
	trace, err := NewTrace(t.Context(), s, 100, 500)
	testenv.Must(t, err)
	i := 0
	var latest time.Duration
	p.EachSample(func(r SampleRecord) {
		if r.ID != ResponseID(i) || r.Query != uint64(i) || r.Index != trace.Samples[i] || int64(r.Start) != trace.ScheduledNS[i] {
			t.Fatalf("record %d is %+v, want index %d at %d", i, r, trace.Samples[i], trace.ScheduledNS[i])
		}
		if late := r.Issued - r.Start; late < 0 || late > 2*time.Millisecond || r.Completed != r.Issued+7*time.Millisecond {
			t.Fatalf("record %d is %+v", i, r)
		}
		latest = max(latest, r.Completed)
		i++
	})
	if i != len(trace.Samples) || latest != p.LastCompletion {
		t.Errorf("%d records, want %d; last completion %v, want %v", i, len(trace.Samples), p.LastCompletion, latest)
	}
}

func TestEachSampleOfAnUnfinishedRun(t *testing.T) {
	n := 0
	sut := &fakeSUT{issue: func(q Query) {
		if n++; n == 3 {
			q = Query{Samples: q.Samples[1:], to: q.to} // and never the first one
		}
		answer(q)
	}}
	p := runFake(t, sut, quick(MultiStream, func(s *TestSettings) { s.MultiStreamSamplesPerQuery = 2 }), Options{}).Performance
	var queries []uint64
	var lost []ResponseID
	p.EachSample(func(r SampleRecord) {
		queries = append(queries, r.Query)
		if r.Completed < 0 {
			lost = append(lost, r.ID)
		}
	})
	if !slices.Equal(queries, []uint64{0, 0, 1, 1, 2, 2}) || !slices.Equal(lost, []ResponseID{4}) || p.SampleCount != 5 || p.QueryLatency.Count != 2 {
		t.Errorf("samples of the queries %v, lost %v, %d samples, %d query latencies; want three queries of two, and 4 lost", queries, lost, p.SampleCount, p.QueryLatency.Count)
	}
}

func TestClocksThatDisagree(t *testing.T) {
	const second = time.Second
	for _, test := range []struct {
		monotonic, wall  time.Duration
		errors, warnings int
	}{
		{100 * second, 100*second + 99*time.Millisecond, 0, 0},
		{100 * second, 100*second + 200*time.Millisecond, 0, 1},
		{100 * second, 100*second - 200*time.Millisecond, 0, 1},
		{100 * second, 102 * second, 1, 0},
		{100 * second, 98 * second, 1, 0},
		{100 * second, -100 * second, 1, 0},
		{second - 1, 2 * second, 0, 0}, // too short to say
	} {
		events := &eventLog{}
		events.checkClocks(test.monotonic, test.wall)
		if r := (Result{Events: events.list}); r.Errors() != test.errors || r.Warnings() != test.warnings {
			t.Errorf("checkClocks(%v, %v): %d errors, %d warnings; want %d, %d", test.monotonic, test.wall, r.Errors(), r.Warnings(), test.errors, test.warnings)
		}
	}
}

func TestPrintTimestamps(t *testing.T) {
	for _, on := range []bool{false, true} {
		r := runFake(t, after(time.Millisecond), quick(SingleStream, func(s *TestSettings) { s.PrintTimestamps = on }), Options{})
		for _, text := range []string{
			"performance mode began at 01-01-2000 00:00:00.000 and ended at 01-01-2000 00:00:05.001 by the system clock (946684800 and 946684805 s since 1970)",
			"performance mode took 5001 ms by the monotonic clock and 5001 ms by the system clock, a ratio of 1.0000",
		} {
			if hasEvent(r, text) != on {
				t.Errorf("print_timestamps %v: %q; %v", on, text, r.Events)
			}
		}
	}
}

// The delay of the generator, and of the SUT.

// A latePacer returns later than it should, by always the same time.
type latePacer struct {
	TimerPacer
	by time.Duration
}

func (p latePacer) WaitUntil(ctx context.Context, start time.Time, offset time.Duration) time.Duration {
	return p.TimerPacer.WaitUntil(ctx, start, offset+p.by)
}

// late are options of a generator that is late.
func late(by time.Duration) Options {
	return Options{NewPacer: func() Pacer { return latePacer{by: by} }}
}

func TestLateGenerator(t *testing.T) {
	server := func(latency time.Duration) TestSettings {
		return quick(Server, count(459), func(s *TestSettings) { s.ServerTargetQPS, s.ServerTargetLatency = 2, latency })
	}
	tokens := quick(Server, count(500))
	tokens.UseTokenLatencies, tokens.ServerTargetLatency, tokens.ServerTTFTLatency, tokens.ServerTPOTLatency = true, 0, 20*time.Millisecond, time.Second
	tokens.ServerTargetQPS = 10
	for name, test := range map[string]struct {
		settings TestSettings
		sut      *fakeSUT
		late     time.Duration
		bound    time.Duration // MaxIssueDelay
		problems []string      // how they begin
	}{
		"half the latency bound":       {server(100 * time.Millisecond), atOnce(), 50 * time.Millisecond, 0, nil},
		"later":                        {server(100 * time.Millisecond), atOnce(), 50*time.Millisecond + 1, 0, []string{"generator: 50.000001 ms, must be at most 50 ms at the 99th percentile; "}},
		"at a bound of its own":        {server(100 * time.Millisecond), atOnce(), time.Millisecond, time.Millisecond, nil},
		"above a bound of its own":     {server(100 * time.Millisecond), atOnce(), time.Millisecond + 1, time.Millisecond, []string{"generator: "}},
		"no latency bound":             {server(0), atOnce(), time.Millisecond, 0, []string{"latency: ", "early stopping: "}},
		"intervals, half of one":       {atIntervals(), atOnce(), 25 * time.Millisecond, 0, nil},
		"intervals, more than half":    {atIntervals(), atOnce(), 25*time.Millisecond + 1, 0, []string{"generator: "}},
		"half of the first token":      {tokens, speaking(time.Millisecond, 2*time.Millisecond), 10 * time.Millisecond, 0, nil},
		"more of the first token":      {tokens, speaking(time.Millisecond, 2*time.Millisecond), 10*time.Millisecond + 1, 0, []string{"generator: "}},
		"slow, and the generator late": {server(time.Millisecond), atOnce(), 2 * time.Millisecond, 0, []string{"latency: 2 ms, must be at most 1 ms at the 99th percentile; measure again", "early stopping: ", "generator: "}},
	} {
		t.Run(name, func(t *testing.T) {
			opts := late(test.late)
			opts.MaxIssueDelay = test.bound
			r := runFake(t, test.sut, test.settings, opts)
			if p := r.Performance; p.IssueDelay.Target != test.late || p.GeneratorDelay.Mean > test.late || p.GeneratorDelay.Mean < test.late*9/10 {
				t.Errorf("the issue delay is %+v, the generator's own %+v, want %v", p.IssueDelay, p.GeneratorDelay, test.late)
			}
			if problems := r.Problems(); !slices.EqualFunc(problems, test.problems, strings.HasPrefix) || r.Valid() != (len(problems) == 0) {
				t.Errorf("valid %v, problems %q, want %q", r.Valid(), problems, test.problems)
			}
		})
	}
	// A SUT that stays inside IssueQuery is not the generator's fault.
	s := quick(Server)
	s.ServerTargetQPS, s.ServerTargetLatency = 380, time.Second
	opts := late(time.Millisecond)
	opts.MaxIssueDelay = 2 * time.Millisecond
	r := runFake(t, blocking(0, 2500*time.Microsecond), s, opts)
	if p := r.Performance; !r.Valid() || p.GeneratorDelay.Target > time.Millisecond || p.IssueDelay.Target < 10*time.Millisecond || !hasEvent(r, "the SUT was still inside IssueQuery") {
		t.Errorf("valid %v, the generator's own delay is %v of %v: %v", r.Valid(), p.GeneratorDelay.Target, p.IssueDelay.Target, r.Problems())
	}
}

func TestLatenessOfAnySize(t *testing.T) {
	for _, ns := range []int64{0, 1, 999, 1e9, coarse - 1, coarse, 4_300_000_000, 60e9, 3600e9, 8000e9} {
		got := latenessOf(ns).ns()
		if exact := ns < coarse; exact && got != ns || got > ns || ns-got >= 1<<coarseShift {
			t.Errorf("%d ns are kept as %d", ns, got)
		}
	}
	if early, years := latenessOf(-5), latenessOf(1<<62).ns(); early != 0 || years < int64(2*time.Hour) {
		t.Errorf("-5 ns are kept as %d, a lateness of years as %d ns", early, years)
	}
}

func TestIdealGeneratorWaitsForTheSUTOnly(t *testing.T) {
	type query struct{ scheduled, issued, returned, own int64 }
	for name, queries := range map[string][]query{
		"both are on time":                         {{10, 10, 11, 0}, {20, 20, 21, 0}},
		"the SUT stays inside":                     {{10, 10, 45, 0}, {20, 45, 46, 0}, {30, 46, 47, 0}},
		"the generator sleeps too long":            {{10, 40, 41, 30}, {20, 41, 42, 21}, {30, 42, 43, 12}, {50, 50, 51, 0}},
		"both, and the SUT's part is that of both": {{10, 15, 25, 5}, {12, 25, 26, 5}, {40, 40, 41, 0}},
	} {
		g := newIdealGenerator()
		for i, q := range queries {
			if got := g.issue(q.scheduled, q.issued).ns(); got != q.own {
				t.Errorf("%s: query %d is %d late by the generator's fault, want %d", name, i, got, q.own)
			}
			g.returned(q.returned)
		}
	}
}

// Tests that use several goroutines in real time.

// workers is a SUT of some workers that answer in any order.
func workers(t *testing.T, n int) *fakeSUT {
	work := make(chan Query, 1<<12)
	t.Cleanup(func() { close(work) })
	for range n {
		go func() {
			for q := range work {
				answer(q)
			}
		}()
	}
	return &fakeSUT{issue: func(q Query) { work <- q }}
}

func TestConcurrentRunsDoNotDisturbEachOther(t *testing.T) {
	// With the pacer that a program uses, each scenario several times at once, with different seeds: every
	// run issues what it would alone.
	var running sync.WaitGroup
	for _, scenario := range Scenarios() {
		for seed := range uint64(3) {
			running.Go(func() {
				s := quick(scenario, count(300))
				s.WithoutEarlyStopping, s.AccuracyLogProbability = true, 1
				s.ServerTargetQPS, s.ServerNumIssueQueryThreads, s.ServerTargetLatency = 10000, 2, time.Minute
				s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = seed, seed+1, seed+2
				log := &memoryLog{}
				trace, err := NewTrace(t.Context(), s, 100, 500)
				if err != nil {
					t.Error(err)
					return
				}
				r, err := Run(t.Context(), workers(t, 2), samples(), s, Options{AccuracyLog: log, MaxIssueDelay: time.Minute})
				if err != nil || !r.Valid() || len(log.records) != len(trace.Samples) {
					t.Errorf("%v: %d records, want %d: %v %v", scenario, len(log.records), len(trace.Samples), err, r.Problems())
					return
				}
				for _, record := range log.records {
					if want := trace.Samples[record.SeqID]; record.QSLIndex != want || record.Data[0] != byte(want) {
						t.Errorf("%v: sample %d was of index %d with answer %d, want %d", scenario, record.SeqID, record.QSLIndex, record.Data[0], want)
						return
					}
				}
			})
		}
	}
	running.Wait()
}

func TestCompletionFromManyGoroutines(t *testing.T) {
	r := mustRun(t, workers(t, 8), samples(), quick(SingleStream, count(10000)), Options{})
	if !r.Valid() || r.Performance.SampleCount != 10000 {
		t.Errorf("valid %v, %d samples, faults %v", r.Valid(), r.Performance.SampleCount, r.Faults)
	}
	for scenario, want := range map[Scenario]uint64{MultiStream: 8000, Offline: 1000} { // the samples of a query
		s := quick(scenario, count(1000))
		s.WithoutEarlyStopping = true
		var answering sync.WaitGroup
		r := mustRun(t, nullSUT(func(q Query) {
			for i := range q.Samples {
				answering.Go(func() { answer(Query{Samples: q.Samples[i : i+1], to: q.to}) })
			}
		}), samples(), s, Options{})
		answering.Wait()
		if !r.Valid() || r.Performance.SampleCount != want {
			t.Errorf("%v: valid %v, %d samples, faults %v", scenario, r.Valid(), r.Performance.SampleCount, r.Faults)
		}
	}
}

func TestBatchOfManyQueries(t *testing.T) {
	// Ten queries are held back and then answered through the last of them.
	var held []QuerySampleResponse
	var last Query
	sut := &fakeSUT{issue: func(q Query) {
		last = q
		if held = append(held, QuerySampleResponse{ID: q.Samples[0].ID}); len(held) == 10 {
			q.Complete(held)
			held = nil
		}
	}}
	sut.flush = func() { last.Complete(held) }
	if r := runFake(t, sut, quick(Server, func(s *TestSettings) { s.ServerTargetLatency = time.Second }), Options{}); !r.Valid() {
		t.Errorf("INVALID: %v", r.Problems())
	}
}

func TestIssuingAndCompletingAllocateNothing(t *testing.T) {
	for _, scenario := range []Scenario{SingleStream, MultiStream, Server} {
		s := quick(scenario, count(5000))
		s.ServerTargetQPS = 1e9
		responses := make([]QuerySampleResponse, s.MultiStreamSamplesPerQuery)
		var before, after runtime.MemStats
		n := 0
		mustRun(t, nullSUT(func(q Query) {
			if n++; n == 1000 {
				runtime.ReadMemStats(&before)
			} else if n == 5000 {
				runtime.ReadMemStats(&after)
			}
			for i, sample := range q.Samples {
				responses[i].ID = sample.ID
			}
			q.Complete(responses[:len(q.Samples)])
		}), samples(), s, Options{})
		if got := after.Mallocs - before.Mallocs; n < 5000 || got > 20 { // those of the runtime and of the watchdog
			t.Errorf("%v: 4000 queries made %d allocations", scenario, got)
		}
	}
}

// TestCancelEndsPreparation of queries that would take seconds to draw.
func TestCancelEndsPreparation(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	begin := time.Now()
	r, err := Run(ctx, atOnce(), samples(), quick(SingleStream, count(1<<30)), timers)
	if err != nil || !errors.Is(r.Interrupted, why) || time.Since(begin) > time.Second {
		t.Errorf("%+v, %v after %v, want %v at once", r, err, time.Since(begin), why)
	}
}

// TestDrainIsLimited after too many outstanding queries, and only then.
func TestDrainIsLimited(t *testing.T) {
	for _, c := range []struct {
		name    string
		latency time.Duration
		inTest  uint64 // max_async_queries
		dropped bool
		least   time.Duration // until the last answer
	}{
		{"answers in time", time.Second, 0, false, 0},
		{"late answers", time.Hour, 0, true, 0},
		{"the setting of the reference", time.Minute, 100, false, time.Minute},
	} {
		s := quick(Server)
		s.ServerMaxAsyncQueries = c.inTest
		longest := time.Duration(0)
		begin := time.Duration(0)
		r := runFake(t, after(c.latency), s, Options{MaxOutstanding: 100, MaxDrain: 10 * time.Second, Progress: func(p Progress) {
			if begin == 0 && p.DropIn > 0 {
				begin = p.DropIn
			}
			longest = max(longest, p.DropIn-begin)
		}})
		if dropped := strings.Contains(strings.Join(r.Problems(), "\n"), "had no answer 10 s later: they are dropped"); dropped != c.dropped || r.Valid() ||
			longest > 0 || r.Performance.LastCompletion < c.least || (begin > 0) == (c.inTest > 0) {
			t.Errorf("%s: dropped %t, last answer %v, rising by %v, %q", c.name, dropped, r.Performance.LastCompletion, longest, r.Problems())
		}
	}
}
