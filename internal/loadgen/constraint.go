package loadgen

import (
	"strings"
)

// A Constraint is a rule that a performance phase was judged by, as data: what the rule
// asks for and what was measured, both as numbers with units. Every text about a rule, in
// logs, reports and errors, is made from it.
type Constraint struct {
	ID ConstraintID `json:"id"`
	// Bound says on which side of Required the observation must lie.
	Bound    Bound    `json:"bound"`
	Required Quantity `json:"required"`
	// Observed is nil if nothing was measured.
	Observed *Quantity `json:"observed,omitempty"`
	// Percentile is the fraction of all values that must keep the bound; 0: there is one value.
	Percentile float64 `json:"percentile,omitempty"`
	Met        bool    `json:"met"`
	// ReferenceOnly marks a rule that the reference LoadGen has and this package does not: a
	// result may be VALID without it.
	ReferenceOnly bool `json:"reference_only,omitempty"`
	// Setting is the setting that asks for it; empty if that follows from the measurement.
	Setting string `json:"setting,omitempty"`
	// Origin is who made the setting: a file, a flag, rules. This package does not know it.
	Origin string `json:"origin,omitempty"`
	Advice string `json:"advice,omitempty"` // what to do; empty if the rule is kept
}

// A ConstraintID names a kind of constraint.
type ConstraintID string

// The constraints, in the order in which they are listed. Not all exist in every scenario.
const (
	ConstraintLatency            ConstraintID = "latency"
	ConstraintFirstToken         ConstraintID = "time_to_first_token"
	ConstraintPerToken           ConstraintID = "time_per_output_token"
	ConstraintIntervals          ConstraintID = "intervals" // between queries, of rules before v2.0
	ConstraintDuration           ConstraintID = "duration"
	ConstraintQueries            ConstraintID = "queries"
	ConstraintSamples            ConstraintID = "samples"
	ConstraintEarlyStopping      ConstraintID = "early_stopping"
	ConstraintFirstTokenStopping ConstraintID = "first_token_early_stopping"
	ConstraintGenerator          ConstraintID = "generator"
	ConstraintExpectedLatency    ConstraintID = "expected_latency"
)

// String returns the name in words.
func (id ConstraintID) String() string { return strings.ReplaceAll(string(id), "_", " ") }

// A Bound is a side of a number.
type Bound string

// The two bounds. Both allow the number itself.
const (
	AtLeast Bound = "at_least"
	AtMost  Bound = "at_most"
)

// RequiredText says what the rule asks for, e.g. "≤ 15ms at the 99th percentile".
func (c Constraint) RequiredText() string { return c.required("≥", "≤") }

func (c Constraint) required(least, most string) string {
	text, _ := c.texts()
	if c.Percentile > 0 {
		text += " at the " + Ordinal(c.Percentile) + " percentile"
	}
	if c.Bound == AtMost {
		return most + " " + text
	}
	return least + " " + text
}

// ObservedText says what was measured.
func (c Constraint) ObservedText() string {
	_, observed := c.texts()
	return observed
}

// texts are the two numbers, with all digits where fewer would hide that a rule is broken.
func (c Constraint) texts() (required, observed string) {
	if c.Observed == nil {
		return c.Required.String(), "nothing measured"
	}
	required, observed = c.Required.String(), c.Observed.String()
	if required == observed && !c.Met {
		return c.Required.exact(), c.Observed.exact()
	}
	return required, observed
}

// String says in one sentence how the rule was kept, and if it was not, what to do.
func (c Constraint) String() string {
	text := c.ID.String() + ": " + c.ObservedText() + ", want " + c.required("at least", "at most")
	if c.Advice != "" {
		text += "; " + c.Advice
	}
	return text
}
