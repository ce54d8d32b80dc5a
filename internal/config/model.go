package config

import (
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A Model is what the rules and the conf files know of a benchmark. Who has a catalogue of
// benchmarks has such a value for each; this package has none of its own.
type Model struct {
	Name    string   // in the rules' mlperf.conf
	Aliases []string // other names of the rules and of submissions, by which conf files may call it too

	// Minima are what the checkers of the rounds ask of it.
	Minima []RoundMinima
	// Queries are how many queries the rules ask for where that is not the number for all
	// models.
	Queries map[loadgen.Scenario]uint64
	// Sample is what crosses the network for a sample; nil: the rules have no formula.
	Sample *SampleSize
}

// Minima are the numbers that the submission checker of a round asks of a closed
// submission. 0: it asks nothing.
type Minima struct {
	PerformanceSamples uint64        // in memory at once, at least
	AccuracySamples    uint64        // of the accuracy run, exactly
	OfflineSamples     uint64        // of the Offline query, at least
	ServerLatency      time.Duration // target latency of Server, at most
}

// RoundMinima are the Minima of some rounds.
type RoundMinima struct {
	First, Last string // the rounds, both included
	Minima
}

// A SampleSize is what crosses the network for a sample: values of the input and
// output type, and bytes whose type the rules fix. Negligible sizes are 0.
type SampleSize struct {
	InValues, OutValues uint64
	InBytes             uint64
}

// Is reports whether a name is one of the model's, in any case.
func (m Model) Is(name string) bool {
	return strings.EqualFold(name, m.Name) || slices.ContainsFunc(m.Aliases, func(a string) bool { return strings.EqualFold(a, name) })
}

// ConfName returns the name under which conf files have the settings of the model, or of its
// interactive variant.
func (m Model) ConfName(isInteractive bool) string {
	if isInteractive {
		return m.Name + interactiveSuffix
	}
	return m.Name
}

// confNames are all names under which a user's conf files may have the settings.
func (m Model) confNames(isInteractive bool) []string {
	names := []string{m.ConfName(isInteractive)}
	for _, alias := range m.Aliases {
		if isInteractive {
			alias += interactiveSuffix
		}
		names = append(names, alias)
	}
	return names
}

// Minima returns what the checker of the round asks of a model; false if the round
// does not have the model.
func (r *RuleSet) Minima(m Model) (Minima, bool) {
	round := slices.Index(Versions(), r.Version)
	for _, row := range m.Minima {
		first, last := slices.Index(Versions(), row.First), slices.Index(Versions(), row.Last)
		if first <= round && round <= last {
			return row.Minima, true
		}
	}
	return Minima{}, false
}

// offlineSamples is how many samples an Offline query has at least, unless the data
// set has fewer (inference_rules.adoc, scenario table; OFFLINE_MIN_SPQ).
const offlineSamples = 24576

// MinQueries is how many queries (Offline: samples of the one query) the rules and the
// checker of the round ask for in a scenario of a model: where early stopping decides,
// the number is not enforced and only a good start. 0: the round does not have the
// scenario.
//
// Sources: the scenario table of inference_rules.adoc; min-queries and
// OFFLINE_MIN_SPQ in the checker's constants (tools/submission).
func (r *RuleSet) MinQueries(s loadgen.Scenario, m Model) uint64 {
	const singleStreamQueries, imageQueries = 1024, 270336
	own, ok := m.Queries[s]
	switch {
	case s == loadgen.Offline:
		if min, ok := r.Minima(m); ok && min.OfflineSamples > 0 {
			return min.OfflineSamples
		}
		return offlineSamples
	case s == loadgen.MultiStream && r.MultiStream == NoMultiStream:
		return 0
	case ok:
		return own
	case s == loadgen.SingleStream:
		return singleStreamQueries
	}
	return imageQueries
}
