package models

import (
	"slices"

	"github.com/mlperf-go/mlperf/internal/models/generative"
	"github.com/mlperf-go/mlperf/internal/names"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// Asked are the benchmarks that servers of text answer and nobody else.
func Asked() []workload.Model { return generative.Asked() }

// LookupAsked is Lookup for where servers of text answer.
func LookupAsked(name string) (workload.Model, error) { return lookupToo(name, Asked()) }

// LookupScored is Lookup for what is done with logs and files alone: it also knows benchmarks
// that are not run here.
func LookupScored(name string) (workload.Model, error) { return lookupToo(name, Asked()) }

// lookupToo looks in the catalogue, and then among others.
func lookupToo(name string, others []workload.Model) (workload.Model, error) {
	m, err := Lookup(name)
	if err == nil {
		return m, nil
	}
	for _, m := range others {
		if slices.ContainsFunc(slices.Concat(m.Aliases, m.Rules.Aliases, []string{m.Name, m.Rules.Name}), func(n string) bool { return names.Same(n, name) }) {
			return m, nil
		}
	}
	return workload.Model{}, err
}
