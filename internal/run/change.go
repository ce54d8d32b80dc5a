package run

import (
	"math"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

// A Change is what is to be changed of a request whose run was not VALID: with it the next one may be.
type Change struct {
	Field string // as errors name it: min_query_count
	Value string // empty: the field is only asked for
}

// ChangeFor is the change that may keep the first of the constraints which a run broke; nil: it broke none,
// or nothing is known that would.
func ChangeFor(r *report.Results) *Change {
	i := slices.IndexFunc(r.Constraints, func(c report.Constraint) bool { return !c.Met && !c.ReferenceOnly })
	if i < 0 {
		return nil
	}
	server := r.Scenario == loadgen.Server.String()
	switch c := r.Constraints[i]; c.ID {
	case loadgen.ConstraintLatency, loadgen.ConstraintFirstToken, loadgen.ConstraintPerToken, loadgen.ConstraintIntervals:
		return &Change{"mode", FindPeak}
	case loadgen.ConstraintDuration:
		return fasterTarget(r)
	case loadgen.ConstraintSamples:
		if server { // a query is a sample
			return moreQueries(c)
		}
	case loadgen.ConstraintQueries, loadgen.ConstraintEarlyStopping, loadgen.ConstraintFirstTokenStopping:
		return moreQueries(c)
	case loadgen.ConstraintGenerator:
		if server {
			return &Change{Field: "reserve_core"}
		}
	}
	return nil
}

// What a change has to spare, for a system that is a little faster or slower the next time.
const (
	spareRate    = 1.2
	spareQueries = 10 // one for each so many
)

// fasterTarget has an Offline query of as many samples as the system answers in the time.
func fasterTarget(r *report.Results) *Change {
	p := r.Performance
	if r.Scenario != loadgen.Offline.String() || p == nil || !(p.SamplesPerSecond > 0) {
		return nil
	}
	return &Change{"target_qps", strconv.FormatFloat(spareRate*p.SamplesPerSecond, 'g', 4, 64)}
}

// moreQueries has some more queries than a constraint asks for, if it says how many.
func moreQueries(c report.Constraint) *Change {
	if c.Words != nil || c.Required.Value <= 0 {
		return nil
	}
	least := c.Required.Value + math.Ceil(c.Required.Value/spareQueries)
	return &Change{"min_query_count", strconv.FormatFloat(least, 'f', 0, 64)}
}

// FinerInt8 asks for a model of 8-bit integers that reaches the accuracy which the one of a run missed: the
// most sensitive layers stay in FP32. Nil: that is not what is wrong, or it is not known what FP32 scores.
func FinerInt8(r *report.Results) *QuantizeRequest {
	if r.Input.Precision != convert.INT8 || !r.Accuracy.Below() || r.Accuracy.Reference == 0 {
		return nil
	}
	return &QuantizeRequest{Model: r.Model, Target: r.Accuracy.Target / r.Accuracy.Reference}
}
