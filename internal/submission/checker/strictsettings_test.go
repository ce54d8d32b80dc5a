package checker

import (
	"slices"
	"testing"
)

// settingsRules are those of settings that are easier than the rules'.
var settingsRules = []string{"perf-latency", "perf-sample-count", "perf-samples-per-query", "perf-percentile", "perf-issue", "perf-equal-issue", "audit-settings"}

func TestStrictAcceptsSettingsAtTheirBounds(t *testing.T) {
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
