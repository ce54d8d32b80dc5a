package figures

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
)

func TestTheMostImportantComesFirst(t *testing.T) {
	r, c := server()
	c.FirstToken, c.TimePerOutputToken = histogramOf(1e8), histogramOf(1e7)
	l := c.Timeline
	l.FirstTokenP50, l.FirstTokenP90, l.PerTokenP50, l.PerTokenP90 = repeated(1e8, 4), repeated(1e8, 4), repeated(1e7, 4), repeated(1e7, 4)
	r.Peak = &report.Peak{Unit: "queries/s", Steps: []report.PeakStep{{Load: 60, LatencyNS: 31e6}, {Load: 40, LatencyNS: 9e6}}}
	r.Energy = &report.Energy{Parts: []report.EnergyPart{{Name: "package", Watts: []report.PowerAt{{Watts: 4}, {Seconds: 2, Watts: 9}}}}}
	r.Accuracy = &report.Accuracy{Classes: &report.Classes{Metric: "AP", Unit: "%", Values: map[string]float64{"a": 99, "b": 5}}}
	var got []string
	for _, f := range Of(r, c) {
		check(t, f)
		got = append(got, f.ID)
	}
	want := "distribution latency first-token per-token first-token-time per-token-time throughput queue delay batches peak power classes gauge-p gauge-W"
	if strings.Join(got, " ") != want {
		t.Errorf("figures %q, want %q", got, want)
	}
}

func TestASearchHasItsBoundOnTheAxis(t *testing.T) {
	for _, c := range []struct {
		name      string
		bound     time.Duration
		latencies []int64
		log       bool
		from, to  float64
	}{
		{"around the bound", 10e6, []int64{5e6, 20e6}, false, 0, 23e6},
		{"all of it below", 10e6, []int64{5e6, 6e6}, false, 0, 11.5e6},
		{"far beyond", 10e6, []int64{5e6, 200e6}, true, 3.5e6, 280e6},
		{"none near it", 10e6, []int64{100e6, 2000e6}, true, 7e6, 2800e6},
		{"no bound", 0, []int64{5e6, 200e6}, true, 3.5e6, 280e6},
		{"no bound, and near each other", 0, []int64{5e6, 40e6}, false, 0, 46e6},
	} {
		r := &report.Results{Scenario: "Server", Test: &report.Test{TargetLatency: c.bound}, Peak: &report.Peak{Unit: "queries/s"}}
		for i, ns := range c.latencies {
			r.Peak.Steps = append(r.Peak.Steps, report.PeakStep{Load: float64(10 * (i + 1)), LatencyNS: ns, Met: i == 0})
		}
		f := of(t, r, nil)["peak"]
		if f.Y.Log != c.log || math.Abs(f.Y.From-c.from) > 1 || math.Abs(f.Y.To-c.to) > 1 {
			t.Errorf("%s: %+v, want from %g to %g, logarithmic %v", c.name, f.Y, c.from, c.to, c.log)
		}
		if math.Abs(f.X.From-9) > 1e-9 || math.Abs(f.X.To-21) > 1e-9 {
			t.Errorf("%s: loads from %g to %g", c.name, f.X.From, f.X.To)
		}
		for _, m := range f.Marks {
			if m.Value < f.Y.From || m.Value > f.Y.To {
				t.Errorf("%s: the bound is beyond its axis", c.name)
			}
		}
	}
}

func TestLoadsOfASearchAreInOrder(t *testing.T) {
	r, _ := server()
	r.Peak = &report.Peak{Unit: "samples/s", Best: 30}
	for _, load := range []float64{50, 10, 30, 20, 40} {
		r.Peak.Steps = append(r.Peak.Steps, report.PeakStep{Load: load, Met: load <= 30, LatencyNS: int64(load * 1e5)})
	}
	before := slices.Clone(r.Peak.Steps)
	f := of(t, r, nil)["peak"]
	if !slices.Equal(f.At, []float64{10, 20, 30, 40, 50}) || f.X.Unit != "samples/s" || f.X.Label != "load" {
		t.Errorf("loads %v of %+v", f.At, f.X)
	}
	if got, want := fmt.Sprint(f.Series[0].Values, f.Series[1].Values), "[1e+06 2e+06 3e+06 NaN NaN] [NaN NaN NaN 4e+06 5e+06]"; got != want {
		t.Errorf("latencies %s, want %s", got, want)
	}
	if !slices.Equal(r.Peak.Steps, before) {
		t.Error("the results have been changed")
	}
	if m := f.Marks[1]; m.Axis != "x" || m.Value != 30 || m.Label != "30 samples/s" || !m.Dashed {
		t.Errorf("mark %+v", m)
	}
}

// The newest power at an instant, by looking through all of them.
func TestPowersAreThoseKnownThen(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	for range 200 {
		var watts []report.PowerAt
		at := 0.0
		for range 1 + random.IntN(8) {
			watts = append(watts, report.PowerAt{Seconds: at, Watts: random.Float64()})
			at += float64(random.IntN(3)) / 2
		}
		var instants Values
		for i := range 10 {
			instants = append(instants, float64(i)/2)
		}
		got := following(instants, watts)
		for i, instant := range instants {
			want := watts[0].Watts
			for _, w := range watts {
				if w.Seconds <= instant {
					want = w.Watts
				}
			}
			if got[i] != want {
				t.Fatalf("at %g of %v: %g, want %g", instant, watts, got[i], want)
			}
		}
	}
}

func TestPowerSaysWhatTheTrafficTook(t *testing.T) {
	r := &report.Results{Energy: &report.Energy{Joules: 123456, MeanWatts: 61.728, PeakWatts: 99.9, Parts: []report.EnergyPart{
		{Name: "a", Watts: []report.PowerAt{{Watts: 10}, {Seconds: 1, Watts: 20}}}, {Name: "b", Watts: []report.PowerAt{{Watts: 5}}},
		{Name: "c", Watts: []report.PowerAt{{Watts: 1}}}, {Name: "d", Watts: []report.PowerAt{{Watts: 2}}}, {Name: "e", Watts: []report.PowerAt{{Watts: 3}}},
	}}}
	f := of(t, r, nil)["power"]
	if want := "61.73 W on average, 99.9 W at most, of a, b, c, d, e: 123,456 J for the whole of the traffic."; f.Sentence != want {
		t.Errorf("%q, want %q", f.Sentence, want)
	}
	var colors []Color
	for _, s := range f.Series {
		colors = append(colors, s.Color)
	}
	if !slices.Equal(colors, []Color{Main, Second, Quiet, Ink, Main}) || f.Y.To != 23 || f.X.To != 1 || !f.Wide {
		t.Errorf("%q on %+v and %+v", colors, f.X, f.Y)
	}
}

func TestTheLongestPartGivesTheInstants(t *testing.T) {
	part := func(n int) report.EnergyPart { return report.EnergyPart{Watts: make([]report.PowerAt, n)} }
	for _, c := range []struct {
		parts []report.EnergyPart
		want  int
	}{
		{nil, 0}, {[]report.EnergyPart{part(0)}, 0}, {[]report.EnergyPart{part(2), part(5), part(3)}, 5}, {[]report.EnergyPart{part(5), part(5)}, 5},
	} {
		if got := len(longest(c.parts)); got != c.want {
			t.Errorf("%d parts: %d instants, want %d", len(c.parts), got, c.want)
		}
	}
}

func TestClassesAreSortedByValueThenName(t *testing.T) {
	got := Classes(&report.Classes{
		Values: map[string]float64{"dog": 3, "cat": 3, "ant": 9, "bee": -1, "asp": 3},
		Counts: map[string]int{"dog": 30, "bee": 10},
	})
	want := []Class{{"bee", -1, 10}, {"asp", 3, 0}, {"cat", 3, 0}, {"dog", 3, 30}, {"ant", 9, 0}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Classes(nil); got != nil {
		t.Errorf("no classes are %v", got)
	}
	if got := Classes(&report.Classes{}); len(got) != 0 {
		t.Errorf("an empty list is %v", got)
	}
}

func TestTheAxisOfClassesHasRoomForTheWorst(t *testing.T) {
	for _, c := range []struct {
		name     string
		unit     string
		a, b     float64
		from, to float64
	}{
		{"percent up to all", "%", 50, 100, 0, 104},
		{"percent far from all", "%", 10, 20, 0, 23},
		{"more than all", "%", 50, 200, 0, 230},
		{"less than nothing", "%", -20, 100, -20, 115},
		{"another unit", "", 0.5, 100, 0, 115},
		{"nothing right", "%", 0, 0, 0, 1},
	} {
		r := &report.Results{Accuracy: &report.Accuracy{Classes: &report.Classes{Metric: "AP", Unit: c.unit, Values: map[string]float64{"a": c.a, "b": c.b}}}}
		f := of(t, r, nil)["classes"]
		if math.Abs(f.Y.From-c.from) > 1e-9 || math.Abs(f.Y.To-c.to) > 1e-9 || f.X.From != 0.4 || f.X.To != 2.6 {
			t.Errorf("%s: axes %+v and %+v, want %g to %g", c.name, f.X, f.Y, c.from, c.to)
		}
	}
}

func TestTheSentenceAboutClassesNamesThreeOfEachEnd(t *testing.T) {
	for n, want := range map[int]string{
		2: "Of 2 classes, half have at most 1 %. Worst: c1 1 %, c2 2 %. Best: c1 1 %, c2 2 %.",
		3: "Of 3 classes, half have at most 2 %. Worst: c1 1 %, c2 2 %, c3 3 %. Best: c1 1 %, c2 2 %, c3 3 %.",
		7: "Of 7 classes, half have at most 4 %. Worst: c1 1 %, c2 2 %, c3 3 %. Best: c5 5 %, c6 6 %, c7 7 %.",
		8: "Of 8 classes, half have at most 4 %. Worst: c1 1 %, c2 2 %, c3 3 %. Best: c6 6 %, c7 7 %, c8 8 %.",
	} {
		values := map[string]float64{}
		for i := range n {
			values[fmt.Sprintf("c%d", i+1)] = float64(i + 1)
		}
		r := &report.Results{Accuracy: &report.Accuracy{Classes: &report.Classes{Metric: "AP", Unit: "%", Values: values}}}
		if got := of(t, r, nil)["classes"].Sentence; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What pages draw comes as JSON: what is not known is null there, and titles and sentences are not in it.
func TestFiguresAsJSON(t *testing.T) {
	f := Figure{
		ID: "x", Title: "not here", Sentence: "nor here", X: Axis{Label: "time", Unit: "s", To: 2}, Y: Axis{Log: true, From: 1, To: 10},
		At: Values{0, 1}, Series: []Series{{Label: "l", Kind: Line, Color: Main, Values: Values{1, math.NaN()}}},
	}
	got, err := json.Marshal(f)
	const want = `{"id":"x","x":{"label":"time","unit":"s","from":0,"to":2},"y":{"label":"","unit":"","log":true,"from":1,"to":10},` +
		`"at":[0,1],"series":[{"label":"l","kind":"line","color":"a","values":[1,null]}]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

func TestFiguresDoNotChangeWhatTheyAreMadeOf(t *testing.T) {
	r, c := server()
	s, d := server()
	Of(r, c)
	if fmt.Sprint(*c.Timeline, *c.Gauges, c.BatchSizes, *r.Test) != fmt.Sprint(*d.Timeline, *d.Gauges, d.BatchSizes, *s.Test) {
		t.Error("they do")
	}
	again, err := json.Marshal(Of(r, c))
	first, err2 := json.Marshal(Of(s, d))
	if err != nil || err2 != nil || !slices.Equal(again, first) {
		t.Errorf("a second call makes others: %v, %v", err, err2)
	}
}

func ExampleOf() {
	r := &report.Results{Scenario: "Offline"}
	r.Backend.Instances, r.Backend.MaxBatch = 2, 8
	c := &charts.Charts{BatchSizes: []charts.Size{{Samples: 3, Batches: 1}, {Samples: 8, Batches: 5}}}
	for _, f := range Of(r, c) {
		fmt.Println(f.Title + ": " + f.Sentence)
	}
	// Output: Batch sizes: The model ran 6 times with 7.167 samples on average; 83.33 % of the batches were full (8).
}
