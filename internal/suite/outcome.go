package suite

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/report"
)

// An Outcome is what came out of a suite.
type Outcome struct {
	Schema      string   `json:"schema"`
	Program     string   `json:"program"`
	Suite       string   `json:"suite"`
	Title       string   `json:"title,omitempty"`
	Rules       string   `json:"rules"`
	Quick       bool     `json:"quick,omitempty"`
	Interrupted bool     `json:"interrupted,omitempty"`
	Folder      string   `json:"folder"`
	Scores      []Score  `json:"scores"`
	Missing     []string `json:"missing"` // for a submission
	Caveats     []Caveat `json:"caveats"`
	Left        Estimate `json:"left"` // steps that did not run
}

// A Score is what came out of a benchmark in a scenario.
type Score struct {
	Model     string         `json:"model"`
	Precision string         `json:"precision,omitempty"`
	Scenario  string         `json:"scenario"`
	Result    string         `json:"result"` // that of the performance run, or why there is none
	Why       string         `json:"why,omitempty"`
	Metric    *report.Metric `json:"metric,omitempty"`
	// Bound is the constraint on latency, in words.
	Bound    string           `json:"latency_bound,omitempty"`
	Accuracy *report.Accuracy `json:"accuracy,omitempty"`
	// AccuracyError says why there is no accuracy though it was to be measured.
	AccuracyError string  `json:"accuracy_error,omitempty"`
	Seconds       float64 `json:"seconds"` // of its runs; an accuracy run that counts for several scenarios is of that in which it ran
	Folder        string  `json:"folder"`
}

// A Caveat is what speaks against some of the results.
type Caveat struct {
	Text    string `json:"text"`
	Results int    `json:"results"` // that have it
}

// What a score says if there are no results.
const (
	notRun  = "NOT RUN"
	failed  = "FAILED"
	lacking = "NO SUCH MODEL"
)

// outcome gathers what there is.
func (p *Plan) outcome(interrupted bool) *Outcome {
	o := &Outcome{
		Schema: Schema, Program: p.request.Base.Program, Suite: p.Suite.Name, Title: p.Suite.Title, Rules: p.Suite.Rules,
		Quick: p.request.Base.Quick, Interrupted: interrupted, Folder: p.request.Output, Left: p.Estimate(),
		Scores: []Score{}, Missing: []string{}, Caveats: []Caveat{},
	}
	for _, s := range p.Steps {
		if s.Mode != modeAccuracy {
			o.Scores = append(o.Scores, p.score(s))
		}
		if s.Results != nil {
			o.addCaveats(s.Results.Caveats)
		}
	}
	slices.SortStableFunc(o.Caveats, func(a, b Caveat) int { return b.Results - a.Results })
	o.Missing = append(o.Missing, p.missing(o)...)
	return o
}

func (o *Outcome) addCaveats(texts []string) {
	for _, text := range texts {
		if i := slices.IndexFunc(o.Caveats, func(c Caveat) bool { return c.Text == text }); i >= 0 {
			o.Caveats[i].Results++
		} else {
			o.Caveats = append(o.Caveats, Caveat{text, 1})
		}
	}
}

// score is what came out of a performance step and the accuracy that belongs to it.
func (p *Plan) score(s *Step) Score {
	out := Score{Model: s.Model, Precision: s.Precision, Scenario: s.Scenario, Result: verdict(s), Why: s.Error, Folder: s.Folder, Seconds: s.Seconds}
	if s.Results != nil && s.State == Done {
		out.measured(s.Results)
	}
	a := p.accuracyOf(s)
	if a != nil {
		out.Seconds += a.Seconds
	} else {
		a = p.accuracyElsewhere(s)
	}
	if a != nil {
		out.scored(a)
	}
	return out
}

// scored adds what came out of an accuracy step.
func (out *Score) scored(s *Step) {
	switch {
	case s.Results != nil && s.Results.Accuracy != nil:
		out.Accuracy = s.Results.Accuracy
	case s.State == Planned:
		out.AccuracyError = notRun
	default:
		out.AccuracyError = cmp.Or(s.Error, verdict(s))
	}
}

// measured takes over what a performance run says.
func (s *Score) measured(r *report.Results) {
	s.Metric = r.Metric
	for _, c := range r.Constraints {
		s.Bound = cmp.Or(boundText(c, r.Test), s.Bound)
		if !c.Met && !c.ReferenceOnly && s.Why == "" {
			s.Why = c.Sentence()
		}
	}
	if s.Why == "" && len(r.Problems) > 0 {
		s.Why = r.Problems[0]
	}
}

// boundText is the bound on latency that a constraint is; empty: it is another one.
func boundText(c report.Constraint, test *report.Test) string {
	switch {
	case c.ID == "latency":
		return c.RequiredText()
	case c.ID == "intervals" && test != nil:
		return fmt.Sprintf("%s, each %v", c.RequiredText(), time.Duration(test.TargetLatencyNS).Round(time.Microsecond))
	}
	return ""
}

// verdict is the outcome of a step in a word.
func verdict(s *Step) string {
	switch {
	case s.Results != nil && s.State == Done:
		return s.Results.Verdict()
	case s.State == Failed:
		return failed
	case s.State == Lacking:
		return lacking
	}
	return notRun
}

// Failures counts the scores that have no result though they were to run, those that are not
// VALID, and those of the rest whose accuracy is below the target or could not be measured.
func (o *Outcome) Failures() (none, invalid, inaccurate int) {
	for _, s := range o.Scores {
		if s.Accuracy.Below() || s.AccuracyError != "" && s.Result != lacking && s.Result != notRun {
			inaccurate++
		}
	}
	return o.count(failed, notRun), o.count(report.Invalid, report.Interrupted), inaccurate
}

// count is how many scores have one of the results.
func (o *Outcome) count(results ...string) (n int) {
	for _, s := range o.Scores {
		if slices.Contains(results, s.Result) {
			n++
		}
	}
	return n
}

// seconds are those of all runs.
func (o *Outcome) seconds() float64 {
	sum := 0.0
	for _, s := range o.Scores {
		sum += s.Seconds
	}
	return sum
}

// headline says in one line how it went.
func (o *Outcome) headline() string {
	valid, lack := o.count(report.Valid), o.count(lacking)
	text := fmt.Sprintf("suite %s%s, rules %s: %d of %d VALID", o.Suite, quickly(o.Quick), o.Rules, valid, len(o.Scores)-lack)
	none, invalid, inaccurate := o.Failures()
	for _, n := range []struct {
		n    int
		what string
	}{{invalid, "INVALID"}, {none, "without a result"}, {inaccurate, "whose accuracy misses the target or is not known"}, {lack, "not in the catalogue"}} {
		if n.n > 0 {
			text += fmt.Sprintf(", %d %s", n.n, n.what)
		}
	}
	if took := o.seconds(); took > 0 {
		text += "; it took " + timeCell(took)
	}
	if o.Interrupted {
		text += "; INTERRUPTED"
	}
	return text
}
