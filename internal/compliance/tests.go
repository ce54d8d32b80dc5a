package compliance

import (
	"cmp"
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
	listed, official := olderModels(version), func(name string) string { return olderName(version, name) }
	testsOf := func(name string) []string { return olderTests(version, name) }
	if round, err := rounds.Find(version); err == nil {
		listed, official = round.Listed(), func(name string) string { return round.ModelName(name, "") }
		testsOf = func(name string) []string { return round.Model(name).Tests }
	}
	names := listed
	if model != "" {
		names = []string{model}
	}
	var needs []Need
	for _, name := range names {
		candidates := modelNames(version, name)
		i := slices.IndexFunc(candidates, func(c string) bool { return slices.Contains(listed, official(c)) })
		if i < 0 {
			return nil, userinput.Errorf("model", "rules %s have no benchmark %q; they have %s", version, name, strings.Join(listed, ", "))
		}
		for _, s := range scenarios {
			needs = append(needs, Need{name, s, testsOf(official(candidates[i]))})
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

// olderModels lists the benchmarks of the rounds to v4.1 (tools/submission/submission-checker.py of each).
func olderModels(version string) []string {
	if version == "v0.5" {
		return []string{"ssd-small", "ssd-large", "mobilenet", "resnet", "gnmt"}
	}
	names := []string{"resnet", "rnnt", "bert-99", "bert-99.9", "3d-unet-99", "3d-unet-99.9"}
	if rounds.Before(version, "v2.1") {
		names = append(names, "ssd-small", "ssd-large")
	} else {
		names = append(names, "retinanet")
	}
	if rounds.Before(version, "v3.1") {
		names = append(names, "dlrm-99", "dlrm-99.9")
	} else {
		names = append(names, "dlrm-v2-99", "dlrm-v2-99.9", "gptj-99", "gptj-99.9")
	}
	if !rounds.Before(version, "v4.0") {
		names = append(names, "llama2-70b-99", "llama2-70b-99.9", "stable-diffusion-xl")
	}
	if !rounds.Before(version, "v4.1") {
		names = append(names, "mixtral-8x7b")
	}
	return names
}

// olderName returns the name that the rounds to v4.1 have for a model.
func olderName(version, name string) string {
	if strings.HasPrefix(name, "resnet50") {
		return "resnet"
	}
	if rounds.Before(version, "v2.1") {
		return cmp.Or(map[string]string{"ssd-mobilenet": "ssd-small", "ssd-resnet34": "ssd-large"}[name], name)
	}
	return name
}

// olderTests lists the tests of a benchmark in the rounds to v4.1.
func olderTests(version, name string) []string {
	switch {
	case version == "v0.5" && name == "gnmt": // whose answers vary in length
		return []string{test01, test03, test05}
	case version == "v0.5":
		return []string{test01, test03, test04A, test04B, test05}
	case rounds.Before(version, "v2.1") && (name == "resnet" || strings.HasPrefix(name, "ssd-")):
		return []string{test01, test04A, test04B, test05}
	case name == "resnet":
		return []string{test01, test04, test05}
	case strings.HasPrefix(name, "gptj"), name == "stable-diffusion-xl" && version == "v4.0":
		return nil
	case name == "stable-diffusion-xl":
		return []string{test01, test04}
	case strings.HasPrefix(name, "llama2"), strings.HasPrefix(name, "mixtral"):
		return []string{test06}
	}
	return []string{test01, test05}
}
