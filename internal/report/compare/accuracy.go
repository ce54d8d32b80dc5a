package compare

import (
	"fmt"
	"math"
	"math/bits"

	"gonum.org/v1/gonum/stat"

	"github.com/mlperf-go/mlperf/internal/report"
)

// accuracy compares the scores of the first runs: repeats of an accuracy run give the same.
func (d *decider) accuracy() (Metric, bool) {
	a, b := d.base[0].Results.Accuracy, d.new[0].Results.Accuracy
	if a == nil || b == nil || a.Metric != b.Metric {
		return Metric{}, false
	}
	m := Metric{Name: "accuracy", Unit: a.Unit, Base: a.Value, New: b.Value, Change: b.Value - a.Value, Points: true, Better: "up"}
	if a.Target > a.Reference {
		m.Better = "down" // an error rate: its target is above what the reference has
	}
	m.weigh(a, b)
	return m, m.sensible()
}

// weigh says how sure the change is, by the best method that there are samples for.
func (m *Metric) weigh(a, b *report.Accuracy) {
	switch paired := pairs(a, b); {
	case !sameSamples(a, b):
		m.Method = "the samples are not the same"
	case len(a.Right) > 0 && len(a.Right) == len(b.Right):
		mcNemar(m, a, b)
	case len(paired) > 1:
		bootstrap(m, paired, a.Samples)
	default:
		m.Method = "no answers sample by sample are kept of " + a.Metric
	}
}

func sameSamples(a, b *report.Accuracy) bool {
	return a.Samples == b.Samples && !a.Partial && !b.Partial
}

// pairs are the differences of the scores of the same sets of samples; nil if there are none.
func pairs(a, b *report.Accuracy) []float64 {
	base, new := a.Resamples(), b.Resamples()
	if len(base) != len(new) {
		return nil
	}
	list := make([]float64, len(base))
	for i := range list {
		if list[i] = new[i] - base[i]; !finite(list[i]) {
			return nil
		}
	}
	return list
}

// bootstrap compares scores by how their difference varies from one set of samples to another.
func bootstrap(m *Metric, differences []float64, samples uint64) {
	half := 1.96 * stat.StdDev(differences, nil)
	m.Interval, m.Decides = &Interval{m.Change - half, m.Change + half}, true
	m.Method = fmt.Sprintf("paired bootstrap: both on the same %d sets of the %d samples, drawn with replacement", len(differences), samples)
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
