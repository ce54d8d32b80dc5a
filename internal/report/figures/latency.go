package figures

import (
	"fmt"
	"math"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/units"
)

// bins is how many bars a distribution has.
const bins = 64

// distribution is the one of the latencies. In Offline they are instants, and say nothing.
func (x run) distribution() *Figure {
	if x.c.Latency == nil || x.c.Latency.Count() == 0 || x.r.Scenario == "Offline" {
		return nil
	}
	required := x.percentile()
	if x.s.ServerTTFTLatency > 0 { // tokens have bounds, and the whole has none
		required = 0
	}
	f := shares(x.c.Latency, x.bound(), required)
	f.ID, f.Title, f.X.Label, f.Wide = "distribution", "Latency distribution", "latency", true
	f.Sentence = x.distributionSentence(x.c.Latency, "were answered", x.bound())
	if p := x.r.Performance; p != nil && x.bound() > 0 && p.Samples > 0 { // exactly
		within := 1 - float64(min(p.Overlatency, p.Samples))/float64(p.Samples)
		f.Sentence = x.within(within, "were answered", x.bound())
	}
	return f
}

// firstTokens and perToken are the distributions of the two token latencies.
func (x run) firstTokens() *Figure {
	return x.tokenShares(x.c.FirstToken, "first-token", "Time to first token", "had their first token", x.s.ServerTTFTLatency)
}

func (x run) perToken() *Figure {
	return x.tokenShares(x.c.TimePerOutputToken, "per-token", "Time per output token", "had their time per token", x.s.ServerTPOTLatency)
}

func (x run) tokenShares(h *backend.Times, id, title, did string, bound time.Duration) *Figure {
	if h == nil || h.Count() == 0 {
		return nil
	}
	f := shares(h, float64(bound), x.percentile())
	f.ID, f.Title, f.X.Label = id, title, title
	f.Sentence = x.distributionSentence(h, did, float64(bound))
	return f
}

func (x run) distributionSentence(h *backend.Times, did string, bound float64) string {
	if bound <= 0 {
		return fmt.Sprintf("Half of the %s took at most %s, 99 %% at most %s, the slowest %s.", x.unit(), units.Text(float64(h.Quantile(0.5)), "ns"),
			units.Text(float64(h.Quantile(0.99)), "ns"), units.Text(float64(h.Spread().Max), "ns"))
	}
	return x.within(1-h.Above(time.Duration(bound)), did, bound)
}

func (x run) within(share float64, did string, bound float64) string {
	p := x.percentile()
	if !(p > 0 && p < 1) {
		p = 0.99
	}
	return fmt.Sprintf("%s of the %s %s within the bound of %s; %s are required.",
		units.Percent(share), x.unit(), did, units.Text(bound, "ns"), units.Percent(p))
}

// shares draws a histogram over the logarithm: the share of each bin, and of all up to it.
func shares(h *backend.Times, bound, required float64) *Figure {
	spread := h.Spread()
	least, most := float64(max(spread.Min, 1))*0.99, float64(max(spread.Max, 1))*1.01
	if bound > 0 {
		least, most = min(least, bound*0.8), max(most, bound*1.2)
	}
	width := math.Log(most/least) / bins
	counts := make([]float64, bins)
	for _, bar := range h.Distribution() {
		middle := min(max((float64(bar.From)+float64(bar.To))/2, least), most)
		counts[min(int(math.Log(middle/least)/width), bins-1)] += float64(bar.Count)
	}
	at, share, within := make(Values, bins), make(Values, bins), make(Values, bins)
	sum, highest := 0.0, 0.0
	for i, n := range counts {
		sum += n
		at[i] = least * math.Exp((float64(i)+0.5)*width)
		share[i], within[i] = 100*n/float64(spread.Count), 100*sum/float64(spread.Count)
		highest = max(highest, share[i])
	}
	f := &Figure{
		X:     Axis{Unit: "ns", Log: true, From: least, To: most},
		Y:     Axis{Label: "share", Unit: "%", To: highest * 1.12},
		Right: &Axis{Label: "answered within", Unit: "%", To: 104},
		At:    at,
		Series: []Series{
			{Label: "share", Kind: Bars, Color: Bar, Values: share},
			{Label: "answered within", Kind: Line, Color: Second, Right: true, Values: within},
		},
	}
	if bound > 0 {
		f.Marks = append(f.Marks, Mark{Axis: "x", Value: bound, Label: "bound " + units.Text(bound, "ns"), Color: Ink})
	}
	if required > 0 && required < 1 {
		f.Marks = append(f.Marks, Mark{Axis: "right", Value: 100 * required, Label: units.Percent(required) + " required", Color: Second, Dashed: true})
	}
	return f
}

// latencies are those over time.
func (x run) latencies() *Figure {
	if x.t == nil || x.t.P50 == nil {
		return nil
	}
	var p99 charts.Column // where the slowest is not known
	if x.t.Max == nil {
		p99 = x.t.P99
	}
	f := x.overTime("latency", "Latency over time", x.bound(), []Series{
		{Label: "p50", Kind: Line, Color: Main, Values: x.t.P50}, {Label: "p90", Kind: Line, Color: Second, Values: x.t.P90},
		{Label: "slowest", Kind: Dots, Color: Quiet, Values: x.t.Max}, {Label: "p99", Kind: Line, Color: Quiet, Values: p99},
	})
	f.Wide = true
	deciding, name := x.t.P99, "p99"
	if p := x.percentile(); p > 0 && p <= 0.9 {
		deciding, name = x.t.P90, "p90"
	}
	f.Sentence = x.overTimeSentence(name, deciding, x.bound())
	return f
}

func (x run) tokensOverTime() *Figure {
	return x.tokenLatencies("first-token-time", "Time to first token over time", x.t, float64(x.s.ServerTTFTLatency), true)
}

func (x run) perTokenOverTime() *Figure {
	return x.tokenLatencies("per-token-time", "Time per output token over time", x.t, float64(x.s.ServerTPOTLatency), false)
}

func (x run) tokenLatencies(id, title string, t *charts.Timeline, bound float64, first bool) *Figure {
	if t == nil {
		return nil
	}
	p50, p90 := t.PerTokenP50, t.PerTokenP90
	if first {
		p50, p90 = t.FirstTokenP50, t.FirstTokenP90
	}
	if p50 == nil || p90 == nil {
		return nil
	}
	f := x.overTime(id, title, bound, []Series{{Label: "p50", Kind: Line, Color: Main, Values: p50},
		{Label: "p90", Kind: Line, Color: Second, Values: p90}})
	f.Sentence = x.overTimeSentence("p90", p90, bound)
	return f
}

// overTime draws latencies with their bound.
func (x run) overTime(id, title string, bound float64, series []Series) *Figure {
	f := &Figure{ID: id, Title: title, X: x.time(), Y: Axis{Label: "latency", Unit: "ns"}, At: x.instants()}
	var all [][]float64
	for _, s := range series {
		if s.Values != nil {
			f.Series, all = append(f.Series, s), append(all, s.Values)
		}
	}
	least, most, _ := extremes(all...)
	f.Y.From, f.Y.To = fromZero(max(most, bound))
	if reference := max(bound, 2*least); most > logBeyond*reference && least > 0 {
		f.Y.Log = true
		f.Y.From, f.Y.To = around(least, max(most, bound))
	}
	if bound > 0 {
		f.Y.From = min(f.Y.From, bound*0.7) // also where nothing comes near it
		f.Marks = []Mark{{Axis: "y", Value: bound, Label: "bound " + units.Text(bound, "ns"), Color: Ink}}
	}
	return f
}

func (x run) overTimeSentence(name string, values charts.Column, bound float64) string {
	worst, at := values.Max()
	if at < 0 {
		return ""
	}
	when := units.Text((float64(at)+0.5)*float64(x.t.BucketNS), "ns")
	width := units.Text(float64(x.t.BucketNS), "ns")
	if bound <= 0 {
		return fmt.Sprintf("By the instant at which queries were due, in intervals of %s: the worst %s is %s, after %s.", width, name,
			units.Text(worst, "ns"), when)
	}
	above, n := 0, 0
	for _, v := range values {
		if !math.IsNaN(v) {
			n++
			if v > bound {
				above++
			}
		}
	}
	if above == 0 {
		return fmt.Sprintf("%s, by the instant at which queries were due, stays within the bound in all %d intervals of %s; the worst is %s, after %s.",
			name, n, width, units.Text(worst, "ns"), when)
	}
	return fmt.Sprintf("%s, by the instant at which queries were due, is above the bound in %d of %d intervals of %s; the worst is %s, after %s.",
		name, above, n, width, units.Text(worst, "ns"), when)
}
