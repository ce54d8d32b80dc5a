package page

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

func TestMetersAreOfBoundsOnLatencies(t *testing.T) {
	for name, c := range map[string]struct {
		change func(c *loadgen.Constraint)
		want   bool
	}{
		"a latency":                   {func(*loadgen.Constraint) {}, true},
		"the time to the first token": {func(c *loadgen.Constraint) { c.ID = loadgen.ConstraintFirstToken }, true},
		"the time per token":          {func(c *loadgen.Constraint) { c.ID = loadgen.ConstraintPerToken }, true},
		"something else":              {func(c *loadgen.Constraint) { c.ID = "generator" }, false},
		"a least value":               {func(c *loadgen.Constraint) { c.Bound = loadgen.AtLeast }, false},
		"without a percentile":        {func(c *loadgen.Constraint) { c.Percentile = 0 }, false},
		"nothing observed":            {func(c *loadgen.Constraint) { c.Observed = nil }, false},
		"another unit":                {func(c *loadgen.Constraint) { c.Required.Unit = "queries" }, false},
		"a bound of nothing":          {func(c *loadgen.Constraint) { c.Required.Value = 0 }, false},
		"the least bound":             {func(c *loadgen.Constraint) { c.Required.Value = 1 }, true},
	} {
		bound := loadgen.Constraint{
			ID: loadgen.ConstraintLatency, Bound: loadgen.AtMost, Percentile: 0.99,
			Required: loadgen.Quantity{Value: 15e6, Unit: "ns"}, Observed: &loadgen.Quantity{Value: 14e6, Unit: "ns"},
		}
		c.change(&bound)
		list := meters(&report.Results{Constraints: []report.Constraint{{Constraint: bound}}})
		if got := len(list) == 1; got != c.want {
			t.Errorf("%s: a meter: %v, want %v", name, got, c.want)
		}
	}
}
