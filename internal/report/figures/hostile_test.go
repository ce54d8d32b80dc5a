package figures

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/units"
)

// check holds a figure to what pages and pictures rely on: ranges, as many values as points, marks that
// lie somewhere, and a sentence without numbers that are none.
func check(t *testing.T, f Figure) {
	t.Helper()
	for _, a := range []*Axis{&f.X, &f.Y, f.Right} {
		if a != nil && (!(a.From < a.To) || math.IsInf(a.From, 0) || math.IsInf(a.To, 0) || a.Log && a.From <= 0) {
			t.Errorf("%s: an axis from %g to %g", f.ID, a.From, a.To)
		}
	}
	for _, s := range f.Series {
		if len(s.Values) != len(f.At) {
			t.Errorf("%s: %s has %d values for %d points", f.ID, s.Label, len(s.Values), len(f.At))
		}
	}
	for _, m := range f.Marks {
		if math.IsNaN(m.Value) || math.IsInf(m.Value, 0) {
			t.Errorf("%s: a mark at %g", f.ID, m.Value)
		}
	}
	if len(f.Series) == 0 || f.Title == "" {
		t.Errorf("%s: %q has nothing to draw", f.ID, f.Title)
	}
	if strings.Contains(f.Sentence, "NaN") || strings.Contains(f.Sentence, "Inf") || !utf8.ValidString(f.Sentence+f.Title) {
		t.Errorf("%s: %q says %q", f.ID, f.Title, f.Sentence)
	}
	if _, err := json.Marshal(f); err != nil {
		t.Errorf("%s: %v", f.ID, err)
	}
}

// of makes the figures of a run and checks each.
func of(t *testing.T, r *report.Results, c *charts.Charts) map[string]Figure {
	t.Helper()
	figures := map[string]Figure{}
	for _, f := range Of(r, c) {
		check(t, f)
		figures[f.ID] = f
	}
	return figures
}

// TestNoNumberOfAFileBreaksAFigure puts what measures nothing into each column and number of a run.
func TestNoNumberOfAFileBreaksAFigure(t *testing.T) {
	fill := func(v float64) charts.Column { return charts.Column{v, v, v, v} }
	for _, v := range []float64{math.NaN(), 0, -1, 1e300, -1e300, math.SmallestNonzeroFloat64, math.MaxFloat64, math.Inf(1), math.Inf(-1)} {
		for column := range 13 {
			t.Run(fmt.Sprintf("%g in column %d", v, column), func(t *testing.T) {
				r, c := server()
				c.FirstToken, c.TimePerOutputToken = histogramOf(1e8, 2e8), histogramOf(1e7, 2e7)
				l := c.Timeline
				l.FirstTokenP50, l.FirstTokenP90, l.PerTokenP50, l.PerTokenP90 = fill(1), fill(2), fill(3), fill(4)
				columns := []*charts.Column{&l.Issued, &l.Completed, &l.Outstanding, &l.P50, &l.P90, &l.P99, &l.Max, &l.DelayP50, &l.DelayMax, &l.FirstTokenP50, &l.FirstTokenP90, &l.PerTokenP50, &l.PerTokenP90}
				*columns[column] = fill(v)
				of(t, r, c)
			})
		}
		t.Run(fmt.Sprintf("%g elsewhere", v), func(t *testing.T) {
			r, c := server()
			r.Test.TargetQPS, r.Test.TargetLatencyPercentile = v, v
			r.Constraints[0].Required.Value = v
			r.Peak = &report.Peak{Unit: "queries/s", Best: v, Steps: []report.PeakStep{{Load: v, Met: true, LatencyNS: 5}, {Load: 1, LatencyNS: 7}}}
			r.Energy = &report.Energy{Joules: v, MeanWatts: v, PeakWatts: v, JoulesPerSample: v, Parts: []report.EnergyPart{{Name: "a", Watts: []report.PowerAt{{Seconds: 0, Watts: v}, {Seconds: 1, Watts: 5}}}}}
			r.Accuracy = &report.Accuracy{Classes: &report.Classes{Metric: "AP", Unit: "%", Values: map[string]float64{"a": v, "b": 5}}}
			c.Gauges.Series[0].Values = charts.Column{v, v}
			c.Gauges.AtNS = charts.Column{0, v}
			of(t, r, c)
		})
	}
}

func TestAnEmptyRunHasNoFigures(t *testing.T) {
	for name, c := range map[string]*charts.Charts{
		"no charts": nil, "nothing in them": {}, "histograms of nothing": {Latency: backend.NewTimes(), FirstToken: backend.NewTimes(), TimePerOutputToken: backend.NewTimes()},
		"batches that never ran": {BatchSizes: []charts.Size{{Samples: 1}, {Samples: 8}}}, "one batch of one": {BatchSizes: []charts.Size{{Samples: 1, Batches: 9}}},
		"gauges that read nothing": {Gauges: &charts.Gauges{AtNS: charts.Column{1e9, 2e9}, Series: []charts.Gauge{{Name: "power", Unit: "W", Values: charts.Column{math.NaN(), math.NaN()}}}}},
		"gauges that read once":    {Gauges: &charts.Gauges{AtNS: charts.Column{1e9}, Series: []charts.Gauge{{Name: "power", Unit: "W", Values: charts.Column{5}}}}},
	} {
		for _, scenario := range []string{"Server", "SingleStream", "Offline", ""} {
			if list := Of(&report.Results{Scenario: scenario}, c); len(list) != 0 {
				t.Errorf("%s, %s: %+v", name, scenario, list)
			}
		}
	}
}

func TestARunOfOneQueryIsDrawn(t *testing.T) {
	one := func(v float64) charts.Column { return charts.Column{v} }
	c := &charts.Charts{Latency: histogramOf(1), IssueDelay: histogramOf(0), BatchSizes: []charts.Size{{Samples: 7, Batches: 1}},
		Timeline: &charts.Timeline{BucketNS: 1, Issued: one(1), Completed: one(1), Outstanding: one(1), P50: one(1), P90: one(1), P99: one(1), Max: one(1), DelayP50: one(0), DelayMax: one(0)}}
	got := of(t, &report.Results{Scenario: "Server"}, c)
	for id, want := range map[string]string{
		"distribution": "Half of the queries took at most 1 ns, 99 % at most 1 ns, the slowest 1 ns.",
		"latency":      "By the instant at which queries were due, in intervals of 1 ns: the worst p99 is 1 ns, after 0.5 ns.",
		"queue":        "At most 1 samples waited or were being answered at a time, after 0.5 ns.",
		"delay":        "Half of the queries were issued within 0 s of their instant, 99 % within 0 s; the worst was 0 s late.",
		"batches":      "The model ran 1 time with 7 samples on average.",
	} {
		if got[id].Sentence != want {
			t.Errorf("%s: %q, want %q", id, got[id].Sentence, want)
		}
	}
}

func TestMoreThanAllIsNoShare(t *testing.T) {
	r, c := server()
	r.Performance.Overlatency = 1000 // of 400
	if got, want := of(t, r, c)["distribution"].Sentence, "0 % of the queries were answered within the bound of 10 ms"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for share, want := range map[float64]string{math.NaN(): "– %", math.Inf(-1): "– %"} {
		if got := units.Percent(share); got != want {
			t.Errorf("units.Percent(%g) = %q, want %q", share, got, want)
		}
	}
}

func TestASentenceBeginsWithALetterOfAnyAlphabet(t *testing.T) {
	for s, want := range map[string]string{"": "", "a": "A", "énergie": "Énergie", "мощность": "Мощность", "5 W": "5 W", "\xff bad": "\xff bad", "ß": "ß"} {
		if got := capital(s); got != want {
			t.Errorf("capital(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestAUnitAsAPartOfAName(t *testing.T) {
	for unit, want := range map[string]string{"%": "p", "MiB/s": "MiB-s", "a~z A~Z 0~9": "a-z-A-Z-0-9", "`{@[/:": "------", `"><script>`: "---script-", "µ": "-", "": ""} {
		if got := idOf(unit); got != want {
			t.Errorf("idOf(%q) = %q, want %q", unit, got, want)
		}
	}
}

func TestNumbersOfAllSizesAreShort(t *testing.T) {
	for _, test := range []struct {
		v    float64
		unit string
		want string
	}{
		{999.95, "", "1,000"}, {1000, "", "1,000"}, {999999.5, "", "1,000,000"}, {-1e6, "", "-1,000,000"}, {1e-9, "", "0.000000001"}, {-0.5, "/s", "-0.5/s"},
		{999.94, "ns", "999.9 ns"}, {999_949, "ns", "999.9 µs"}, {999_960, "ns", "1 ms"}, {-999_960, "ns", "-1 ms"}, {3.6e12, "ns", "60 min"}, {0.5, "ns", "0.5 ns"}, {math.Inf(-1), "/s", "–"},
	} {
		if got := units.Text(test.v, test.unit); got != test.want {
			t.Errorf("units.Text(%g, %q) = %q, want %q", test.v, test.unit, got, test.want)
		}
	}
	for n, want := range map[float64]string{0: "0 workers", 1: "1 worker", 2: "2 workers"} {
		if got := units.Count(n, "worker"); got != want {
			t.Errorf("units.Count(%g) = %q, want %q", n, got, want)
		}
	}
	for f, want := range map[float64]string{0.5: "p50", 0.9999: "p99.99", 1: "p100", 0.999999999: "p100"} {
		if got := units.Percentile(f); got != want {
			t.Errorf("units.Percentile(%g) = %q, want %q", f, got, want)
		}
	}
}

// TestADistributionCountsEveryValueOnce: the bars add up to all, and the curve reaches it.
func TestADistributionCountsEveryValueOnce(t *testing.T) {
	for _, values := range [][]int64{{1}, {0, 0, 0}, {1, math.MaxInt64}, {5e6, 6e6, 7e6, 30e6}, {0, 1, 10, 100, 1e3, 1e9}} {
		h := histogramOf(values...)
		for _, bound := range []float64{0, 1, 1e7, 1e300} {
			f := shares(h, bound, 0.99)
			sum := 0.0
			for _, v := range f.Series[0].Values {
				sum += v
			}
			last := f.Series[1].Values[bins-1]
			if math.Abs(sum-100) > 1e-6 || math.Abs(last-100) > 1e-6 {
				t.Errorf("%v, bound %g: bars of %g %%, a curve to %g %%", values, bound, sum, last)
			}
			if bound > 0 && (f.Marks[0].Value != bound || f.X.From >= bound || f.X.To <= bound) {
				t.Errorf("%v: the bound %g is not within %g to %g", values, bound, f.X.From, f.X.To)
			}
		}
	}
}

func TestPowerIsThatOfTheNewestReading(t *testing.T) {
	r := &report.Results{Energy: &report.Energy{Joules: 10, MeanWatts: 5, PeakWatts: 9, JoulesPerSample: 0.5, Parts: []report.EnergyPart{
		{Name: "package", Watts: []report.PowerAt{{Seconds: 0, Watts: 4}, {Seconds: 1, Watts: 6}, {Seconds: 2, Watts: 9}}},
		{Name: "memory", Watts: []report.PowerAt{{Seconds: 0.5, Watts: 1}, {Seconds: 2, Watts: 3}}},
		{Name: "card"},
	}}}
	f := of(t, r, nil)["power"]
	if want := "5 W on average, 9 W at most, of package, memory: 10 J for the whole of the traffic, 0.5 J per sample."; f.Sentence != want {
		t.Errorf("%q, want %q", f.Sentence, want)
	}
	if got := fmt.Sprint(f.At, f.Series[0].Values, f.Series[1].Values, f.X.To); got != "[0 1 2] [4 6 9] [1 1 3] 2" {
		t.Errorf("%s", got)
	}
	for name, parts := range map[string][]report.EnergyPart{"none": nil, "one reading": {{Name: "p", Watts: []report.PowerAt{{Watts: 3}}}}} {
		r.Energy.Parts = parts
		if f, ok := of(t, r, nil)["power"]; ok {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestASearchIsDrawnByLoad(t *testing.T) {
	r, _ := server()
	r.Peak = &report.Peak{Unit: "queries/s", Best: 40, Steps: []report.PeakStep{{Load: 60, LatencyNS: 310e6}, {Load: 40, Met: true, LatencyNS: 9e6}, {Load: 50}}}
	f := of(t, r, nil)["peak"]
	if want := "Of 3 loads that were tried, 40 queries/s is the highest that kept the bound."; f.Sentence != want || !f.Y.Log {
		t.Errorf("%q, logarithmic %v, want %q", f.Sentence, f.Y.Log, want)
	}
	if got := fmt.Sprint(f.At, f.Series[0].Values, f.Series[1].Values); got != "[40 50 60] [9e+06 NaN NaN] [NaN NaN 3.1e+08]" {
		t.Errorf("%s", got)
	}
	r.Peak.Best = 0
	if f = of(t, r, nil)["peak"]; f.Sentence != "None of the 3 loads that were tried kept the bound." || len(f.Marks) != 1 {
		t.Errorf("%q, %v", f.Sentence, f.Marks)
	}
	r.Peak.Steps = []report.PeakStep{{Load: 5}}
	if f, ok := of(t, r, nil)["peak"]; ok {
		t.Errorf("a search without latencies: %+v", f)
	}
}

func TestTradesOfHostileRuns(t *testing.T) {
	line := func(speed, accuracy float64) report.Line {
		return report.Line{Model: "m\x00<", Scenario: "Offline", Result: report.Valid, SamplesPerSecond: speed, Accuracy: &report.LineAccuracy{Metric: "top-1", Unit: "%", Value: accuracy}}
	}
	for name, lines := range map[string][]report.Line{
		"none": nil, "one": {line(1, 2)}, "no speed": {line(0, 1), line(-5, 2)}, "no numbers": {line(math.NaN(), 1), line(math.Inf(1), 2), line(1, math.NaN())},
		"the same twice": {line(5, 70), line(5, 70)}, "nothing right": {line(5, 0), line(6, 0)}, "far apart": {line(1e-300, -1e300), line(1e300, 1e300)},
	} {
		for _, f := range Trades(lines) {
			check(t, f)
			if name == "none" || name == "one" || name == "no speed" {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
	same := Trades([]report.Line{line(5, 70), line(5, 70)})
	if len(same) != 1 || !strings.HasPrefix(same[0].Sentence, "Of 2 runs, 1 is on the front") {
		t.Errorf("%+v", same)
	}
}
