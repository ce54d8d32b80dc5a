package config

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

func TestADifferenceIsSaidInWords(t *testing.T) {
	easier := Difference{Key: "min_duration", Value: "1s", Want: "10m0s", Easier: true}
	allowed := Difference{Key: "target_latency", Value: "1s", Want: "15ms", Easier: true, Allowed: true}
	harder := Difference{Key: "target_latency_percentile", Value: "99.9 %", Want: "99 %"}
	for _, c := range []struct {
		d            Difference
		text, remark string
	}{
		{easier, "closed division: min_duration is 1s instead of the official 10m0s", ""},
		{allowed, "the latency bound is 1s instead of the official 15ms", "open division: the latency bound is 1s instead of the official 15ms"},
		{harder, "target_latency_percentile is 99.9 % instead of the official 99 %", "target_latency_percentile is 99.9 % instead of the official 99 %: harder than the rules, or without effect on them"},
	} {
		text := c.d.String()
		if text != c.text {
			t.Errorf("%+v is %q, want %q", c.d, text, c.text)
		}
		if got := c.d.Remark(Open, text); c.remark != "" && got != c.remark {
			t.Errorf("the remark on %+v is %q, want %q", c.d, got, c.remark)
		}
	}
	if got := allowed.Remark(Network, "x"); got != "network division: x" {
		t.Errorf("the remark in another division is %q", got)
	}
}

func TestDivisionsAreThree(t *testing.T) {
	for name, want := range map[string]Division{"": Closed, "closed": Closed, "CLOSED": Closed, "open": Open, "Network": Network} {
		if got, err := ParseDivision(name); got != want || err != nil {
			t.Errorf("ParseDivision(%q) = %v, %v, want %v", name, got, err, want)
		}
	}
	for _, d := range []Division{Closed, Open, Network} {
		if again, err := ParseDivision(d.String()); again != d || err != nil {
			t.Errorf("ParseDivision(%v) = %v, %v", d, again, err)
		}
	}
	if _, err := ParseDivision("preview"); err == nil || err.Error() != `unknown division "preview", want closed, open or network` {
		t.Errorf("ParseDivision(preview) = %v", err)
	}
}

// official is a field rule of min_query_count, with a strictness.
func official(kind strictness, unlimited bool) fieldRule {
	return fieldRule{key: "min_query_count", kind: kind, unlimited: unlimited, value: func(s settings) any { return s.MinQueryCount }}
}

func TestWhatIsEasierFollowsFromTheKindOfAField(t *testing.T) {
	for _, c := range []struct {
		name            string
		rule            fieldRule
		have, want      uint64
		easier, differs bool
	}{
		{"the same", official(least, false), 5, 5, false, false},
		{"less, where less is easier", official(least, false), 4, 5, true, true},
		{"more, where less is easier", official(least, false), 6, 5, false, true},
		{"none, where less is easier", official(least, false), 0, 5, true, true},
		{"less, where more is easier", official(most, false), 4, 5, false, true},
		{"more, where more is easier", official(most, false), 6, 5, true, true},
		{"another, where any other is", official(exactly, false), 6, 5, true, true},
		{"another, where any is harder", official(harder, false), 6, 5, false, true},
		{"all, where less is easier", official(least, true), 0, 5, false, true},
		{"less than all", official(least, true), 1 << 40, 0, true, true},
		{"all and all", official(least, true), 0, 0, false, false},
		{"no limit, where more is easier", official(most, true), 0, 5, true, true},
	} {
		easier, differs := c.rule.compare(settings{MinQueryCount: c.have}, settings{MinQueryCount: c.want})
		if easier != c.easier || differs != c.differs {
			t.Errorf("%s: easier %t, differs %t, want %t, %t", c.name, easier, differs, c.easier, c.differs)
		}
	}
}

func TestValuesAreShownWithTheirUnits(t *testing.T) {
	s := settings{MinDuration: 90 * time.Second, ServerTargetLatencyPercentile: 0.99, OfflineExpectedQPS: 1.0 / 3, MinQueryCount: 7}
	percent := fieldRule{percent: true, value: func(s settings) any { return s.ServerTargetLatencyPercentile }}
	real := fieldRule{value: func(s settings) any { return s.OfflineExpectedQPS }}
	for _, c := range []struct {
		rule fieldRule
		want string
	}{
		{fieldRule{value: func(s settings) any { return s.MinDuration }}, "1m30s"}, {percent, "99 %"}, {real, "0.333333"}, {official(least, true), "7"},
		{fieldRule{value: func(s settings) any { return s.PerformanceIssueSame }}, "false"},
		{fieldRule{unlimited: true, value: func(s settings) any { return s.MaxQueryCount }}, "all"},
		{fieldRule{value: func(s settings) any { return s.MaxQueryCount }}, "0"},
	} {
		if got := c.rule.text(s); got != c.want {
			t.Errorf("%v is shown as %q, want %q", c.rule.value(s), got, c.want)
		}
	}
	if got := official(least, true).number(uint64(0)); !math.IsInf(got, 1) {
		t.Errorf("all samples are %v", got)
	}
}

// A setting is judged in the scenarios in which it has an effect, and only there.
func TestFieldsCountWhereTheyHaveAnEffect(t *testing.T) {
	tokens := func(s loadgen.Scenario) settings { return settings{Scenario: s, UseTokenLatencies: true} }
	plain := func(s loadgen.Scenario) settings { return settings{Scenario: s} }
	for _, c := range []struct {
		field    string
		s, rules settings
		want     bool
	}{
		{"ServerTargetLatency", plain(loadgen.Server), plain(loadgen.Server), true},
		{"ServerTargetLatency", plain(loadgen.Offline), plain(loadgen.Offline), false},
		{"ServerTargetLatency", tokens(loadgen.Server), tokens(loadgen.Server), false},
		{"ServerTTFTLatency", tokens(loadgen.Server), tokens(loadgen.Server), true},
		{"ServerTTFTLatency", tokens(loadgen.Server), plain(loadgen.Server), false},
		{"ServerTPOTLatency", tokens(loadgen.Offline), tokens(loadgen.Offline), false},
		{"SingleStreamTargetLatencyPercentile", plain(loadgen.SingleStream), plain(loadgen.SingleStream), true},
		{"SingleStreamTargetLatencyPercentile", plain(loadgen.MultiStream), plain(loadgen.MultiStream), false},
		{"ScheduleRNGSeed", plain(loadgen.Server), plain(loadgen.Server), true},
		{"ScheduleRNGSeed", plain(loadgen.Offline), plain(loadgen.Offline), false},
		{"TokenLatencyScalingFactor", settings{InferTokenLatencies: true}, settings{}, true},
		{"TokenLatencyScalingFactor", settings{}, settings{InferTokenLatencies: true}, false},
		{"MultiStreamSamplesPerQuery", plain(loadgen.MultiStream), plain(loadgen.MultiStream), true},
		{"MultiStreamSamplesPerQuery", settings{Scenario: loadgen.MultiStream, MultiStreamQPS: 20}, plain(loadgen.MultiStream), false},
		{"AccuracySampleCountOverride", settings{Mode: loadgen.AccuracyOnly}, settings{}, true},
		{"AccuracySampleCountOverride", settings{Mode: loadgen.SubmissionRun}, settings{}, true},
		{"AccuracySampleCountOverride", settings{Mode: loadgen.PerformanceOnly}, settings{}, false},
		{"WithoutEarlyStopping", settings{WithoutEarlyStopping: true}, settings{}, true},
		{"Mode", settings{}, settings{}, false}, {"ServerTargetQPS", plain(loadgen.Server), plain(loadgen.Server), false},
	} {
		for _, f := range fieldRules() {
			if f.field == c.field && f.counts(c.s, c.rules) != c.want {
				t.Errorf("%s in %v (tokens %t) counts: %t, want %t", c.field, c.s.Scenario, c.s.UseTokenLatencies, !c.want, c.want)
			}
		}
	}
}

func TestTheOpenDivisionMayChangeBoundsOnly(t *testing.T) {
	for _, f := range fieldRules() {
		bound := strings.Contains(f.key, "latency") || strings.Contains(f.key, "latencies") || f.key == "target_qps" || f.key == "samples_per_query"
		if f.open && !bound {
			t.Errorf("the open division may change %s", f.key)
		}
	}
}
