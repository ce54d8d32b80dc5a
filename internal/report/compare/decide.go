package compare

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Metric is one number of both sides, and how they differ.
type Metric struct {
	Name string  `json:"name"`
	Unit string  `json:"unit"`
	Base float64 `json:"base"` // of several runs their geometric mean
	New  float64 `json:"new"`
	// Change is the relative change, and in points that of an accuracy.
	Change float64 `json:"change"`
	Points bool    `json:"points,omitempty"`
	// Interval is that of the change; absent: not enough data.
	Interval *Interval `json:"interval,omitempty"`
	// Method says how the interval was found, or why there is none.
	Method string `json:"method"`
	// Repeats is the number of pairs of runs; 0: the interval is within two runs, and shows nothing of
	// changes from run to run.
	Repeats int `json:"repeats,omitempty"`
	// Decides says that it may fail a build.
	Decides bool `json:"decides,omitempty"`
	// Needed is the number of repeats that would show a change as large as this one.
	Needed int `json:"repeats_needed,omitempty"`
	// Better is up or down; empty: neither.
	Better string `json:"better,omitempty"`
}

// Differs reports whether the change is beyond noise.
func (m Metric) Differs() bool { return m.Interval != nil && !m.Interval.has(0) }

// Verdict is the change, and ~ for one within noise. Without enough data for an interval the change is not confirmed.
func (m Metric) Verdict() string {
	switch {
	case m.Interval == nil && m.Change == 0:
		return "none, not confirmed"
	case m.Interval == nil:
		return m.Text(m.Change) + ", not confirmed"
	case !m.Differs():
		return "~"
	}
	return m.Text(m.Change)
}

// Text writes a change.
func (m Metric) Text(change float64) string {
	sign := "+"
	if change < 0 {
		sign = "−"
	}
	if m.Points {
		return sign + units.Text(math.Abs(change), "points")
	}
	return sign + units.Text(100*math.Abs(change), "%")
}

// Values writes the two numbers.
func (m Metric) Values() (base, new string) {
	return units.Text(m.Base, m.Unit), units.Text(m.New, m.Unit)
}

// Tone is good or bad; empty if the change is neither or not sure.
func (m Metric) Tone() string {
	switch {
	case !m.Differs() || m.Better == "":
		return ""
	case m.Change > 0 == (m.Better == "up"):
		return "good"
	}
	return "bad"
}

// fromLogs fills in a difference of logarithms and its interval.
func (m *Metric) fromLogs(d float64, i Interval) {
	m.Change = math.Expm1(d)
	m.Interval = &Interval{math.Expm1(i.Lower), math.Expm1(i.Upper)}
}

// A quantity is a number of results.
type quantity struct {
	name, unit, better string
	fraction           float64 // of a latency's percentile; 0: its mean
	latency            bool    // of queries
	throughput         bool    // of completed samples
	scheduled          bool    // the schedule sets it
	of                 func(*report.Results) float64
}

// quantities are those of a scenario.
func quantities(r *report.Results) []quantity {
	var list []quantity
	if r.Scenario != "Offline" {
		list = append(list, latencies("", true, func(p *report.Performance) *report.Latencies { return cmp.Or(p.QueryLatencyNS, p.LatencyNS) })...)
	}
	list = append(list, latencies("ttft ", false, func(p *report.Performance) *report.Latencies { return p.FirstTokenNS })...)
	list = append(list, latencies("tpot ", false, func(p *report.Performance) *report.Latencies { return p.TimePerOutputTokenNS })...)
	list = append(list, quantity{
		name: "samples/s", unit: "/s", better: "up", throughput: r.Scenario == "Offline", scheduled: r.Scenario == "Server",
		of: func(r *report.Results) float64 {
			if r.Performance == nil || r.Performance.SamplesPerSecond <= 0 {
				return math.NaN()
			}
			return r.Performance.SamplesPerSecond
		},
	})
	if m := r.Metric; m != nil && (strings.Contains(m.Name, "tokens") || r.Scenario == "Offline") {
		throughput := r.Scenario == "Offline" && !strings.Contains(m.Name, "tokens")
		list = append(list, quantity{name: resultName, unit: strings.TrimPrefix(m.Unit, "samples"), better: "up", throughput: throughput,
			of: func(r *report.Results) float64 {
				if r.Metric == nil || r.Metric.Unit != m.Unit {
					return math.NaN()
				}
				return r.Metric.Value
			}})
	}
	return list
}

func latencies(prefix string, own bool, of func(*report.Performance) *report.Latencies) []quantity {
	var list []quantity
	for _, l := range []struct {
		name     string
		fraction float64
		value    func(*report.Latencies) int64
	}{
		{"mean", 0, func(l *report.Latencies) int64 { return l.Mean }}, {"p50", 0.5, func(l *report.Latencies) int64 { return l.P50 }},
		{"p90", 0.9, func(l *report.Latencies) int64 { return l.P90 }}, {"p95", 0.95, func(l *report.Latencies) int64 { return l.P95 }},
		{"p97", 0.97, func(l *report.Latencies) int64 { return l.P97 }}, {"p99", 0.99, func(l *report.Latencies) int64 { return l.P99 }},
		{"p99.9", 0.999, func(l *report.Latencies) int64 { return l.P999 }},
	} {
		list = append(list, quantity{name: prefix + l.name, unit: "ns", better: "down", fraction: l.fraction, latency: own,
			of: func(r *report.Results) float64 {
				if r.Performance == nil {
					return math.NaN()
				}
				if stats := of(r.Performance); stats != nil {
					return float64(l.value(stats))
				}
				return math.NaN()
			}})
	}
	return list
}

// A decider compares the runs of one benchmark.
type decider struct {
	base, new []Run
	turns     bool // both sides ran in turns
}

// tookTurns reports whether both sides have as many runs, and both first ones were
// made before both second ones, and so on.
func tookTurns(base, new []Run) bool {
	if len(base) != len(new) {
		return false
	}
	for i := 1; i < len(base); i++ {
		for _, before := range []Run{base[i-1], new[i-1]} {
			for _, after := range []Run{base[i], new[i]} {
				if before.Results.Created.After(after.Results.Created) { // equal: short runs in a second
					return false
				}
			}
		}
	}
	return true
}

// metrics compares the quantities that all runs have.
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
	a, b := logsOf(d.base, q), logsOf(d.new, q)
	if a == nil || b == nil {
		return Metric{}, false
	}
	if q.fraction > 0 && slices.ContainsFunc(slices.Concat(d.base, d.new), func(r Run) bool { return tooFew(r.Results, q.fraction) }) {
		return Metric{}, false
	}
	m := Metric{Name: q.name, Unit: q.unit, Better: q.better, Base: math.Exp(stat.Mean(a, nil)), New: math.Exp(stat.Mean(b, nil))}
	m.Change = m.New/m.Base - 1
	switch {
	case q.scheduled:
		m.Method, m.Better = "the schedule sets it", ""
	case len(a) > 1 && len(b) > 1:
		d.repeated(&m, a, b)
	case len(a) == 1 && len(b) == 1:
		d.single(&m, q)
	default:
		m.Method = "one side has one run only: repeat it as well"
	}
	return m, m.finite()
}

// tooFew reports whether not even one latency of a run lies above a percentile of them, which then is another name of the largest.
func tooFew(r *report.Results, fraction float64) bool {
	if r.Performance == nil {
		return false
	}
	n := r.Performance.Samples
	if r.Performance.QueryLatencyNS != nil {
		n = r.Performance.Queries
	}
	return n > 0 && float64(n)*(1-fraction) < 1-1e-9
}

// finite reports whether the numbers are finite, as those of results must be. It drops an interval that is not.
func (m *Metric) finite() bool {
	if i := m.Interval; i != nil && !units.Finite(i.Lower, i.Upper) {
		m.Interval, m.Decides = nil, false
	}
	return units.Finite(m.Base, m.New, m.Change)
}

// logsOf are the logarithms of a quantity of runs; nil if one lacks it.
func logsOf(runs []Run, q quantity) []float64 {
	var list []float64
	for _, r := range runs {
		list = append(list, q.of(r.Results))
	}
	return logs(list)
}

// leastForInterval is how many runs of each side an interval needs: that of two is wider than anything it could show.
const leastForInterval = 3

// median of logarithms, as a number.
func median(logs []float64) float64 {
	sorted := slices.Sorted(slices.Values(logs))
	n := len(sorted)
	return (math.Exp(sorted[(n-1)/2]) + math.Exp(sorted[n/2])) / 2
}

// repeated compares repeats.
func (d *decider) repeated(m *Metric, a, b []float64) {
	m.Repeats = min(len(a), len(b))
	if m.Repeats < leastForInterval {
		m.Base, m.New = median(a), median(b)
		m.Change = m.New/m.Base - 1
		m.Method = fmt.Sprintf("medians; an interval needs %d runs or more of each", leastForInterval)
		return
	}
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
		m.Method = oneEach + "no " + charts.FileName
		return
	}
	switch {
	case q.throughput:
		x, y := rateParts(a), rateParts(b)
		if x == nil || y == nil {
			m.Method = tooShort
			return
		}
		aroundRatio(m, x, y)
		m.Method = fmt.Sprintf("%d means of each run, within these two runs", rateBatches)
	case !q.latency:
		m.Method = oneEach + "repeat both"
	case d.sameBatches(q):
		change, i, _ := paired(batchValues(a, q), batchValues(b, q))
		m.fromLogs(change, i)
		m.Method = fmt.Sprintf("t over %d pairs of batches of the same traffic, within these two runs", len(a.Batches))
	case q.fraction > 0: // percentiles have intervals of their own
		x, y := percentile(a, q.fraction), percentile(b, q.fraction)
		if x == nil || y == nil {
			m.Method = tooShort
			return
		}
		change, i := mover(math.Log(float64(x.ValueNS)), math.Log(float64(y.ValueNS)), logInterval(x), logInterval(y))
		m.fromLogs(change, i)
		m.Method = fmt.Sprintf("%.0f and %.0f independent queries' worth, within these two runs", x.Effective, y.Effective)
	default:
		x, y := batchMeans(a), batchMeans(b)
		if x == nil || y == nil {
			m.Method = oneEach + "too few queries for batches"
			return
		}
		aroundRatio(m, x, y)
		m.Method = fmt.Sprintf("%d batches each, within these two runs", len(x))
	}
}

const (
	oneEach  = "one run each: "
	tooShort = oneEach + "too short for an interval"
)

// sameBatches reports whether the batches of both runs can be compared in pairs.
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

// logInterval is the interval of a percentile as logarithms.
func logInterval(p *charts.Percentile) Interval {
	return Interval{math.Log(float64(min(p.LowerNS, p.ValueNS))), math.Log(float64(max(p.UpperNS, p.ValueNS)))}
}

// percentile is a percentile with its interval; nil if the charts have none.
func percentile(c *charts.Charts, fraction float64) *charts.Percentile {
	for _, p := range c.Percentiles {
		if p.Percentile == fraction && p.LowerNS > 0 && p.UpperNS > 0 && p.ValueNS > 0 {
			return &p
		}
	}
	return nil
}

func batchMeans(c *charts.Charts) []float64 {
	var list []float64
	for _, b := range c.Batches {
		list = append(list, float64(b.MeanNS))
	}
	return list
}

// aroundRatio gives the ratio of two means an interval that follows from the spread of their parts.
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

// A rate is compared by rateBatches means. Each of them must last leastCorrelations times
// longer than the values of the timeline depend on those before.
const (
	rateBatches       = 10
	leastCorrelations = 10
)

// rateParts are the rates in the parts of a run; nil if they depend on each
// other. The last bucket is left out: the run ends within it.
func rateParts(c *charts.Charts) []float64 {
	if c.Timeline == nil {
		return nil
	}
	counts := c.Timeline.Completed[:len(c.Timeline.Completed)-1]
	each := len(counts) / rateBatches
	if float64(each) < leastCorrelations*correlation(counts) {
		return nil
	}
	var list []float64
	for i := range rateBatches {
		list = append(list, stat.Mean(counts[i*each:(i+1)*each], nil))
	}
	return list
}

// accuracy compares the scores of the first runs: repeats of an accuracy run give the same.
func (d *decider) accuracy() (Metric, bool) {
	a, b := d.base[0].Results.Accuracy, d.new[0].Results.Accuracy
	if a == nil || b == nil || a.Metric != b.Metric {
		return Metric{}, false
	}
	m := Metric{Name: "accuracy", Unit: a.Unit, Base: a.Value, New: b.Value, Change: b.Value - a.Value, Points: true, Better: "up"}
	if a.Target > a.Reference {
		m.Better = "down" // an error rate: its target is above the reference
	}
	switch paired := pairs(a, b); {
	case a.Samples != b.Samples || a.Partial || b.Partial:
		m.Method = "the samples are not the same"
	case len(a.Right) > 0 && len(a.Right) == len(b.Right):
		mcNemar(&m, a, b)
	case len(paired) > 1: // how the difference varies from one set of samples to another
		half := 1.96 * stat.StdDev(paired, nil)
		m.Interval, m.Decides = &Interval{m.Change - half, m.Change + half}, true
		m.Method = fmt.Sprintf("paired bootstrap: both on the same %d sets of the %d samples, drawn with replacement", len(paired), a.Samples)
	default:
		m.Method = a.Metric + " keeps no answers sample by sample"
	}
	return m, m.finite()
}

// pairs are the differences of the scores of the same sets of samples; nil: not kept.
func pairs(a, b *report.Accuracy) []float64 {
	base, new := a.Resamples(), b.Resamples()
	if len(base) != len(new) {
		return nil
	}
	list := make([]float64, len(base))
	for i := range list {
		if list[i] = new[i] - base[i]; !units.Finite(list[i]) {
			return nil
		}
	}
	return list
}

// mcNemar compares sample by sample.
func mcNemar(m *Metric, a, b *report.Accuracy) {
	lost, won := 0, 0
	for i := range a.Right {
		lost += bits.OnesCount8(a.Right[i] &^ b.Right[i])
		won += bits.OnesCount8(b.Right[i] &^ a.Right[i])
	}
	n := float64(a.Samples)
	change := float64(won-lost) / n
	half := 1.96 * math.Sqrt(max((float64(won+lost)/n-change*change)/n, 0))
	p := midP(lost, won)
	i := Interval{100 * (change - half), 100 * (change + half)}
	if p > 1-confidence && !i.has(0) { // the test decides, the interval is its normal limit
		i.Lower, i.Upper = min(i.Lower, 0), max(i.Upper, 0)
	}
	m.Interval, m.Decides = &i, true
	m.Method = fmt.Sprintf("McNemar's test: of %d samples %d are right only in the base, %d only in the new; p = %.2g", a.Samples, lost, won, p)
}
