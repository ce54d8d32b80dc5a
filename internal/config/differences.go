package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Difference is a setting that differs from the rules and the mlperf.conf of the round
// for a model, a scenario and a division.
type Difference struct {
	Key     string // as in conf files
	Value   string // that the test has
	Want    string // by the rules
	Easier  bool   // the test is easier than the rules', or another one: a limitation
	Allowed bool   // easier, but the division leaves it to the submitter: a note
	Origin  string // who made the setting
	Role    limitation.Role
}

// Limitation is the difference as a limitation of a result.
func (d Difference) Limitation() limitation.Limitation {
	return limitation.Limitation{ID: limitation.Setting, Key: d.Key, Value: d.Value, Want: d.Want, Origin: d.Origin, Role: d.Role}
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
	return Closed, fmt.Errorf("unknown division %q: must be closed, open or network", name)
}

// Differences compares settings with those of the rules, field by field. The settings are
// those of r or what became of them: a bound may have been raised by measuring.
func (r *Resolved) Differences(s settings, division Division) ([]Difference, error) {
	official, err := resolve(Request{Model: r.model, Scenario: s.Scenario, Rules: r.Rules})
	if err != nil {
		return nil, err
	}
	want := official.Settings
	// What no conf has: before early stopping, the numbers of queries were fixed.
	if !r.model.Once {
		want.MinDuration = max(want.MinDuration, r.Rules.MinDuration)
	}
	if !r.Rules.EarlyStopping && s.Scenario != loadgen.Offline {
		want.MinQueryCount = max(want.MinQueryCount, r.Rules.MinQueries(s.Scenario, r.model))
	}
	if m, ok := r.Rules.Minima(r.model); ok && s.PerformanceSampleCountOverride != 0 { // 0: all
		want.PerformanceSampleCountOverride = max(want.PerformanceSampleCountOverride, m.PerformanceSamples)
	}
	onlyAccuracy := s.Mode == loadgen.AccuracyOnly && !s.Test05 // LoadGen makes any test with TEST05 one of performance
	var list []Difference
	for _, f := range fieldRules() {
		if !f.applies(s, want) || onlyAccuracy && !f.Accuracy {
			continue
		}
		if easier, differs := f.compare(s, want); differs {
			d := Difference{Key: f.Key, Value: f.text(s), Want: f.text(want), Easier: easier, Allowed: easier && f.Open && division == Open, Origin: Default}
			if made, ok := r.Setting(f.Key); ok {
				d.Origin, d.Role = made.Origin, made.Role
			}
			list = append(list, d)
		}
	}
	return list, nil
}

type settings = loadgen.TestSettings

// A fieldRule compares a setting with the official one.
type fieldRule struct{ *loadgen.Setting }

// fieldRules are those of the settings that the rules know.
func fieldRules() (list []fieldRule) {
	for _, row := range loadgen.Settings() {
		if row.Rule > loadgen.RuleFree {
			list = append(list, fieldRule{row})
		}
	}
	return list
}

func (f fieldRule) applies(s, official settings) bool {
	if f.Applies != nil {
		return f.Applies(&s, &official)
	}
	return f.In(s.Scenario)
}

func (f fieldRule) value(s settings) any { return loadgen.Value(f.Requested(&s)) }

// compare reports whether the field differs from the rules', and whether that is easier.
func (f fieldRule) compare(s, official settings) (easier, differs bool) {
	have, want := f.value(s), f.value(official)
	if have == want {
		return false, false
	}
	switch f.Rule {
	case loadgen.RuleLeast:
		return f.number(have) < f.number(want), true
	case loadgen.RuleMost:
		return f.number(have) > f.number(want), true
	}
	return f.Rule == loadgen.RuleExactly, true
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
	if n == 0 && f.Unlimited {
		return math.Inf(1)
	}
	return n
}

func (f fieldRule) text(s settings) string {
	v := f.value(s)
	switch n, real := v.(float64); {
	case f.Kind == loadgen.KindPercentile:
		return units.With(units.Exact(units.Rounded(n*100, 6)), "%")
	case real:
		return units.Exact(units.Rounded(n, 6))
	case f.Unlimited && f.number(v) == math.Inf(1):
		return "all"
	case f.Rule == loadgen.RuleHarder && f.number(v) == 0:
		return "none" // no limit
	}
	return fmt.Sprint(v)
}
