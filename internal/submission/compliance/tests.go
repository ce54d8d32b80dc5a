package compliance

import (
	"context"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The tests.
const (
	test01 = "TEST01"
	test03 = "TEST03"
	test04 = "TEST04"
	test05 = "TEST05"
	test06 = "TEST06"
	test07 = "TEST07"
	test08 = "TEST08"
	test09 = "TEST09"

	// Before v2.1, TEST04 is two runs: of different samples, and of one sample again and again.
	test04A = "TEST04-A"
	test04B = "TEST04-B"
)

var (
	tests    = []string{test01, test03, test04, test05, test06, test07, test08, test09}
	auditSet = []string{test01, test03, test04, test05} // of v0.5
)

// twoRuns reports whether TEST04 is TEST04-A and TEST04-B.
func twoRuns(test, version string) bool { return test == test04 && rounds.Before(version, "v2.1") }

// A kind is what a test needs and leaves.
type kind struct {
	first, last           string // rules; empty: any. They are the rounds whose compliance folder has the test
	performance, accuracy bool   // it compares with these runs of the result
	keepsRun, keepsLog    bool   // its folder has performance/run_1, and accuracy
	verify                func(*verification, context.Context) error
}

var kinds = map[string]kind{
	test01: {performance: true, accuracy: true, keepsRun: true, keepsLog: true, verify: (*verification).verify01},
	test03: {last: "v0.5", performance: true, accuracy: true, keepsRun: true, keepsLog: true, verify: (*verification).verify03},
	test04: {performance: true, keepsRun: true, verify: (*verification).verify04},
	test05: {last: "v4.1", performance: true, keepsRun: true, verify: (*verification).verify05},
	test06: {first: "v4.0", keepsLog: true, verify: (*verification).verify06},
	test07: {first: "v6.0", keepsRun: true, keepsLog: true, verify: (*verification).verify07},
	test08: {first: "v6.0", accuracy: true, keepsRun: true, keepsLog: true, verify: (*verification).verify08},
	test09: {first: "v6.0", keepsRun: true, keepsLog: true, verify: (*verification).verify09},
}

// lookup returns the name of a test in capitals, and the version of the rules.
func lookup(test, rules string) (name, version string, err error) {
	if name = strings.ToUpper(test); !slices.Contains(tests, name) {
		return "", "", userinput.Invalid("test", test, "one of "+strings.Join(tests, ", "))
	}
	set, err := config.Rules(rules)
	if err != nil {
		return "", "", userinput.Wrap("rules", err)
	}
	switch k := kinds[name]; {
	case k.last != "" && rounds.Before(k.last, set.Version):
		return "", "", userinput.Errorf("rules", "%s is of the rules up to %s, not of %s", name, k.last, set.Version)
	case rounds.Before(set.Version, k.first):
		return "", "", userinput.Errorf("rules", "%s is of the rules from %s on, not of %s", name, k.first, set.Version)
	}
	return name, set.Version, nil
}

// A Need is the tests that a result needs.
type Need struct {
	Model    string   `json:"model"`
	Scenario string   `json:"scenario"`
	Tests    []string `json:"tests"`
}

// Needs lists the tests of results of the closed and the network division; the open division has none. Empty names mean all
// scenarios, and all models of the round.
func Needs(rules, model, scenario string) ([]Need, error) {
	set, err := config.Rules(rules)
	if err != nil {
		return nil, userinput.Wrap("rules", err)
	}
	var scenarios []string
	if scenario == "" {
		for _, s := range loadgen.Scenarios() {
			scenarios = append(scenarios, s.String())
		}
	} else {
		s, interactive, err := config.ParseScenario(scenario)
		if err != nil {
			return nil, userinput.Wrap("scenario", err)
		}
		if scenarios = []string{s.String()}; interactive {
			scenarios = []string{"Interactive"}
		}
	}
	version := set.Version
	listed := rounds.Benchmarks(version)
	names := listed
	if model != "" {
		names = []string{model}
	}
	var needs []Need
	for _, name := range names {
		candidates := modelNames(version, name)
		i := slices.IndexFunc(candidates, func(c string) bool { return slices.Contains(listed, rounds.Official(version, c)) })
		if i < 0 {
			return nil, userinput.Errorf("model", "rules %s have no benchmark %q; they have %s", version, name, strings.Join(listed, ", "))
		}
		asked, _ := rounds.ModelOf(version, rounds.Official(version, candidates[i]))
		for _, s := range scenarios {
			needs = append(needs, Need{name, s, asked.Tests})
		}
	}
	return needs, nil
}

// modelNames lists the names that a round may have for a model: the given one, and those of the catalogue.
func modelNames(version, name string) []string {
	names := []string{name, name + "-99"}
	if m, err := models.Lookup(name); err == nil && m.Rules.In(version) {
		names = slices.Concat(names, []string{m.Name, m.Name + "-99"}, m.Rules.Listed())
	}
	return names
}
