package report

import (
	"encoding/json"
	"strings"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A Constraint is a rule that a run was judged by.
type Constraint struct {
	loadgen.Constraint
	// Words are what documents of the first form have instead of numbers.
	Words *ConstraintWords `json:"words,omitempty"`
}

// ConstraintWords are a constraint in words.
type ConstraintWords struct {
	Required string `json:"required"`
	Observed string `json:"observed"`
}

// schemaOfWords is the form in which constraints were words.
const schemaOfWords = "mlperf-go/results/1"

// UnmarshalJSON reads a constraint, also one of the first form: that has a name and no id.
func (c *Constraint) UnmarshalJSON(data []byte) error {
	var old struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(data, &old); err != nil {
		return err
	}
	if old.Name != "" {
		return c.readWords(old.Name, data)
	}
	type plain Constraint // has no UnmarshalJSON
	return json.Unmarshal(data, (*plain)(c))
}

func (c *Constraint) readWords(name string, data []byte) error {
	var old struct {
		ConstraintWords
		Met    bool   `json:"met"`
		Origin string `json:"origin"`
		Advice string `json:"advice"`
	}
	if err := json.Unmarshal(data, &old); err != nil {
		return err
	}
	c.ID = loadgen.ConstraintID(strings.ReplaceAll(name, " ", "_"))
	c.Met, c.Origin, c.Advice, c.Words = old.Met, old.Origin, old.Advice, &old.ConstraintWords
	return nil
}

// Sentence says in one how the rule was kept, and if it was not, what to do.
func (c Constraint) Sentence() string {
	if c.Words == nil {
		return c.String()
	}
	text := c.ID.String() + ": " + c.Words.Observed + ", want " + c.Words.Required
	if c.Advice != "" {
		text += "; " + c.Advice
	}
	return text
}

// row is a constraint as tables show it.
func (c Constraint) row() (name, required, observed, met string) {
	required, observed, met = c.RequiredText(), c.ObservedText(), yesNo(c.Met)
	if c.Words != nil {
		required, observed = c.Words.Required, c.Words.Observed
	}
	if !c.Met && c.ReferenceOnly {
		met = "not for the reference"
	}
	return c.ID.String(), required, observed, met
}
