package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
)

// timed is a run of four seconds with these latencies over time.
func timed(scenario string, bound time.Duration, p50, p90, p99 charts.Column) (*report.Results, *charts.Charts) {
	n := len(p50)
	return &report.Results{Scenario: scenario, Test: &report.Test{TargetLatency: bound, TargetLatencyPercentile: 0.99}},
		&charts.Charts{Timeline: &charts.Timeline{BucketNS: 1e9, Issued: repeated(1, n), Completed: repeated(1, n), Outstanding: repeated(1, n), P50: p50, P90: p90, P99: p99, Max: p99}}
}

func TestTheDecidingPercentileIsTheOneSpokenOf(t *testing.T) {
	for _, c := range []struct {
		percentile float64
		want       string
	}{
		{0.99, "p99, by the instant at which queries were due, is above the bound in 1 of 3 intervals of 1 s; the worst is 12 ms, after 1.5 s."},
		{0.97, "p99, by the instant at which queries were due, is above the bound in 1 of 3 intervals of 1 s; the worst is 12 ms, after 1.5 s."},
		{0.9, "p90, by the instant at which queries were due, stays within the bound in all 3 intervals of 1 s; the worst is 9 ms, after 2.5 s."},
		{0.5, "p90, by the instant at which queries were due, stays within the bound in all 3 intervals of 1 s; the worst is 9 ms, after 2.5 s."},
		{0, "p99, by the instant at which queries were due, is above the bound in 1 of 3 intervals of 1 s; the worst is 12 ms, after 1.5 s."}, // not known
	} {
		r, cs := timed("Server", 10e6, charts.Column{1e6, 1e6, 1e6}, charts.Column{2e6, 3e6, 9e6}, charts.Column{4e6, 12e6, 10e6})
		r.Test.TargetLatencyPercentile = c.percentile
		if f := of(t, r, cs)["latency"]; f.Sentence != c.want {
			t.Errorf("judged by %g: %q, want %q", c.percentile, f.Sentence, c.want)
		}
	}
}

func TestIntervalsWithoutQueriesDoNotCount(t *testing.T) {
	none := math.NaN()
	r, c := timed("Server", 10e6, charts.Column{none, 1e6, none, 2e6}, charts.Column{none, 1e6, none, 2e6}, charts.Column{none, 11e6, none, 10e6})
	if got, want := of(t, r, c)["latency"].Sentence, "is above the bound in 1 of 2 intervals of 1 s; the worst is 11 ms, after 1.5 s."; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want …%q", got, want)
	}
	r, c = timed("Server", 10e6, repeated(none, 4), repeated(none, 4), repeated(none, 4))
	if f, ok := of(t, r, c)["latency"]; ok && f.Sentence != "" {
		t.Errorf("nothing was due, and %q", f.Sentence)
	}
}

func TestAnAxisIsLogarithmicWhereValuesReachFarBeyondTheBound(t *testing.T) {
	for _, c := range []struct {
		name        string
		bound       time.Duration
		least, most float64
		log         bool
		from, to    float64
	}{
		{"eight times the bound", 10e6, 1e6, 80e6, false, 0, 80e6 * 1.15},
		{"a little more", 10e6, 1e6, 80.1e6, true, 0.7e6, 80.1e6 * 1.4},
		{"all of it beyond the bound", 1e6, 5e6, 90e6, true, 0.7e6, 90e6 * 1.4},
		{"within the bound", 100e6, 1e6, 80e6, false, 0, 115e6},
		{"no bound, 16 times the least", 0, 1e6, 16e6, false, 0, 16e6 * 1.15},
		{"no bound, more", 0, 1e6, 16.1e6, true, 0.7e6, 16.1e6 * 1.4},
		{"a latency of nothing has no logarithm", 10e6, 0, 900e6, false, 0, 900e6 * 1.15},
	} {
		values := charts.Column{c.least, c.most}
		r, cs := timed("Server", c.bound, values, values, values)
		f := of(t, r, cs)["latency"]
		if f.Y.Log != c.log || math.Abs(f.Y.From-c.from) > 1 || math.Abs(f.Y.To-c.to) > 1 {
			t.Errorf("%s: %+v, want from %g to %g, logarithmic %v", c.name, f.Y, c.from, c.to, c.log)
		}
		if marks := map[bool]int{true: 1}[c.bound > 0]; len(f.Marks) != marks || marks > 0 && f.Marks[0].Value != float64(c.bound) {
			t.Errorf("%s: marks %+v", c.name, f.Marks)
		}
	}
}

func TestColumnsThatAreNotThereAreNotDrawn(t *testing.T) {
	values := charts.Column{1e6, 2e6}
	for _, c := range []struct {
		name string
		edit func(*charts.Timeline)
		want []string // labels; none: no figure
	}{
		{"all", func(*charts.Timeline) {}, []string{"p50", "p90", "slowest"}},
		{"no slowest", func(l *charts.Timeline) { l.Max = nil }, []string{"p50", "p90", "p99"}},
		{"no p90", func(l *charts.Timeline) { l.P90 = nil }, []string{"p50", "slowest"}},
		{"no medians", func(l *charts.Timeline) { l.P50 = nil }, nil},
	} {
		r, cs := timed("SingleStream", 0, values, values, values)
		c.edit(cs.Timeline)
		var labels []string
		for _, s := range of(t, r, cs)["latency"].Series {
			labels = append(labels, s.Label)
		}
		if !slices.Equal(labels, c.want) {
			t.Errorf("%s: %q, want %q", c.name, labels, c.want)
		}
	}
}

func TestTokensHaveTheirOwnBounds(t *testing.T) {
	r, c := server()
	c.FirstToken, c.TimePerOutputToken = histogramOf(1e8, 2e8, 3e8, 9e8), histogramOf(1e7, 2e7, 3e7, 4e7)
	l := c.Timeline
	l.FirstTokenP50, l.FirstTokenP90 = charts.Column{1e8, 1e8, 1e8, 1e8}, charts.Column{1e8, 6e8, 2e8, 1e8}
	l.PerTokenP50, l.PerTokenP90 = charts.Column{1e7, 1e7, 1e7, 1e7}, charts.Column{3e7, 2e7, 2e7, 2e7}
	r.Test.ServerTTFTLatency, r.Test.ServerTPOTLatency = 500e6, 50e6
	got := of(t, r, c)
	for id, want := range map[string]string{
		"first-token":      "75 % of the queries had their first token within the bound of 500 ms; 99 % are required.",
		"per-token":        "100 % of the queries had their time per token within the bound of 50 ms; 99 % are required.",
		"first-token-time": "p90, by the instant at which queries were due, is above the bound in 1 of 4 intervals of 1 s; the worst is 600 ms, after 1.5 s.",
		"per-token-time":   "p90, by the instant at which queries were due, stays within the bound in all 4 intervals of 1 s; the worst is 30 ms, after 0.5 s.",
		// With token latencies the whole latency has no bound, whatever the settings have of one.
		"distribution": "Half of the queries took at most ",
		"latency":      "By the instant at which queries were due, in intervals of 1 s: the worst p99 is ",
	} {
		want = strings.Replace(want, "after 0.5 s", "after 500 ms", 1)
		if !strings.HasPrefix(got[id].Sentence, want) {
			t.Errorf("%s: %q, want %q…", id, got[id].Sentence, want)
		}
	}
	for name, edit := range map[string]func(){
		"first-token-time": func() { l.FirstTokenP50 = nil }, "per-token-time": func() { l.PerTokenP90 = nil },
		"first-token": func() { c.FirstToken = nil }, "per-token": func() { c.TimePerOutputToken = histogramOf() },
	} {
		edit()
		if f, ok := of(t, r, c)[name]; ok {
			t.Errorf("%s of what is not there: %+v", name, f)
		}
	}
}

func TestTheBoundIsThatOfServer(t *testing.T) {
	for _, c := range []struct {
		scenario            string
		latency, firstToken time.Duration
		want                float64
	}{
		{"Server", 10e6, 0, 10e6}, {"Server", 0, 0, 0}, {"Server", 10e6, 5e6, 0}, {"SingleStream", 10e6, 0, 10e6}, {"Offline", 0, 0, 0}, {"", 0, 5e6, 0},
	} {
		x := run{r: &report.Results{Scenario: c.scenario}, s: report.Test{TargetLatency: c.latency, Common: loadgen.Common{ServerTTFTLatency: c.firstToken}}}
		if got := x.bound(); got != c.want {
			t.Errorf("%s with %d and %d ns: bound %g, want %g", c.scenario, c.latency, c.firstToken, got, c.want)
		}
	}
}

func TestWhatHasALatencyIsCalledByItsName(t *testing.T) {
	for scenario, want := range map[string]string{"Server": "queries", "SingleStream": "queries", "MultiStream": "queries", "Offline": "samples", "": "samples"} {
		if got := (run{r: &report.Results{Scenario: scenario}}).unit(); got != want {
			t.Errorf("%q has %s, want %s", scenario, got, want)
		}
	}
}

// The share within the bound is counted in the results; the histogram knows it to a part in some hundred.
func TestTheShareWithinTheBoundIsThatOfTheResults(t *testing.T) {
	for _, c := range []struct {
		name        string
		performance *report.Performance
		want        string
	}{
		{"counted", &report.Performance{Samples: 10000, Overlatency: 57}, "99.43 % of"},
		{"all of them", &report.Performance{Samples: 10000}, "100 % of"},
		{"all but one", &report.Performance{Samples: 100000, Overlatency: 1}, "99.99 % of"},
		{"none of them", &report.Performance{Samples: 10, Overlatency: 10}, "0 % of"},
		{"not counted", nil, "75 % of"},
		{"of nothing", &report.Performance{}, "75 % of"},
	} {
		r, cs := server()
		r.Performance = c.performance
		if f := of(t, r, cs)["distribution"]; !strings.HasPrefix(f.Sentence, c.want) {
			t.Errorf("%s: %q, want %q…", c.name, f.Sentence, c.want)
		}
	}
}

func TestADistributionHasItsMarks(t *testing.T) {
	h := histogramOf(1e6, 2e6)
	for _, c := range []struct {
		bound, required float64
		want            string
	}{
		{0, 0, "[]"}, {5e6, 0, "[x 5e+06 bound 5 ms]"}, {0, 0.9, "[right 90 90 % required]"}, {5e6, 0.999, "[x 5e+06 bound 5 ms right 99.9 99.9 % required]"},
		{0, 1, "[]"}, {0, 1.5, "[]"}, {0, -1, "[]"}, {0, math.NaN(), "[]"},
	} {
		var got []string
		for _, m := range shares(h, c.bound, c.required).Marks {
			got = append(got, fmt.Sprintf("%s %.4g %s", m.Axis, m.Value, m.Label))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("bound %g, required %g: %v, want %s", c.bound, c.required, got, c.want)
		}
	}
}
