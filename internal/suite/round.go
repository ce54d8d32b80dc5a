package suite

import (
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// ofRound lists what the round asks of systems of the category, in the order of the
// catalogue; what the catalogue lacks comes last, and is said when it is its turn.
func (s *Suite) ofRound() ([]Benchmark, error) {
	round, err := rounds.Find(s.Rules)
	if err != nil {
		return nil, fmt.Errorf("a suite by category: %w", err)
	}
	var list, lacking []Benchmark
	taken := map[string]bool{}
	for _, m := range models.All() {
		name, ok := nameIn(round, m)
		if scenarios := required(round, name, s.Category); ok && !taken[name] && len(scenarios) > 0 {
			taken[name] = true
			list = append(list, Benchmark{Model: m.Name, Scenarios: scenarios})
		}
	}
	for _, name := range listed(round) {
		if scenarios := required(round, name, s.Category); !taken[name] && len(scenarios) > 0 {
			lacking = append(lacking, Benchmark{Model: name, Scenarios: scenarios})
		}
	}
	return append(list, lacking...), nil
}

// nameIn is the round's own name of a model of the catalogue. Models that only resemble one of
// the round's do not count for it.
func nameIn(round *rounds.Round, m workload.Model) (string, bool) {
	for _, name := range append([]string{m.Name, m.Name + "-99", m.Rules.Name}, m.Rules.Aliases...) {
		if known := round.Models[name]; known != nil && known.Listed {
			return name, true
		}
	}
	return "", false
}

func listed(round *rounds.Round) []string {
	var names []string
	for name, m := range round.Models {
		if m.Listed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// scenarioOrder is the order in which scenarios run.
var scenarioOrder = []string{"SingleStream", "MultiStream", "Server", "Interactive", "Offline"}

// required are the scenarios without which the category has no result of the benchmark.
func required(round *rounds.Round, name, category string) []string {
	m := round.Models[name]
	if m == nil {
		return nil
	}
	list := slices.Clone(m.Required[category])
	slices.SortFunc(list, func(a, b string) int { return slices.Index(scenarioOrder, a) - slices.Index(scenarioOrder, b) })
	return list
}
