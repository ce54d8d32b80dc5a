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

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

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
			for _, width := range []int{-1, 0, 1, 39, 40, 80, 120} {
				for _, line := range blockOf(g, false).lines(width) {
					if !utf8.ValidString(line) || utf8.RuneCountInString(line) > max(width, 1) || strings.Contains(line, "\n") {
						t.Errorf("width %d: %q", width, line)
					}
				}
			}
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

func TestATerminalThatIsTooNarrowHasOneBlockToo(t *testing.T) {
	for _, width := range []int{0, 1, 10, 39} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeTerminal{}
			s := &screen{terminal: &terminal{out: f, width: func() int { return width }}}
			s.phase("traffic")
			for range 5 {
				time.Sleep(2 * time.Second)
				g := late()
				g.now = time.Now()
				s.traffic(g)
			}
			if len(f.lines) != 5 {
				t.Errorf("width %d: %d lines after five glances", width, len(f.lines))
			}
			for _, line := range f.lines {
				if n := utf8.RuneCountInString(strings.ReplaceAll(line, "\x1b[K", "")); n > max(width, 1) {
					t.Errorf("width %d: %q", width, line)
				}
			}
		})
	}
}

func TestABarIsAsWideAsItShould(t *testing.T) {
	for _, share := range []float64{math.NaN(), math.Inf(-1), -1, 0, 1e-9, 0.3, 0.5, 0.999, 1, 7, math.Inf(1)} {
		for _, width := range []int{-3, 0, 1, 2, 3, 10, 33} {
			if got, want := utf8.RuneCountInString(bar(share, width)), max(width, 3); got != want {
				t.Errorf("bar(%g, %d) has %d characters, want %d: %s", share, width, got, want, bar(share, width))
			}
		}
	}
	for share, want := range map[float64]string{0: "[    ]", 0.25: "[█   ]", 0.5: "[██  ]", 0.53125: "[██▏ ]", 1: "[████]"} {
		if got := bar(share, 6); got != want {
			t.Errorf("bar(%g) = %s, want %s", share, got, want)
		}
	}
}

func TestASparklineHasALevelForEachValue(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{nil, ""}, {[]float64{0, 0}, "▁▁"}, {[]float64{0, 1, 2, 7}, "▁▂▃█"}, {[]float64{5}, "█"}, {[]float64{-5, 5}, "▁█"},
		{[]float64{math.NaN(), 1}, "▁▁"}, {[]float64{1, math.Inf(1)}, "▁▁"},
	} {
		if got := sparkline(c.values); got != c.want {
			t.Errorf("%v: %s, want %s", c.values, got, c.want)
		}
	}
}

func TestAClockShowsHoursWhereThereAreSome(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0:00", 59 * time.Second: "0:59", 59*time.Second + 600*ms: "1:00", 72 * time.Second: "1:12", time.Hour - time.Second: "59:59", time.Hour: "1:00:00", 100*time.Hour + 62*time.Second: "100:01:02"} {
		if got := clock(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestTwoTextsStandAtTheSides(t *testing.T) {
	for _, c := range []struct {
		left, right string
		width       int
		want        string
	}{
		{"a", "b", 5, "a   b"}, {"long name", "b", 6, "lon… b"}, {"größer", "µ", 6, "grö… µ"}, {"a", "right", 5, "… right"}, {"", "b", 3, "  b"},
	} {
		if got := sides(c.left, c.right, c.width); got != c.want {
			t.Errorf("%q and %q in %d: %q, want %q", c.left, c.right, c.width, got, c.want)
		}
	}
}

func TestALineIsCutBesideItsColours(t *testing.T) {
	p := painter{true}
	for _, c := range []struct {
		line  string
		width int
		want  string
	}{
		{"plain", 3, "pla" + plainColour}, {p.red("red") + "!", 3, "\x1b[31mred" + plainColour + plainColour}, {p.red("red"), 9, "\x1b[31mred\x1b[0m"},
		{"größe", 3, "grö" + plainColour}, {"\x1b[31", 5, ""}, {"", 5, ""}, {"a\xffb", 2, "a\xff" + plainColour},
	} {
		if got := p.cut(c.line, c.width); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.line, c.width, got, c.want)
		}
	}
	for text, want := range map[string]string{"VALID": "32", "INVALID": "31", "INTERRUPTED": "33", "": "33"} {
		if got := p.verdict(text); got != "\x1b["+want+"m"+text+plainColour {
			t.Errorf("%s: %q", text, got)
		}
	}
	if got := (painter{}).verdict("VALID"); got != "VALID" {
		t.Errorf("without colours: %q", got)
	}
}

// A recorder keeps what a view is told of counts.
type recorder struct {
	silent
	texts []string
}

func (r *recorder) step(c count) { r.texts = append(r.texts, c.text) }

func TestBytesAreCountedWithTheirRate(t *testing.T) {
	for _, c := range []struct {
		name         string
		first, after int64 // six seconds
		of           int64
		want         string
	}{
		{"so many of so many", 0, 60e6, 100e6, "60.0 MB of 100 MB, 10.0 MB/s, 4s left"},
		{"nobody knows of how many", 0, 60e6, 0, "60.0 MB, 10.0 MB/s"},
		{"what was there before is not counted", 90e6, 96e6, 100e6, "96.0 MB of 100 MB, 1.00 MB/s, 4s left"},
		{"nothing comes", 5e6, 5e6, 100e6, "5.00 MB of 100 MB, 0 B/s"},
		{"it begins anew", 5e6, 1e6, 100e6, "1.00 MB of 100 MB, 0 B/s"},
		{"as long as there is no time for", 0, 6, math.MaxInt64, "6 B of 9.22 EB, 1 B/s, 2562047h47m16s left"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, seen := New(&strings.Builder{}, None), &recorder{silent: silent{&strings.Builder{}}}
			p.view = seen
			p.Phase("data")
			p.Bytes(c.first, c.of)
			time.Sleep(6 * time.Second)
			p.Bytes(c.after, c.of)
			p.Done()
			if got := seen.texts[len(seen.texts)-1]; got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
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

func TestWhatIsNoTerminalIsWrittenInLines(t *testing.T) {
	var out strings.Builder
	if _, ok := newView(&out, Auto).(*lines); !ok {
		t.Errorf("%T", newView(&out, Auto))
	}
	if openTerminal(&out) != nil {
		t.Error("a builder is a terminal")
	}
	if up(0) != "" || up(3) != "\x1b[3A" {
		t.Errorf("%q %q", up(0), up(3))
	}
}

func TestEarlyStoppingIsForTestsThatItJudges(t *testing.T) {
	for name, c := range map[string]struct {
		change func(g *glance)
		want   bool
	}{
		"a percentile":               {func(*glance) {}, true},
		"accuracy":                   {func(g *glance) { g.Accuracy = true }, false},
		"rules without it":           {func(g *glance) { g.Test.WithoutEarlyStopping = true }, false},
		"queries at fixed intervals": {func(g *glance) { g.Test.FixedInterval = true }, false},
		"bounds of tokens":           {func(g *glance) { g.Test.UseTokenLatencies = true }, false},
		"no percentile":              {func(g *glance) { g.Test.TargetLatencyPercentile = 0 }, false},
		"the slowest query":          {func(g *glance) { g.Test.TargetLatencyPercentile = 1 }, false},
		"nobody said which test":     {func(g *glance) { g.Test = nil }, false},
	} {
		g := late()
		c.change(&g)
		if got := g.stopsEarly(); got != c.want {
			t.Errorf("%s: stopsEarly() = %v, want %v", name, got, c.want)
		}
	}
}
