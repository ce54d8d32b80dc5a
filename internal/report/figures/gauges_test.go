package figures

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
)

// gaugesOf are the figures of gauges that were read each second.
func gaugesOf(t *testing.T, series ...charts.Gauge) []Figure {
	t.Helper()
	g := &charts.Gauges{Series: series}
	for i := range series[0].Values {
		g.AtNS = append(g.AtNS, float64(i)*1e9)
	}
	list := Of(&report.Results{}, &charts.Charts{Gauges: g})
	for _, f := range list {
		check(t, f)
	}
	return list
}

func TestGaugesOfAUnitShareAFigure(t *testing.T) {
	list := gaugesOf(t,
		charts.Gauge{Name: "processors busy", Unit: "%", Values: charts.Column{1, 2, 3}},
		charts.Gauge{Name: "memory", Unit: "MiB", Values: charts.Column{100, 300, 200}},
		charts.Gauge{Name: "card busy", Unit: "%", Values: charts.Column{7, 8, 9}},
		charts.Gauge{Name: "of a batch", Unit: "samples", Values: charts.Column{1, 2, 3}},
		charts.Gauge{Name: "workers busy", Unit: "%", Values: charts.Column{math.NaN(), 50, math.NaN()}},
		charts.Gauge{Name: "fan", Unit: "%", Values: charts.Column{4, 4, 4}},
		charts.Gauge{Name: "unread", Unit: "K", Values: charts.Column{math.NaN(), math.NaN(), math.Inf(1)}},
	)
	if len(list) != 2 || list[0].ID != "gauge-p" || list[1].ID != "gauge-MiB" {
		t.Fatalf("figures %+v", list)
	}
	var labels []string
	var colors []Color
	for _, s := range list[0].Series {
		labels, colors = append(labels, s.Label), append(colors, s.Color)
	}
	if !slices.Equal(labels, []string{"processors busy", "card busy", "workers busy", "fan"}) || !slices.Equal(colors, []Color{Main, Second, Quiet, Main}) {
		t.Errorf("series %q in %q", labels, colors)
	}
	for i, want := range []struct{ title, sentence string }{
		{"Processors busy, card busy, workers busy, fan",
			"Processors busy between 1 % and 3 %; card busy between 7 % and 9 %; workers busy between 50 % and 50 %; fan between 4 % and 4 %."},
		{"Memory", "Memory between 100 MiB and 300 MiB."},
	} {
		if f := list[i]; f.Title != want.title || f.Sentence != want.sentence || f.X.To != 2 || f.X.Unit != "s" || f.Y.Label != f.Y.Unit {
			t.Errorf("%q on %+v and %+v: %s", f.Title, f.X, f.Y, f.Sentence)
		}
	}
}

// Slots are drawn below all that there are, and say how many were in use on average.
func TestSlotsAreDrawnBelowAllOfThem(t *testing.T) {
	g := &charts.Gauges{AtNS: charts.Column{0, 1e9}, Series: []charts.Gauge{{Name: "slots in use", Unit: "slots", Values: charts.Column{6, 7}}}}
	f := Of(&report.Results{Backend: report.Backend{Instances: 2, MaxBatch: 4}}, &charts.Charts{Gauges: g})[0]
	check(t, f)
	if len(f.Marks) != 1 || f.Marks[0].Value != 8 || f.Y.To <= 8 || f.Sentence != "Slots in use between 6 slots and 7 slots, 6.5 on average." {
		t.Errorf("%+v", f)
	}
}

func TestAGaugeHasRoomForAllItRead(t *testing.T) {
	for _, c := range []struct {
		name     string
		unit     string
		values   charts.Column
		from, to float64
	}{
		{"a rest above", "W", charts.Column{100, 200}, 0, 230},
		{"nothing at all", "W", charts.Column{0, 0}, 0, 1},
		{"below zero", "°C", charts.Column{-40, 20}, -40, 23},
		{"only below zero", "°C", charts.Column{-40, -20}, -40, 1},
		{"percent, which has an end", "%", charts.Column{3, 5}, 0, 104},
		{"percent of one of several processors", "%", charts.Column{30, 1600}, 0, 1600},
	} {
		list := gaugesOf(t, charts.Gauge{Name: "it", Unit: c.unit, Values: c.values})
		if len(list) != 1 {
			t.Errorf("%s: %d figures", c.name, len(list))
			continue
		}
		if y := list[0].Y; math.Abs(y.From-c.from) > 1e-9 || math.Abs(y.To-c.to) > 1e-9 {
			t.Errorf("%s: an axis from %g to %g, want %g to %g", c.name, y.From, y.To, c.from, c.to)
		}
	}
}

func TestOneReadingIsNoFigure(t *testing.T) {
	for name, g := range map[string]*charts.Gauges{
		"nothing":       nil,
		"no instants":   {Series: []charts.Gauge{{Name: "a", Unit: "W"}}},
		"one instant":   {AtNS: charts.Column{5}, Series: []charts.Gauge{{Name: "a", Unit: "W", Values: charts.Column{1}}}},
		"no gauges":     {AtNS: charts.Column{1, 2}},
		"batches alone": {AtNS: charts.Column{1, 2}, Series: []charts.Gauge{{Name: "a", Unit: "samples", Values: charts.Column{1, 2}}}},
	} {
		if list := Of(&report.Results{}, &charts.Charts{Gauges: g}); len(list) != 0 {
			t.Errorf("%s: %+v", name, list)
		}
	}
}

// Two figures of gauges stand side by side, of three the last has the page for itself.
func TestTheLastOfAnOddNumberIsWide(t *testing.T) {
	for n, want := range map[int]string{1: "W", 2: "nn", 3: "nnW", 4: "nnnn", 5: "nnnnW"} {
		var series []charts.Gauge
		for i := range n {
			series = append(series, charts.Gauge{Name: "it", Unit: strings.Repeat("u", i+1), Values: charts.Column{1, 2}})
		}
		got := ""
		for _, f := range gaugesOf(t, series...) {
			if f.Wide {
				got += "W"
			} else {
				got += "n"
			}
		}
		if got != want {
			t.Errorf("%d figures are %s, want %s", n, got, want)
		}
	}
}

func TestFiguresKeepTheirOrderWhenTheyArePaired(t *testing.T) {
	for _, c := range []struct{ before, after string }{
		{"", ""}, {"n", "W"}, {"W", "W"}, {"nn", "nn"}, {"nW", "WW"}, {"Wn", "WW"}, {"nWn", "WWW"}, {"nnn", "nnW"}, {"WnnWnWnn", "WnnWWWnn"},
	} {
		var list []Figure
		for i, r := range c.before {
			list = append(list, Figure{ID: string(rune('a' + i)), Wide: r == 'W'})
		}
		after, ids := "", ""
		for _, f := range Paired(list) {
			ids += f.ID
			after += map[bool]string{true: "W", false: "n"}[f.Wide]
		}
		if after != c.after || ids != "abcdefghijkl"[:len(c.before)] {
			t.Errorf("%s becomes %s (%s), want %s", c.before, after, ids, c.after)
		}
	}
}
