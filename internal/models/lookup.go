package models

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Lookup returns the model of a name, of its own or of those that the rules give it; case,
// hyphens and underscores do not matter.
func Lookup(name string) (workload.Model, error) { return find(name, All()) }

// LookupAsked is Lookup for where servers of text answer, and for what is done with logs and files alone:
// it also knows the benchmarks that no engine of tensors runs.
func LookupAsked(name string) (workload.Model, error) {
	return find(name, slices.Concat(All(), RemoteModels()))
}

// find prefers the model whose own name it is to those that have it as another name.
func find(name string, among []workload.Model) (workload.Model, error) {
	own := func(m workload.Model) bool { return userinput.Same(m.Name, name) }
	other := func(m workload.Model) bool {
		return slices.ContainsFunc(slices.Concat([]string{m.Rules.Name}, m.Aliases, m.Rules.Aliases), func(n string) bool { return userinput.Same(n, name) })
	}
	for _, is := range []func(workload.Model) bool{own, other} {
		if i := slices.IndexFunc(among, is); i >= 0 {
			return among[i], nil
		}
	}
	var choices []string
	for _, m := range among {
		choices = append(choices, m.Name)
	}
	slices.Sort(choices)
	return workload.Model{}, fmt.Errorf("unknown model %q, want one of %s%s", name, strings.Join(choices, ", "), userinput.Meant(name, choices))
}
