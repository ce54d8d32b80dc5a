package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/report"
)

// SpeedAgainstAccuracy draws, for each model and scenario of which at least two runs have
// both, the runs and the front of those that no other beats in both.
func SpeedAgainstAccuracy(lines []report.Line) []Figure {
	groups := map[string][]report.Line{}
	var names []string
	for _, l := range lines {
		if l.Accuracy == nil || l.Accuracy.Partial || l.SamplesPerSecond <= 0 {
			continue
		}
		name := l.Model + " " + l.Scenario + ": speed against " + l.Accuracy.Metric
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], l)
	}
	var list []Figure
	for i, name := range names {
		if group := groups[name]; len(group) > 1 {
			if f := front(fmt.Sprintf("front-%d", i), name, group); f.drawable() {
				list = append(list, f)
			}
		}
	}
	return list
}

// onFront reports which runs no other one beats: is as fast and as accurate, and one of the two
// more. Lines are sorted by speed.
func onFront(lines []report.Line) []bool {
	best, on := math.Inf(-1), make([]bool, len(lines))
	for i := len(lines) - 1; i >= 0; i-- {
		if v := lines[i].Accuracy.Value; v > best {
			best, on[i] = v, true
		}
	}
	return on
}

func front(id, title string, lines []report.Line) Figure {
	lines = slices.SortedStableFunc(slices.Values(lines), func(a, b report.Line) int {
		return cmp.Or(cmp.Compare(a.SamplesPerSecond, b.SamplesPerSecond), cmp.Compare(a.Accuracy.Value, b.Accuracy.Value))
	})
	unit := lines[0].Accuracy.Unit
	f := Figure{ID: id, Title: title, Wide: true, X: Axis{Label: "samples/s", Unit: "/s"}, Y: Axis{Label: lines[0].Accuracy.Metric, Unit: unit}}
	var on, off, speeds, values Values
	var best []string
	for i, isOn := range onFront(lines) {
		l := lines[i]
		speeds, values = append(speeds, l.SamplesPerSecond), append(values, l.Accuracy.Value)
		f.Names = append(f.Names, RunName(l))
		if isOn {
			on, off, best = append(on, l.Accuracy.Value), append(off, math.NaN()), append(best, RunName(l))
		} else {
			on, off = append(on, math.NaN()), append(off, l.Accuracy.Value)
		}
	}
	f.At = speeds
	f.Series = []Series{{Label: "on the front", Kind: Line, Color: Good, Values: on}, {Label: "beaten in both", Kind: Dots, Color: Quiet, Values: off}}
	least, most, _ := extremes(speeds)
	f.X.From, f.X.To = least-0.08*(most-least)-0.01*most, most*1.01+0.08*(most-least)
	least, most, _ = extremes(values)
	f.Y.From, f.Y.To = least-0.1*(most-least)-0.001*math.Abs(most)-1e-9, most+0.1*(most-least)+0.001*math.Abs(most)+1e-9
	are := "are"
	if len(best) == 1 {
		are = "is"
	}
	f.Sentence = fmt.Sprintf("Of %d runs, %d %s on the front: no other is as fast and as accurate. From slow to fast: %s.", len(lines), len(best), are, strings.Join(best, ", "))
	return f
}

// RunName tells runs of a model and a scenario apart.
func RunName(l report.Line) string {
	parts := []string{cmp.Or(l.Precision, "as the model is"), l.Device, fmt.Sprintf("batch %d × %d", l.Batch, l.Concurrency)}
	return strings.Join(parts, ", ")
}
