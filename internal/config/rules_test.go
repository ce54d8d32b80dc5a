package config

import (
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

func TestMinDurationOfTheRules(t *testing.T) {
	for _, version := range Versions() {
		rules := mustRules(t, version)
		for _, scenario := range loadgen.Scenarios() {
			r := mustResolve(t, Request{Model: Model{Name: "resnet50"}, Scenario: scenario, Rules: rules})
			if r.Settings.MinDuration != rules.MinDuration {
				t.Errorf("min_duration of %s in %v = %v, want %v", version, scenario, r.Settings.MinDuration, rules.MinDuration)
			}
			if err := r.Settings.Validate(); err != nil {
				t.Errorf("settings of %s in %v: %v", version, scenario, err)
			}
		}
	}
}

func TestMultiStreamOfTheRules(t *testing.T) {
	for _, c := range []struct {
		version, model string
		want           float64 // queries per second
		samples        uint64
		bound          time.Duration
		percentile     float64
	}{
		{"v0.5", "resnet50", 20, 4, 50 * time.Millisecond, 0.99},
		{"v0.5", "ssd-resnet34", 15, 4, 66 * time.Millisecond, 0.99},
		{"v0.5", "gnmt", 10, 4, 100 * time.Millisecond, 0.97},
		{"v1.0", "resnet50", 20, 4, 50 * time.Millisecond, 0.99},
		{"v2.0", "resnet50", 0, 8, 80 * time.Millisecond, 0.99},
		{"v2.1", "retinanet", 0, 8, 528 * time.Millisecond, 0.99},
	} {
		r := mustResolve(t, Request{Model: Model{Name: c.model}, Scenario: loadgen.MultiStream, Rules: mustRules(t, c.version)})
		s := r.Settings
		if s.MultiStreamQPS != c.want || s.MultiStreamSamplesPerQuery != c.samples ||
			s.MultiStreamExpectedLatencyNS != float64(c.bound) || s.MultiStreamTargetLatencyPercentile != c.percentile {
			t.Errorf("%s of %s: %v, %d samples, %g ns, percentile %g", c.model, c.version, s.MultiStreamQPS,
				s.MultiStreamSamplesPerQuery, s.MultiStreamExpectedLatencyNS, s.MultiStreamTargetLatencyPercentile)
		}
	}
}

func TestRulesByVersion(t *testing.T) {
	for name, want := range map[string]string{"": Newest, "v5.1": "v5.1", "5.1": "v5.1", "V0.5": "v0.5"} {
		if r, err := Rules(name); err != nil || r.Version != want {
			t.Errorf("Rules(%q) = %v, %v, want %s", name, r, err, want)
		}
	}
	if versions := Versions(); versions[len(versions)-1] != Newest {
		t.Errorf("the newest rules are %s, Newest is %s", versions[len(versions)-1], Newest)
	}
	if _, err := Rules("v0.6"); err == nil || !strings.Contains(err.Error(), `unknown rules "v0.6": must be one of v0.5, v0.7, `) {
		t.Errorf("Rules(v0.6) = %v", err)
	}
}

// The rules call ResNet-50 resnet in submissions, and resnet50 in mlperf.conf.
func TestNamesOfAModel(t *testing.T) {
	m := Model{Name: "resnet50", Aliases: []string{"resnet"}}
	for text, want := range map[string]float64{
		"resnet.Server.target_qps = 7\n":                                              7,
		"resnet50.Server.target_qps = 8\n":                                            8,
		"resnet.Server.target_qps = 7\nresnet50.Server.target_qps = 8\n":              8,
		"resnet.*.target_qps = 7\n*.Server.target_qps = 9\n":                          9,
		"resnet.Server.target_qps = 7\n*.Server.target_qps = 9\n":                     7,
		"resnet.Server.target_qps = 7\nresnet50-interactive.Server.target_qps = 10\n": 7,
	} {
		r := mustResolve(t, Request{Model: m, Scenario: loadgen.Server, UserConf: mustParse(t, "user.conf", text)})
		if r.Settings.ServerTargetQPS != want {
			t.Errorf("%q: target_qps is %v, want %v", text, r.Settings.ServerTargetQPS, want)
		}
	}
	m.Interactive = true
	r := mustResolve(t, Request{Model: m, Scenario: loadgen.Server, UserConf: mustParse(t, "user.conf", "resnet-interactive.Server.target_qps = 3\n")})
	if r.Settings.ServerTargetQPS != 3 || !m.Is("ResNet") || m.Is("resnet18") {
		t.Errorf("target_qps of the interactive variant is %v", r.Settings.ServerTargetQPS)
	}
}

func TestParseScenario(t *testing.T) {
	for name, want := range map[string]loadgen.Scenario{
		"single-stream": loadgen.SingleStream, "MULTISTREAM": loadgen.MultiStream, "server": loadgen.Server, "Offline": loadgen.Offline,
	} {
		if s, isInteractive, err := ParseScenario(name); err != nil || s != want || isInteractive {
			t.Errorf("ParseScenario(%s) = %v, %v, %v", name, s, isInteractive, err)
		}
	}
	if s, isInteractive, err := ParseScenario("interactive"); err != nil || s != loadgen.Server || !isInteractive {
		t.Errorf("ParseScenario(interactive) = %v, %v, %v, want Server", s, isInteractive, err)
	}
	if _, _, err := ParseScenario("Serve"); err == nil || !strings.Contains(err.Error(), "Interactive") {
		t.Errorf("ParseScenario(Serve) = %v, want the choices", err)
	}
}
