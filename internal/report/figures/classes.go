package figures

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Class is a row of the scores by class.
type Class struct {
	Name  string
	Value float64
	Count int
}

// Classes are the scores by class, the worst first.
func Classes(c *report.Classes) []Class {
	if c == nil {
		return nil
	}
	var list []Class
	for _, name := range slices.Sorted(maps.Keys(c.Values)) {
		list = append(list, Class{name, c.Values[name], c.Counts[name]})
	}
	slices.SortStableFunc(list, func(a, b Class) int { return cmp.Compare(a.Value, b.Value) })
	return list
}

// named is how many of the worst and of the best classes the sentence names.
const named = 3

// classes draws the scores by class, the worst first.
func (x run) classes() *Figure {
	a := x.r.Accuracy
	if a == nil {
		return nil
	}
	c, list := a.Classes, Classes(a.Classes)
	if len(list) < 2 {
		return nil
	}
	f := &Figure{
		ID: "classes", Title: c.Metric + " by class", Wide: true,
		X: Axis{Label: "class", From: 0.4, To: float64(len(list)) + 0.6}, Y: Axis{Label: c.Metric, Unit: c.Unit},
	}
	values := make(Values, len(list))
	for i, class := range list {
		f.At, values[i], f.Places = append(f.At, float64(i+1)), class.Value, append(f.Places, class.Name)
	}
	f.Series = []Series{{Label: c.Metric, Kind: Bars, Color: Bar, Values: values}}
	least, most, _ := extremes(values)
	f.Y.From, f.Y.To = fromZero(most)
	f.Y.From = min(f.Y.From, least)
	if c.Unit == "%" && least >= 0 && most <= 100 {
		f.Y.To = min(f.Y.To, 104)
	}
	f.Sentence = fmt.Sprintf("Of %d classes, half have at most %s. Worst: %s. Best: %s.", len(list), units.Text(list[(len(list)-1)/2].Value, c.Unit),
		classNames(list[:min(named, len(list))], c.Unit), classNames(list[max(0, len(list)-named):], c.Unit))
	return f
}

func classNames(list []Class, unit string) string {
	var texts []string
	for _, c := range list {
		texts = append(texts, c.Name+" "+units.Text(c.Value, unit))
	}
	return strings.Join(texts, ", ")
}
