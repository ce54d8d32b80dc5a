package checker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
)

// A runCheck judges a performance run: the result's own, or that of a compliance test.
type runCheck struct {
	*resultCheck
	log      *runLog
	scenario string // of the log
}

const (
	leastDurationMS    = 600000 // constants.py, TEST_DURATION_MS
	nsPerMS            = 1000000
	multiStreamSamples = 8 // samples of a MultiStream query that is inferred from SingleStream
)

// checkRun judges a performance run and returns its metric, nil if there is none.
func (c *resultCheck) checkRun(log *runLog) any {
	r := &runCheck{resultCheck: c, log: log, scenario: log.text("effective_scenario")}
	if c.endpoint {
		r.scenario = endpointScenario(r.scenario, c.scenarioFolder())
	}
	if r.scenario == "" {
		c.fail("log-key", problem{path: log.path, line: log.line("effective_scenario"), message: "effective_scenario is not a text",
			found: log.show("effective_scenario"), wanted: "a scenario"})
		return nil
	}
	if c.endpoint {
		if !c.rule.Endpoints {
			c.fail("perf-endpoints", problem{path: c.folder, message: c.model + " must be measured with LoadGen", found: "no mlperf_log_detail.txt",
				wanted: "the logs of LoadGen"})
		}
	} else {
		if least := c.rule.PerformanceSamples; least != nil {
			r.atLeast("perf-sample-count", "effective_performance_sample_count", *least)
		} else {
			r.problem("benchmark-unknown", "", c.round.Version+" has no performance sample count for "+c.model, "another benchmark")
		}
		r.checkQueryCount()
	}
	r.checkSeeds()
	r.checkLatency()
	if c.model != "e2e-rag-qna" && c.model != "e2e-rag-db" { // which pass over their data once
		r.atLeast("perf-min-duration", "effective_min_duration_ms", leastDurationMS)
	}
	if c.description.network && !strings.Contains(log.text("sut_name"), "Network SUT") {
		r.problem("perf-network-sut", "sut_name", "the name of the SUT does not say that it is behind a network", `"Network SUT" in it`)
	}
	r.checkTokens()
	r.checkInferred()
	return r.checkMetric()
}

// problem is a finding about a key of the log.
func (r *runCheck) problem(rule, key, message, wanted string) {
	found := ""
	if key != "" {
		found = r.log.show(key)
	}
	r.fail(rule, problem{path: r.log.path, line: r.log.line(key), message: message, found: found, wanted: wanted})
}

// number returns the value of a key that must be a number.
func (r *runCheck) number(key string) (float64, bool) {
	v, ok := number(r.log.value(key))
	if !ok {
		r.problem("log-key", key, key+" is not a number", "a number")
	}
	return v, ok
}

// atLeast and atMost compare a number with a bound of the rules.
func (r *runCheck) atLeast(rule, key string, bound int64) {
	if v, ok := r.number(key); ok && v < float64(bound) {
		r.problem(rule, key, key+" is "+r.log.show(key), fmt.Sprintf("≥ %d", bound))
	}
}

func (r *runCheck) atMost(rule, key string, bound int64) {
	if v, ok := r.number(key); ok && v > float64(bound) {
		r.problem(rule, key, key+" is "+r.log.show(key), fmt.Sprintf("≤ %d", bound))
	}
}

func (r *runCheck) checkSeeds() {
	seedsOf := func(s rounds.Seeds) map[string]uint64 {
		return map[string]uint64{
			"effective_qsl_rng_seed": s.QSL, "effective_sample_index_rng_seed": s.SampleIndex, "effective_schedule_rng_seed": s.Schedule,
		}
	}
	for key, seed := range seedsOf(r.round.Seeds) {
		if r.endpoint && key == "effective_qsl_rng_seed" { // which only LoadGen has
			continue
		}
		have := r.log.show(key)
		if _, isNumber := number(r.log.value(key)); isNumber && have == strconv.FormatUint(seed, 10) {
			continue
		}
		message := key + " is not the seed of " + r.round.Version
		for _, version := range rounds.Versions() {
			if other, err := rounds.Find(version); err == nil && have == strconv.FormatUint(seedsOf(other.Seeds)[key], 10) {
				message += ", but of " + version
			}
		}
		r.problem("perf-seeds", key, message, strconv.FormatUint(seed, 10))
	}
}

// usesEarlyStopping reports whether the runs of a scenario end by early stopping.
func (r *runCheck) usesEarlyStopping() bool {
	return slices.Contains([]string{"Server", "SingleStream", "MultiStream"}, r.scenario)
}

func (r *runCheck) checkLatency() {
	switch {
	case r.usesEarlyStopping() && !r.endpoint:
		if !truth(r.log.value("early_stopping_met")) {
			r.problem("perf-early-stopping", "early_stopping_met", "early stopping is not met: "+r.log.show("early_stopping_result"), "true")
		} else if most := r.rule.LatencyNS[r.scenario]; most > 0 {
			r.atMost("perf-latency", "effective_target_latency_ns", most)
		}
	case !r.endpoint || !r.rule.UsesTokens: // else checkTokens does
		folder := r.scenarioFolder()
		if s := rounds.Scenario(folder); s != "" {
			folder = s
		}
		if most := r.rule.LatencyNS[folder]; most > 0 {
			r.atMost("perf-latency", "result_99.00_percentile_latency_ns", most)
		}
	}
}

func (r *runCheck) checkQueryCount() {
	if !r.usesEarlyStopping() {
		if r.rule.MinQueries == nil {
			r.problem("benchmark-unknown", "", r.round.Version+" has no query counts for "+r.model, "another benchmark")
		} else if least := r.rule.MinQueries[r.scenario]; least > 0 {
			r.atLeast("perf-min-query-count", "effective_min_query_count", least)
		}
	}
	if !strings.EqualFold(r.scenario, "offline") {
		return
	}
	const key = "effective_samples_per_query" // of the one query
	v, ok := r.number(key)
	if least := r.rule.OfflineSamples; least == nil {
		r.problem("benchmark-unknown", "", "the rules have no least samples per query of "+r.model+" in Offline", "another scenario")
	} else if ok && (r.division == "closed" || r.strict && r.division == "network") && v < float64(*least) {
		r.problem("perf-samples-per-query", key, "an Offline query has "+r.log.show(key)+" samples", fmt.Sprintf("≥ %d", *least))
	}
}

func (r *runCheck) checkTokens() {
	if !r.rule.UsesTokens {
		return
	}
	const key = "requested_use_token_latencies"
	if !r.endpoint && !truth(r.log.value(key)) {
		r.problem("perf-token-latency", key, "token latencies were not measured", "true")
	} else if r.scenario == "Server" || r.scenario == "Interactive" {
		r.checkTokenLimits(r.scenario)
	}
}

func (r *runCheck) checkTokenLimits(scenario string) {
	limits, ok := r.rule.TokenLimitsNS[scenario]
	if !ok {
		r.problem("perf-token-latency", "", "the rules have no token latency limits for "+r.model+" in "+scenario, "another scenario")
		return
	}
	for _, l := range []struct {
		key, name string
		bound     int64
	}{
		{"result_first_token_99.00_percentile_latency_ns", "time to first token", limits.TTFT},
		{"result_time_per_output_token_99.00_percentile_ns", "time per output token", limits.TPOT},
	} {
		if v, ok := r.number(l.key); ok && v >= float64(l.bound) {
			r.problem("perf-token-latency", l.key, "the 99th percentile of the "+l.name+" is too high in "+scenario, fmt.Sprintf("< %d ns", l.bound))
		}
	}
}

// inferred reports whether the folder is that of another scenario than the log's. Interactive, for LoadGen, is a Server run.
func (r *runCheck) inferred() bool {
	log, folder := strings.ToLower(r.scenario), strings.ToLower(r.scenarioFolder())
	return log != folder && (log != "server" || folder != "interactive")
}

func (r *runCheck) checkInferred() {
	if !r.inferred() {
		return
	}
	// The scenarios that a result may be inferred for, by the measured one.
	inferable := map[string][]string{"singlestream": {"multistream", "offline"}, "multistream": {"offline"}}[strings.ToLower(r.scenario)]
	wanted := "a run of " + r.scenarioFolder()
	if !strings.Contains(strings.ToLower(r.description.systemType), "edge") {
		r.problem("perf-inferred", "effective_scenario", "only edge systems may infer results, and this one is "+r.description.systemType, wanted)
	} else if !slices.Contains(inferable, strings.ToLower(r.scenarioFolder())) {
		r.problem("perf-inferred", "effective_scenario", r.scenarioFolder()+" cannot be inferred from "+r.scenario, wanted)
	}
}

// checkMetric returns the metric, nil if there is none.
func (r *runCheck) checkMetric() any {
	keys, scenario := r.round.Metric, r.scenario
	if r.endpoint {
		keys, scenario = r.round.EndpointsMetric, strings.ToLower(r.scenario)
	}
	key, ok := keys[scenario]
	if !ok {
		r.problem("perf-metric", "effective_scenario", r.round.Version+" has no metric of this scenario", "another scenario")
		return nil
	}
	v, ok := r.metricOf(key)
	if own := r.rule.Metric[r.scenario]; ok && own != "" {
		v, ok = r.metricOf(own)
	}
	if !ok {
		return nil
	}
	if r.scenario == "SingleStream" || r.scenario == "MultiStream" { // a latency in ns
		if v /= nsPerMS; r.model == "wan-2.2-t2v-a14b" {
			v /= 1000
		}
	}
	if !r.inferred() {
		return v
	}
	folder := r.scenarioFolder()
	if folder == strings.ToLower(folder) {
		folder = rounds.Scenario(folder)
	}
	switch r.scenario + " → " + folder {
	case "SingleStream → Offline":
		return r.log.value("result_qps_without_loadgen_overhead") // whatever it is
	case "MultiStream → Offline":
		const key = "result_mean_query_latency_ns"
		samples, ok := r.number("effective_samples_per_query")
		latency, okLatency := r.number(key)
		if ok && okLatency && latency == 0 {
			r.problem("perf-metric", key, "Offline cannot be inferred", "a mean latency above 0")
		}
		if !ok || !okLatency || latency == 0 {
			return nil
		}
		return samples * 1000 / (latency / nsPerMS)
	case "SingleStream → MultiStream":
		const key = "early_stopping_latency_ms"
		latency, ok := r.number(key)
		if !ok {
			return nil
		}
		if latency == 0 {
			r.problem("perf-inferred", key, "too few queries to infer MultiStream", "662 queries or more")
		}
		return latency * multiStreamSamples / nsPerMS
	}
	return v
}

// metricOf returns the value of a key that must be a number, or a text of one.
func (r *runCheck) metricOf(key string) (float64, bool) {
	v, err := parseNumber(r.log.value(key))
	if err != nil {
		r.problem("perf-metric", key, key+" is not a number", "a number")
	}
	return v, err == nil
}
