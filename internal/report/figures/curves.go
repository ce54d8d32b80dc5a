package figures

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Curve is a line through points of which there are few, such as the loads of a sweep.
type Curve struct {
	Label string
	At    []float64 // NaN is not drawn, in Y neither
	Y     []float64
}

// Curves draws curves over what was varied. False: no curve has two points.
func Curves(id, title string, x, y Axis, curves []Curve) (Figure, bool) {
	f := Figure{ID: id, Title: title, X: x, Y: y}
	var kept []map[float64]float64
	var labels []string
	for _, c := range curves {
		points := map[float64]float64{}
		for i, at := range c.At {
			if units.Finite(at) && units.Finite(c.Y[i]) {
				points[at] = c.Y[i]
			}
		}
		if len(points) > 1 {
			kept, labels = append(kept, points), append(labels, c.Label)
			f.At = append(f.At, slices.Collect(maps.Keys(points))...)
		}
	}
	if len(kept) == 0 {
		return f, false
	}
	slices.Sort(f.At)
	f.At = slices.Compact(f.At)
	highest := 0.0
	var says []string
	for k, points := range kept {
		s := Series{Label: labels[k], Kind: Joined, Color: []Color{Main, Second, Quiet, Ink}[k%4]}
		for _, at := range f.At {
			v, ok := points[at]
			if !ok {
				v = math.NaN()
			}
			highest = max(highest, v)
			s.Values = append(s.Values, v)
		}
		f.Series = append(f.Series, s)
		places := slices.Sorted(maps.Keys(points))
		first, last := places[0], places[len(places)-1]
		says = append(says, fmt.Sprintf("%s: %s at %s, %s at %s", labels[k], units.Text(points[first], y.Unit), units.Text(first, ""),
			units.Text(points[last], y.Unit), units.Text(last, "")))
	}
	f.Sentence = strings.Join(says, "; ") + "."
	least, most := f.At[0], f.At[len(f.At)-1]
	if f.X.From, f.X.To = least-0.06*(most-least), most+0.06*(most-least); least > 0 && most > logBeyond*least {
		f.X.Log = true
		f.X.From, f.X.To = around(least, most)
	}
	f.Y.From, f.Y.To = fromZero(highest)
	return f, f.drawable()
}

// Bound draws a bound of what is over the axis y, which has room for it. Where the values go far beyond it, the axis becomes
// logarithmic.
func (f *Figure) Bound(value float64, percentile string) {
	f.Marks = append(f.Marks, Mark{Axis: "y", Value: value, Label: "bound of " + percentile + ", " + units.Text(value, f.Y.Unit), Color: Ink})
	var values Values
	for _, s := range f.Series {
		values = append(values, s.Values...)
	}
	least, most, any := extremes(values)
	switch {
	case any && least > 0 && most > logBeyond*value:
		f.Y.Log = true
		f.Y.From, f.Y.To = around(min(least, value), max(most, value))
	case !f.Y.Log:
		f.Y.To = max(f.Y.To, value*1.15)
	}
}

// Many makes the figures of many runs: what they give for their speed, and how speed and latency follow from batch and
// concurrency.
func Many(lines []report.Line) []Figure {
	list := slices.Concat(Trades(lines), grid(lines, "batch", func(l report.Line) (varied, other int) { return l.Batch, l.Concurrency }, "concurrency"),
		grid(lines, "concurrency", func(l report.Line) (varied, other int) { return l.Concurrency, l.Batch }, "batch"))
	return Paired(list)
}

// grid draws, for each model and scenario, throughput and p95 over a setting: a curve for each precision, at the value of the
// other setting that has the highest throughput. Runs that are INVALID or were interrupted have no speed to go by.
func grid(lines []report.Line, name string, settings func(report.Line) (varied, other int), otherName string) []Figure {
	type key struct {
		precision, device string
		other             int
	}
	var titles []string
	groups := map[string]map[key][]report.Line{}
	for _, l := range lines {
		if varied, _ := settings(l); l.SamplesPerSecond <= 0 || varied <= 0 || unfinished(l) {
			continue
		}
		title := l.Model + " " + l.Scenario
		if groups[title] == nil {
			groups[title] = map[key][]report.Line{}
			titles = append(titles, title)
		}
		_, other := settings(l)
		k := key{l.Precision, l.Device, other}
		groups[title][k] = append(groups[title][k], l)
	}
	var list []Figure
	for i, title := range titles {
		type curves struct {
			key
			speed, latency Curve
		}
		var found []curves
		for k, runs := range groups[title] {
			c := curves{key: k}
			c.speed.Label = strings.TrimPrefix(fmt.Sprintf("%s, %s %d", k.precision, otherName, k.other), ", ")
			c.latency.Label = c.speed.Label
			for _, l := range runs {
				at, _ := settings(l)
				p95 := l.LatencyP95MS * 1e6
				if p95 == 0 {
					p95 = math.NaN()
				}
				c.speed.At, c.speed.Y = append(c.speed.At, float64(at)), append(c.speed.Y, l.SamplesPerSecond)
				c.latency.At, c.latency.Y = append(c.latency.At, float64(at)), append(c.latency.Y, p95)
			}
			if len(slices.Compact(slices.Sorted(slices.Values(c.speed.At)))) > 1 {
				found = append(found, c)
			}
		}
		slices.SortFunc(found, func(a, b curves) int {
			return cmp.Or(cmp.Compare(a.precision, b.precision), cmp.Compare(a.device, b.device),
				cmp.Compare(slices.Max(b.speed.Y), slices.Max(a.speed.Y)), cmp.Compare(a.other, b.other))
		})
		found = slices.CompactFunc(found, func(a, b curves) bool { return a.precision == b.precision && a.device == b.device })
		var speeds, latencies []Curve
		for _, c := range found {
			speeds, latencies = append(speeds, c.speed), append(latencies, c.latency)
		}
		x := Axis{Label: name}
		if f, ok := Curves(fmt.Sprintf("%s-speed-%d", name, i), title+": throughput over "+name, x, Axis{Label: "samples/s", Unit: "/s"}, speeds); ok {
			list = append(list, f)
		}
		if f, ok := Curves(fmt.Sprintf("%s-p95-%d", name, i), title+": p95 latency over "+name, x, Axis{Label: "p95 latency", Unit: "ns"}, latencies); ok {
			list = append(list, f)
		}
	}
	return list
}

// Compared draws which share of the queries was answered within a time, of two sets of runs. False: one of them has no latencies.
func Compared(id, title string, base, new []*charts.Charts) (Figure, bool) {
	const points = 160
	f := Figure{ID: id, Title: title, Wide: true, X: Axis{Label: "latency", Unit: "ns", Log: true},
		Y: Axis{Label: "answered within", Unit: "%", To: 104}}
	least, most := math.Inf(1), 0.0
	for _, c := range slices.Concat(base, new) {
		if c == nil || c.Latency == nil || c.Latency.Count() == 0 || c.Timeline == nil || c.Timeline.P50 == nil { // those of Offline are instants
			return f, false
		}
		least, most = min(least, float64(max(c.Latency.Spread().Min, 1))), max(most, float64(c.Latency.Spread().Max))
	}
	if len(base) == 0 || len(new) == 0 {
		return f, false
	}
	f.X.From, f.X.To = least*0.98, max(most, least)*1.02
	for i := range points {
		f.At = append(f.At, f.X.From*math.Pow(f.X.To/f.X.From, float64(i)/(points-1)))
	}
	var says []string
	for _, side := range []struct {
		label string
		color Color
		runs  []*charts.Charts
	}{{"base", Quiet, base}, {"new", Main, new}} {
		values := make(Values, points)
		p50, p99 := 0.0, 0.0
		for _, c := range side.runs {
			n := float64(len(side.runs))
			p50, p99 = p50+float64(c.Latency.Quantile(0.5))/n, p99+float64(c.Latency.Quantile(0.99))/n
			bars, count, k := c.Latency.Distribution(), 0.0, 0
			for i, at := range f.At {
				for k < len(bars) && float64(bars[k].From) <= at {
					count += float64(bars[k].Count)
					k++
				}
				values[i] += 100 * count / float64(c.Latency.Count()) / n
			}
		}
		f.Series = append(f.Series, Series{Label: side.label, Kind: Line, Color: side.color, Values: values})
		says = append(says, fmt.Sprintf("%s answered half within %s and 99 %% within %s", side.label, units.Text(p50, "ns"), units.Text(p99, "ns")))
	}
	f.Sentence = capital(strings.Join(says, "; ")) + "."
	return f, f.drawable()
}
