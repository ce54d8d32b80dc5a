package models

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf/internal/models/diffusion"
	"github.com/mlperf-go/mlperf/internal/models/generative"
	"github.com/mlperf-go/mlperf/internal/models/graph"
	"github.com/mlperf-go/mlperf/internal/models/own"
	"github.com/mlperf-go/mlperf/internal/models/points"
	"github.com/mlperf-go/mlperf/internal/models/rag"
	"github.com/mlperf-go/mlperf/internal/models/recsys"
	"github.com/mlperf-go/mlperf/internal/models/speech"
	"github.com/mlperf-go/mlperf/internal/models/text"
	"github.com/mlperf-go/mlperf/internal/models/vision"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// All returns the catalogue in display order.
func All() []workload.Model { return slices.Clone(catalogue()) }

// catalogue makes the models once: each command asks for their options. To add a family, add a row.
var catalogue = sync.OnceValue(func() []workload.Model {
	return slices.Concat(
		vision.Models(),
		text.Models(),
		speech.Models(),
		recsys.Models(),
		graph.Models(),
		points.Models(),
		generative.Models(),
		diffusion.Models(),
		rag.Models(),
	)
})

// RemoteModels are the benchmarks that only servers of text can answer.
func RemoteModels() []workload.Model {
	return slices.Concat(generative.RemoteModels(), rag.RemoteModels())
}

// Lookup returns the model of a name or alias, of the catalogue or the rules, without regard to case, hyphens and underscores.
func Lookup(name string) (workload.Model, error) { return find(name, All()) }

// Find is Lookup, and without a name the workload of a model file of the user.
func Find(name, path string) (workload.Model, error) {
	if name == "" && path != "" {
		return own.Model(path), nil
	}
	return Lookup(name)
}

// LookupAny is Lookup with the benchmarks of RemoteModels, for servers of text and for scoring logs.
func LookupAny(name string) (workload.Model, error) {
	return find(name, slices.Concat(All(), RemoteModels()))
}

// InRound returns the benchmark that a name means in the rules of a version: m, which has the name, unless another one has it in
// that round.
func InRound(version, name string, m workload.Model) workload.Model {
	if m.Rules.In(version) {
		return m
	}
	for _, other := range slices.Concat(All(), RemoteModels()) {
		has := func(n string) bool { return userinput.Same(n, name) }
		if other.Rules.In(version) && slices.ContainsFunc(other.Rules.Listed(), has) {
			return other
		}
	}
	return m
}

// find prefers a model's own name to aliases.
func find(name string, among []workload.Model) (workload.Model, error) {
	own := func(m workload.Model) bool { return userinput.Same(m.Name, name) }
	other := func(m workload.Model) bool {
		return slices.ContainsFunc(slices.Concat([]string{m.Rules.Name}, m.Aliases, m.Rules.Aliases),
			func(n string) bool { return userinput.Same(n, name) })
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
	return workload.Model{}, fmt.Errorf("unknown model %q%s", name, userinput.Want(name, choices, "one of "+strings.Join(choices, ", ")))
}
