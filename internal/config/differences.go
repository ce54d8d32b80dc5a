package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A Difference is a setting that differs from the rules and the mlperf.conf of the round
// for a model, a scenario and a division.
type Difference struct {
	Key     string // as in conf files
	Value   string // that the test has
	Want    string // by the rules
	Easier  bool   // the test is easier than the rules', or another one: a caveat
	Allowed bool   // easier, but the division leaves it to the submitter: a note
	Origin  string // who made the setting
}

func (d Difference) String() string {
	division, key := "closed division: ", d.Key
	if d.Allowed || !d.Easier {
		division = ""
	}
	if key == "arrivals" {
		return fmt.Sprintf("not of the rules: queries arrive by %s instead of %s", d.Value, d.Want)
	}
	if key == "target_latency" { // in other scenarios an expectation
		key = "the latency bound"
	}
	return fmt.Sprintf("%s%s is %s instead of the official %s", division, key, d.Value, d.Want)
}

// Remark says why a difference is not a caveat. Text is the difference in words.
func (d Difference) Remark(division Division, text string) string {
	if d.Allowed {
		return fmt.Sprintf("%v division: %s", division, text)
	}
	return text + ": harder than the rules, or without effect on them"
}

// A Division is one of a submission: it decides what a submitter may change.
type Division uint8

// The divisions, in the order of rounds.Divisions. In the open one, a submitter may choose bounds and percentiles, and says so.
const (
	Closed Division = iota
	Open
	Network // as closed, with the system under test behind a network
)

func (d Division) String() string { return rounds.Divisions()[d] }

// ParseDivision returns the division of a name. Empty: closed.
func ParseDivision(name string) (Division, error) {
	if name == "" {
		return Closed, nil
	}
	if i := slices.Index(rounds.Divisions(), strings.ToLower(name)); i >= 0 {
		return Division(i), nil
	}
	return Closed, fmt.Errorf("unknown division %q, want closed, open or network", name)
}

// Differences compares settings with those of the rules, field by field. The settings are
// those of r or what became of them: a bound may have been raised by measuring.
func (r *Resolved) Differences(s settings, division Division) ([]Difference, error) {
	model := r.model
	model.Name = r.ConfName // of the interactive variant, too
	official, err := Resolve(Request{Model: model, Scenario: s.Scenario, Rules: r.Rules})
	if err != nil {
		return nil, err
	}
	want := official.Settings
	// What no conf has: before early stopping, the numbers of queries were fixed.
	want.MinDuration = max(want.MinDuration, r.Rules.MinDuration)
	if !r.Rules.EarlyStopping && s.Scenario != loadgen.Offline {
		want.MinQueryCount = max(want.MinQueryCount, r.Rules.MinQueries(s.Scenario, r.model))
	}
	if m, ok := r.Rules.Minima(r.model); ok && s.PerformanceSampleCountOverride != 0 { // 0: all
		want.PerformanceSampleCountOverride = max(want.PerformanceSampleCountOverride, m.PerformanceSamples)
	}
	onlyAccuracy := s.Mode == loadgen.AccuracyOnly && !s.Test05 // LoadGen makes any test with TEST05 one of performance
	var list []Difference
	for _, f := range fieldRules {
		if f.applies != nil && !f.applies(s, want) || onlyAccuracy && !f.accuracy {
			continue
		}
		if easier, differs := f.compare(s, want); differs {
			list = append(list, Difference{
				Key: f.key, Value: f.text(s), Want: f.text(want), Easier: easier,
				Allowed: easier && f.open && division == Open, Origin: r.Origin(f.key),
			})
		}
	}
	return list, nil
}

type settings = loadgen.TestSettings

// A strictness is how values of a field make a test easier.
type strictness uint8

const (
	least   strictness = iota // less than the rules' is easier
	most                      // more than the rules' is easier
	exactly                   // any other makes another test, which counts as easier
	harder                    // any other can only make the test harder
)

// A fieldRule is how a field of TestSettings is compared with the rules.
type fieldRule struct {
	field string // of loadgen.TestSettings
	key   string // in conf files
	kind  strictness
	value func(settings) any

	open     bool // the open division leaves it to the submitter
	accuracy bool // it also decides what an accuracy run is worth
	percent  bool // the value is a fraction
	// unlimited: 0 means all, or no limit.
	unlimited bool
	// applies reports whether the field has an effect; nil: always.
	applies func(s, official settings) bool
}

// compare reports whether the field differs from the rules', and whether that is easier.
func (f fieldRule) compare(s, official settings) (easier, differs bool) {
	have, want := f.value(s), f.value(official)
	if have == want {
		return false, false
	}
	switch f.kind {
	case least:
		return f.number(have) < f.number(want), true
	case most:
		return f.number(have) > f.number(want), true
	}
	return f.kind == exactly, true
}

func (f fieldRule) number(v any) float64 {
	n := 0.0
	switch v := v.(type) {
	case time.Duration:
		n = float64(v)
	case uint64:
		n = float64(v)
	case float64:
		n = v
	}
	if n == 0 && f.unlimited {
		return math.Inf(1)
	}
	return n
}

func (f fieldRule) text(s settings) string {
	v := f.value(s)
	switch n, real := v.(float64); {
	case f.percent:
		return fmt.Sprintf("%.6g %%", n*100)
	case real:
		return fmt.Sprintf("%.6g", n)
	case f.unlimited && f.number(v) == math.Inf(1):
		return "all"
	case f.kind == harder && f.number(v) == 0:
		return "none" // no limit
	}
	return fmt.Sprint(v)
}

// in makes the condition of a field that has an effect in some scenarios only.
func in(scenarios ...loadgen.Scenario) func(s, official settings) bool {
	return func(s, _ settings) bool { return slices.Contains(scenarios, s.Scenario) }
}

// withTokens reports whether a field has an effect that it has in Server with token latencies only.
func withTokens(s, official settings) bool {
	return s.Scenario == loadgen.Server && s.UseTokenLatencies && official.UseTokenLatencies
}

// fieldRules has the fields of TestSettings that are compared; a test has the others. Sources:
// inference_policies, "Scenarios" and "LoadGen Operation"; loadgen/mlperf.conf of the rounds,
// which marks the settings that only the open division may change; compliance/nvidia for those
// of its tests.
var fieldRules = []fieldRule{
	// Bounds and percentiles.
	{field: "SingleStreamTargetLatencyPercentile", key: "target_latency_percentile", kind: least, open: true, percent: true,
		applies: in(loadgen.SingleStream), value: func(s settings) any { return s.SingleStreamTargetLatencyPercentile }},
	{field: "MultiStreamTargetLatencyPercentile", key: "target_latency_percentile", kind: least, open: true, percent: true,
		applies: in(loadgen.MultiStream), value: func(s settings) any { return s.MultiStreamTargetLatencyPercentile }},
	{field: "ServerTargetLatencyPercentile", key: "target_latency_percentile", kind: least, open: true, percent: true,
		applies: in(loadgen.Server), value: func(s settings) any { return s.ServerTargetLatencyPercentile }},
	{field: "ServerTargetLatency", key: "target_latency", kind: most, open: true,
		applies: func(s, official settings) bool {
			return s.Scenario == loadgen.Server && !s.UseTokenLatencies && !official.UseTokenLatencies
		},
		value: func(s settings) any { return s.ServerTargetLatency }},
	{field: "ServerTTFTLatency", key: "ttft_latency", kind: most, open: true,
		applies: withTokens, value: func(s settings) any { return s.ServerTTFTLatency }},
	{field: "ServerTPOTLatency", key: "tpot_latency", kind: most, open: true,
		applies: withTokens, value: func(s settings) any { return s.ServerTPOTLatency }},
	{field: "UseTokenLatencies", key: "use_token_latencies", kind: exactly, open: true,
		value: func(s settings) any { return s.UseTokenLatencies }},
	{field: "InferTokenLatencies", key: "infer_token_latencies", kind: exactly, open: true,
		value: func(s settings) any { return s.InferTokenLatencies }},
	{field: "TokenLatencyScalingFactor", key: "token_latency_scaling_factor", kind: exactly, open: true,
		applies: func(s, _ settings) bool { return s.InferTokenLatencies },
		value:   func(s settings) any { return s.TokenLatencyScalingFactor }},
	// The MultiStream of rules before v2.0: the interval follows from the rate.
	{field: "MultiStreamQPS", key: "target_qps", kind: least, open: true,
		applies: in(loadgen.MultiStream), value: func(s settings) any { return s.MultiStreamQPS }},
	{field: "WithoutEarlyStopping", key: "early_stopping", kind: exactly,
		applies: func(s, official settings) bool { return s.WithoutEarlyStopping != official.WithoutEarlyStopping },
		value:   func(s settings) any { return s.WithoutEarlyStopping }},

	// The traffic: samples, numbers, durations.
	{field: "MinDuration", key: "min_duration", kind: least, value: func(s settings) any { return s.MinDuration }},
	{field: "MaxDuration", key: "max_duration", kind: harder, value: func(s settings) any { return s.MaxDuration }},
	// Offline has one query, whose samples count: as many as the setting, or as last for min_duration at the expected rate.
	{field: "MinQueryCount", key: "min_query_count", kind: least,
		applies: func(s, official settings) bool {
			return s.Scenario != loadgen.Offline || s.MinQueryCount > official.MinQueryCount || s.Effective(0, 0).SamplesPerQuery < official.MinQueryCount
		},
		value: func(s settings) any { return s.MinQueryCount }},
	{field: "MaxQueryCount", key: "max_query_count", kind: harder, value: func(s settings) any { return s.MaxQueryCount }},
	// At fixed intervals the samples of a query are the result.
	{field: "MultiStreamSamplesPerQuery", key: "samples_per_query", kind: least, open: true,
		applies: func(s, _ settings) bool { return s.Scenario == loadgen.MultiStream && s.MultiStreamQPS == 0 },
		value:   func(s settings) any { return s.MultiStreamSamplesPerQuery }},
	{field: "QSLRNGSeed", key: "qsl_rng_seed", kind: exactly, value: func(s settings) any { return s.QSLRNGSeed }},
	{field: "SampleIndexRNGSeed", key: "sample_index_rng_seed", kind: exactly, value: func(s settings) any { return s.SampleIndexRNGSeed }},
	{field: "ScheduleRNGSeed", key: "schedule_rng_seed", kind: exactly,
		applies: in(loadgen.Server), value: func(s settings) any { return s.ScheduleRNGSeed }},
	{field: "ServerArrivals", key: "arrivals", kind: exactly,
		applies: in(loadgen.Server), value: func(s settings) any { return s.ServerArrivals }},
	{field: "PerformanceSampleCountOverride", key: "performance_sample_count_override", kind: least, unlimited: true,
		value: func(s settings) any { return s.PerformanceSampleCountOverride }},
	{field: "AccuracySampleCountOverride", key: "accuracy_sample_count_override", kind: least, unlimited: true, accuracy: true,
		applies: func(s, _ settings) bool { return s.Mode != loadgen.PerformanceOnly },
		value:   func(s settings) any { return s.AccuracySampleCountOverride }},
	{field: "PerformanceIssueUnique", key: "performance_issue_unique", kind: exactly, value: func(s settings) any { return s.PerformanceIssueUnique }},
	{field: "PerformanceIssueSame", key: "performance_issue_same", kind: exactly, value: func(s settings) any { return s.PerformanceIssueSame }},
	{field: "SampleConcatenatePermutation", key: "sample_concatenate_permutation", kind: exactly,
		value: func(s settings) any { return s.SampleConcatenatePermutation }},
	{field: "ServerMaxAsyncQueries", key: "max_async_queries", kind: harder,
		applies: in(loadgen.Server), value: func(s settings) any { return s.ServerMaxAsyncQueries }},
	{field: "Test05", key: "test05", kind: exactly, value: func(s settings) any { return s.Test05 }},
}
