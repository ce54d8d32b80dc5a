package figures

import (
	"slices"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
)

// A run is what the figures of one are made from.
type run struct {
	r *report.Results
	c *charts.Charts
	t *charts.Timeline
	s report.Test // zero if it is not known
}

// Of makes the figures of a run, the most important first. Charts may be nil: then only what
// the results have can be drawn, such as the search for the highest load.
func Of(r *report.Results, c *charts.Charts) []Figure {
	x := run{r: r, c: c}
	if r.Test != nil {
		x.s = *r.Test
	}
	if c == nil {
		x.c = &charts.Charts{}
	}
	x.t = x.c.Timeline
	var list []Figure
	for _, of := range []func() *Figure{
		x.distribution, x.latencies, x.firstTokens, x.perToken, x.tokensOverTime, x.perTokenOverTime,
		x.throughput, x.outstanding, x.delays, x.batchSizes, x.peak, x.power, x.classes, x.roofline,
	} {
		if f := of(); f != nil {
			list = append(list, *f)
		}
	}
	list = append(list, x.gauges()...)
	return Paired(slices.DeleteFunc(list, func(f Figure) bool { return !f.drawable() }))
}

// Paired gives the width of the page to figures that have no neighbour.
func Paired(list []Figure) []Figure {
	for i := 0; i < len(list); i++ {
		switch {
		case list[i].Wide:
		case i+1 < len(list) && !list[i+1].Wide:
			i++
		default:
			list[i].Wide = true
		}
	}
	return list
}

// bound is the latency that a Server query may take; 0: there is no bound.
func (x run) bound() float64 {
	if x.s.ServerTTFTLatency > 0 || x.r.Scenario != "Server" && x.s.TargetLatency == 0 {
		return 0
	}
	return float64(x.s.TargetLatency)
}

// percentile is the share of queries by which the run is judged; 0: not known.
func (x run) percentile() float64 { return x.s.TargetLatencyPercentile }

// unit is what has a latency.
func (x run) unit() string {
	if x.r.Scenario == "MultiStream" || x.r.Scenario == "Server" || x.r.Scenario == "SingleStream" {
		return "queries"
	}
	return "samples"
}

// instants are the middles of the buckets in seconds.
func (x run) instants() Values {
	out := make(Values, len(x.t.Issued))
	for i := range out {
		out[i] = (float64(i) + 0.5) * float64(x.t.BucketNS) / 1e9
	}
	return out
}

// time is the axis of the run.
func (x run) time() Axis {
	return Axis{Label: "time", Unit: "s", To: float64(len(x.t.Issued)) * float64(x.t.BucketNS) / 1e9}
}
