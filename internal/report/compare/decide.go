package compare

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
)

// A decider compares the runs of one benchmark.
type decider struct {
	base, new []Run
	turns     bool // both sides ran in turns
}

// tookTurns reports whether there are as many runs on both sides, of which the first ones were
// made before the second ones, and so on.
func (d *decider) tookTurns() bool {
	if len(d.base) != len(d.new) {
		return false
	}
	for i := 1; i < len(d.base); i++ {
		for _, before := range []Run{d.base[i-1], d.new[i-1]} {
			for _, after := range []Run{d.base[i], d.new[i]} {
				if before.Results.Created.After(after.Results.Created) { // equal: short runs in a second
					return false
				}
			}
		}
	}
	return true
}

// metrics compares everything that all runs have.
func (d *decider) metrics() []Metric {
	list := []Metric{}
	for _, q := range quantities(d.base[0].Results) {
		if m, ok := d.metric(q); ok {
			list = append(list, m)
		}
	}
	if m, ok := d.accuracy(); ok {
		list = append(list, m)
	}
	return list
}

func (d *decider) metric(q quantity) (Metric, bool) {
	base, ok1 := all(d.base, q.of)
	new, ok2 := all(d.new, q.of)
	a, b := logs(base), logs(new)
	if !ok1 || !ok2 || a == nil || b == nil {
		return Metric{}, false
	}
	m := Metric{Name: q.name, Unit: q.unit, Better: q.better, Base: math.Exp(stat.Mean(a, nil)), New: math.Exp(stat.Mean(b, nil))}
	m.Change = m.New/m.Base - 1
	d.decide(&m, q, a, b)
	return m, m.sensible()
}

// decide compares the logarithms of a quantity by what there is of it.
func (d *decider) decide(m *Metric, q quantity, a, b []float64) {
	switch {
	case q.scheduled:
		m.Method, m.Better = "the schedule sets it", ""
	case len(a) > 1 && len(b) > 1:
		d.repeated(m, a, b)
	case len(a) == 1 && len(b) == 1:
		d.single(m, q)
	default:
		m.Method = "one side has one run only: repeat it as well"
	}
}

// sensible reports whether the numbers can be some that were measured: files may have any. An interval that cannot
// is dropped.
func (m *Metric) sensible() bool {
	if i := m.Interval; i != nil && (!finite(i.Lower) || !finite(i.Upper)) {
		m.Interval, m.Decides = nil, false
	}
	return finite(m.Base) && finite(m.New) && finite(m.Change)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func all(runs []Run, of func(*report.Results) float64) ([]float64, bool) {
	var list []float64
	for _, r := range runs {
		v := of(r.Results)
		if math.IsNaN(v) {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// repeated compares repeats.
func (d *decider) repeated(m *Metric, a, b []float64) {
	m.Repeats = min(len(a), len(b))
	var change, deviation float64
	var i Interval
	if d.turns {
		change, i, deviation = paired(a, b)
		m.Method = fmt.Sprintf("t over %d pairs of runs in turns", len(a))
	} else {
		change, i, deviation = welch(a, b)
		m.Method = fmt.Sprintf("Welch's t over %d and %d runs, not in turns", len(a), len(b))
	}
	m.fromLogs(change, i)
	m.Decides = d.turns && m.Repeats >= leastRepeats
	if !m.Differs() {
		m.Needed = needed(change, deviation)
	}
}

// single compares one run with one other.
func (d *decider) single(m *Metric, q quantity) {
	a, b := d.base[0].Charts, d.new[0].Charts
	if a == nil || b == nil {
		m.Method = "no " + charts.FileName + ": repeats would tell"
		return
	}
	switch {
	case q.throughput:
		d.rates(m, a, b)
	case !q.latency:
		m.Method = "one run each does not tell: repeats would"
	case d.sameBatches(q):
		change, i, _ := paired(batchValues(a, q), batchValues(b, q))
		m.fromLogs(change, i)
		m.Method = fmt.Sprintf("t over %d pairs of batches of the same traffic, within these two runs", len(a.Batches))
	case q.fraction > 0:
		effective(m, q, a, b)
	default:
		means(m, a, b)
	}
}

// sameBatches reports whether the batches of both runs can be compared one by one.
func (d *decider) sameBatches(q quantity) bool {
	a, b := d.base[0].Charts, d.new[0].Charts
	return d.sameTraffic() && float64(a.Batches[0].Queries)*(1-q.fraction) >= leastBeyond && batchValues(a, q) != nil && batchValues(b, q) != nil
}

// sameTraffic reports whether both runs had the same queries at the same instants.
func (d *decider) sameTraffic() bool {
	a, b := d.base[0], d.new[0]
	if !a.Results.Test.SameTraffic(b.Results.Test) || a.Results.Scenario != "Server" || len(a.Charts.Batches) == 0 {
		return false
	}
	return slices.EqualFunc(a.Charts.Batches, b.Charts.Batches, func(x, y charts.Batch) bool { return x.Queries == y.Queries && x.StartNS == y.StartNS })
}

// leastBeyond is how many queries of a batch must lie above a quantile of it.
const leastBeyond = 5

// batchValues are the logarithms of a quantity of the batches.
func batchValues(c *charts.Charts, q quantity) []float64 {
	at := slices.Index(charts.BatchPercentiles(), q.fraction)
	var list []float64
	for _, b := range c.Batches {
		v := b.MeanNS
		if q.fraction > 0 {
			if at < 0 {
				return nil
			}
			v = b.QuantilesNS[at]
		}
		list = append(list, float64(v))
	}
	return logs(list)
}

// effective compares percentiles by their own intervals.
func effective(m *Metric, q quantity, a, b *charts.Charts) {
	x, y := percentile(a, q.fraction), percentile(b, q.fraction)
	if x == nil || y == nil {
		m.Method = "too short runs for an interval: longer ones, or repeats, would tell"
		return
	}
	change, i := mover(math.Log(float64(x.ValueNS)), math.Log(float64(y.ValueNS)), x.logs(), y.logs())
	m.fromLogs(change, i)
	m.Method = fmt.Sprintf("%.0f and %.0f independent queries' worth, within these two runs", x.Effective, y.Effective)
}

type bounded charts.Percentile

func (p *bounded) logs() Interval {
	v := float64(p.ValueNS)
	return Interval{math.Log(min(float64(p.LowerNS), v)), math.Log(max(float64(p.UpperNS), v))}
}

// percentile is one that has an interval; nil if there is none.
func percentile(c *charts.Charts, fraction float64) *bounded {
	for _, p := range c.Percentiles {
		if p.Percentile == fraction && p.LowerNS > 0 && p.UpperNS > 0 && p.ValueNS > 0 {
			return (*bounded)(&p)
		}
	}
	return nil
}

// means compares the means of the batches.
func means(m *Metric, a, b *charts.Charts) {
	x, y := batchMeans(a), batchMeans(b)
	if x == nil || y == nil {
		m.Method = "too few queries for batches: repeats would tell"
		return
	}
	aroundRatio(m, x, y)
	m.Method = fmt.Sprintf("%d batches each, within these two runs", len(x))
}

func batchMeans(c *charts.Charts) []float64 {
	var list []float64
	for _, b := range c.Batches {
		list = append(list, float64(b.MeanNS))
	}
	return list
}

// aroundRatio gives the ratio of two means the interval that follows from how their parts vary.
func aroundRatio(m *Metric, base, new []float64) {
	relative := func(parts []float64) []float64 {
		out := make([]float64, len(parts))
		mean := stat.Mean(parts, nil)
		for i, v := range parts {
			out[i] = v / mean
		}
		return out
	}
	_, i, _ := welch(relative(base), relative(new))
	middle := math.Log1p(m.Change)
	m.fromLogs(middle, Interval{middle + i.Lower, middle + i.Upper})
}
