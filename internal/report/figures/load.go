package figures

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/units"
)

// leastCounted is how many samples a point of a rate should count: the noise of a rate is one
// part in the square root of that.
const leastCounted = 150

// throughput is how many samples were due and answered.
func (x run) throughput() *Figure {
	if x.t == nil {
		return nil
	}
	answered := sum(x.t.Completed)
	n := len(x.t.Completed)
	step := max(1, int(math.Ceil(leastCounted*float64(n)/max(answered, 1))))
	step = min(step, max(n/10, 1))
	seconds := float64(x.t.BucketNS) * float64(step) / 1e9
	f := &Figure{ID: "throughput", Title: "Throughput", X: x.time(), Y: Axis{Label: "samples/s", Unit: "/s"}, Wide: x.r.Scenario == "Offline"}
	in, out := perSecond(x.t.Issued, step, seconds), perSecond(x.t.Completed, step, seconds)
	for i := range out {
		f.At = append(f.At, (float64(i)+0.5)*seconds)
	}
	if x.r.Scenario == "Server" {
		f.Series = append(f.Series, Series{Label: "due", Kind: Line, Color: Quiet, Values: in})
	}
	f.Series = append(f.Series, Series{Label: "answered", Kind: Line, Color: Main, Values: out})
	least, most, _ := extremes(out)
	_, highest, _ := extremes(f.Series[0].Values, out)
	rate := answered / x.time().To
	if p := x.r.Performance; p != nil && p.SamplesPerSecond > 0 {
		rate = p.SamplesPerSecond
	}
	if m := x.r.Metric; m != nil && m.Unit == "samples/s" && !strings.HasPrefix(m.Name, "scheduled") {
		rate = m.Value
	}
	f.Sentence = fmt.Sprintf("%s samples were answered, %s on average", units.Number(answered), units.Text(rate, "/s"))
	if target := x.s.TargetQPS; target > 0 && x.r.Scenario == "Server" {
		f.Marks = []Mark{{Axis: "y", Value: target, Label: "target " + units.Text(target, "/s"), Color: Ink, Dashed: true}}
		f.Sentence += ", target " + units.Text(target, "/s")
		highest = max(highest, target)
	}
	f.Sentence += fmt.Sprintf("; between %s and %s in intervals of %s.", units.Text(least, "/s"), units.Text(most, "/s"), units.Text(seconds*1e9, "ns"))
	f.Y.From, f.Y.To = fromZero(highest)
	return f
}

// perSecond sums groups of buckets. A rest that is shorter is left out: it is no rate.
func perSecond(c charts.Column, step int, seconds float64) Values {
	var out Values
	for i := 0; i+step <= len(c); i += step {
		out = append(out, sum(c[i:i+step])/seconds)
	}
	return out
}

func sum(values charts.Column) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}

// outstanding is what waits or is being answered.
func (x run) outstanding() *Figure {
	if x.t == nil || x.r.Scenario == "SingleStream" {
		return nil
	}
	most, at := x.t.Outstanding.Max()
	f := &Figure{
		ID: "queue", Title: "Queue", X: x.time(), Y: Axis{Label: "samples", Unit: ""}, At: x.instants(),
		Series: []Series{{Label: "waiting or being answered", Kind: Steps, Color: Main, Values: x.t.Outstanding}},
	}
	f.Y.From, f.Y.To = fromZero(max(most, 4))
	f.Sentence = fmt.Sprintf("At most %s samples waited or were being answered at a time, after %s", units.Number(most),
		units.Text((float64(at)+0.5)*float64(x.t.BucketNS), "ns"))
	if n := x.r.Backend.Instances; n > 0 && x.r.Generation == nil {
		f.Sentence += fmt.Sprintf(", with %s and batches of up to %d", units.Count(float64(n), "worker"), x.r.Backend.MaxBatch)
	}
	f.Sentence += "."
	return f
}

// delays are how late queries were issued.
func (x run) delays() *Figure {
	if !x.hasDelays() {
		return nil
	}
	f := &Figure{
		ID: "delay", Title: "Issue delay: is the generator to blame?", Wide: true, X: x.time(), Y: Axis{Label: "delay", Unit: "ns", Log: true},
		At: x.instants(),
		Series: []Series{
			{Label: "p50", Kind: Line, Color: Main, Values: atLeast(10, x.t.DelayP50)},
			{Label: "worst", Kind: Dots, Color: Quiet, Values: atLeast(10, x.t.DelayMax)},
		},
	}
	all := x.c.IssueDelay.Spread()
	most := float64(all.Max)
	f.Sentence = fmt.Sprintf("Half of the queries were issued within %s of their instant, 99 %% within %s; the worst was %s late.",
		units.Text(float64(all.P50), "ns"), units.Text(float64(all.P99), "ns"), units.Text(most, "ns"))
	if own := x.c.GeneratorDelay; own != nil && all.P99 > 2*own.Quantile(0.99)+time.Microsecond {
		f.Sentence += fmt.Sprintf(" The generator's own part is %s at p99; the rest is the SUT's, which was still inside IssueQuery.",
			units.Text(float64(own.Quantile(0.99)), "ns"))
	}
	if allowed, ok := x.allowedDelay(); ok {
		f.Marks = []Mark{{Axis: "y", Value: allowed, Label: "allowed " + units.Text(allowed, "ns"), Color: Ink}}
		most = max(most, allowed)
	}
	f.Y.From, f.Y.To = 8, max(most, 100)*3
	return f
}

// hasDelays reports whether it is known how late queries were issued, over time and in all.
func (x run) hasDelays() bool {
	return x.t != nil && x.t.DelayP50 != nil && x.t.DelayMax != nil && x.c.IssueDelay != nil
}

// allowedDelay is how late the generator may be; false: the rules do not say.
func (x run) allowedDelay() (ns float64, ok bool) {
	for _, c := range x.r.Constraints {
		if c.ID == "generator" && c.Required.Unit == "ns" {
			return c.Required.Value, true
		}
	}
	return 0, false
}

// atLeast lifts what lies below: a logarithm needs something. What is not known stays so.
func atLeast(least float64, c charts.Column) Values {
	out := make(Values, len(c))
	for i, v := range c {
		out[i] = max(v, least)
	}
	return out
}

// batchSizes are how many samples the model ran with at a time.
func (x run) batchSizes() *Figure {
	list := x.c.BatchSizes
	if len(list) == 0 || len(list) == 1 && list[0].Samples == 1 {
		return nil
	}
	batches, samples, largest := totals(list)
	if batches == 0 {
		return nil
	}
	f := &Figure{ID: "batches", Title: "Batch sizes", X: Axis{Label: "samples in a batch", From: 0.4, To: float64(largest) + 0.6},
		Y: Axis{Label: "share of batches", Unit: "%"}}
	var share Values
	full := 0.0
	for _, s := range list {
		f.At, share = append(f.At, float64(s.Samples)), append(share, 100*float64(s.Batches)/batches)
		if s.Samples >= x.r.Backend.MaxBatch {
			full += float64(s.Batches)
		}
	}
	_, most, _ := extremes(share)
	f.Y.From, f.Y.To = fromZero(most)
	f.Series = []Series{{Label: "share of batches", Kind: Bars, Color: Bar, Values: share}}
	f.Sentence = fmt.Sprintf("The model ran %s with %s on average", units.Count(batches, "time"), units.Count(samples/batches, "sample"))
	if x.r.Backend.MaxBatch > 0 {
		f.Sentence += fmt.Sprintf("; %s of the batches were full (%d)", units.Percent(full/batches), x.r.Backend.MaxBatch)
	}
	f.Sentence += "."
	return f
}

// totals are how many batches and samples there were, and the samples of the largest batch.
func totals(list []charts.Size) (batches, samples float64, largest int) {
	for _, s := range list {
		batches, samples, largest = batches+float64(s.Batches), samples+float64(s.Batches)*float64(s.Samples), max(largest, s.Samples)
	}
	return batches, samples, largest
}
