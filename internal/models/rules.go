package models

import (
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// Rules returns the rules of a benchmark by any of its names; false if no round has it. Unlike Lookup it also has the benchmarks
// that the catalogue lacks.
func Rules(name string) (config.Model, bool) {
	all := slices.Concat(All(), RemoteModels())
	own := func(m workload.Model) bool { return strings.EqualFold(m.Name, name) } // also of the strict benchmarks, which share their aliases
	any := func(m workload.Model) bool { return m.Rules.Is(name) }
	for _, is := range []func(workload.Model) bool{own, any} {
		if i := slices.IndexFunc(all, is); i >= 0 {
			return all[i].Rules, true
		}
	}
	for _, m := range others() {
		if m.Is(name) {
			return m, true
		}
	}
	return config.Model{}, false
}

// RulesIn is Rules for a name in the rules of a version.
func RulesIn(version, name string) (config.Model, bool) {
	if m, err := LookupAny(name); err == nil && !m.Rules.In(version) {
		return InRound(version, name, m).Rules, true
	}
	return Rules(name)
}

// RuleNames lists all names of benchmarks in conf files and submissions.
func RuleNames() []string {
	var names []string
	add := func(m config.Model) { names = append(append(names, m.Name), m.Aliases...) }
	for _, m := range slices.Concat(All(), RemoteModels()) {
		add(m.Rules)
	}
	for _, m := range others() {
		add(m)
	}
	return names
}

// others are the benchmarks of the rules that the catalogue lacks. Samples are from the table of inference_rules.adoc, appendix "Datacenter
// Bandwidth Requirements" (ingress and egress); models that are no longer in it have their last values.
func others() []config.Model {
	return []config.Model{
		{
			Name:    "gpt3",
			Aliases: []string{"gpt3-99", "gpt3-99.9"},
		},
	}
}
