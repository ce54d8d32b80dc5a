package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/configs"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A RuleSet is the rules of a round of MLPerf Inference.
type RuleSet struct {
	Version string
	Conf    *Conf // the round's mlperf.conf

	// MinDuration is the least duration of a run. The conf has the same, but may be
	// overridden.
	MinDuration time.Duration
	MultiStream MultiStreamKind
	// ServerRuns is how many Server runs make a result: the lowest counts.
	ServerRuns int
	// EarlyStopping decides whether there were enough queries. Before it, fixed numbers
	// of queries did (MinQueries).
	EarlyStopping bool
	// OpenSeeds: LoadGen took the seeds from user.conf and audit.config too.
	OpenSeeds bool
	// Test05 are the seeds of compliance test TEST05 where the conf does not have them.
	Test05 Seeds
}

// Seeds decide the traffic of a test: which samples are loaded together, which of
// them are issued in which order, and when.
type Seeds struct{ QSL, SampleIndex, Schedule uint64 }

// RulesBySeed returns the rules whose mlperf.conf has a qsl_rng_seed. Each round has its own.
func RulesBySeed(qsl uint64) (*RuleSet, bool) {
	for _, version := range Versions() {
		rules, err := Rules(version)
		if err != nil {
			continue
		}
		if r, err := Resolve(Request{Model: Model{Name: "resnet50"}, Scenario: loadgen.Offline, Rules: rules}); err == nil && r.Settings.QSLRNGSeed == qsl {
			return rules, true
		}
	}
	return nil, false
}

// NewestSeeds are the seeds of the rules Newest, for what shows them before any file of rules is read.
func NewestSeeds() Seeds {
	return Seeds{QSL: 2085463073848966840, SampleIndex: 2747215439041700203, Schedule: 16159082839903944936}
}

// A MultiStreamKind is what a round means by MultiStream.
type MultiStreamKind uint8

const (
	// NoMultiStream: the round has no such scenario.
	NoMultiStream MultiStreamKind = iota
	// FixedIntervalQueries: a query every interval, skipped while the last one is still
	// running. The result is the number of samples per query, found by search.
	FixedIntervalQueries
	// BackToBackQueries: the next query follows the answer. The result is a percentile
	// of the query latency.
	BackToBackQueries
)

// Newest is the version of the newest rule set.
const Newest = "v6.1"

// ruleSets returns the table of all rounds, oldest first. Sources: inference_rules.adoc
// at the time of each round (scenario table, number of runs), LoadGen's FromConfig at
// each tag, and tools/submission (TEST05 seeds before they were in mlperf.conf).
func ruleSets() []RuleSet {
	test05 := Seeds{313588358309856706, 471397156132239067, 413914573387865862}
	const minute = time.Minute
	return []RuleSet{
		{Version: "v0.5", MinDuration: minute, MultiStream: FixedIntervalQueries, ServerRuns: 5, OpenSeeds: true, Test05: Seeds{195, 235, 634}},
		{Version: "v0.7", MinDuration: minute, MultiStream: FixedIntervalQueries, ServerRuns: 5, OpenSeeds: true, Test05: test05},
		{Version: "v1.0", MinDuration: 10 * minute, MultiStream: FixedIntervalQueries, ServerRuns: 1, OpenSeeds: true, Test05: test05},
		{Version: "v1.1", MinDuration: 10 * minute, MultiStream: NoMultiStream, ServerRuns: 1, OpenSeeds: true, Test05: test05},
		{Version: "v2.0", MinDuration: 10 * minute, MultiStream: BackToBackQueries, ServerRuns: 1, EarlyStopping: true, OpenSeeds: true, Test05: test05},
		{Version: "v2.1", MinDuration: 10 * minute, MultiStream: BackToBackQueries, ServerRuns: 1, EarlyStopping: true, OpenSeeds: true, Test05: test05},
		{Version: "v3.0", MinDuration: 10 * minute, MultiStream: BackToBackQueries, ServerRuns: 1, EarlyStopping: true, OpenSeeds: true},
		{Version: "v3.1", MinDuration: 10 * minute, MultiStream: BackToBackQueries, ServerRuns: 1, EarlyStopping: true, OpenSeeds: true},
		{Version: "v4.0", MinDuration: 10 * minute, MultiStream: BackToBackQueries, ServerRuns: 1, EarlyStopping: true, OpenSeeds: true},
		{Version: "v4.1", MinDuration: 10 * minute, MultiStream: BackToBackQueries, ServerRuns: 1, EarlyStopping: true, OpenSeeds: true},
		{Version: "v5.0", MinDuration: 10 * minute, MultiStream: BackToBackQueries, ServerRuns: 1, EarlyStopping: true},
		{Version: "v5.1", MinDuration: 10 * minute, MultiStream: BackToBackQueries, ServerRuns: 1, EarlyStopping: true},
		{Version: "v6.0", MinDuration: 10 * minute, MultiStream: BackToBackQueries, ServerRuns: 1, EarlyStopping: true},
		{Version: "v6.1", MinDuration: 10 * minute, MultiStream: BackToBackQueries, ServerRuns: 1, EarlyStopping: true},
	}
}

// Versions lists the rule sets, oldest first.
func Versions() []string {
	var list []string
	for _, r := range ruleSets() {
		list = append(list, r.Version)
	}
	return list
}

// Rules returns the rule set of a version: v6.1, or 6.1. Empty: the newest.
func Rules(version string) (*RuleSet, error) {
	if version == "" {
		version = Newest
	}
	wanted := "v" + strings.TrimPrefix(strings.ToLower(version), "v")
	all := ruleSets()
	i := slices.IndexFunc(all, func(r RuleSet) bool { return r.Version == wanted })
	if i < 0 {
		return nil, fmt.Errorf("unknown rules %q: must be one of %s", version, strings.Join(Versions(), ", "))
	}
	r := &all[i]
	name, text, ok := configs.MLPerfConf(wanted)
	if !ok {
		return nil, fmt.Errorf("the settings of rules %s are not built in", wanted)
	}
	conf, err := ParseConf(name, text, ParseOptions{})
	if err != nil {
		return nil, fmt.Errorf("rules %s: %w", wanted, err)
	}
	r.Conf = conf
	return r, nil
}

// ParseScenario returns the scenario of a name; case, hyphens and underscores do not
// matter. Interactive is Server with the stricter limits of Model.Interactive.
func ParseScenario(name string) (s loadgen.Scenario, isInteractive bool, err error) {
	if userinput.Same(name, interactive) {
		return loadgen.Server, true, nil
	}
	s, err = loadgen.ParseScenario(name)
	if err != nil {
		err = fmt.Errorf("unknown scenario %q%s", name,
			userinput.Want(name, []string{"SingleStream", "MultiStream", "Server", "Offline", "Interactive"},
				"SingleStream, MultiStream, Server, Offline or Interactive"))
	}
	return s, false, err
}

// A Model is a benchmark as the rules and the conf files know it. Package models has such a value for each.
type Model struct {
	Name    string      // in the rules' mlperf.conf
	Aliases []string    // other names of the rules and of submissions, by which conf files may call it too
	Sample  *SampleSize // on the network; nil: the rules have no formula
	// Earlier are its sizes in rounds before a change of the rules, oldest first.
	Earlier []EarlierSize
	// Strict: the benchmark of 99.9 % of the reference's accuracy, which has the settings and aliases of the one of 99 %.
	Strict bool
	// Interactive: its scenario Interactive, which has bounds, a target and maybe a data set of its own.
	Interactive bool
	// Once: its tests pass over the data once, however long that takes (e2e-rag, user.conf; the submission checker wants no duration).
	Once bool
	// First and Last are the rounds whose benchmark of these names it is, where another one has the same names in other rounds;
	// empty: no such bound.
	First, Last string
}

// In reports whether a benchmark of these names in the round of a version would be this one.
func (m Model) In(version string) bool {
	return !rounds.Before(version, m.First) && (m.Last == "" || !rounds.Before(m.Last, version))
}

// Asked returns what the rules of a version ask of the model; false: the round does not have it.
func (m Model) Asked(version string) (*rounds.Model, bool) {
	if !m.In(version) {
		return nil, false
	}
	return rounds.ModelOf(version, m.Listed()...)
}

// AskedLast returns what the newest round that has the model asks of it.
func (m Model) AskedLast() (*rounds.Model, bool) {
	for _, version := range slices.Backward(Versions()) {
		if asked, ok := m.Asked(version); ok {
			return asked, true
		}
	}
	return nil, false
}

// Minima are the numbers that the submission checker of a round asks of a closed
// submission. 0: it asks nothing.
type Minima struct {
	PerformanceSamples uint64        // in memory at once, at least
	AccuracySamples    uint64        // of the accuracy run, exactly
	OfflineSamples     uint64        // of the Offline query, at least
	ServerLatency      time.Duration // target latency of Server, at most
}

// A SampleSize is the size of a sample on the network: values of the input and output type,
// and bytes whose type the rules fix. Negligible sizes are 0.
type SampleSize struct {
	InValues, OutValues uint64
	InBytes             uint64
}

// An EarlierSize is a SampleSize of the rounds before a version (history of inference_rules.adoc in mlcommons/inference_policies).
type EarlierSize struct {
	Before string
	SampleSize
}

// firstBandwidth is the first round whose rules have a bandwidth (inference_rules.adoc, appendix "Datacenter Bandwidth
// Requirements").
const firstBandwidth = "v2.0"

// sampleIn is the size of a sample in the rules of a version; false: they have none.
func (m Model) sampleIn(version string) (SampleSize, bool) {
	if m.Sample == nil || rounds.Before(version, firstBandwidth) {
		return SampleSize{}, false
	}
	for _, e := range m.Earlier {
		if rounds.Before(version, e.Before) {
			return e.SampleSize, true
		}
	}
	return *m.Sample, true
}

// Is reports whether a name is one of the model's, in any case.
func (m Model) Is(name string) bool {
	return strings.EqualFold(name, m.Name) || slices.ContainsFunc(m.Aliases, func(a string) bool { return strings.EqualFold(a, name) })
}

// ConfName returns the name under which conf files have the settings of the model, or of its Interactive.
func (m Model) ConfName() string {
	if m.Interactive {
		return m.Name + interactiveSuffix
	}
	return m.Name
}

// confNames lists all names under which a user's conf files may have the settings.
func (m Model) confNames() []string {
	names := m.Names()
	for i := range names {
		names[i] = Model{Name: names[i], Interactive: m.Interactive}.ConfName()
	}
	return names
}

// Names lists the names of the model.
func (m Model) Names() []string { return append([]string{m.Name}, m.Aliases...) }

// Listed lists the names by which rounds may list the benchmark: those that end in -99.9 are the strict one's.
func (m Model) Listed() []string {
	return slices.DeleteFunc(m.Names(), func(name string) bool { return strings.HasSuffix(name, "-99.9") != m.Strict })
}

// Minima returns what the checker of the round asks of a model; false if the round does not have the model.
func (r *RuleSet) Minima(m Model) (Minima, bool) {
	asked, ok := m.Asked(r.Version)
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
	loaded, bound := value(asked.PerformanceSamples), "Server"
	if m.Interactive {
		bound = interactive
		if own, _ := asked.AccuracySamplesOf(interactive); own != accuracy { // a data set of its own
			accuracy, loaded = own, uint64(own)
		}
	}
	min := Minima{
		PerformanceSamples: loaded, AccuracySamples: uint64(accuracy), OfflineSamples: value(asked.OfflineSamples),
		ServerLatency: time.Duration(asked.LatencyNS[bound]),
	}
	// The newest checker leaves out a benchmark that no round after has.
	for _, version := range slices.Backward(Versions()) {
		if before, ok := m.Asked(version); ok && rounds.Before(version, r.Version) && min.OfflineSamples == 0 {
			min.OfflineSamples = value(before.OfflineSamples)
		}
	}
	return min, true
}

// A Category has the scenarios of a benchmark that the rules require of a kind of systems, and those that they allow beside them.
type Category struct {
	Name     string   `json:"name"` // datacenter, edge, or datacenter-edge: both
	Required []string `json:"required"`
	Optional []string `json:"optional,omitempty"`
}

// Categories returns the scenarios that the round has for a model; nil: it does not have the model, or, as v0.5, no list.
func (r *RuleSet) Categories(m Model) (list []Category) {
	asked, ok := m.Asked(r.Version)
	if !ok {
		return nil
	}
	for _, name := range rounds.Categories() {
		if c := (Category{name, rounds.InOrder(asked.Required[name]), rounds.InOrder(asked.Optional[name])}); len(c.Required)+len(c.Optional) > 0 {
			list = append(list, c)
		}
	}
	return list
}

// HasScenario reports whether the round has a scenario for a model; of models that it does not have, that is not known.
func (r *RuleSet) HasScenario(m Model, s loadgen.Scenario) bool {
	if s == loadgen.MultiStream && r.MultiStream == NoMultiStream {
		return false
	}
	asked, ok := m.Asked(r.Version)
	return !ok || asked.Has(s.String())
}

// MinQueries returns how many queries (Offline: samples of the one query) the rules and the checker of the round ask for in a
// scenario of a model: where early stopping decides, the number is not enforced and only a good start. 0: the round does not
// have the scenario. Where the checker has no number, it is that of the scenario table of inference_rules.adoc.
func (r *RuleSet) MinQueries(s loadgen.Scenario, m Model) uint64 {
	const singleStreamQueries, imageQueries, offlineSamples = 1024, 270336, 24576
	if s == loadgen.Offline {
		min, _ := r.Minima(m)
		return cmp.Or(min.OfflineSamples, offlineSamples)
	}
	if s == loadgen.MultiStream && r.MultiStream == NoMultiStream {
		return 0
	}
	asked, ok := m.Asked(r.Version)
	if !ok {
		asked, ok = m.AskedLast()
	}
	if ok && asked.MinQueries[s.String()] != 0 {
		return uint64(asked.MinQueries[s.String()])
	}
	if s == loadgen.SingleStream {
		return singleStreamQueries
	}
	return imageQueries
}
