package checker

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
)

// strictChanges are accepted by the official checker, and named by the profile strict
// with the rule that is given.
var strictChanges = map[string]struct {
	rule string
	make func(e *edit)
}{
	"INVALID":                      {"perf-validity", func(e *edit) { e.set(perf("S"), "result_validity", `"INVALID"`) }},
	"TEST04 INVALID":               {"perf-validity", func(e *edit) { e.set(perf("S/TEST04"), "result_validity", `"INVALID"`) }},
	"min duration not met":         {"perf-validity", func(e *edit) { e.set(perf("S"), "result_min_duration_met", "false") }},
	"early stopping a text":        {"perf-validity", func(e *edit) { e.set(perf("S"), "early_stopping_met", `"false"`) }},
	"error in the performance log": {"perf-errors", func(e *edit) { e.message(perf("S"), "error_runtime", `"bad"`, "true") }},
	"errors counted":               {"perf-errors", func(e *edit) { e.set(perf("S"), "num_errors", "5") }},
	"find peak":                    {"perf-mode", func(e *edit) { e.set(perf("S"), "effective_test_mode", `"FindPeakPerformance"`) }},
	"metric NaN":                   {"perf-metric", func(e *edit) { e.set(perf("S"), "early_stopping_latency_ss", "NaN") }},
	"metric below 0":               {"perf-metric", func(e *edit) { e.set(perf("O"), "result_samples_per_second", "-1") }},
	"no summary":                   {"perf-files", func(e *edit) { e.remove("S/performance/run_1/mlperf_log_summary.txt") }},
	"extra file in run_1":          {"perf-files", func(e *edit) { e.write("S/performance/run_1/notes.txt", "x") }},
	"no summary of the accuracy":   {"acc-files", func(e *edit) { e.remove("S/accuracy/mlperf_log_summary.txt") }},
	"accuracy of another mode":     {"acc-mode", func(e *edit) { e.set(acc("S"), "effective_test_mode", `"PerformanceOnly"`) }},
	"accuracy of another scenario": {"acc-mode", func(e *edit) { e.set(acc("S"), "effective_scenario", `"Offline"`) }},
	"accuracy above 100":           {"acc-value", func(e *edit) { e.sub("S/accuracy/accuracy.txt", "76.012", "100.5") }},
	"hash of one letter":           {"acc-digest", func(e *edit) { e.write("S/accuracy/accuracy.txt", "accuracy=76.012%\nhash=a\n") }},
	"hash of another log":          {"acc-digest", func(e *edit) { e.write("S/accuracy/mlperf_log_accuracy.json", "[\n]\n") }},
	"no accuracy of TEST01":        {"audit-log", func(e *edit) { e.remove("S/TEST01/accuracy") }},
	"TEST PASS in a sentence":      {"audit-line", func(e *edit) { e.write("S/TEST01/verify_performance.txt", "no TEST PASSED here\n") }},
	"file at the root":             {"tree-root-file", func(e *edit) { e.write("junk.bin", "x") }},
	"folder at the root":           {"tree-folder-unknown", func(e *edit) { e.write("Closed2/a.md", "x") }},
	"file in a division":           {"tree-division-file", func(e *edit) { e.write("closed/a.md", "x") }},
	"hidden file":                  {"tree-name", func(e *edit) { e.write(home+"/src/.hidden", "x") }},
	"name with a space":            {"tree-name", func(e *edit) { e.write(home+"/src/a file.py", "x") }},
	"compiled Python":              {"tree-pycache", func(e *edit) { e.write(home+"/src/__pycache__/a.pyc", "x") }},
	"empty folder":                 {"tree-empty-folder", func(e *edit) { e.mkdir(home + "/nothing") }},
	"broken link":                  {"tree-link-broken", func(e *edit) { e.symlink("nowhere", home+"/src/link") }},
	"link out of the tree":         {"tree-link-outside", func(e *edit) { e.symlink("/etc/hostname", home+"/src/link") }},
	"orphan":                       {"tree-orphan", func(e *edit) { e.write(home+"/systems/other.json", "{}") }},
	"no calibration":               {"tree-calibration", func(e *edit) { e.remove(home + "/documentation") }},
	"src is a file":                {"tree-source", func(e *edit) { e.remove(home + "/src"); e.write(home+"/src", "x") }},
	"both spellings of a scenario": {"scenario-twice", func(e *edit) { e.copy("R/SingleStream", "R/singlestream") }},
	"a field to fill in":           {"system-placeholder", func(e *edit) { e.system("cooling", `"FILL IN: e.g. air"`) }},
	"a datacenter without ECC":     {"system-datacenter", func(e *edit) { recommender(e) }},
	"measurements to fill in":      {"text-placeholder", func(e *edit) { e.field("S/measurements.json", "retraining", `"FILL IN: no"`) }},
	"a README to fill in":          {"text-placeholder", func(e *edit) { e.write("S/README.md", "FILL IN: how it was run\n") }},
	"calibration to fill in":       {"text-placeholder", func(e *edit) { e.write(home+"/documentation/calibration.md", "# Numerics\n\nFILL IN: data\n") }},
	"quote in a name":              {"system-quote", func(e *edit) { e.system("system_name", `"a \" b"`) }},
	"few samples in network": {"perf-samples-per-query", func(e *edit) {
		network(e, true)
		e.set(perf("network/ExampleOrg/results/board1/resnet50/Offline"), "effective_samples_per_query", "5")
	}},
	"a network without its document": {"tree-network", func(e *edit) { network(e, true) }},
	"a network without a diagram": {"tree-network", func(e *edit) {
		network(e, true)
		e.write(NetworkDocument("network/ExampleOrg", "board1"), "All is connected.\n")
	}},
	"a node that the diagram lacks": {"tree-network", func(e *edit) {
		network(e, true)
		e.write(NetworkDocument("network/ExampleOrg", "board1"), "```mermaid\nnode1\n```\n")
		for _, log := range e.logs("network/ExampleOrg") {
			e.set(log, "sut_name", `"Network SUT: resnet50 on node1, node2"`)
		}
	}},
	"one sample again and again":       {"perf-issue", func(e *edit) { e.set(perf("S"), "effective_performance_issue_same", "true") }},
	"no sample twice":                  {"perf-issue", func(e *edit) { e.set(perf("O"), "effective_performance_issue_unique", "true") }},
	"a short query of MultiStream":     {"perf-issue", func(e *edit) { e.set(perf("M"), "effective_samples_per_query", "7") }},
	"a low percentile of SingleStream": {"perf-percentile", func(e *edit) { e.set(perf("S"), "effective_target_latency_percentile", "0.5") }},
	"a low percentile of MultiStream":  {"perf-percentile", func(e *edit) { e.set(perf("M"), "effective_target_latency_percentile", "0.9") }},
	"TEST04 of different samples":      {"audit-settings", func(e *edit) { e.set(perf("S/TEST04"), "effective_performance_issue_same", "false") }},
	"TEST04 of another sample":         {"audit-settings", func(e *edit) { e.set(perf("S/TEST04"), "effective_performance_issue_same_index", "4") }},
	"TEST04 of unique samples":         {"audit-settings", func(e *edit) { e.set(perf("M/TEST04"), "effective_performance_issue_unique", "true") }},
	"TEST01 without samples":           {"audit-settings", func(e *edit) { e.set(perf("S/TEST01"), "effective_accuracy_log_rng_seed", "0") }},
	"TEST01 of one sample":             {"audit-settings", func(e *edit) { e.set(perf("O/TEST01"), "effective_performance_issue_same", "true") }},
	"a bound of dlrm-v3 above the conf's": {"perf-latency", func(e *edit) {
		recommender(e)
		e.set(perf(home+"/results/board1/dlrm-v3/Server"), "effective_target_latency_ns", "80000001")
	}},
	"videos drawn from fewer prompts": {"perf-sample-count", func(e *edit) { videos(e, "247", "248") }},
	"fewer videos in Offline":         {"perf-samples-per-query", func(e *edit) { videos(e, "248", "247") }},
	"gpt-oss that is not issued equally": {"perf-equal-issue", func(e *edit) {
		gptoss(e)
		e.set(perf(home+"/results/board1/gpt-oss-120b/Offline"), "effective_sample_concatenate_permutation", "false")
	}},
	"slow tokens in Interactive": {"perf-token-latency", func(e *edit) { interactive(e) }},
	"large file":                 {"tree-large-file", func(e *edit) { e.write(home+"/src/big", ""); e.ok(os.Truncate(e.at(home+"/src/big"), largestFile+1)) }},
}

// recommender turns the results into those of dlrm-v3 in the datacenter.
func recommender(e *edit) {
	language(e, "dlrm-v3", "349823", "metric/lifetime_ne/rating: 0.87\nmetric/lifetime_accuracy/rating: 0.7\nmetric/lifetime_gauc/rating: 0.79")
	for _, s := range []string{"Server", "Offline"} {
		to := home + "/results/board1/dlrm-v3/" + s
		e.set(perf(to), "effective_samples_per_query", "349823")
		e.remove(to + "/TEST06")
		e.write(to+"/TEST08/verify_accuracy.txt", "TEST PASS\n")
	}
	e.set(perf(home+"/results/board1/dlrm-v3/Server"), "effective_target_latency_ns", "80000000")
}

// videos turns the results into those of wan-2.2-t2v-a14b, drawn from so many prompts, and in
// Offline of so many samples.
func videos(e *edit, prompts, samples string) {
	e.system("system_type", `"datacenter"`)
	to := home + "/results/board1/wan-2.2-t2v-a14b"
	e.remove("R/MultiStream")
	e.rename(home+"/results/board1/resnet50", to)
	for _, s := range []string{"SingleStream", "Offline"} {
		e.remove(to + "/" + s + "/TEST01")
		e.write(to+"/"+s+"/accuracy/accuracy.txt", "{'vbench_score': 70.5}\nhash=abc\n")
		for _, name := range rounded(e, "v6.1").Model("wan-2.2-t2v-a14b").Files["videos"] {
			e.write(to+"/"+s+"/accuracy/videos/"+name+".mp4", "x")
		}
		for _, log := range []string{perf(to + "/" + s), perf(to + "/" + s + "/TEST04")} {
			e.set(log, "effective_performance_sample_count", prompts)
		}
		e.set(acc(to+"/"+s), "effective_accuracy_sample_count", "248")
	}
	e.set(perf(to+"/Offline"), "effective_samples_per_query", samples)
}

func TestDatacenterLacks(t *testing.T) {
	const host, accelerator, network = "host_memory_configuration", "accelerator_memory_configuration", "host_networking"
	for _, c := range []struct {
		fields string // changes to a system that lacks nothing
		want   []string
	}{
		{"", nil},
		{"system_type=edge|host_memory_configuration=2x16GB|host_networking=N/A", nil},
		{"division=open|host_memory_configuration=2x16GB", nil},
		{"host_memory_configuration=16 x 32 GB", []string{host}},
		{"host_memory_configuration=16 x 32 GB ECC, no spare", nil},
		{"host_memory_configuration=16 x 32 GB non-ECC", []string{host}},
		{"host_memory_configuration=16 x 32 GB|hw_notes=air; DRAM with ECC", nil},
		{"host_memory_configuration=16 x 32 GB|hw_notes=HBM with ECC", []string{host}},
		{"hw_notes=ECC of the accelerators' memory disabled", []string{accelerator}},
		{"hw_notes=ECC: off", []string{host, accelerator}},
		{"accelerator_memory_configuration=HBM3", []string{accelerator}},
		{"accelerator_memory_configuration=HBM3|hw_notes=ECC of the host's memory enabled", []string{accelerator}},
		{"accelerator_memory_configuration=HBM3|host_memory_configuration=DDR5|hw_notes=DRAM and HBM have ECC", nil},
		{"accelerator_memory_configuration=N/A|accelerators_per_node=0", nil},
		{"host_networking=N/A", []string{network}},
		{"host_networking=none|host_network_card_count=0", []string{network, "host_network_card_count"}},
	} {
		d := map[string]string{
			"system_type": "datacenter,edge", "division": "closed", host: "16 x 32 GB DDR5 ECC", accelerator: "HBM3 (ECC)", "accelerators_per_node": "8",
			network: "2 x 100 Gb/s Ethernet", "host_network_card_count": "2",
		}
		for _, change := range strings.Split(c.fields, "|") {
			name, value, _ := strings.Cut(change, "=")
			d[name] = value
		}
		var got []string
		for _, f := range DatacenterLacks(func(name string) string { return d[name] }) {
			got = append(got, f.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: lacks %q, want %q", c.fields, got, c.want)
		}
	}
}

func rounded(e *edit, version string) *rounds.Round {
	r, err := rounds.Find(version)
	e.ok(err)
	return r
}

func interactive(e *edit) {
	language(e, "llama3.1-8b", "13368", llama8b)
	to := home + "/results/board1/llama3.1-8b/"
	e.rename(to+"Server", to+"Interactive")
	e.set(perf(to+"Interactive"), "result_first_token_99.00_percentile_latency_ns", "600000000")
}

func TestStrictRules(t *testing.T) {
	t.Parallel()
	base := extract(t, "v6.1")
	for name, c := range strictChanges {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &edit{t, t.TempDir()}
			e.link(base)
			c.make(e)
			reference, strict := check(t, e.root, Reference), check(t, e.root, Strict)
			if !reference.Passes {
				t.Errorf("reference: %s", findingsOf(reference))
			}
			if strict.Passes || !slices.Contains(rulesOf(strict), c.rule) {
				t.Errorf("strict: passes %v, rules %v, want %s", strict.Passes, rulesOf(strict), c.rule)
			}
		})
	}
}

func check(t *testing.T, root string, p Profile) *Report {
	t.Helper()
	r, err := Check(context.Background(), Options{Tree: root, Rules: "v6.1", Profile: p})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rulesOf(r *Report) []string {
	var names []string
	for _, f := range r.Findings {
		names = append(names, f.Rule)
	}
	for _, one := range r.Results {
		for _, f := range one.Findings {
			names = append(names, f.Rule)
		}
	}
	return names
}

func TestGoldenTreesPass(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v6.1", "v5.1"} {
		root := extract(t, version)
		for _, p := range []Profile{Reference, Strict} {
			r, err := Check(context.Background(), Options{Tree: root, Rules: version, Profile: p})
			if err != nil || !r.Passes || len(r.Results) != 3 {
				t.Errorf("%s %s: %v, %s", version, p, err, findingsOf(r))
			}
		}
	}
}

func TestCheckIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Check(ctx, Options{Tree: extract(t, "v6.1"), Rules: "v6.1"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// settingsRules are those of settings that are easier than the rules'.
var settingsRules = []string{"perf-latency", "perf-sample-count", "perf-samples-per-query", "perf-percentile", "perf-issue", "perf-equal-issue", "audit-settings"}

func TestStrictAcceptsBounds(t *testing.T) {
	t.Parallel()
	base := extract(t, "v6.1")
	bench := home + "/results/board1/"
	for name, make := range map[string]func(e *edit){
		"as the rules say":            func(*edit) {},
		"a higher percentile":         func(e *edit) { e.set(perf("S"), "effective_target_latency_percentile", "0.99") },
		"a low percentile of Offline": func(e *edit) { e.set(perf("O"), "effective_target_latency_percentile", "0.5") },
		"more samples a query":        func(e *edit) { e.set(perf("M"), "effective_samples_per_query", "16") },
		"dlrm-v3 at the conf's bound": recommender,
		"all prompts of videos":       func(e *edit) { videos(e, "248", "248") },
		"gpt-oss issued equally": func(e *edit) {
			gptoss(e)
			for _, s := range []string{"Server", "Offline"} {
				e.set(perf(bench+"gpt-oss-120b/"+s), "effective_sample_concatenate_permutation", "true")
			}
			e.set(perf(bench+"gpt-oss-120b/Server"), "effective_target_latency_percentile", "0.99")
		},
		"easier settings in open": func(e *edit) {
			open(e)
			e.set(perf(openBench("resnet50/SingleStream")), "effective_target_latency_percentile", "0.5")
			e.set(perf(openBench("resnet50/Offline")), "effective_performance_issue_unique", "true")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &edit{t, t.TempDir()}
			e.link(base)
			make(e)
			if name == "dlrm-v3 at the conf's bound" {
				e.set(perf(bench+"dlrm-v3/Server"), "effective_target_latency_percentile", "0.99")
			}
			for _, rule := range rulesOf(check(t, e.root, Strict)) {
				if slices.Contains(settingsRules, rule) {
					t.Errorf("rule %s", rule)
				}
			}
		})
	}
}
