package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A Difference is a setting that is not what the rules and the mlperf.conf of the round
// say for a model, a scenario and a division.
type Difference struct {
	Key     string // as in conf files
	Value   string // that the test has
	Want    string // by the rules
	Easier  bool   // the test is easier than the rules', or another one: a caveat
	Allowed bool   // easier, but the division leaves it to the submitter: a note
	Origin  string // who made the setting
}

func (d Difference) String() string {
	division := "closed division: "
	if d.Allowed || !d.Easier {
		division = ""
	}
	return fmt.Sprintf("%s%s is %s instead of the official %s", division, keyTitle(d.Key), d.Value, d.Want)
}

// Remark says why a difference that is no caveat is none. Text is the difference in words.
func (d Difference) Remark(division Division, text string) string {
	if d.Allowed {
		return fmt.Sprintf("%v division: %s", division, text)
	}
	return text + ": harder than the rules, or without effect on them"
}

// keyTitle says in words what a key is, where its name could be misread.
func keyTitle(name string) string {
	if name == "target_latency" {
		return "the latency bound"
	}
	return name
}

// A Division says what a submitter may change.
type Division uint8

// The divisions. In the open one, a submitter may choose bounds and percentiles, and says so.
const (
	Closed Division = iota
	Open
	Network // as closed, with the system under test behind a network
)

func (d Division) String() string { return [...]string{"closed", "open", "network"}[d] }

// ParseDivision returns the division of a name. Empty: closed.
func ParseDivision(name string) (Division, error) {
	if name == "" {
		return Closed, nil
	}
	for _, d := range []Division{Closed, Open, Network} {
		if d.String() == strings.ToLower(name) {
			return d, nil
		}
	}
	return Closed, fmt.Errorf("unknown division %q, want closed, open or network", name)
}

// Differences compares settings with those of the rules, field by field. The settings are
// those of r or what became of them: a bound may have been raised by measuring.
func (r *Resolved) Differences(s loadgen.TestSettings, division Division) ([]Difference, error) {
	official, err := Resolve(Request{Model: Model{Name: r.ConfName}, Scenario: s.Scenario, Rules: r.Rules})
	if err != nil {
		return nil, err
	}
	want := r.Rules.amend(official.Settings, r.model)
	onlyAccuracy := s.Mode == loadgen.AccuracyOnly && !s.Test05 // LoadGen makes any test with TEST05 one of performance
	var list []Difference
	for _, f := range fieldRules() {
		if !f.counts(s, want) || onlyAccuracy && !f.accuracy {
			continue
		}
		if easier, differs := f.compare(s, want); differs {
			list = append(list, Difference{
				Key: f.key, Value: f.text(s), Want: f.text(want), Easier: easier,
				Allowed: easier && f.open && division == Open, Origin: r.Origin(f.key),
			})
		}
	}
	if d, fewer := r.offlineSamples(s, want); fewer && !onlyAccuracy {
		list = append(list, d)
	}
	return list, nil
}

// offlineSamples finds a query of Offline that has fewer samples than the rules ask for, where no conf says so:
// in v0.5, the rate alone decides. As long as nobody gave or measured one, the size is not known.
func (r *Resolved) offlineSamples(s, official settings) (Difference, bool) {
	made, _ := r.Setting("target_qps")
	unknown := s.OfflineExpectedQPS == official.OfflineExpectedQPS && made.Origin == "rules "+r.Rules.Version
	if s.Scenario != loadgen.Offline || r.Rules.EarlyStopping || unknown {
		return Difference{}, false
	}
	have, want := s.Effective(0, 0).SamplesPerQuery, r.Rules.MinQueries(loadgen.Offline, r.model)
	d := Difference{Key: "samples_per_query", Value: fmt.Sprint(have), Want: fmt.Sprint(want), Easier: true, Origin: r.Origin("target_qps")}
	return d, have < want
}

// amend adds what the rules ask for and no conf says: before early stopping, the numbers
// of queries were fixed.
func (r *RuleSet) amend(s loadgen.TestSettings, model Model) loadgen.TestSettings {
	s.MinDuration = max(s.MinDuration, r.MinDuration)
	if !r.EarlyStopping && s.Scenario != loadgen.Offline {
		s.MinQueryCount = max(s.MinQueryCount, r.MinQueries(s.Scenario, model))
	}
	if m, ok := r.Minima(model); ok {
		s.PerformanceSampleCountOverride = max(s.PerformanceSampleCountOverride, m.PerformanceSamples)
	}
	return s
}

// A strictness says which values of a field make a test easier.
type strictness uint8

const (
	free    strictness = iota // the submitter's own, or without bearing on the result
	least                     // less than the rules' is easier
	most                      // more than the rules' is easier
	exactly                   // any other makes another test, which counts as easier
	harder                    // any other can only make the test harder
)

// A fieldRule says how a field of TestSettings is compared with the rules.
type fieldRule struct {
	field string // of loadgen.TestSettings
	key   string // in conf files
	kind  strictness
	value func(loadgen.TestSettings) any

	open     bool // the open division leaves it to the submitter
	accuracy bool // it also decides what an accuracy run is worth
	percent  bool // the value is a fraction
	// unlimited: 0 means all, or no limit, which is the most that there is.
	unlimited bool
	// applies says when the field has an effect; nil: always.
	applies func(s, official loadgen.TestSettings) bool
}

// counts reports whether the field has an effect on the result.
func (f fieldRule) counts(s, official loadgen.TestSettings) bool {
	return f.kind != free && (f.applies == nil || f.applies(s, official))
}

// compare reports whether the field differs from the rules', and whether that is easier.
func (f fieldRule) compare(s, official loadgen.TestSettings) (easier, differs bool) {
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

func (f fieldRule) text(s loadgen.TestSettings) string {
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

// in says that a field has an effect in some scenarios only.
func in(scenarios ...loadgen.Scenario) func(s, official loadgen.TestSettings) bool {
	return func(s, _ loadgen.TestSettings) bool { return slices.Contains(scenarios, s.Scenario) }
}

// withTokens says that a field has an effect in Server with token latencies only.
func withTokens(s, official loadgen.TestSettings) bool {
	return s.Scenario == loadgen.Server && s.UseTokenLatencies && official.UseTokenLatencies
}

// withoutTokens says that a field has an effect in Server without token latencies only.
func withoutTokens(s, official loadgen.TestSettings) bool {
	return s.Scenario == loadgen.Server && !s.UseTokenLatencies && !official.UseTokenLatencies
}
