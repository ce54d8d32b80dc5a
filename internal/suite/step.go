package suite

import (
	"fmt"
	"maps"
	"time"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
)

// A Step is one run of a suite.
type Step struct {
	Model     string `json:"model"`
	Scenario  string `json:"scenario"`
	Mode      string `json:"mode"`
	Precision string `json:"precision,omitempty"`
	Folder    string `json:"folder"` // within that of the suite

	State State  `json:"state"`
	Error string `json:"error,omitempty"`

	Estimate time.Duration `json:"estimate_ns"`
	// Guessed is set if nobody knows yet how fast the model is: the estimate is the least
	// that the rules ask for.
	Guessed bool    `json:"guessed,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // that it took
	// Celsius is how hot the machine was before; 0: not known.
	Celsius float64 `json:"celsius,omitempty"`

	Results *report.Results `json:"-"`

	request run.Request
}

// A State says how far a step is.
type State string

// The states of steps.
const (
	Planned State = "planned"
	Done    State = "done"    // there are results, whatever they say
	Failed  State = "failed"  // there are none; Error says why
	Lacking State = "lacking" // the catalogue has no such model
)

// answersAs reports whether two steps run the same model, in the same way, on the same data: what one answers,
// the other does.
func (s *Step) answersAs(o *Step) bool {
	a, b := &s.request, &o.request
	return s.Model == o.Model && s.Precision == o.Precision && a.ModelPath == b.ModelPath && a.DatasetPath == b.DatasetPath &&
		a.Count == b.Count && maps.Equal(a.Options, b.Options)
}

func (s *Step) String() string {
	model := s.Model
	if s.Precision != "" {
		model += " " + s.Precision
	}
	return fmt.Sprintf("%s %s %s", model, s.Scenario, s.Mode)
}
