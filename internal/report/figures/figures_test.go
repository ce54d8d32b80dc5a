package figures

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
)

func histogramOf(values ...int64) *backend.Times {
	h := backend.NewTimes()
	for _, v := range values {
		h.Add(time.Duration(v))
	}
	return h
}

// server is a Server run of four buckets, in which latency is above its bound in one.
func server() (*report.Results, *charts.Charts) {
	r := &report.Results{Scenario: "Server", Test: &report.Test{TargetQPS: 100, TargetLatency: 10e6, TargetLatencyPercentile: 0.99}}
	r.Performance = &report.Performance{Samples: 400, Overlatency: 3}
	r.Backend.Instances, r.Backend.MaxBatch = 2, 4
	r.Constraints = []report.Constraint{{Constraint: loadgen.Constraint{ID: loadgen.ConstraintGenerator, Required: loadgen.Quantity{Value: 5e6, Unit: "ns"}}}}
	c := &charts.Charts{
		Latency: histogramOf(5e6, 6e6, 7e6, 30e6), IssueDelay: histogramOf(20, 30, 4000), GeneratorDelay: histogramOf(20, 30, 40),
		Timeline: &charts.Timeline{
			BucketNS: 1e9, Issued: charts.Column{100, 110, 90, 100}, Completed: charts.Column{99, 110, 90, 101}, Outstanding: charts.Column{3, 7, 2, 1},
			P50: charts.Column{5e6, 6e6, math.NaN(), 5e6}, P90: charts.Column{6e6, 8e6, math.NaN(), 6e6}, P99: charts.Column{7e6, 30e6, math.NaN(), 7e6}, Max: charts.Column{7e6, 30e6, math.NaN(), 7e6},
			DelayP50: charts.Column{20, 20, math.NaN(), 30}, DelayMax: charts.Column{30, 4000, math.NaN(), 40},
		},
		BatchSizes: []charts.Size{{Samples: 1, Batches: 30}, {Samples: 4, Batches: 10}},
		Gauges: &charts.Gauges{AtNS: charts.Column{1e9, 2e9}, Series: []charts.Gauge{
			{Name: "processors busy", Unit: "%", Values: charts.Column{50, 75}}, {Name: "workers busy", Unit: "%", Values: charts.Column{40, math.NaN()}},
			{Name: "power", Unit: "W", Values: charts.Column{200, 210}}, {Name: "mean batch", Unit: "samples", Values: charts.Column{1, 2}},
		}},
	}
	return r, c
}

func TestSentencesSayWhatIsToBeSeen(t *testing.T) {
	r, c := server()
	got := map[string]string{}
	for _, f := range Of(r, c) {
		got[f.ID] = f.Sentence
	}
	want := map[string]string{
		"distribution": "99.25 % of the queries were answered within the bound of 10 ms; 99 % are required.",
		"latency":      "p99, by the instant at which queries were due, is above the bound in 1 of 3 intervals of 1 s; the worst is 30 ms, after 1.5 s.",
		"throughput":   "400 samples were answered, 100/s on average, target 100/s; between 90/s and 110/s in intervals of 1 s.",
		"queue":        "At most 7 samples waited or were being answered at a time, after 1.5 s, with 2 workers and batches of up to 4.",
		"delay":        "Half of the queries were issued within 30 ns of their instant, 99 % within 4 µs; the worst was 4 µs late. The generator's own part is 40 ns at p99",
		"batches":      "The model ran 40 times with 1.75 samples on average; 25 % of the batches were full (4).",
		"gauge-p":      "Processors busy between 50 % and 75 %; workers busy between 40 % and 40 %.",
		"gauge-W":      "Power between 200 W and 210 W.",
	}
	for id, text := range want {
		if !strings.HasPrefix(got[id], text) {
			t.Errorf("%s: %q, want %q", id, got[id], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d figures, want %d", len(got), len(want))
	}
}

func TestSeriesHaveAValueForEachPoint(t *testing.T) {
	r, c := server()
	r.Peak = &report.Peak{Unit: "queries/s", Best: 40, Steps: []report.PeakStep{{Load: 60, LatencyNS: 31e6}, {Load: 40, Met: true, LatencyNS: 9e6}, {Load: 50}}}
	c.FirstToken, c.TimePerOutputToken = histogramOf(1e8, 2e8), histogramOf(1e7, 2e7)
	c.Timeline.FirstTokenP50, c.Timeline.FirstTokenP90 = charts.Column{1, 2, 3, 4}, charts.Column{2, 3, 4, 50}
	c.Timeline.PerTokenP50, c.Timeline.PerTokenP90 = charts.Column{1, 2, 3, 4}, charts.Column{2, 3, 4, 5}
	list := Of(r, c)
	if len(list) != 13 {
		t.Errorf("%d figures, want 13", len(list))
	}
	row := 0 // in a row of two, how many there are
	for _, f := range list {
		for _, s := range f.Series {
			if len(s.Values) != len(f.At) {
				t.Errorf("%s: %s has %d values for %d points", f.ID, s.Label, len(s.Values), len(f.At))
			}
		}
		if !slices.IsSorted(f.At) && !slices.ContainsFunc(f.At, math.IsNaN) {
			t.Errorf("%s: points are not in order", f.ID)
		}
		if f.Title == "" || f.Sentence == "" || f.X.To <= f.X.From || f.Y.To <= f.Y.From {
			t.Errorf("%+v", f)
		}
		switch {
		case f.Wide && row == 1:
			t.Errorf("%s: there is a gap before it", f.ID)
		case !f.Wide:
			row = (row + 1) % 2
		}
	}
	if row != 0 {
		t.Error("there is a gap after the last figure")
	}
}

func TestOfflineHasItsThroughputAndNoLatencies(t *testing.T) {
	r, c := server()
	r.Scenario = "Offline"
	c.Timeline.P50, c.Timeline.DelayP50 = nil, nil
	for _, f := range Of(r, c) {
		if f.ID == "distribution" || f.ID == "latency" || f.ID == "delay" {
			t.Errorf("there is %s", f.ID)
		}
		if f.ID == "throughput" && (len(f.Series) != 1 || f.Marks != nil) {
			t.Errorf("throughput %+v", f)
		}
	}
	if got := Of(&report.Results{}, nil); len(got) != 0 {
		t.Errorf("figures of nothing: %+v", got)
	}
}

func TestTheFrontIsWhatNoOtherBeats(t *testing.T) {
	line := func(speed, accuracy float64) report.Line {
		return report.Line{Model: "m", Scenario: "Offline", Precision: "int8", SamplesPerSecond: speed, Accuracy: &report.LineAccuracy{Metric: "accuracy", Value: accuracy}}
	}
	partial := line(1000, 99)
	partial.Accuracy.Partial = true
	lines := []report.Line{line(300, 70), line(100, 76), line(200, 74), line(150, 73), line(200, 75), partial, {Model: "m", SamplesPerSecond: 5}}
	list := Trades(lines)
	if len(list) != 1 {
		t.Fatalf("%d figures", len(list))
	}
	f := list[0]
	on := map[float64]float64{}
	for i, v := range f.Series[0].Values {
		if !math.IsNaN(v) {
			on[f.At[i]] = v
		}
	}
	if len(f.Series) != 2 || f.Series[1].Label != "int8" || f.Series[1].Kind != Dots {
		t.Errorf("series %+v", f.Series)
	}
	if len(on) != 3 || on[100] != 76 || on[200] != 75 || on[300] != 70 || !strings.HasPrefix(f.Sentence, "Of 5 runs, 3 are on the front") {
		t.Errorf("the front is %v; %s", on, f.Sentence)
	}
}

func TestNumbersThatNothingMeasuredAreNotDrawn(t *testing.T) {
	r, c := server()
	c.Timeline.Completed = charts.Column{1.7e308, 1.7e308, 1.7e308, 1.7e308}
	c.Timeline.Max = charts.Column{1.7e308, 1.7e308, 1.7e308, 1.7e308}
	for _, f := range Of(r, c) {
		if f.ID == "throughput" {
			t.Errorf("%s from %g to %g", f.ID, f.Y.From, f.Y.To)
		}
	}
}

func TestTheEnergyFrontIsOfLittleEnergy(t *testing.T) {
	line := func(precision string, speed, joules float64) report.Line {
		return report.Line{Model: "m", Scenario: "Offline", Precision: precision, SamplesPerSecond: speed, JoulesPerSample: joules}
	}
	list := Trades([]report.Line{line("fp32", 100, 2), line("int8", 200, 1), line("int8", 300, 3), line("", 250, 0)})
	if len(list) != 1 || list[0].ID != "energy-0" || list[0].Y.Unit != "J" {
		t.Fatalf("figures %+v", list)
	}
	f := list[0]
	var labels []string
	for _, s := range f.Series {
		labels = append(labels, s.Label)
	}
	if !slices.Equal(labels, []string{"front", "fp32", "int8"}) || !strings.HasPrefix(f.Sentence, "Of 3 runs, 2 are on the front") || !math.IsNaN(f.Series[0].Values[0]) {
		t.Errorf("series %v, front %v: %s", labels, f.Series[0].Values, f.Sentence)
	}
}

func TestClassesComeWorstFirst(t *testing.T) {
	c := &report.Classes{Metric: "Top-1", Unit: "%", Of: "samples", Values: map[string]float64{"a": 50, "b": 0, "c": 100, "d": 50}, Counts: map[string]int{"a": 2, "b": 4}}
	list := Of(&report.Results{Accuracy: &report.Accuracy{Classes: c}}, nil)
	if len(list) != 1 {
		t.Fatalf("%d figures", len(list))
	}
	f := list[0]
	if !slices.Equal(f.Places, []string{"b", "a", "d", "c"}) || !slices.Equal(f.Series[0].Values, Values{0, 50, 50, 100}) || f.Y.To != 104 ||
		f.Sentence != "Of 4 classes, half have at most 50 %. Worst: b 0 %, a 50 %, d 50 %. Best: a 50 %, d 50 %, c 100 %." {
		t.Errorf("%+v", f)
	}
	delete(c.Values, "a")
	delete(c.Values, "b")
	delete(c.Values, "c")
	if list := Of(&report.Results{Accuracy: &report.Accuracy{Classes: c}}, nil); len(list) != 0 {
		t.Errorf("one class alone is drawn: %+v", list)
	}
}

func TestRunsThatAreNotValidAreOnNoFront(t *testing.T) {
	line := func(result string, speed float64) report.Line {
		return report.Line{Model: "m", Scenario: "Server", Result: result, SamplesPerSecond: speed, Accuracy: &report.LineAccuracy{Metric: "accuracy", Unit: "%"}}
	}
	list := Trades([]report.Line{line(report.Valid, 10), line(report.Invalid, 500), line(report.BelowTarget, 20), line(report.Interrupted, 600)})
	if len(list) != 1 || !slices.Equal(list[0].At, []float64{10, 20}) || !strings.HasSuffix(list[0].Sentence, "Not shown: 2 that are not VALID.") {
		t.Fatalf("figures %+v", list)
	}
	if y := list[0].Y; y.From != -1 || y.To != 1 {
		t.Errorf("equal values of 0 %% are drawn from %g to %g", y.From, y.To)
	}
	if list := Trades([]report.Line{line(report.Valid, 10), line(report.Invalid, 500)}); len(list) != 0 {
		t.Errorf("one VALID run makes a front: %+v", list)
	}
}
