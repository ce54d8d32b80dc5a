package config

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A Model is what the rules and the conf files know of a benchmark. Who has a catalogue of
// benchmarks has such a value for each; this package has none of its own.
type Model struct {
	Name    string   // in the rules' mlperf.conf
	Aliases []string // other names of the rules and of submissions, by which conf files may call it too

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

// Names lists the names of the model.
func (m Model) Names() []string { return append([]string{m.Name}, m.Aliases...) }

// Minima returns what the checker of the round asks of a model; false if the round does not have the model.
func (r *RuleSet) Minima(m Model) (Minima, bool) {
	asked, ok := rounds.ModelOf(r.Version, m.Names()...)
	if !ok {
		return Minima{}, false
	}
	value := func(p *int64) uint64 {
		if p == nil {
			return 0
		}
		return uint64(*p)
	}
	accuracy, _ := asked.AccuracySamplesOf("Offline")
	min := Minima{
		PerformanceSamples: value(asked.PerformanceSamples), AccuracySamples: uint64(accuracy), OfflineSamples: value(asked.OfflineSamples),
		ServerLatency: time.Duration(asked.LatencyNS["Server"]),
	}
	// The newest checker leaves out a benchmark that no round after has.
	for _, version := range slices.Backward(Versions()) {
		if before, ok := rounds.ModelOf(version, m.Names()...); ok && version < r.Version && min.OfflineSamples == 0 {
			min.OfflineSamples = value(before.OfflineSamples)
		}
	}
	return min, true
}

// offlineSamples is how many samples an Offline query has at least, unless the data
// set has fewer (inference_rules.adoc, scenario table; OFFLINE_MIN_SPQ).
const offlineSamples = 24576

// MinQueries returns how many queries (Offline: samples of the one query) the rules and the checker of the round ask for in a
// scenario of a model: where early stopping decides, the number is not enforced and only a good start. 0: the round does not
// have the scenario. Where the checker has no number, it is that of the scenario table of inference_rules.adoc.
func (r *RuleSet) MinQueries(s loadgen.Scenario, m Model) uint64 {
	const singleStreamQueries, imageQueries = 1024, 270336
	if s == loadgen.Offline {
		min, _ := r.Minima(m)
		return cmp.Or(min.OfflineSamples, offlineSamples)
	}
	if s == loadgen.MultiStream && r.MultiStream == NoMultiStream {
		return 0
	}
	asked, ok := rounds.ModelOf(r.Version, m.Names()...)
	if !ok {
		asked, ok = rounds.NewestModelOf(m.Names()...)
	}
	if ok && asked.MinQueries[s.String()] != 0 {
		return uint64(asked.MinQueries[s.String()])
	}
	if s == loadgen.SingleStream {
		return singleStreamQueries
	}
	return imageQueries
}
