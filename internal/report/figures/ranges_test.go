package figures

import (
	"math"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
)

// within reports whether an axis reaches over what is drawn: all that is a number.
func within(a Axis, values []float64) bool {
	least, most, any := extremes(values)
	return !any || a.From <= least && most <= a.To
}

// TestAxesReachOverWhatIsDrawn: no point, bar or mark of a run lies beyond the ends of its axis.
func TestAxesReachOverWhatIsDrawn(t *testing.T) {
	r, c := server()
	r.Peak = &report.Peak{Unit: "queries/s", Best: 40, Steps: []report.PeakStep{{Load: 60, LatencyNS: 31e6}, {Load: 40, Met: true, LatencyNS: 9e6}}}
	r.Energy = &report.Energy{Parts: []report.EnergyPart{{Name: "package", Watts: []report.PowerAt{{Seconds: 0, Watts: 4}, {Seconds: 2, Watts: 9}}}}}
	r.Accuracy = &report.Accuracy{Classes: &report.Classes{Metric: "AP", Unit: "%", Values: map[string]float64{"a": 99, "b": 5}}}
	c.FirstToken, c.TimePerOutputToken = histogramOf(1e8, 2e8), histogramOf(1e7, 2e7)
	line := func(speed, accuracy float64) report.Line {
		return report.Line{Result: report.Valid, SamplesPerSecond: speed, Accuracy: &report.LineAccuracy{Metric: "top-1", Unit: "%", Value: accuracy}}
	}
	list := append(Of(r, c), Trades([]report.Line{line(50, 76), line(100, 75.5), line(120, 70)})...)
	for _, f := range list {
		if !within(f.X, f.At) {
			t.Errorf("%s: points %v on %+v", f.ID, f.At, f.X)
		}
		axes := map[string]Axis{"x": f.X, "y": f.Y}
		if f.Right != nil {
			axes["right"] = *f.Right
		}
		for _, s := range f.Series {
			of := f.Y
			if s.Right {
				of = *f.Right
			}
			if !within(of, s.Values) {
				t.Errorf("%s: %s %v on %+v", f.ID, s.Label, s.Values, of)
			}
		}
		for _, m := range f.Marks {
			if a := axes[m.Axis]; m.Value < a.From || m.Value > a.To {
				t.Errorf("%s: a mark at %g on %+v", f.ID, m.Value, a)
			}
		}
	}
}

// TestAPercentageHasItsWholeScale: a gauge in percent reaches to all, also if it never came near, and beyond it where it did.
func TestAPercentageHasItsWholeScale(t *testing.T) {
	for most, want := range map[float64]float64{5: 104, 100: 104, 250: 250} {
		r, c := server()
		c.Gauges.Series[0].Values, c.Gauges.Series[1].Values = []float64{1, most}, []float64{math.NaN(), 2}
		for _, f := range Of(r, c) {
			if f.ID == "gauge-p" && f.Y.To != want {
				t.Errorf("at most %g %%: an axis to %g, want %g", most, f.Y.To, want)
			}
		}
	}
}

// TestOnlyWhatTheEngineAddsIsSaidToBeIts: the generator's own part is named where most of the delay is not its own.
func TestOnlyWhatTheEngineAddsIsSaidToBeIts(t *testing.T) {
	for _, c := range []struct {
		all, own int64
		named    bool
	}{{4000, 40, true}, {4000, 1999, false}, {1000, 1, false}, {1e6, 4e5, true}, {1e6, 5e5, false}} {
		r, charts := server()
		charts.IssueDelay, charts.GeneratorDelay = histogramOf(c.all), histogramOf(c.own)
		const want = " The generator's own part is "
		for _, f := range Of(r, charts) {
			if f.ID == "delay" && strings.Contains(f.Sentence, want) != c.named {
				t.Errorf("%d of %d ns: %q", c.own, c.all, f.Sentence)
			}
		}
	}
}
