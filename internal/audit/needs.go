package audit

import (
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/submission/rounds"
)

// The tests that this package verifies.
const (
	Test01 = "TEST01"
	Test04 = "TEST04"
	Test05 = "TEST05"
	Test06 = "TEST06"
	Test09 = "TEST09"
)

// Tests lists the tests that this package verifies.
func Tests() []string { return []string{Test01, Test04, Test05, Test06, Test09} }

// lookup returns the name of a test in capitals.
func lookup(test string) (string, error) {
	if name := strings.ToUpper(test); slices.Contains(Tests(), name) {
		return name, nil
	}
	return "", field.Invalid("test", test, "one of "+strings.Join(Tests(), ", "))
}

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
		return nil, field.Wrap("rules", err)
	}
	scenarios := []string{}
	for _, s := range loadgen.Scenarios() {
		scenarios = append(scenarios, s.String())
	}
	if scenario != "" {
		s, interactive, err := config.ParseScenario(scenario)
		if err != nil {
			return nil, field.Wrap("scenario", err)
		}
		if scenarios = []string{s.String()}; interactive {
			scenarios = []string{"Interactive"}
		}
	}
	of, err := testsOf(set.Version)
	if err != nil {
		return nil, err
	}
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

// A table has the tests of a round by the names that the round has for models.
type table struct {
	version string
	names   []string
	of      func(name string) ([]string, bool)
}

func testsOf(version string) (*table, error) {
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
	return t, nil
}

// olderTable has the tests of v2.1 to v4.1, when the rule was three tests with exceptions
// (tools/submission/submission_checker.py).
func olderTable(version string) (*table, error) {
	if version < "v2.1" {
		return nil, field.Errorf("rules", "the tests of rules %s are not known: want v2.1 or newer", version)
	}
	names := []string{"resnet", "retinanet", "rnnt", "bert-99", "bert-99.9", "3d-unet-99", "3d-unet-99.9"}
	if version < "v3.1" {
		names = append(names, "dlrm-99", "dlrm-99.9")
	} else {
		names = append(names, "dlrm-v2-99", "dlrm-v2-99.9", "gptj-99", "gptj-99.9")
	}
	if version >= "v4.0" {
		names = append(names, "llama2-70b-99", "llama2-70b-99.9", "stable-diffusion-xl")
	}
	if version >= "v4.1" {
		names = append(names, "mixtral-8x7b")
	}
	return &table{version: version, names: names, of: func(name string) ([]string, bool) {
		if strings.HasPrefix(name, "resnet50") {
			name = "resnet"
		}
		return olderTests(version, name), slices.Contains(names, name)
	}}, nil
}

func olderTests(version, name string) []string {
	switch {
	case strings.HasPrefix(name, "gptj"):
		return nil
	case strings.HasPrefix(name, "llama2") || strings.HasPrefix(name, "mixtral"):
		return []string{Test06}
	case name == "stable-diffusion-xl" && version == "v4.0":
		return nil
	case name == "stable-diffusion-xl":
		return []string{Test01, Test04}
	case name == "resnet":
		return []string{Test01, Test04, Test05}
	}
	return []string{Test01, Test05}
}

// tests looks a model up by the name that was given, and by those of the catalogue.
func (t *table) tests(name string) ([]string, error) {
	candidates := []string{name, name + "-99"}
	if m, err := models.Lookup(name); err == nil {
		candidates = slices.Concat(candidates, []string{m.Name, m.Name + "-99", m.Rules.Name}, m.Rules.Aliases)
	}
	for _, c := range candidates {
		if tests, ok := t.of(c); ok {
			return tests, nil
		}
	}
	return nil, field.Errorf("model", "rules %s have no benchmark %q; they have %s", t.version, name, strings.Join(t.names, ", "))
}
