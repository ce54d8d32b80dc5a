package compliance

import (
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Need is the tests that a result needs.
type Need struct {
	Model    string   `json:"model"`
	Scenario string   `json:"scenario"`
	Tests    []string `json:"tests"`
}

// Needs lists the tests of results of the closed and the network division; in the open
// one there are none. Empty names mean all: of models, those that the round knows.
func Needs(rules, model, scenario string) ([]Need, error) {
	set, err := config.Rules(rules)
	if err != nil {
		return nil, userinput.Wrap("rules", err)
	}
	scenarios, err := scenariosOf(scenario)
	if err != nil {
		return nil, err
	}
	of := testsOf(set.Version)
	names := []string{model}
	if model == "" {
		names = of.names
	}
	var needs []Need
	for _, name := range names {
		tests, err := of.tests(name)
		if err != nil {
			return nil, err
		}
		for _, s := range scenarios {
			needs = append(needs, Need{name, s, tests})
		}
	}
	return needs, nil
}

// scenariosOf is the one that a name means; empty: all.
func scenariosOf(name string) ([]string, error) {
	if name != "" {
		s, interactive, err := config.ParseScenario(name)
		if interactive {
			return []string{"Interactive"}, userinput.Wrap("scenario", err)
		}
		return []string{s.String()}, userinput.Wrap("scenario", err)
	}
	var all []string
	for _, s := range loadgen.Scenarios() {
		all = append(all, s.String())
	}
	return all, nil
}

// A table has the tests of a round by the names that the round has for models.
type table struct {
	version string
	names   []string
	of      func(name string) ([]string, bool)
}

func testsOf(version string) *table {
	round, err := rounds.Find(version)
	if err != nil {
		return olderTable(version)
	}
	t := &table{version: version, of: func(name string) ([]string, bool) {
		m := round.Models[round.ModelName(name, "")]
		if m == nil || !m.Listed {
			return nil, false
		}
		return m.Tests, true
	}}
	for name, m := range round.Models {
		if m.Listed {
			t.names = append(t.names, name)
		}
	}
	slices.Sort(t.names)
	return t
}

// tests looks a model up by the name that was given, and by those of the catalogue.
func (t *table) tests(name string) ([]string, error) {
	for _, c := range namesOf(name) {
		if tests, ok := t.of(c); ok {
			return tests, nil
		}
	}
	return nil, userinput.Errorf("model", "rules %s have no benchmark %q; they have %s", t.version, name, strings.Join(t.names, ", "))
}

// namesOf are names that a round may have for a model: the one that was given, and those of the
// catalogue.
func namesOf(name string) []string {
	candidates := []string{name, name + "-99"}
	if m, err := models.Lookup(name); err == nil {
		candidates = slices.Concat(candidates, []string{m.Name, m.Name + "-99", m.Rules.Name}, m.Rules.Aliases)
	}
	return candidates
}
