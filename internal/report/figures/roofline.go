package figures

import (
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/units"
)

// roofline is what the machine allows a model of so many operations for each byte, and what the run did (Williams, Waterman and
// Patterson, Roofline: an insightful visual performance model, CACM 2009).
func (x run) roofline() *Figure {
	o := x.r.Operations
	if o == nil || o.Ceiling == nil || !(o.GFLOPS > 0) || !(o.Ceiling.GFLOPS > 0) || !(o.Ceiling.GBytesPerSecond > 0) {
		return nil
	}
	at := o.Intensity(meanBatch(x.r.Workers))
	if !(at > 0) {
		return nil
	}
	peak, memory := o.Ceiling.GFLOPS, o.Ceiling.GBytesPerSecond
	ridge := peak / memory
	f := &Figure{
		ID: "roofline", Title: "Roofline",
		X: Axis{Label: "operations for each byte of weights and samples", Unit: "", Log: true}, Y: Axis{Label: "achieved", Unit: "GFLOP/s", Log: true},
	}
	f.X.From, f.X.To = min(at, ridge)/10, max(at, ridge)*10
	f.At = Values{f.X.From, ridge, at, f.X.To}
	slices.Sort(f.At)
	roof, done := Values{}, Values{}
	for _, v := range f.At {
		roof = append(roof, min(peak, memory*v))
		if v == at {
			done = append(done, o.GFLOPS)
		} else {
			done = append(done, math.NaN())
		}
	}
	f.Series = []Series{{Label: "the machine", Kind: Line, Color: Quiet, Values: roof}, {Label: "this run", Kind: Dots, Color: Main, Values: done}}
	least, most, _ := extremes(roof, done)
	f.Y.From, f.Y.To = around(least, most)
	limit := "arithmetic"
	if at < ridge {
		limit = "memory"
	}
	f.Sentence = fmt.Sprintf("%s, at %s operations a byte: %s of what the machine allows there, where %s is the limit.",
		units.SI(o.GFLOPS*1e9, "FLOP/s"), units.Number(at), units.Percent(o.GFLOPS/min(peak, memory*at)), limit)
	return f
}

// meanBatch is how many samples a run of the model had; 1 where that is not known.
func meanBatch(workers []report.WorkerStats) float64 {
	samples, batches := int64(0), int64(0)
	for _, w := range workers {
		samples, batches = samples+w.Samples, batches+w.Batches
	}
	if samples == 0 || batches == 0 {
		return 1
	}
	return float64(samples) / float64(batches)
}
