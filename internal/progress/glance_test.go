package progress

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// changed is a glance with a test of its own, changed.
func changed(g glance, change func(g *glance)) glance {
	if g.Test != nil {
		test := *g.Test
		g.Test = &test
	}
	change(&g)
	return g
}

func TestAGlanceInOneLine(t *testing.T) {
	for _, c := range []struct {
		name, glance string
		change       func(g *glance)
		want         string
	}{
		{"a Server test that is too slow", "late", nil,
			"9758 of 77520 samples, 135.5/s of 129.2, p50 11.2ms, p99 47.2ms of 27ms, queue 2, outlook INVALID: p99 is 1.7 × the bound, 8m48s left"},
		{"one that is not", "good", nil, "9758 of 77520 samples, 135.5/s of 129.2, p50 11.2ms, p99 21ms of 27ms, queue 2, 8m48s left"},
		{"one that is judged at another percentile", "good", func(g *glance) { g.Test.TargetLatencyPercentile = 0.97 },
			"9758 of 77520 samples, 135.5/s of 129.2, p50 11.2ms, p99 21ms, p97 21ms of 27ms, queue 2, 8m48s left"},
		{"one without an answer yet", "good", func(g *glance) { g.RecentP50, g.RecentP99, g.RecentTarget, g.Completed = 0, 0, 0, 0 },
			"0 of 77520 samples, 0/s of 129.2, queue 9760, 8m48s left"},
		{"a stream, whose rate is the SUT's", "stream", nil, "30 of 100 samples, 10/s, p50 99ms, p99 120ms, 7s left"},
		{"a stream that early stopping keeps", "stream", func(g *glance) { g.PlannedDuration, g.Elapsed, g.Issued, g.Completed = 0, 630*time.Second, 63, 63 },
			"63 of 100 samples, 0.1/s, p50 99ms, p99 120ms, 10s left"},
		{"a stream that nothing keeps", "stream", func(g *glance) { g.PlannedDuration, g.Elapsed, g.Issued, g.Completed = 0, 640*time.Second, 64, 64 },
			"64 of 100 samples, 0.1/s, p50 99ms, p99 120ms"},
		{"Offline", "offline", nil, "600 of 24576 samples, 30/s of 40"},
		{"accuracy", "accuracy", nil, "accuracy, set 2 of 49: 299 of 1024 samples, 14.95/s, p50 0s, p99 30ms, queue 1"},
		{"nothing", "nothing", nil, "0 of 0 samples, 0/s"},
	} {
		g := glances()[c.glance]
		if c.change != nil {
			g = changed(g, c.change)
		}
		if got := g.line(); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, c.want)
		}
	}
}

func TestHowManySamplesThereShouldBeInASecond(t *testing.T) {
	for name, c := range map[string]struct {
		test *loadgen.EffectiveSettings
		want float64
	}{
		"nobody said which test":         {nil, 0},
		"SingleStream":                   {&loadgen.EffectiveSettings{Scenario: loadgen.SingleStream, TargetQPS: 5}, 0},
		"MultiStream":                    {&loadgen.EffectiveSettings{Scenario: loadgen.MultiStream, TargetQPS: 5, SamplesPerQuery: 8}, 0},
		"MultiStream at fixed intervals": {&loadgen.EffectiveSettings{Scenario: loadgen.MultiStream, TargetQPS: 5, SamplesPerQuery: 8, FixedInterval: true}, 40},
		"Server":                         {&loadgen.EffectiveSettings{Scenario: loadgen.Server, TargetQPS: 5}, 5},
		"Offline, all in one query":      {&loadgen.EffectiveSettings{Scenario: loadgen.Offline, TargetQPS: 5, SamplesPerQuery: 24576}, 5},
	} {
		g := glance{Progress: loadgen.Progress{Test: c.test}}
		if got := g.target(); got != c.want {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
		if g.Accuracy = true; g.target() != 0 {
			t.Errorf("%s: accuracy mode has a target of %g", name, g.target())
		}
	}
}

func TestTheQueueIsWhatWasIssuedAndIsNotAnswered(t *testing.T) {
	multi := &loadgen.EffectiveSettings{Scenario: loadgen.MultiStream, SamplesPerQuery: 8}
	for name, c := range map[string]struct {
		g    loadgen.Progress
		want uint64
	}{
		"queries of eight":            {loadgen.Progress{Issued: 10, Planned: 100, Samples: 800, Completed: 70, Test: multi}, 10},
		"all are answered":            {loadgen.Progress{Issued: 10, Planned: 100, Samples: 800, Completed: 80, Test: multi}, 0},
		"answers before their count":  {loadgen.Progress{Issued: 10, Planned: 100, Samples: 800, Completed: 81, Test: multi}, 0},
		"a single query, and planned": {loadgen.Progress{Issued: 1, Planned: 1, Samples: 8, Test: multi}, 8},
		"nothing is planned":          {loadgen.Progress{Issued: 10, Samples: 800, Test: multi}, 0},
		"Offline":                     {loadgen.Progress{Issued: 1, Planned: 1, Samples: 800, Test: &loadgen.EffectiveSettings{Scenario: loadgen.Offline}}, 0},
	} {
		if got := (glance{Progress: c.g}).queue(); got != c.want {
			t.Errorf("%s: %d samples, want %d", name, got, c.want)
		}
	}
}

func TestHowManyQueriesEarlyStoppingWants(t *testing.T) {
	for name, c := range map[string]struct {
		change func(g *glance)
		want   uint64
	}{
		"none is late":                  {func(g *glance) { g.RecentWithin = 1 }, loadgen.NeededQueries(0, 0.99)},
		"five in a thousand are late":   {func(g *glance) { g.RecentWithin, g.Issued = 0.995, 1000 }, loadgen.NeededQueries(5, 0.99)},
		"just as many as may be":        {func(g *glance) { g.RecentWithin = 0.99 }, 0},
		"more than may be":              {func(*glance) {}, 0},
		"MultiStream":                   {func(g *glance) { g.Test.Scenario = loadgen.MultiStream }, 662},
		"SingleStream":                  {func(g *glance) { g.Test.Scenario, g.Test.TargetLatencyPercentile = loadgen.SingleStream, 0.9 }, 64},
		"Offline, which has none of it": {func(g *glance) { g.Test.Scenario = loadgen.Offline }, 0},
	} {
		if got := changed(late(), c.change).needed(); got != c.want {
			t.Errorf("%s: %d queries, want %d", name, got, c.want)
		}
	}
}

func TestAGlanceAsData(t *testing.T) {
	asMap := func(g glance) map[string]any {
		text, err := json.Marshal(g.numbers())
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	want := map[string]any{
		"elapsed_ns": 72e9, "planned_ns": 600e9, "left_ns": 528e9, "issued_queries": 9760.0, "planned_queries": 77520.0, "completed_samples": 9758.0,
		"queue_samples": 2.0, "samples_per_second": 9758.0 / 72, "target_samples_per_second": 129.2, "p50_ns": 11.2e6, "p90_ns": 22.8e6, "p99_ns": 47.2e6,
		"bound_ns": 27e6, "within_bound": 0.938, "within_required": 0.99, "outlook": "INVALID", "because": "p99 is 1.7 × the bound",
	}
	if diff := cmp.Diff(want, asMap(late())); diff != "" {
		t.Error(diff)
	}
	want = map[string]any{"elapsed_ns": 0.0, "left_ns": 0.0, "issued_queries": 0.0, "planned_queries": 0.0, "completed_samples": 0.0, "queue_samples": 0.0, "samples_per_second": 0.0}
	if diff := cmp.Diff(want, asMap(glance{})); diff != "" {
		t.Errorf("of nothing: %s", diff)
	}
}

func TestALatencyIsGreenUpToNineTenthsOfItsBound(t *testing.T) {
	for d, code := range map[time.Duration]string{0: "32", 9 * ms: "32", 9*ms + time.Microsecond: "33", 10 * ms: "33", 10*ms + 1: "31"} {
		if got := (painter{true}).against(d, 10*ms); !strings.HasPrefix(got, "\x1b["+code+"m") {
			t.Errorf("%v of 10ms is %q, want the colour %s", d, got, code)
		}
	}
}

func TestAHistoryKeepsTheLastGlances(t *testing.T) {
	var h history
	before := glance{}
	for i := range 2 * kept {
		now := changed(late(), func(g *glance) {
			g.Elapsed, g.Completed, g.RecentTarget = before.Elapsed+2*time.Second, before.Completed+uint64(10*i), time.Duration(i)
			g.Issued = g.Completed + uint64(i%7)
		})
		h.add(now, before)
		before = now
	}
	if len(h.rate) != kept || len(h.queue) != kept || len(h.latency) != kept {
		t.Fatalf("%d rates, %d queues, %d latencies, want %d each", len(h.rate), len(h.queue), len(h.latency), kept)
	}
	for n := range kept {
		i := kept + n
		if h.rate[n] != float64(10*i)/2 || h.queue[n] != float64(i%7) || h.latency[n] != float64(i) {
			t.Errorf("glance %d has a rate of %g, a queue of %g and a latency of %g", i, h.rate[n], h.queue[n], h.latency[n])
		}
	}
	if h.mostQueue != 6 {
		t.Errorf("the longest queue was %d, want 6", h.mostQueue)
	}
	h.add(glance{}, before) // another phase
	if h.rate[kept-1] != 0 {
		t.Errorf("a new beginning has a rate of %g", h.rate[kept-1])
	}
}

// A tally keeps the counts that a view is told of.
type tally struct {
	silent
	counts []count
}

func (r *tally) step(c count) { r.counts = append(r.counts, c) }

func TestCountsOfThingsAndOfBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, seen := New(&strings.Builder{}, None), &tally{silent: silent{&strings.Builder{}}}
		p.view = seen
		p.Phase("data")
		now := time.Now()
		p.Items(3, 10)
		p.Loading(4, 10)
		p.Bytes(1500, 3000)
		p.Bytes(2000, 0)
		time.Sleep(time.Second)
		p.Bytes(3000, 3000) // its rate is not told before more than a second
		p.Done()
		want := []count{
			{now, 3, 10, "3 of 10"}, {now, 4, 10, "4 of 10 samples loaded"}, {now, 1500, 3000, "1.50 kB of 3.00 kB"}, {now, 2000, countsNothing, "2.00 kB"},
			{now.Add(time.Second), 3000, 3000, "3.00 kB of 3.00 kB"},
		}
		if diff := cmp.Diff(want, seen.counts, cmp.AllowUnexported(count{})); diff != "" {
			t.Error(diff)
		}
	})
}

func TestObjectsComeOnceASecondButForTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := New(&out, JSON)
		p.Phase("data")
		for i := range 21 {
			p.Items(i, 20)
			time.Sleep(100 * ms)
		}
		p.Bytes(7, 0)
		p.Phase("traffic")
		for range 3 {
			p.Traffic(late().Progress)
			time.Sleep(500 * ms)
		}
		p.Done()
		var got []string
		for line := range strings.Lines(out.String()) {
			var o struct {
				Event, Phase string
				Done, Of     int64
			}
			if err := json.Unmarshal([]byte(line), &o); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			text, _ := json.Marshal([]any{o.Event, o.Phase, o.Done, o.Of})
			got = append(got, string(text))
		}
		want := []string{
			`["phase","data",0,0]`, `["count","data",0,20]`, `["count","data",10,20]`, `["count","data",20,20]`,
			`["phase","traffic",0,0]`, `["traffic","traffic",0,0]`, `["traffic","traffic",0,0]`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPlainLinesOfTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := New(&out, Plain)
		p.About("not of lines")
		p.Phase("traffic")
		for range 12 {
			time.Sleep(time.Second)
			p.Traffic(good().Progress)
		}
		p.Done()
		line := "traffic: " + good().line() + "\n"
		if want := "traffic …\n" + line + line; out.String() != want {
			t.Errorf("got\n%swant\n%s", out.String(), want)
		}
	})
}
