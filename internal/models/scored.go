package models

import (
	"slices"

	"github.com/mlperf-go/mlperf/internal/models/generative"
	"github.com/mlperf-go/mlperf/internal/models/speech"
	"github.com/mlperf-go/mlperf/internal/names"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// scored are benchmarks that are not run here, and whose logs can be scored nevertheless.
func scored() []workload.Model { return []workload.Model{speech.Whisper(), generative.Llama405B()} }

// LookupScored is Lookup for what is done with logs and files alone: it also knows benchmarks
// that are not run here.
func LookupScored(name string) (workload.Model, error) {
	m, err := Lookup(name)
	if err == nil {
		return m, nil
	}
	for _, m := range scored() {
		if slices.ContainsFunc(append(m.Aliases, m.Name, m.Rules.Name), func(n string) bool { return names.Same(n, name) }) {
			return m, nil
		}
	}
	return workload.Model{}, err
}
