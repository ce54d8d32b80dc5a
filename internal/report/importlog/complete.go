package importlog

import (
	"strings"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

// complete puts what the logs say in the place of what follows from their figures.
func (f *figures) complete(r *report.Results) {
	for i := range r.Constraints {
		f.constrain(&r.Constraints[i])
	}
	f.measured(r)
	if f.withoutCount {
		f.note("the number of queries is not in the logs")
	}
	r.Performance.Tokens = 0 // only their rate is logged
	r.Performance.SamplesPerSecond = f.rate
	r.Result = report.Valid
	if !f.valid {
		r.Result = report.Invalid
		r.Problems = f.reasons(r.Constraints)
	}
}

// measured puts the logged rate in the place of the calculated one.
func (f *figures) measured(r *report.Results) {
	if r.Metric == nil {
		return
	}
	logged := map[string]float64{
		"samples": f.rate, "completed samples": f.rate, "scheduled samples": f.scheduled, "tokens": f.tokenRate, "completed tokens": f.tokenRate,
	}
	if v := logged[r.Metric.Name]; v > 0 {
		r.Metric.Value = v
	}
	if r.Metric.Value <= 0 {
		r.Metric = nil
	}
}

// missing stands for a number that the logs do not have.
const missing = "not in the logs"

// constrain corrects a constraint: whether it was met the logs say themselves.
func (f *figures) constrain(c *report.Constraint) {
	required := c.RequiredText()
	known := f.correct(c)
	if c.Met {
		c.Advice = ""
	}
	if known {
		return
	}
	c.Observed = nil
	if f.withoutNeeded && strings.HasSuffix(string(c.ID), string(loadgen.ConstraintEarlyStopping)) {
		required = "as many queries as the criterion wants"
	}
	c.Words = &report.ConstraintWords{Required: required, Observed: missing}
}

// correct takes what the logs have of a constraint, and reports whether they have it.
func (f *figures) correct(c *report.Constraint) bool {
	p := f.performance
	switch c.ID {
	case loadgen.ConstraintQueries, loadgen.ConstraintSamples:
		f.counted(c)
		return !f.withoutCount
	case loadgen.ConstraintDuration:
		return f.lastedFor(c)
	case loadgen.ConstraintEarlyStopping, loadgen.ConstraintFirstTokenStopping:
		return !f.withoutNeeded
	case loadgen.ConstraintLatency:
		return p.SampleLatency.Target > 0
	case loadgen.ConstraintFirstToken:
		return p.FirstToken.Target > 0
	case loadgen.ConstraintPerToken:
		return p.TimePerOutputToken.Target > 0
	}
	return true
}

// lastedFor takes the duration, and reports whether the logs have it.
func (f *figures) lastedFor(c *report.Constraint) bool {
	if c.Observed == nil && !f.withoutDuration {
		c.Observed = &loadgen.Quantity{Value: float64(f.performance.LastCompletion), Unit: "ns"}
	}
	return !f.withoutDuration
}

// counted corrects whether there were enough queries and samples. The logs have one verdict for
// both.
func (f *figures) counted(c *report.Constraint) {
	if f.withoutCount || f.performance.MinQueriesMet {
		c.Met = f.performance.MinQueriesMet
	}
}

// reasons are why a result is INVALID: the constraints that were not met, and what the logs
// recommend.
func (f *figures) reasons(constraints []report.Constraint) []string {
	var list []string
	for _, c := range constraints {
		if !c.Met {
			list = append(list, c.Sentence())
		}
	}
	recommended := f.summary.Recommendations
	if text := f.text("result_invalid_reason", ""); len(recommended) == 0 && text != "" {
		recommended = []string{text}
	}
	for _, text := range recommended {
		list = append(list, "the logs say: "+shorten(strings.TrimSpace(strings.TrimPrefix(text, "* "))))
	}
	if len(list) == 0 {
		list = append(list, "the logs do not say why")
	}
	return list
}
