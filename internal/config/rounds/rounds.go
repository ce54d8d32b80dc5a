package rounds

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/semver"
)

//go:embed rounds.json
var tables []byte

//go:embed older.json
var olderTable []byte

// A Metric is a metric of accuracy and its bound.
type Metric struct {
	Name  string  `json:"name"`
	Bound float64 `json:"bound"`
}

// TokenLimits are the bounds of the 99th percentiles of a language model.
type TokenLimits struct {
	TTFT int64 `json:"ttft"` // ns
	TPOT int64 `json:"tpot"` // ns
}

// A Model is what a round asks of a benchmark. A field that the round does not have is nil or
// 0: the official checker then fails the result.
type Model struct {
	Listed             bool                   `json:"listed"`              // an official name of the round
	Required           map[string][]string    `json:"required"`            // scenarios by kind of system
	Optional           map[string][]string    `json:"optional"`            // the same
	Accuracy           map[string][]Metric    `json:"accuracy"`            // least values by scenario; "": of all
	Limits             []Metric               `json:"limits"`              // greatest values
	Delta              map[string]float64     `json:"delta"`               // percent that a baseline may differ, by metric
	PerformanceSamples *int64                 `json:"performance_samples"` // least performance sample count
	AccuracySamples    map[string]int64       `json:"accuracy_samples"`    // samples of the accuracy run by scenario; "": of all
	LatencyNS          map[string]int64       `json:"latency_ns"`          // greatest target latency by scenario
	MinQueries         map[string]int64       `json:"min_queries"`         // least min_query_count by scenario
	OfflineSamples     *int64                 `json:"offline_samples"`     // least samples_per_query in Offline
	Tests              []string               `json:"tests"`               // compliance tests
	Metric             map[string]string      `json:"metric"`              // key of the result by scenario, where not the round's
	TokenLimitsNS      map[string]TokenLimits `json:"token_limits_ns"`     // by scenario
	UsesTokens         bool                   `json:"uses_tokens"`         // must measure token latencies
	Units              map[string]string      `json:"units"`               // by scenario, where not the usual
	Files              map[string][]string    `json:"files"`               // folders beside accuracy.txt, and the files in them
	Endpoints          bool                   `json:"endpoints"`           // may be measured without LoadGen
	Shown              map[string][]string    `json:"shown"`               // scenarios of the final report by suite; of one without a list: all
}

// Seeds are the seeds of a round.
type Seeds struct {
	QSL         uint64 `json:"qsl_rng_seed"`
	SampleIndex uint64 `json:"sample_index_rng_seed"`
	Schedule    uint64 `json:"schedule_rng_seed"`
}

// A Round is the rules of a round.
type Round struct {
	Version         string            `json:"-"`
	Seeds           Seeds             `json:"seeds"`
	Aliases         map[string]string `json:"aliases"`          // other names of models
	Metric          map[string]string `json:"metric"`           // key of the result by scenario
	EndpointsMetric map[string]string `json:"endpoints_metric"` // the same without LoadGen, scenarios in small letters
	Models          map[string]*Model `json:"models"`
}

// Endpoints says how the files of a system that was measured without LoadGen translate
// to keys of LoadGen's log.
type Endpoints struct {
	Keys         map[string]string `json:"keys"`
	YAML         map[string]string `json:"yaml"`
	Alternatives map[string]string `json:"alternatives"`
	Audits       map[string]string `json:"audits"`
	OutputTokens struct {
		Least float64 `json:"least"`
		Most  float64 `json:"most"`
	} `json:"output_tokens"`
}

// An olderModel is what the rounds from First to Last, all before v5.0, ask of a benchmark.
type olderModel struct {
	Name  string `json:"name"`
	First string `json:"first"`
	Last  string `json:"last"`
	Model
}

// of reports whether a version of the rules is one of the row's.
func (o *olderModel) of(version string) bool {
	return !Before(version, o.First) && !Before(o.Last, version)
}

var older = sync.OnceValue(func() (rows []olderModel) {
	if err := json.Unmarshal(olderTable, &rows); err != nil {
		panic(err) // built into the program, and tested
	}
	return rows
})

type all struct {
	Rounds       map[string]*Round   `json:"rounds"`
	PowerSources []map[string]string `json:"power_sources"`
	Endpoints    Endpoints           `json:"endpoints"`
}

var load = sync.OnceValue(func() *all {
	a := &all{}
	if err := json.Unmarshal(tables, a); err != nil {
		panic(err) // built into the program, and tested
	}
	for version, r := range a.Rounds {
		r.Version = version
	}
	return a
})

// Divisions lists those of a submission.
func Divisions() []string { return []string{"closed", "open", "network"} }

// Versions lists the rounds, oldest first.
func Versions() []string { return slices.SortedFunc(maps.Keys(load().Rounds), semver.Compare) }

// Before reports whether a version of the rules is older than another: v2.1 is before v10.0. A text that is not a version is before all versions.
func Before(version, other string) bool { return semver.Compare(version, other) < 0 }

// Find returns the rules of a round.
func Find(version string) (*Round, error) {
	if r, ok := load().Rounds[version]; ok {
		return r, nil
	}
	return nil, fmt.Errorf("rules %q: must be one of %s", version, strings.Join(Versions(), ", "))
}

// PowerSources lists the checksums of the programs for power that the rules accept:
// each is all the files of one release.
func PowerSources() []map[string]string { return load().PowerSources }

// InFractions reports whether mlcommons/endpoints (at ea332753, evaluation/scoring.py) writes scores of a benchmark from 0 to 1, whatever
// the scale of its target; others are in the scale of the target.
func InFractions(benchmark string) bool {
	return slices.Contains([]string{"qwen3-vl-235b-a22b", "qwen3.6-27b", "wan-2.2-t2v-a14b", "gpt-oss-120b"}, benchmark)
}

// EndpointKeys returns how files of a system without LoadGen are read.
func EndpointKeys() Endpoints { return load().Endpoints }

// Before6 reports whether the round is older than v6.0, when measurements and compliance
// tests had folders of their own.
func (r *Round) Before6() bool { return Before(r.Version, "v6") }

// ModelName returns the official name of a benchmark. own is its name in the
// submitter's model_mapping.json, or "". An unknown name stays as it is.
func (r *Round) ModelName(name, own string) string {
	if m := r.Models[name]; m != nil && m.Listed {
		return name
	}
	if alias := r.Aliases[name]; alias != "" {
		return alias
	}
	if own != "" {
		return own
	}
	name = guess(name)
	if alias := r.Aliases[name]; alias != "" {
		return alias
	}
	return name
}

// guess is the official checker's guess which benchmark a name means that no table has.
func guess(name string) string {
	for _, known := range []struct{ part, model string }{
		{"mobilenet", "resnet"}, {"efficientnet", "resnet"}, {"resnet50", "resnet"},
		{"bert-99.9", "bert-99.9"}, {"bert-99", "bert-99"}, {"llama3_1-405b", "llama3.1-405b"},
	} {
		if strings.Contains(name, known.part) {
			return known.model
		}
	}
	return name
}

// Official returns the official name of a benchmark in any version of the rules. An unknown name stays as it is.
func Official(version, name string) string {
	if r, err := Find(version); err == nil {
		return r.ModelName(name, "")
	}
	if slices.Contains(Benchmarks(version), name) {
		return name
	}
	return guess(name)
}

// Listed returns the official names of the round's models.
func (r *Round) Listed() []string {
	names := []string{}
	for name, m := range r.Models {
		if m.Listed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Model returns what the round asks of a model by its official name; an empty Model if it is
// unknown.
func (r *Round) Model(name string) *Model {
	if m := r.Models[name]; m != nil {
		return m
	}
	return &Model{}
}

// ModelOf returns what the rules of any version ask of a benchmark by the first of its names that the round lists; false: the
// round does not have it.
func ModelOf(version string, names ...string) (*Model, bool) {
	for _, name := range names {
		if r, err := Find(version); err == nil {
			if m := r.Model(name); m.Listed {
				return m, true
			}
			continue
		}
		for i, row := range older() {
			if row.Name == name && row.of(version) {
				return &older()[i].Model, true
			}
		}
	}
	return nil, false
}

// Benchmarks lists the official names of the benchmarks of any version of the rules, sorted.
func Benchmarks(version string) []string {
	if r, err := Find(version); err == nil {
		return r.Listed()
	}
	var names []string
	for _, row := range older() {
		if row.of(version) {
			names = append(names, row.Name)
		}
	}
	return names
}

// Categories lists the kinds of systems.
func Categories() []string { return []string{"datacenter", "edge", "datacenter-edge"} }

// InOrder returns scenarios in the order in which they are run and shown.
func InOrder(scenarios []string) []string {
	order := []string{"SingleStream", "MultiStream", "Server", "Interactive", "Offline"}
	return slices.SortedFunc(slices.Values(scenarios), func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
}

// Has reports whether systems of some category may have results of a scenario. Where the checker has no list, as in v0.5, they may.
func (m *Model) Has(scenario string) bool {
	if len(m.Required) == 0 && len(m.Optional) == 0 {
		return true
	}
	return slices.ContainsFunc(Categories(), func(category string) bool {
		return slices.Contains(m.Required[category], scenario) || slices.Contains(m.Optional[category], scenario)
	})
}

// WantsServer reports whether the checker wants Server or Interactive of a kind of systems, which of them is free.
func (m *Model) WantsServer(category string) bool {
	optional := m.Optional[category]
	return slices.Contains(optional, "Server") && slices.Contains(optional, "Interactive")
}

var scenarios = []string{"SingleStream", "MultiStream", "Server", "Offline", "Interactive"}

// Scenario returns the scenario that a folder names, in any case, or "".
func Scenario(folder string) string {
	for _, s := range scenarios {
		if strings.EqualFold(s, folder) {
			return s
		}
	}
	return ""
}

// AccuracyOf returns the metrics of a scenario's folder; nil: unknown.
func (m *Model) AccuracyOf(folder string) []Metric {
	for _, key := range []string{"", Scenario(folder), folder, "default", "Offline", "Server"} {
		if metrics := m.Accuracy[key]; metrics != nil {
			return metrics
		}
	}
	return nil
}

// AccuracySamplesOf returns how many samples the accuracy run of a folder has. The
// official checker looks for the folder's name as it is spelled where the number
// depends on it. ok is false where there is no number.
func (m *Model) AccuracySamplesOf(folder string) (count int64, ok bool) {
	for _, key := range []string{"", folder, strings.ToLower(folder)} {
		if count, ok = m.AccuracySamples[key]; ok {
			return count, true
		}
	}
	return 0, false
}

// Delta returns how many percent a metric of a model may differ between the accuracy run and
// the same samples in TEST01.
func (r *Round) Delta(model, metric string) float64 {
	if most, own := r.Model(model).Delta[metric]; own {
		return most
	}
	if strings.Contains(model, "99.9") {
		return 0.1
	}
	return 1
}

// UnitOf returns the unit of a result.
func (m *Model) UnitOf(scenario string) string {
	if unit := m.Units[scenario]; unit != "" {
		return unit
	}
	switch scenario {
	case "Offline":
		return "Samples/s"
	case "Server", "Interactive":
		return "Queries/s"
	}
	return "Latency (ms)"
}

// Benchmark returns the official name of a model by the first of some names that the round
// lists or knows as another name, as it is or with -99 behind it; "" if there is none. Unlike
// ModelName it does not guess.
func (r *Round) Benchmark(names ...string) string {
	for _, name := range names {
		for _, n := range []string{name, r.Aliases[name], name + "-99"} {
			if r.Model(n).Listed {
				return n
			}
		}
	}
	return ""
}

// Other reports whether a model is another network than the benchmark that the official
// checker takes it for: it may stand for that in the open division only.
func Other(model string) bool {
	return slices.Contains([]string{"mobilenet", "ssd-resnet34"}, model)
}
