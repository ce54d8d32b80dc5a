package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/report"
)

// A trade is something that runs give for their speed.
type trade struct {
	id     string
	value  func(report.Line) (v float64, label, unit string, ok bool)
	less   bool   // is better
	beaten string // what no other run is that is not on the front
}

// trades are those that are drawn.
var trades = []trade{
	{id: "front", beaten: "as fast and as accurate", value: func(l report.Line) (float64, string, string, bool) {
		if l.Accuracy == nil || l.Accuracy.Partial {
			return 0, "", "", false
		}
		return l.Accuracy.Value, l.Accuracy.Metric, l.Accuracy.Unit, true
	}},
	{id: "energy", less: true, beaten: "as fast for as little energy", value: func(l report.Line) (float64, string, string, bool) {
		return l.JoulesPerSample, "energy per sample", "J", l.JoulesPerSample > 0
	}},
}

// Trades draws, for each model and scenario, runs by their speed and what they give for it:
// accuracy and energy, where at least two runs have it. On the front are those that no
// other beats in both. Runs that are INVALID or were interrupted have no speed to go by: they are
// counted, and not drawn.
func Trades(lines []report.Line) []Figure {
	var list []Figure
	for _, t := range trades {
		list = append(list, t.figures(lines)...)
	}
	return list
}

// A dot is a run in a figure.
type dot struct {
	line  report.Line
	value float64
}

func (t trade) figures(lines []report.Line) []Figure {
	titles, groups := t.groups(lines)
	var list []Figure
	for i, title := range titles {
		g := groups[title]
		if len(g.dots) < 2 {
			continue
		}
		f := t.front(g.dots, g.axis)
		f.ID, f.Title = fmt.Sprintf("%s-%d", t.id, i), title
		if g.left > 0 {
			f.Sentence += fmt.Sprintf(" Not shown: %d that are not VALID.", g.left)
		}
		if f.drawable() {
			list = append(list, f)
		}
	}
	return list
}

// A group are the runs of a figure.
type group struct {
	axis Axis
	dots []dot
	left int // that have no speed to go by
}

// groups are the runs by the title of their figure, and the titles of those with something to show in order.
func (t trade) groups(lines []report.Line) (titles []string, groups map[string]*group) {
	groups = map[string]*group{}
	for _, l := range lines {
		v, label, unit, ok := t.value(l)
		if !ok || l.SamplesPerSecond <= 0 {
			continue
		}
		title := l.Model + " " + l.Scenario + ": speed against " + label
		g := groups[title]
		if g == nil {
			g = &group{}
			groups[title] = g
		}
		if unfinished(l) {
			g.left++
			continue
		}
		if len(g.dots) == 0 {
			titles = append(titles, title)
		}
		g.dots, g.axis = append(g.dots, dot{l, v}), Axis{Label: label, Unit: unit}
	}
	return titles, groups
}

// unfinished reports whether a run has no speed to go by.
func unfinished(l report.Line) bool {
	return l.Result == report.Invalid || l.Result == report.Interrupted
}

// onFront reports which runs no other one beats: is as fast and as good, and one of the two
// more. Dots are sorted by speed.
func (t trade) onFront(dots []dot) []bool {
	best, on := math.Inf(-1), make([]bool, len(dots))
	for i := len(dots) - 1; i >= 0; i-- {
		if v := t.goodness(dots[i].value); v > best {
			best, on[i] = v, true
		}
	}
	return on
}

// goodness is greater for what is better.
func (t trade) goodness(v float64) float64 {
	if t.less {
		return -v
	}
	return v
}

func (t trade) front(dots []dot, y Axis) Figure {
	slices.SortStableFunc(dots, func(a, b dot) int {
		return cmp.Or(cmp.Compare(a.line.SamplesPerSecond, b.line.SamplesPerSecond), cmp.Compare(t.goodness(a.value), t.goodness(b.value)))
	})
	f := Figure{Wide: true, X: Axis{Label: "samples/s", Unit: "/s"}, Y: y}
	on := t.onFront(dots)
	var values Values
	var best []string
	for i, d := range dots {
		f.At, values, f.Names = append(f.At, d.line.SamplesPerSecond), append(values, d.value), append(f.Names, runName(d.line))
		if on[i] {
			best = append(best, runName(d.line))
		}
	}
	f.Series = append([]Series{{Label: "front", Kind: Line, Color: Good, Values: only(values, func(i int) bool { return on[i] })}},
		byPrecision(dots, values)...)
	least, most, _ := extremes(f.At)
	f.X.From, f.X.To = least-0.08*(most-least)-0.01*most, most*1.01+0.08*(most-least)
	least, most, _ = extremes(values)
	room := 0.1*(most-least) + 0.001*math.Abs(most)
	if most == least {
		room = cmp.Or(0.1*math.Abs(most), 1)
	}
	f.Y.From, f.Y.To = least-room, most+room
	are := "are"
	if len(best) == 1 {
		are = "is"
	}
	f.Sentence = fmt.Sprintf("Of %d runs, %d %s on the front: no other is %s. From slow to fast: %s.", len(dots), len(best), are, t.beaten,
		strings.Join(best, ", "))
	return f
}

// byPrecision are the runs as dots, of a colour for each precision.
func byPrecision(dots []dot, values Values) []Series {
	var names []string
	for _, d := range dots {
		names = append(names, d.line.Precision)
	}
	slices.Sort(names)
	var list []Series
	for i, name := range slices.Compact(names) {
		list = append(list, Series{
			Label: cmp.Or(name, "as the model is"), Kind: Dots, Color: []Color{Main, Second, Quiet, Ink}[i%4],
			Values: only(values, func(i int) bool { return dots[i].line.Precision == name }),
		})
	}
	return list
}

// only keeps some values, and has none in the places of the others.
func only(values Values, keep func(i int) bool) Values {
	out := make(Values, len(values))
	for i, v := range values {
		if out[i] = v; !keep(i) {
			out[i] = math.NaN()
		}
	}
	return out
}

// runName tells runs of a model and a scenario apart.
func runName(l report.Line) string {
	parts := []string{cmp.Or(l.Precision, "as the model is"), l.Device, fmt.Sprintf("batch %d × %d", l.Batch, l.Concurrency)}
	return strings.Join(parts, ", ")
}
