package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/configs"
)

// A RuleSet is what applies in a round of MLPerf Inference.
type RuleSet struct {
	Version string
	Conf    *Conf // the round's mlperf.conf

	// MinDuration is how long the rules ask a run to last. The conf says the same, but
	// may be overridden.
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
		return nil, fmt.Errorf("unknown rules %q, want one of %s", version, strings.Join(Versions(), ", "))
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
