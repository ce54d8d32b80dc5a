package progress

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

var update = flag.Bool("update", false, "rewrite testdata/blocks.txt")

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

func blockOf(g glance, on bool) block {
	b := block{title: "mobilenet Server: traffic", paint: painter{on}}
	for i := range 40 {
		now, before := g, g
		now.Elapsed += time.Duration(500+i%5*100) * ms
		now.Completed += 100
		now.Issued += uint64(100 + i%7)
		b.history.add(now, before)
	}
	b.glance = g
	return b
}

func TestTheBlockLooksLikeThisAtEachWidth(t *testing.T) {
	var all strings.Builder
	for _, name := range []string{"late", "good", "stream", "offline", "accuracy"} {
		for _, width := range []int{40, 80, 120} {
			all.WriteString("── " + name + "\n" + strings.Join(blockOf(glances()[name], false).lines(width), "\n") + "\n")
		}
	}
	const golden = "testdata/blocks.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), all.String()); diff != "" {
		t.Error(diff)
	}
}

func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	for name, g := range glances() {
		for _, on := range []bool{false, true} {
			b := blockOf(g, on)
			b.title = strings.Repeat("a long name ", 20)
			for width := 1; width < 200; width++ {
				for _, line := range b.lines(width) {
					plain := painter{}.cut(line, 1000)
					for _, code := range []string{"31", "32", "33", "0"} {
						plain = strings.ReplaceAll(plain, "\x1b["+code+"m", "")
					}
					if n := utf8.RuneCountInString(plain); n > width {
						t.Fatalf("%s: %d columns of %d: %q", name, n, width, line)
					}
				}
			}
		}
	}
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

func TestTheOutlookFollowsFromTheLatencyAtThePercentileThatDecides(t *testing.T) {
	for _, c := range []struct{ name, verdict, because string }{
		{"late", "INVALID", "p99 is 1.7 × the bound"}, {"good", "VALID", ""}, {"stream", "", ""}, {"accuracy", "", ""}, {"offline", "", ""},
	} {
		if v, why := glances()[c.name].outlook(); v != c.verdict || why != c.because {
			t.Errorf("%s: %q, %q, want %q, %q", c.name, v, why, c.verdict, c.because)
		}
	}
}

// A fakeTerminal understands the sequences that a screen writes.
type fakeTerminal struct {
	lines []string
	row   int
}

func (f *fakeTerminal) Write(b []byte) (int, error) {
	text := string(b)
	for text != "" {
		for len(f.lines) <= f.row {
			f.lines = append(f.lines, "")
		}
		switch {
		case strings.HasPrefix(text, "\x1b["):
			end := strings.IndexAny(text, "ABCDHJKm")
			switch text[end] {
			case 'A':
				n := 0
				for _, digit := range text[2:end] {
					n = 10*n + int(digit-'0')
				}
				f.row = max(0, f.row-n)
			case 'J':
				f.lines = f.lines[:f.row]
			}
			text = text[end+1:]
			continue
		case text[0] == '\n':
			f.row++
		case text[0] == '\r':
			f.lines[f.row] = ""
		default:
			f.lines[f.row] += text[:1]
		}
		text = text[1:]
	}
	return len(b), nil
}

func TestATerminalHasOneBlockThatIsWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTerminal{}
		s := &screen{terminal: &terminal{out: f, width: func() int { return 80 }}, test: "mobilenet Server"}
		s.phase("traffic")
		for range 10 {
			time.Sleep(500 * ms)
			g := late()
			g.now = time.Now()
			s.traffic(g)
		}
		if len(f.lines) != 4 {
			t.Errorf("%d lines after ten glances, want the four of one block:\n%s", len(f.lines), strings.Join(f.lines, "\n"))
		}
		s.note("something to know")
		if len(f.lines) != 5 || f.lines[0] != "something to know" {
			t.Errorf("after a note:\n%s", strings.Join(f.lines, "\n"))
		}
		s.end()
		if want := []string{"something to know", "mobilenet Server: traffic: " + late().line()}; !cmp.Equal(want, f.lines) {
			t.Errorf("at the end:\n%s\nwant\n%s", strings.Join(f.lines, "\n"), strings.Join(want, "\n"))
		}
	})
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
			p.view = &screen{terminal: &terminal{out: &out, width: func() int { return 80 }}}
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

func TestStylesHaveNames(t *testing.T) {
	for _, name := range Styles() {
		if s, err := ParseStyle(name); err != nil || string(s) != name {
			t.Errorf("ParseStyle(%q) = %v, %v", name, s, err)
		}
	}
	if _, err := ParseStyle("fancy"); err == nil || !strings.Contains(err.Error(), `"fancy", want auto, plain, none, json`) {
		t.Errorf("ParseStyle(fancy) = %v", err)
	}
}

func TestColoursAreOnlyForThoseWhoWantThem(t *testing.T) {
	if got := (painter{true}).verdict("INVALID"); got != "\x1b[31mINVALID\x1b[0m" {
		t.Errorf("red is %q", got)
	}
	for _, d := range []time.Duration{9 * ms, 10 * ms, 11 * ms} {
		if got := (painter{}).against(d, 10*ms); got != d.String() {
			t.Errorf("without colours: %q", got)
		}
	}
	if a, b := (painter{true}).against(10*ms, 10*ms), (painter{true}).against(11*ms, 10*ms); !strings.HasPrefix(a, "\x1b[33m") || !strings.HasPrefix(b, "\x1b[31m") {
		t.Errorf("at the bound %q, above %q", a, b)
	}
}

func TestThePercentileThatDecidesIsNamedOnce(t *testing.T) {
	for _, percentile := range []float64{0.5, 0.9, 0.97, 0.99} {
		g := late()
		test := *g.Test
		test.TargetLatencyPercentile, g.Test = percentile, &test
		for _, text := range []string{blockOf(g, false).latencies(80), blockOf(g, false).latencies(40), g.line()} {
			if name := percentileName(percentile) + " "; percentile > 0.5 && strings.Count(text[:strings.Index(text, " of 27ms")], name) != 1 {
				t.Errorf("%q has not one %s", text, name)
			}
		}
		if text := blockOf(g, false).latencies(80); strings.Contains(text, "p90 22.8ms") == (percentile == 0.9 || percentile == 0.5) {
			t.Errorf("judged by %s: %q", percentileName(percentile), text)
		}
	}
}
