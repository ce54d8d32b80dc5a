package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/report"
)

// missing lists what a submission of these results would lack. That they are not official is a
// caveat of each of them.
func (p *Plan) missing(o *Outcome) []string {
	var gaps gaps
	for _, s := range o.Scores {
		if s.Result == lacking {
			continue
		}
		if s.Result != report.Valid {
			gaps.add(&s, "a VALID performance run")
		}
		switch {
		case s.Accuracy.Below():
			gaps.add(&s, "an accuracy that reaches its target")
		case s.Accuracy == nil:
			gaps.add(&s, "an accuracy run")
		}
	}
	list := gaps.texts()
	if n := p.sharedAccuracy(); n > 0 {
		list = append(list, fmt.Sprintf("an accuracy run in each scenario: %d have that of another one", n))
	}
	return append(list, p.missingOfRound()...)
}

// gaps are what benchmarks lack, each with the scenarios that lack it.
type gaps []gap

type gap struct {
	model, precision, what string
	scenarios              []string
}

func (g *gaps) add(s *Score, what string) {
	at := slices.IndexFunc(*g, func(have gap) bool {
		return have.model == s.Model && have.precision == s.Precision && have.what == what
	})
	if at < 0 {
		at = len(*g)
		*g = append(*g, gap{s.Model, s.Precision, what, nil})
	}
	(*g)[at].scenarios = append((*g)[at].scenarios, s.Scenario)
}

func (g gaps) texts() (list []string) {
	for _, gap := range g {
		list = append(list, name(gap.model, gap.precision, strings.Join(gap.scenarios, ", "))+": "+gap.what)
	}
	return list
}

func (s *Score) name() string { return name(s.Model, s.Precision, s.Scenario) }

func name(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " ")
}

// sharedAccuracy counts the performance steps without an accuracy step of their own.
func (p *Plan) sharedAccuracy() int {
	n := 0
	for _, s := range p.Steps {
		if s.Mode != modeAccuracy && s.State != Lacking && p.accuracyOf(s) == nil && p.accuracyElsewhere(s) != nil {
			n++
		}
	}
	return n
}

// missingOfRound lists scenarios and compliance tests that the round wants, as far as its rules
// are known.
func (p *Plan) missingOfRound() []string {
	round, err := rounds.Find(p.Suite.Rules)
	if err != nil {
		return nil
	}
	var list []string
	scenarios, order := p.measured()
	for _, model := range order {
		list = append(list, p.missingOfModel(round, model, scenarios[model])...)
	}
	return list
}

// measured lists the scenarios of each model whose speed is measured, and the models in their order.
func (p *Plan) measured() (scenarios map[string][]string, order []string) {
	scenarios = map[string][]string{}
	for _, s := range p.Steps {
		if s.State == Lacking || s.Mode == modeAccuracy {
			continue
		}
		if scenarios[s.Model] == nil {
			order = append(order, s.Model)
		}
		if !slices.Contains(scenarios[s.Model], s.Scenario) { // in another precision
			scenarios[s.Model] = append(scenarios[s.Model], s.Scenario)
		}
	}
	return scenarios, order
}

// missingOfModel lists what the round wants of a model beside the scenarios that there are.
func (p *Plan) missingOfModel(round *rounds.Round, model string, have []string) (list []string) {
	m, err := p.lookup(model)
	name, known := nameIn(round, m)
	if err != nil || !known {
		return []string{fmt.Sprintf("%s: round %s has no such benchmark", model, round.Version)}
	}
	for _, scenario := range required(round, name, p.Suite.Category) {
		if !slices.Contains(have, scenario) {
			list = append(list, fmt.Sprintf("%s %s: the round wants it of %s systems", model, scenario, p.Suite.Category))
		}
	}
	if tests := round.Models[name].Tests; len(tests) > 0 {
		list = append(list, fmt.Sprintf("%s: compliance tests %s in %s", model, strings.Join(tests, ", "), strings.Join(have, ", ")))
	}
	return list
}
