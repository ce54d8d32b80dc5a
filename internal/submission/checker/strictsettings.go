package checker

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/submission/python"
)

// Where the tables of the official checker are laxer than inference_rules and mlperf.conf.
var (
	strictLatencyNS = map[string]int64{"dlrm-v3": 80_000_000}   // of Server
	strictSamples   = map[string]int64{"wan-2.2-t2v-a14b": 248} // in memory, and of a query in Offline
)

// percentiles are those that mlperf.conf sets, by scenario.
var percentiles = map[string]float64{"SingleStream": 0.9, "MultiStream": 0.99, "Server": 0.99}

// strictSettings finds settings of a result's run that are easier than the rules', and that the
// official checker does not look at.
func (r *run) strictSettings() {
	if r.division == "open" {
		return
	}
	const latency, samples, query = "effective_target_latency_ns", "effective_performance_sample_count", "effective_samples_per_query"
	scenario, _ := r.log.text("effective_scenario")
	r.strictIssue()
	r.strictPercentile(scenario)
	r.atLeast("perf-sample-count", samples, strictSamples[r.model])
	switch scenario {
	case "Server":
		if v := r.log.values[latency].value; strictLatencyNS[r.model] > 0 && python.IsNumber(v) && above(v, strictLatencyNS[r.model]) {
			r.problem("perf-latency", r.log.line(latency), latency+" is "+str(v), str(v), fmt.Sprintf("≤ %d, as mlperf.conf says", strictLatencyNS[r.model]))
		}
	case "Offline":
		r.atLeast("perf-samples-per-query", query, strictSamples[r.model])
	case "MultiStream":
		r.atLeast("perf-issue", query, multiStreamSample)
	}
}

// atLeast checks a count of samples against what mlperf.conf says.
func (r *run) atLeast(rule, key string, least int64) {
	if v := r.log.values[key].value; python.IsNumber(v) && below(v, least) {
		r.problem(rule, r.log.line(key), key+" is "+str(v), str(v), fmt.Sprintf("≥ %d, as mlperf.conf says", least))
	}
}

// strictPercentile checks at which percentile latencies count: a lower one is easier.
func (r *run) strictPercentile(scenario string) {
	const key = "effective_target_latency_percentile"
	least, counts := percentiles[scenario]
	if r.model == "pointpainting" && scenario == "SingleStream" {
		least = 0.999
	}
	if v := r.log.values[key].value; counts && python.IsNumber(v) && python.Less(v, least) {
		r.problem("perf-percentile", r.log.line(key), "latencies count at a lower percentile than by the rules", str(v), fmt.Sprint(least))
	}
}

// strictIssue checks that samples were drawn as the scenario draws them.
func (r *run) strictIssue() {
	for key, what := range map[string]string{
		"effective_performance_issue_same":   "one sample was issued again and again",
		"effective_performance_issue_unique": "no sample was issued twice",
	} {
		if python.Truth(r.log.values[key].value) {
			r.problem("perf-issue", r.log.line(key), what, r.log.show(key), "false")
		}
	}
}

// samplingSeed and sameSample are what the audit.config of TEST01 and TEST04 set.
const (
	samplingSeed = 720381539243781796
	sameSample   = 3
)

// strictAuditSettings checks that a compliance test ran under its audit.config.
func (r *run) strictAuditSettings(test string) {
	want := map[string]python.Value{"effective_accuracy_log_rng_seed": int64(samplingSeed), "effective_performance_issue_same": false, "effective_performance_issue_unique": false}
	if test == "TEST04" {
		want = map[string]python.Value{"effective_performance_issue_same": true, "effective_performance_issue_unique": false, "effective_performance_issue_same_index": int64(sameSample)}
	}
	for key, value := range want {
		if !python.Equal(r.log.values[key].value, value) {
			r.problem("audit-settings", r.log.line(key), test+" did not run under its audit.config: "+key, r.log.show(key), str(value))
		}
	}
}
