package config

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

func TestRuleSetsEqualTheOfficialFiles(t *testing.T) {
	data, err := os.ReadFile("testdata/rules.json")
	if err != nil {
		t.Fatal(err)
	}
	var official map[string]map[string]string
	if err := json.Unmarshal(data, &official); err != nil {
		t.Fatal(err)
	}
	if len(official) != len(Versions()) {
		t.Fatalf("%d official files for %d rule sets", len(official), len(Versions()))
	}
	for version, want := range official {
		rules := mustRules(t, version)
		got := map[string]string{}
		for _, e := range rules.Conf.entries {
			got[e.Name()] = e.Value
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("rules %s (-official +ours):\n%s", version, diff)
		}
		if len(rules.Conf.Warnings) > 0 {
			t.Errorf("rules %s: %q", version, rules.Conf.Warnings)
		}
	}
}

func TestSeedsOfEachRoundAreThoseTheCheckerAsksFor(t *testing.T) {
	// tools/submission, MODEL_CONFIG: seeds and test05_seeds.
	want := map[string][2]Seeds{
		"v0.5": {{3133965575612453542, 665484352860916858, 3622009729038561421}, {195, 235, 634}},
		"v0.7": {{12786827339337101903, 12640797754436136668, 3135815929913719677}, {313588358309856706, 471397156132239067, 413914573387865862}},
		"v1.0": {{7322528924094909334, 1570999273408051088, 3507442325620259414}, {313588358309856706, 471397156132239067, 413914573387865862}},
		"v1.1": {{1624344308455410291, 517984244576520566, 10051496985653635065}, {313588358309856706, 471397156132239067, 413914573387865862}},
		"v2.0": {{6655344265603136530, 15863379492028895792, 12662793979680847247}, {313588358309856706, 471397156132239067, 413914573387865862}},
		"v2.1": {{14284205019438841327, 4163916728725999944, 299063814864929621}, {313588358309856706, 471397156132239067, 413914573387865862}},
		"v3.0": {{10003631887983097364, 17183018601990103738, 12134888396634371638}, {14646058500348515648, 1207248993894122914, 11879132697760422006}},
		"v3.1": {{148687905518835231, 520418551913322573, 811580660758947900}, {793197339507417767, 255610748586851044, 352213341366340113}},
		"v4.0": {{13281865557512327830, 198141574272810017, 7575108116881280410}, {2376919268182438552, 11176391829184272374, 3911940905271271337}},
		"v4.1": {{3066443479025735752, 10688027786191513374, 14962580496156340209}, {16799458546791641818, 5453809927556429288, 5435552105434836064}},
		"v5.0": {{6023615788873153749, 15036839855038426416, 9933818062894767841}, {7975553102935885558, 11403566307062068064, 15816800565822761601}},
		"v5.1": {{1780908523862526354, 14771362308971278857, 18209322760996052031}, {7975553102935885558, 11403566307062068064, 15816800565822761601}},
		"v6.0": {{2465351861681999779, 14276810075590677512, 3936089224930324775}, {7975553102935885558, 11403566307062068064, 15816800565822761601}},
		"v6.1": {{2085463073848966840, 2747215439041700203, 16159082839903944936}, {7975553102935885558, 11403566307062068064, 15816800565822761601}},
	}
	for _, version := range Versions() {
		for _, scenario := range loadgen.Scenarios() {
			s := mustResolve(t, Request{Model: Model{Name: "resnet50"}, Scenario: scenario, Rules: mustRules(t, version)}).Settings
			got := [2]Seeds{
				{s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed},
				{s.Test05QSLRNGSeed, s.Test05SampleIndexRNGSeed, s.Test05ScheduleRNGSeed},
			}
			if got != want[version] {
				t.Errorf("seeds of %s in %v = %v, want %v", version, scenario, got, want[version])
			}
		}
	}
}

func TestEveryRunLastsAsLongAsItsRulesAsk(t *testing.T) {
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

func TestRulesOfARound(t *testing.T) {
	for _, c := range []struct {
		version       string
		multiStream   MultiStreamKind
		serverRuns    int
		earlyStopping bool
		openSeeds     bool
	}{
		{"v0.5", FixedIntervalQueries, 5, false, true},
		{"v0.7", FixedIntervalQueries, 5, false, true},
		{"v1.0", FixedIntervalQueries, 1, false, true},
		{"v1.1", NoMultiStream, 1, false, true},
		{"v2.0", BackToBackQueries, 1, true, true},
		{"v4.1", BackToBackQueries, 1, true, true},
		{"v5.0", BackToBackQueries, 1, true, false},
		{"v6.1", BackToBackQueries, 1, true, false},
	} {
		r := mustRules(t, c.version)
		if r.MultiStream != c.multiStream || r.ServerRuns != c.serverRuns || r.EarlyStopping != c.earlyStopping || r.OpenSeeds != c.openSeeds {
			t.Errorf("Rules(%s) = %d as MultiStream, %d Server runs, early stopping %v, open seeds %v",
				c.version, r.MultiStream, r.ServerRuns, r.EarlyStopping, r.OpenSeeds)
		}
	}
}

func TestMultiStreamBeforeV2IssuesAtAFixedRate(t *testing.T) {
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

func TestRulesAreFoundByTheirVersion(t *testing.T) {
	for name, want := range map[string]string{"": Newest, "v5.1": "v5.1", "5.1": "v5.1", "V0.5": "v0.5"} {
		if r, err := Rules(name); err != nil || r.Version != want {
			t.Errorf("Rules(%q) = %v, %v, want %s", name, r, err, want)
		}
	}
	if versions := Versions(); versions[len(versions)-1] != Newest {
		t.Errorf("the newest rules are %s, Newest is %s", versions[len(versions)-1], Newest)
	}
	if _, err := Rules("v0.6"); err == nil || !strings.Contains(err.Error(), `unknown rules "v0.6", want one of v0.5, v0.7, `) {
		t.Errorf("Rules(v0.6) = %v", err)
	}
}

// The rules call ResNet-50 resnet in submissions, and resnet50 in mlperf.conf.
func TestConfFilesMayCallAModelByAnyOfItsNames(t *testing.T) {
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
	r := mustResolve(t, Request{Model: m, Interactive: true, Scenario: loadgen.Server, UserConf: mustParse(t, "user.conf", "resnet-interactive.Server.target_qps = 3\n")})
	if r.Settings.ServerTargetQPS != 3 || !m.Is("ResNet") || m.Is("resnet18") {
		t.Errorf("target_qps of the interactive variant is %v", r.Settings.ServerTargetQPS)
	}
}

func TestScenariosAreFoundByTheirName(t *testing.T) {
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
