package loadgen

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestRatesAreThoseOfTheReference(t *testing.T) {
	t.Run("SingleStream", func(t *testing.T) {
		inFakeTime(t, func(t *testing.T) {
			// The answer takes 4 ms, and IssueQuery blocks for another millisecond.
			sut := &fakeSUT{issue: func(q Query) {
				time.Sleep(4 * time.Millisecond)
				answer(q)
				time.Sleep(time.Millisecond)
			}}
			s := quick(SingleStream)
			s.MinDuration, s.MinQueryCount = 0, 101
			p := mustRun(t, sut, &fakeQSL{total: 50, performance: 50}, s, timers).Performance
			if p.FinalQueryIssued != 500*time.Millisecond || p.FinalQueryCompleted != 504*time.Millisecond || p.FinalQueryScheduled != 0 {
				t.Errorf("the last query was issued at %v, completed at %v", p.FinalQueryIssued, p.FinalQueryCompleted)
			}
			if p.QPSWithOverhead() != 200 || p.QPSWithoutOverhead() != 250 {
				t.Errorf("%g QPS with overhead, %g without; want 200 and 250", p.QPSWithOverhead(), p.QPSWithoutOverhead())
			}
			if p.HasPerfConstraints() {
				t.Error("SingleStream has no latency bound")
			}
		})
	})
	t.Run("Server", func(t *testing.T) {
		inFakeTime(t, func(t *testing.T) {
			s := quick(Server)
			p := mustRun(t, after(250*time.Millisecond), &fakeQSL{total: 50, performance: 50}, s, timers).Performance
			trace, err := NewTrace(s, 50, 50)
			if err != nil {
				t.Fatal(err)
			}
			n, last := float64(trace.Queries), float64(slices.Max(trace.ScheduledNS))/1e9
			if got, want := p.ScheduledQPS(), (n-1)/last; got != want {
				t.Errorf("scheduled: %g QPS, want %g", got, want)
			}
			if got, want := p.CompletedQPS(), (n-1)/(last+0.25); math.Abs(got-want) > 1e-9 {
				t.Errorf("completed: %g QPS, want %g", got, want)
			}
			if !p.HasPerfConstraints() || p.LastCompletion != p.FinalQueryCompleted {
				t.Errorf("last completion %v, of the last query %v", p.LastCompletion, p.FinalQueryCompleted)
			}
		})
	})
	t.Run("MultiStream at fixed intervals has a bound", func(t *testing.T) {
		p := Performance{Effective: atIntervals().Effective(10, 10)}
		if !p.HasPerfConstraints() {
			t.Error("it has none")
		}
	})
}

func TestEachSampleIsTheTraffic(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(Server)
		s.ServerCoalesceQueries, s.ServerNumIssueQueryThreads, s.MinDuration, s.MinQueryCount = true, 2, 0, 300
		opts := Options{NewPacer: func() Pacer { return latePacer{by: 2 * time.Millisecond} }}
		p := mustRun(t, after(7*time.Millisecond), &fakeQSL{total: 50, performance: 50}, s, opts).Performance
		trace, err := NewTrace(s, 50, 50)
		if err != nil {
			t.Fatal(err)
		}
		var records []SampleRecord
		p.EachSample(func(r SampleRecord) { records = append(records, r) })
		if len(records) != len(trace.Samples) {
			t.Fatalf("%d records, want %d", len(records), len(trace.Samples))
		}
		var sum, latest time.Duration
		for i, r := range records {
			if r.ID != ResponseID(i) || r.Query != uint64(i) || r.Index != trace.Samples[i] || int64(r.Start) != trace.ScheduledNS[i] {
				t.Fatalf("record %d is %+v, want index %d at %d", i, r, trace.Samples[i], trace.ScheduledNS[i])
			}
			if late := r.Issued - r.Start; late < 0 || late > 2*time.Millisecond || r.Completed != r.Issued+7*time.Millisecond {
				t.Fatalf("record %d is %+v", i, r)
			}
			sum += r.Completed - r.Start
			latest = max(latest, r.Completed)
		}
		if mean := sum / time.Duration(len(records)); mean != p.SampleLatency.Mean || latest != p.LastCompletion {
			t.Errorf("mean latency %v, last completion %v; want %v, %v", p.SampleLatency.Mean, p.LastCompletion, mean, latest)
		}
	})
}

func TestEachSampleOfAnUnfinishedRun(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		s := quick(MultiStream)
		s.MultiStreamSamplesPerQuery = 2
		n := 0
		sut := &fakeSUT{issue: func(q Query) {
			if n++; n == 3 {
				q = Query{Samples: q.Samples[1:], to: q.to} // and never the first one
			}
			answer(q)
		}}
		p := mustRun(t, sut, &fakeQSL{total: 50, performance: 50}, s, timers).Performance
		var queries []uint64
		var lost []ResponseID
		p.EachSample(func(r SampleRecord) {
			queries = append(queries, r.Query)
			if r.Completed < 0 {
				lost = append(lost, r.ID)
			}
		})
		if !slices.Equal(queries, []uint64{0, 0, 1, 1, 2, 2}) || !slices.Equal(lost, []ResponseID{4}) {
			t.Errorf("samples of the queries %v, lost %v; want three queries of two, and 4", queries, lost)
		}
		if p.SampleCount != 5 || p.QueryLatency.Count != 2 {
			t.Errorf("%d samples, %d query latencies; want 5 and 2", p.SampleCount, p.QueryLatency.Count)
		}
	})
}

func TestErrorsAndWarningsAreCounted(t *testing.T) {
	r := Result{Events: []Event{{}, {IsError: true}, {IsWarning: true}, {IsError: true}, {}, {IsError: true}}}
	if r.Errors() != 3 || r.Warnings() != 1 {
		t.Errorf("%d errors and %d warnings, want 3 and 1", r.Errors(), r.Warnings())
	}
}

func TestClocksThatDisagreeAreReported(t *testing.T) {
	const second = time.Second
	for _, test := range []struct {
		monotonic, wall  time.Duration
		errors, warnings int
	}{
		{100 * second, 100 * second, 0, 0},
		{100 * second, 100*second + 99*time.Millisecond, 0, 0},
		{100 * second, 100*second + 200*time.Millisecond, 0, 1},
		{100 * second, 100*second - 200*time.Millisecond, 0, 1},
		{100 * second, 102 * second, 1, 0},
		{100 * second, 98 * second, 1, 0},
		{100 * second, 0, 1, 0},
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

func TestPrintTimestampsPutsThemIntoTheLog(t *testing.T) {
	for _, on := range []bool{false, true} {
		inFakeTime(t, func(t *testing.T) {
			s := quick(SingleStream)
			s.PrintTimestamps = on
			r := mustRun(t, after(time.Millisecond), &fakeQSL{total: 50, performance: 50}, s, timers)
			want := []string{
				"performance mode began at 01-01-2000 00:00:00.000 and ended at 01-01-2000 00:00:05.001 by the system clock (946684800 and 946684805 s since 1970)",
				"performance mode took 5001 ms by the monotonic clock and 5001 ms by the system clock, a ratio of 1.0000",
			}
			for _, text := range want {
				if got := slices.ContainsFunc(r.Events, func(e Event) bool { return e.Value == text }); got != on {
					t.Errorf("print_timestamps %v: %q in the log: %v; %v", on, text, got, r.Events)
				}
			}
		})
	}
}
