package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A constraint is a row of the table.
type constraint struct {
	Name, Required, Observed, Origin string
	Word                             string
	Met                              bool
}

func constraints(r *report.Results) []constraint {
	var list []constraint
	for _, c := range r.Constraints {
		row := constraint{Name: c.ID.String(), Required: c.RequiredText(), Observed: c.ObservedText(), Origin: c.Origin, Met: c.Met, Word: "not met"}
		if !c.Met && c.ReferenceOnly {
			row.Word = "not for the reference"
		}
		if row.Origin == "" {
			row.Origin = "follows from the measurement"
		}
		list = append(list, row)
	}
	return list
}

// A meter shows how much of a bound was used.
type meter struct {
	Observed, Of, Below, Label string
	Width, Bound               int // of 1000
	Met                        bool
}

// meters are those of the bounds on latencies.
func meters(r *report.Results) []meter {
	var list []meter
	for _, c := range r.Constraints {
		if boundsLatency(c) {
			list = append(list, newMeter(r, c))
		}
	}
	return list
}

// boundsLatency reports whether a constraint is a bound on a latency, of which there was one.
func boundsLatency(c report.Constraint) bool {
	if c.Bound != loadgen.AtMost || c.Percentile == 0 || c.Observed == nil {
		return false
	}
	bound := c.Required.Unit == "ns" && c.Required.Value > 0
	return bound && slices.Contains([]loadgen.ConstraintID{loadgen.ConstraintLatency, loadgen.ConstraintFirstToken, loadgen.ConstraintPerToken}, c.ID)
}

func newMeter(r *report.Results, c report.Constraint) meter {
	ratio := min(max(c.Observed.Value, 0)/c.Required.Value, 1e9)
	full := max(ratio, 1.02)
	m := meter{
		Observed: units.Percentile(c.Percentile) + " " + units.Text(c.Observed.Value, "ns"),
		Of:       "of " + units.Text(c.Required.Value, "ns") + " allowed", Met: c.Met,
		Width: int(1000 * ratio / full), Bound: int(1000/full) - 1,
	}
	if c.ID != loadgen.ConstraintLatency {
		m.Of += ", " + c.ID.String()
	}
	if ratio > 1.5 {
		m.Of += ", " + units.Text(math.Round(ratio*10)/10, "") + " times the bound"
	}
	m.Label = fmt.Sprintf("%s is %.0f percent of the bound", m.Observed, 100*ratio)
	if p := r.Performance; c.ID == loadgen.ConstraintLatency && p != nil && p.Samples > 0 {
		m.Below = fmt.Sprintf("%s of the samples within the bound, %s required",
			units.Percent(1-float64(min(p.Overlatency, p.Samples))/float64(p.Samples)), units.Text(100*c.Percentile, "%"))
	}
	return m
}

func sorted(names []string) string {
	slices.Sort(names)
	return strings.Join(names, ", ")
}
