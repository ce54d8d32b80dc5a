package models

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/models/diffusion"
	"github.com/mlperf-go/mlperf/internal/models/generative"
	"github.com/mlperf-go/mlperf/internal/models/recsys"
	"github.com/mlperf-go/mlperf/internal/models/speech"
	"github.com/mlperf-go/mlperf/internal/models/text"
	"github.com/mlperf-go/mlperf/internal/models/vision"
	"github.com/mlperf-go/mlperf/internal/names"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// All returns the catalogue, in the order in which it is shown. To add a family, add a row.
func All() []workload.Model {
	return slices.Concat(
		vision.Models(),
		text.Models(),
		speech.Models(),
		recsys.Models(),
		generative.Models(),
		diffusion.Models(),
	)
}

// Lookup returns the model of a name, of its own or of those that the rules give it; case,
// hyphens and underscores do not matter.
func Lookup(name string) (workload.Model, error) {
	all := All()
	for _, namesOf := range []func(workload.Model) []string{
		func(m workload.Model) []string { return []string{m.Name} },
		func(m workload.Model) []string {
			return append(append([]string{m.Rules.Name}, m.Aliases...), m.Rules.Aliases...)
		},
	} {
		for _, m := range all {
			if slices.ContainsFunc(namesOf(m), func(n string) bool { return names.Same(n, name) }) {
				return m, nil
			}
		}
	}
	var choices []string
	for _, m := range all {
		choices = append(choices, m.Name)
	}
	slices.Sort(choices)
	return workload.Model{}, fmt.Errorf("unknown model %q, want one of %s%s", name, strings.Join(choices, ", "), names.Meant(name, choices))
}
