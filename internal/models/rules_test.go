package models

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

func rules(t *testing.T, version string) *config.RuleSet {
	t.Helper()
	r, err := config.Rules(version)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestMinimaOfTheChecker(t *testing.T) {
	for _, c := range []struct {
		version, model string
		want           config.Minima
		known          bool
	}{
		{"v6.1", "resnet50", config.Minima{PerformanceSamples: 1024, AccuracySamples: 50000, OfflineSamples: 24576, ServerLatency: 15 * time.Millisecond}, true},
		{"v6.1", "resnet", config.Minima{PerformanceSamples: 1024, AccuracySamples: 50000, OfflineSamples: 24576, ServerLatency: 15 * time.Millisecond}, true},
		{"v0.7", "3d-unet-99", config.Minima{PerformanceSamples: 16, OfflineSamples: 24576}, true},
		{"v2.1", "3d-unet-99.9", config.Minima{PerformanceSamples: 42, OfflineSamples: 24576}, true},
		{"v5.1", "llama3.1-8b-edge", config.Minima{PerformanceSamples: 5000, AccuracySamples: 5000, OfflineSamples: 5000}, true},
		{"v6.0", "llama2-70b", config.Minima{PerformanceSamples: 24576, AccuracySamples: 24576, OfflineSamples: 24576, ServerLatency: 20 * time.Second}, true},
		{"v6.1", "retinanet", config.Minima{}, false},
		{"v2.0", "retinanet", config.Minima{}, false},
	} {
		m, ok := RulesIn(c.version, c.model)
		if !ok {
			t.Errorf("no round has %s", c.model)
		}
		if got, ok := rules(t, c.version).Minima(m); got != c.want || ok != c.known {
			t.Errorf("Minima(%s) of %s = %v, %v, want %v, %v", c.model, c.version, got, ok, c.want, c.known)
		}
	}
	if m, ok := Rules("unheard-of"); ok {
		t.Errorf("the rules know %v", m)
	}
}

func TestMinQueriesOfModels(t *testing.T) {
	for _, c := range []struct {
		version  string
		scenario loadgen.Scenario
		model    string
		want     uint64
	}{
		{"v0.5", loadgen.SingleStream, "resnet50", 1024},
		{"v0.5", loadgen.Server, "mobilenet", 270336},
		{"v0.5", loadgen.Server, "gnmt", 90112},
		{"v0.5", loadgen.MultiStream, "gnmt", 90112},
		{"v0.5", loadgen.Offline, "gnmt", 24576},
		{"v1.1", loadgen.MultiStream, "resnet50", 0},
		{"v3.1", loadgen.Offline, "rnnt", 24576},
		{"v4.0", loadgen.Offline, "rnnt", 2513},
		{"v3.1", loadgen.Offline, "gptj", 24576},
		{"v5.0", loadgen.Offline, "gptj", 13368},
		{"v6.1", loadgen.SingleStream, "wan-2.2-t2v-a14b", 50},
		{"v6.1", loadgen.SingleStream, "qwen3.6-27b", 995},
	} {
		m, _ := Rules(c.model)
		if got := rules(t, c.version).MinQueries(c.scenario, m); got != c.want {
			t.Errorf("MinQueries(%v, %s) of %s = %d, want %d", c.scenario, c.model, c.version, got, c.want)
		}
	}
}

func TestBandwidthOfModels(t *testing.T) {
	for _, c := range []struct {
		model     string
		perSecond float64
		bytes     int
		want      config.Bandwidth
		round     string
	}{
		{"resnet50", 1000, 1, config.Bandwidth{Ingress: 150528e3}, config.Newest},
		{"retinanet", 100, 1, config.Bandwidth{Ingress: 192e6}, config.Newest},
		{"3d-unet-99", 2, 1, config.Bandwidth{Ingress: 2 * 32944795, Egress: 2 * 32944795}, config.Newest},
		{"bert-99", 10, 8, config.Bandwidth{Ingress: 10 * 1152 * 8}, config.Newest},
		{"rnnt", 1, 4, config.Bandwidth{Ingress: 480000}, config.Newest},
		{"dlrm-v2-99", 1, 4, config.Bandwidth{Ingress: 270 * 39 * 4}, config.Newest},
		{"dlrm-v3", 1, 1, config.Bandwidth{Ingress: 98368}, config.Newest},
		{"llama2-70b", 1, 4, config.Bandwidth{Ingress: 4096, Egress: 4096}, config.Newest},
		{"stable-diffusion-xl", 1, 1, config.Bandwidth{Ingress: 77, Egress: 3145728}, config.Newest},
		{"llama2-70b", 1, 1, config.Bandwidth{Ingress: 1024}, "v4.1"}, {"llama2-70b", 1, 1, config.Bandwidth{Ingress: 1024, Egress: 1024}, "v5.0"},
		{"mixtral-8x7b", 1, 1, config.Bandwidth{Ingress: 2048}, "v4.1"}, {"deepseek-r1", 1, 1, config.Bandwidth{Ingress: 3136, Egress: 32768}, "v5.1"},
		{"3d-unet-99", 1, 1, config.Bandwidth{Ingress: 32381026, Egress: 32381026}, "v2.0"}, {"3d-unet-99", 1, 1, config.Bandwidth{Ingress: 32944795, Egress: 32944795}, "v2.1"},
		{"wan-2.2-t2v-a14b", 1, 1, config.Bandwidth{Egress: 224870400}, config.Newest},
	} {
		m, _ := Rules(c.model)
		if got, err := config.MinBandwidth(c.round, m, c.perSecond, c.bytes); err != nil || got != c.want {
			t.Errorf("MinBandwidth(%s, %s, %g, %d) = %v, %v, want %v", c.round, c.model, c.perSecond, c.bytes, got, err, c.want)
		}
	}
	m, _ := Rules("resnet50")
	if got, err := config.MinBandwidth("v1.1", m, 1, 1); err == nil {
		t.Errorf("MinBandwidth(v1.1, resnet50) = %v; the rules have bandwidths from v2.0 on", got)
	}
	if m, _ := Rules("mobilenet"); m.Sample != nil {
		t.Errorf("the rules have a formula for mobilenet, %v", m.Sample)
	}
}

// Every model is one of some round's mlperf.conf, or of no round at all.
func TestRulesOfConfNames(t *testing.T) {
	known := func(name string) bool {
		return slices.ContainsFunc(config.Versions(), func(version string) bool { return rules(t, version).Conf.Knows(name) })
	}
	for _, name := range []string{
		"resnet", "resnet50-v1.5", "mobilenet-v1", "ssd-small", "ssd-mobilenet-v1", "ssd-large", "3d-unet-kits19",
		"bert-large", "rnn-t", "dlrmv2", "dlrmv3", "gpt-j", "sdxl", "r-gat", "yolo11l", "whisper-large-v3", "llama2-70b-chat",
		"llama3.1-8b-instruct",
	} {
		if m, ok := Rules(name); !ok || !known(m.Name) {
			t.Errorf("Rules(%s) = %s, which no round knows", name, m.Name)
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	of := map[string]string{}
	add := func(m config.Model) {
		for _, name := range append([]string{m.Name}, m.Aliases...) {
			if other, taken := of[name]; taken && other != m.Name {
				t.Errorf("%s is a name of %s and of %s", name, other, m.Name)
			}
			of[name] = m.Name
		}
	}
	for _, m := range All() {
		add(m.Rules)
	}
	for _, m := range others() {
		add(m)
	}
}

// The checker of a round asks for no other numbers than its conf file sets, where that sets them for a model, and the
// checker has them.
func TestMinimaEqualConfFiles(t *testing.T) {
	all := others()
	for _, m := range slices.Concat(All(), RemoteModels()) {
		all = append(all, m.Rules)
	}
	for _, m := range all {
		for _, version := range config.Versions() {
			r := rules(t, version)
			want, has := r.Minima(m)
			if !has {
				continue
			}
			for _, c := range []struct {
				scenario, key string
				want          uint64
			}{
				{"Offline", "performance_sample_count_override", want.PerformanceSamples},
				{"Offline", "min_query_count", want.OfflineSamples},
				{"Server", "target_latency", uint64(want.ServerLatency / time.Millisecond)},
			} {
				if entry, ok := r.Conf.Lookup(c.scenario, c.key, m.Name); ok && c.want != 0 && entry.Value != fmt.Sprint(c.want) && !differs(version, entry, m.Name) {
					t.Errorf("%s: the checker of %s wants %d, its conf file says %s = %s", m.Name, version, c.want, entry.Name(), entry.Value)
				}
			}
		}
	}
}

// differs reports whether a round's checker and its conf file are known to say different things.
func differs(version string, e config.Entry, model string) bool {
	switch {
	case version == "v0.5":
		return e.Key == "min_query_count" || e.Key == "target_latency" // one query of any size; bounds are in the rules' text
	case model == "wan-2.2-t2v-a14b" || model == "dlrm-v3":
		return true // of 248 prompts the checker wants 50, and of 80 ms it knows nothing
	case e.Key == "performance_sample_count_override":
		return e.Value == "0" && model == "3d-unet" // all that there are
	case e.Key == "target_latency":
		return e.Value == "0" || e.Model == "*" // bounds are those of tokens, or the benchmark has none there
	}
	return false
}

// A benchmark of the rounds has its numbers and its target by one of its names, or the table and the catalogue differ.
func TestBenchmarksOfTheRounds(t *testing.T) {
	for _, version := range rounds.Versions() {
		round, err := rounds.Find(version)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range round.Listed() {
			if _, ok := Rules(name); !ok && !strings.Contains(name, "-interactive-") { // scenarios since v5.1
				t.Errorf("%s of %s is unknown", name, version)
			}
		}
	}
	for _, m := range slices.Concat(All(), RemoteModels()) {
		if q := m.QualityIn("v6.1"); (q.Target == 0) != (m.Quality.Reference != 0) || q.Reference == 0 {
			t.Errorf("%s: %+v", m.Name, q)
		}
	}
}

// Targets are those of the round, and the official score is the first factor of the checker's product.
func TestTargetOfTheRound(t *testing.T) {
	for _, c := range []struct {
		model, version    string
		target, reference float64
		also              string
	}{
		{"resnet50", "v6.1", 75.69539999999999, 76.46, "[]"},
		{"3d-unet", "v1.1", 0.8444699999999999, 0.853, "[]"},
		{"3d-unet-99.9", "v0.7", 0.852147, 0.853, "[]"},
		{"3d-unet-brats19", "v6.1", 0.8444699999999999, 0.853, "[]"}, // of v1.1, the last that has it
		{"3d-unet-kits19", "v1.1", 0.853083, 0.8617, "[]"},           // of the newest
		{"3d-unet", "v2.0", 0.8546769, 0.86331, "[]"},
		{"3d-unet", "v6.1", 0.853083, 0.8617, "[]"},
		{"3d-unet-99.9", "v6.1", 0.8608383000000001, 0.8617, "[]"},
		{"rnnt", "v6.1", 91.62252, 92.548, "[]"}, // of v4.0, the last that has it
		{"mixtral-8x7b", "v4.1", 45.036189, 45.4911, "[rouge2 ≥ 23.0501 rougeL ≥ 30.0579 131.31 ≤ tokens_per_sample ≤ 160.49 gsm8k ≥ 73.0422 mbxp ≥ 59.5188]"},
		{"mixtral-8x7b", "v6.0", 45.142911, 45.5989, "[rouge2 ≥ 23.1191 rougeL ≥ 30.1562 130.356 ≤ tokens_per_sample ≤ 160.49 gsm8k ≥ 72.9234 mbxp ≥ 59.5584]"},
		{"stable-diffusion-xl", "v6.1", 31.68631873, 31.74981837, "[23.0109 ≤ FID_SCORE ≤ 23.9501 CLIP_SCORE ≤ 31.8133]"},
	} {
		m, err := Lookup(c.model)
		if err != nil {
			t.Fatal(err)
		}
		if q := InRound(c.version, c.model, m).QualityIn(c.version); q.Target != c.target || q.Reference != c.reference || fmt.Sprint(q.Also) != c.also {
			t.Errorf("%s of %s: %+v, want %+v", c.model, c.version, q, c)
		}
	}
}

// Whoever looks for names in conf files and submissions finds each by one of these.
func TestRuleNames(t *testing.T) {
	names := RuleNames()
	for _, name := range []string{"resnet50", "resnet", "llama3_1-405b", "llama3.1-405b", "gpt-oss-120b", "rgat", "r-gat", "yolo-95", "e2e-rag-db"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not listed", name)
		}
	}
	for _, name := range names {
		m, ok := Rules(name)
		if !ok || !m.Is(name) {
			t.Errorf("%s leads to %s, %v", name, m.Name, ok)
		}
	}
}

// A name that two benchmarks have means that of the round; a name of one of them always means that one.
func TestNamesOfOneRound(t *testing.T) {
	for _, c := range []struct{ version, name, want string }{
		{"v0.7", "3d-unet", "3d-unet-brats19"}, {"v1.1", "3D_UNet-99", "3d-unet-brats19"}, {"v1.0", "3d-unet-99.9", "3d-unet-brats19-99.9"},
		{"v2.0", "3d-unet", "3d-unet"}, {"v6.1", "3d-unet-99.9", "3d-unet-99.9"}, {"v0.7", "3dunet", "3d-unet-brats19"}, {"v4.1", "3dunet", "3d-unet"},
		{"v6.1", "3d-unet-brats19", "3d-unet-brats19"}, {"v0.7", "3d-unet-kits19", "3d-unet"}, {"v0.7", "resnet50", "resnet50"},
	} {
		m, err := Lookup(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := InRound(c.version, c.name, m); got.Name != c.want {
			t.Errorf("%s of %s is %s, want %s", c.name, c.version, got.Name, c.want)
		}
		if got, _ := RulesIn(c.version, c.name); got.In(c.version) != InRound(c.version, c.name, m).Rules.In(c.version) {
			t.Errorf("the rules of %s of %s are %+v", c.name, c.version, got)
		}
	}
	brats, err := Lookup("3d-unet-brats19")
	if err != nil {
		t.Fatal(err)
	}
	if got := rules(t, "v1.1").Categories(brats.Rules); fmt.Sprint(got) != "[{datacenter [Offline] []} {edge [SingleStream Offline] []} {datacenter-edge [SingleStream Offline] []}]" {
		t.Errorf("categories of v1.1: %v", got)
	}
	if got := rules(t, "v2.0").Categories(brats.Rules); got != nil {
		t.Errorf("v2.0 has it in %v", got)
	}
}
