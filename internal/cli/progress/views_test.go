package progress

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

const ms = time.Millisecond

// late is a Server test that does not keep its bound.
func late() glance {
	return glance{Progress: loadgen.Progress{
		Set: 1, Sets: 1, Elapsed: 72 * time.Second, PlannedDuration: 10 * time.Minute, Issued: 9760, Planned: 77520, Completed: 9758, Samples: 77520,
		RecentP50: 11200 * time.Microsecond, RecentP90: 22800 * time.Microsecond, RecentP99: 47200 * time.Microsecond, RecentTarget: 47200 * time.Microsecond, RecentWithin: 0.938,
		Test: &loadgen.EffectiveSettings{Scenario: loadgen.Server, TargetQPS: 129.2, TargetLatency: 27 * ms, TargetLatencyPercentile: 0.99, SamplesPerQuery: 1, MinQueryCount: 100},
	}}
}

func good() glance {
	g := late()
	g.RecentP99, g.RecentTarget, g.RecentWithin = 21*ms, 21*ms, 0.998
	return g
}

func glances() map[string]glance {
	stream := glance{Progress: loadgen.Progress{
		Elapsed: 3 * time.Second, PlannedDuration: 10 * time.Second, Issued: 30, Planned: 100, Completed: 30, Samples: 100, RecentP50: 99 * ms, RecentP90: 110 * ms, RecentP99: 120 * ms, RecentTarget: 110 * ms,
		Test: &loadgen.EffectiveSettings{Scenario: loadgen.SingleStream, TargetLatencyPercentile: 0.9, SamplesPerQuery: 1, MinQueryCount: 64},
	}}
	offline := glance{Progress: loadgen.Progress{
		Elapsed: 20 * time.Second, Issued: 1, Planned: 1, Completed: 600, Samples: 24576,
		Test: &loadgen.EffectiveSettings{Scenario: loadgen.Offline, TargetQPS: 40, SamplesPerQuery: 24576},
	}}
	accuracy := glance{Progress: loadgen.Progress{
		Accuracy: true, Set: 2, Sets: 49, Elapsed: 20 * time.Second, Issued: 300, Planned: 1024, Completed: 299, Samples: 1024, RecentP99: 30 * ms,
		Test: &loadgen.EffectiveSettings{Scenario: loadgen.Server, TargetQPS: 1, TargetLatency: ms, TargetLatencyPercentile: 0.99, SamplesPerQuery: 1},
	}}
	return map[string]glance{"late": late(), "good": good(), "stream": stream, "offline": offline, "accuracy": accuracy, "nothing": {}}
}

func TestHowLongATestStillTakes(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*glance)
		want   time.Duration
	}{
		{"late", func(g *glance) {}, 528 * time.Second},
		{"stream", func(g *glance) {}, 7 * time.Second},
		{"stream", func(g *glance) { g.Issued, g.Completed = 3, 3 }, 61 * time.Second},          // 61 queries of 1 s to the least number of queries
		{"stream", func(g *glance) { g.Test.MinQueryCount, g.Issued = 1, 3 }, 61 * time.Second}, // early stopping wants 64 too
		{"offline", func(g *glance) {}, 799200 * ms},
		{"accuracy", func(g *glance) {}, 48267 * ms},
		{"nothing", func(g *glance) {}, 0},
	} {
		g := glances()[c.name]
		c.change(&g)
		if got := g.left(); got.Round(time.Second) != c.want.Round(time.Second) {
			t.Errorf("%s: %v left, want %v", c.name, got, c.want)
		}
	}
}

func TestJSONIsAnObjectALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := New(&out, JSON)
		p.About("mobilenet Server")
		p.Phase("loading")
		p.Loading(3, 10)
		p.Loading(4, 10) // too soon
		p.Note("a note")
		p.Phase("traffic")
		p.Traffic(late().Progress)
		p.Done()
		var events []string
		for line := range strings.Lines(out.String()) {
			var o struct {
				Schema, Event, Test, Outlook string
				Left                         int64 `json:"left_ns"`
			}
			if err := json.Unmarshal([]byte(line), &o); err != nil || o.Schema != schema || o.Test != "mobilenet Server" {
				t.Errorf("%q: %v", line, err)
			}
			if events = append(events, o.Event); o.Event == "traffic" && (o.Outlook != outlookInvalid || o.Left != int64(528*time.Second)) {
				t.Errorf("the test is %+v", o)
			}
		}
		if diff := cmp.Diff([]string{"phase", "count", "note", "phase", "traffic"}, events); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWhoWantsNoProgressStillGetsNotes(t *testing.T) {
	var out strings.Builder
	p := New(&out, None)
	p.Phase("loading")
	p.Loading(3, 10)
	p.Traffic(late().Progress)
	p.Note("a note")
	p.Done()
	if out.String() != "a note\n" {
		t.Errorf("got %q", out.String())
	}
}

func TestNothingThatIsSaidSteersATerminal(t *testing.T) {
	const hostile = "fast\x1b[2J\r\u009b1A"
	for _, style := range []Style{Plain, None, Auto} {
		var out strings.Builder
		p := New(&out, style)
		if style == Auto {
			p.view = &screen{out: &out, width: func() int { return 80 }}
		}
		p.About(hostile)
		p.Phase(hostile)
		p.Note(hostile)
		p.Done()
		if text := out.String(); strings.ContainsAny(text, "\x1b\u009b\r") || !strings.Contains(text, `fast\x1b[2J\x0d\x9b1A`) {
			t.Errorf("%s: %q", style, text)
		}
	}
}

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
			"9758 of 77520 samples, 135.5/s of 129.2, p50 11.2ms, p99 47.2ms of 27ms, queue 2, on course for INVALID: p99 is 1.7 × the bound, 8m48s left"},
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

// strange are glances that no test should give.
func strange() map[string]glance {
	g := func(change func(g *glance)) glance {
		g := late()
		test := *g.Test
		g.Test = &test
		change(&g)
		return g
	}
	return map[string]glance{
		"no test": g(func(g *glance) { g.Test = nil }), "no time": g(func(g *glance) { g.Elapsed = 0 }), "time backwards": g(func(g *glance) { g.Elapsed = -time.Second }),
		"more answers than queries": g(func(g *glance) { g.Completed = 1 << 63 }), "nothing planned": g(func(g *glance) { g.Planned, g.Samples, g.PlannedDuration = 0, 0, 0 }),
		"almost endless": g(func(g *glance) {
			g.Test.Scenario, g.Completed, g.Samples, g.Elapsed = loadgen.Offline, 1, math.MaxUint64, time.Hour
		}),
		"endless": g(func(g *glance) { g.PlannedDuration, g.Elapsed = math.MaxInt64, 1000*time.Hour }), "no bound": g(func(g *glance) { g.Test.TargetLatency = 0 }),
		"shares that are none": g(func(g *glance) { g.RecentWithin, g.Test.TargetLatencyPercentile = math.NaN(), math.NaN() }),
		"a rate that is none":  g(func(g *glance) { g.Test.TargetQPS = math.Inf(1) }), "fixed intervals": g(func(g *glance) { g.Test.FixedInterval, g.Test.Scenario = true, loadgen.MultiStream }),
		"tokens": g(func(g *glance) { g.Test.UseTokenLatencies = true }),
	}
}

func TestAStrangeGlanceIsShownAllTheSame(t *testing.T) {
	for name, g := range strange() {
		t.Run(name, func(t *testing.T) {
			left := g.left()
			if left < 0 || g.Elapsed > 0 && g.Elapsed+left < 0 {
				t.Errorf("%v left after %v", left, g.Elapsed)
			}
			if share := g.share(); g.Elapsed >= 0 && !(share >= 0 && share <= 1) {
				t.Errorf("%g of it is over", share)
			}
			if text := g.line(); strings.Contains(text, "-") || strings.Contains(text, "\n") {
				t.Errorf("%q", text)
			}
		})
	}
}

func TestSeveralTellADisplayAtOnce(t *testing.T) {
	for _, style := range []Style{Plain, JSON, None, Auto} {
		var out strings.Builder
		p := New(&out, style)
		p.Phase("all at once")
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				p.Loading(i, 8)
				p.Bytes(int64(i), 8)
				p.Traffic(good().Progress)
				p.Note(fmt.Sprintf("note %d", i))
				p.About("m")
			})
		}
		all.Wait()
		p.Done()
		p.Done()
		if n := strings.Count(out.String(), "note "); n != 8 {
			t.Errorf("%s: %d notes of 8:\n%s", style, n, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if style == JSON && !json.Valid([]byte(line)) {
				t.Errorf("%q", line)
			}
		}
	}
}

// shown runs f with a display on a terminal and returns what is written to it.
func shown(t *testing.T, f func(p *Display, out *paper)) string {
	t.Helper()
	var out paper
	synctest.Test(t, func(t *testing.T) {
		p := New(&out, None)
		p.mu.Lock()
		p.view = &screen{out: &out, width: func() int { return 80 }}
		p.mu.Unlock()
		f(p, &out)
		p.Done()
	})
	return out.String()
}

// paper is what is written by several goroutines, and read meanwhile.
type paper struct {
	mu   sync.Mutex
	text []byte
}

func (p *paper) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = append(p.text, text...)
	return len(text), nil
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.text)
}

func (p *paper) Len() int { return len(p.String()) }

// pass lets time pass, and whoever shows something then come to an end with it.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestATerminalHasABarOfWhatIsCounted(t *testing.T) {
	text := shown(t, func(p *Display, out *paper) {
		p.Phase("data")
		if out.Len() > 0 {
			t.Errorf("a phase that has counted nothing shows %q", out)
		}
		p.Items(3, 10)
		pass(time.Second)
		p.Items(5, 10)
	})
	for _, want := range []string{"data: 3 of 10", "30%", "data: 5 of 10", "50%"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown: %q", want, text)
		}
	}
	if lines := strings.Split(text, "\r"); strings.TrimSpace(lines[len(lines)-1]) != "" || strings.Contains(text, "\n") {
		t.Errorf("the bar stays: %q", text)
	}
}

func TestATerminalShowsThatASilentPhaseGoesOn(t *testing.T) {
	text := shown(t, func(p *Display, out *paper) {
		p.Phase("model")
		pass(silence - 500*ms)
		if out.Len() > 0 {
			t.Errorf("after less than %v: %q", silence, out)
		}
		pass(2 * time.Second)
		if !strings.Contains(out.String(), "model: 3s so far") {
			t.Errorf("after more than %v: %q", silence, out)
		}
		p.Items(1, 10)
		before := out.Len()
		pass(10 * time.Second)
		if added := out.String()[before:]; strings.Contains(added, "so far") {
			t.Errorf("a bar that counts gives way to %q", added)
		}
	})
	if !strings.Contains(text, "model: 1 of 10") {
		t.Errorf("what is counted is not shown: %q", text)
	}
}

func TestANoteStandsAboveTheBar(t *testing.T) {
	text := shown(t, func(p *Display, _ *paper) {
		p.Phase("data")
		p.Items(3, 10)
		p.Note("something to know")
	})
	lines := strings.Split(text, "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[0], "\rsomething to know") && !strings.HasSuffix(lines[0], "something to know") {
		t.Errorf("got %q", text)
	}
	bar := lines[0][strings.LastIndex(lines[0], "\r")+1:]
	if strings.Contains(bar, "3 of 10") {
		t.Errorf("the bar is not removed before the note: %q", text)
	}
}

// A running test has one line on a terminal, no wider than that, and the last state of it stays.
func TestATerminalShowsARunningTest(t *testing.T) {
	text := shown(t, func(p *Display, _ *paper) {
		p.About("mobilenet Server")
		p.Phase("traffic")
		for range 5 {
			p.Traffic(late().Progress)
			pass(600 * ms)
		}
	})
	line := "mobilenet Server: traffic: " + late().line() + "\n"
	bars, last, _ := strings.Cut(text, line)
	if last != "" || strings.Count(bars, "12%") != 3 || !strings.Contains(bars, "9758 of 77520") || strings.Contains(bars, "\n") {
		t.Errorf("got %q", text)
	}
	for bar := range strings.SplitSeq(bars, "\r") {
		if utf8.RuneCountInString(bar) > 80 {
			t.Errorf("%q is wider than the terminal", bar)
		}
	}
}
