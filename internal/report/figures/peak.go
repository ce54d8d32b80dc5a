package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/units"
)

// peak is the curve of the search for the highest load: latency by load.
func (x run) peak() *Figure {
	p := x.r.Peak
	if p == nil {
		return nil
	}
	steps := slices.SortedStableFunc(slices.Values(p.Steps), func(a, b report.PeakStep) int { return cmp.Compare(a.Load, b.Load) })
	f := &Figure{ID: "peak", Title: "Search for the highest load", Wide: true, X: Axis{Label: "load", Unit: p.Unit},
		Y: Axis{Label: "latency", Unit: "ns"}}
	kept, failed := Values{}, Values{}
	for _, s := range steps {
		f.At, kept, failed = append(f.At, s.Load), append(kept, latencyIf(s.Met, s)), append(failed, latencyIf(!s.Met, s))
	}
	f.Series = []Series{{Label: "kept the bound", Kind: Dots, Color: Good, Values: kept}, {Label: "did not", Kind: Dots, Color: Bad, Values: failed}}
	least, most, any := extremes(kept, failed)
	if !any {
		return nil
	}
	from, to, _ := extremes(f.At)
	f.X.From, f.X.To = from-0.05*to, to*1.05
	bound := x.bound()
	if f.Y.From, f.Y.To = fromZero(max(most, bound)); most > logBeyond*max(bound, least) {
		f.Y.Log = true
		f.Y.From, f.Y.To = around(least, max(most, bound))
	}
	if bound > 0 {
		f.Y.From = min(f.Y.From, bound*0.7) // also where no load kept it
		f.Marks = append(f.Marks, Mark{Axis: "y", Value: bound, Label: "bound " + units.Text(bound, "ns"), Color: Ink})
	}
	if f.Sentence = fmt.Sprintf("None of the %d loads that were tried kept the bound.", len(steps)); p.Best > 0 {
		f.Marks = append(f.Marks, Mark{Axis: "x", Value: p.Best, Label: units.Text(p.Best, p.Unit), Color: Good, Dashed: true})
		f.Sentence = fmt.Sprintf("Of %d loads that were tried, %s is the highest that kept the bound.", len(steps), units.Text(p.Best, p.Unit))
	}
	return f
}

// latencyIf is the latency of a load if that belongs into a series, and was measured.
func latencyIf(belongs bool, s report.PeakStep) float64 {
	if !belongs || s.LatencyNS <= 0 {
		return math.NaN()
	}
	return float64(s.LatencyNS)
}
