package checker

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/python"
)

// A run is a performance run under judgement: the result's own, or that of a compliance
// test.
type run struct {
	*judgement
	log      *detailLog
	scenario string // that the log is of
}

const leastDurationMS = 600000 // constants.py, TEST_DURATION_MS

func (g *judgement) checkPerformance() {
	before := failing(g.findings)
	g.metric = g.checkRun(g.performance)
	if !python.Truth(g.metric) && failing(g.findings) == before {
		g.fail("perf-metric", problem{path: g.performance.path, message: "the result is " + str(g.metric), found: str(g.metric), wanted: "a number above 0"})
	}
}

// checkRun judges a performance run and returns its metric.
func (g *judgement) checkRun(log *detailLog) python.Value {
	r := &run{judgement: g, log: log}
	if r.scenario, _ = log.text("effective_scenario"); g.endpoints {
		r.scenario = endpointsScenario(log.values["effective_scenario"].value, g.scenarioFolder())
	}
	if r.scenario == "" {
		g.fail("log-key", problem{path: log.path, line: log.line("effective_scenario"), message: "effective_scenario is not a text", found: log.show("effective_scenario"), wanted: "a scenario"})
		return nil
	}
	if g.endpoints {
		if !g.rule.Endpoints {
			g.fail("perf-endpoints", problem{path: g.folder, message: g.model + " must be measured with LoadGen", found: "no mlperf_log_detail.txt", wanted: "the logs of LoadGen"})
		}
	} else {
		r.checkSampleCount()
		r.checkQueryCount()
	}
	if log.noErrors > 0 {
		r.problem("log-format", log.noErrors, "a message does not say whether it is an error", "", "metadata with is_error")
	}
	r.checkSeeds()
	r.checkLatency()
	r.checkDuration()
	r.checkNetwork()
	r.checkTokens()
	r.checkInferred()
	return r.checkMetric()
}

func (r *run) problem(rule string, line int, message, found, wanted string) {
	r.fail(rule, problem{path: r.log.path, line: line, message: message, found: found, wanted: wanted})
}

// number returns the value of a key that must be a number.
func (r *run) number(key string) (python.Value, bool) {
	e := r.log.values[key]
	if e.whole && python.IsNumber(e.value) {
		return e.value, true
	}
	r.problem("log-key", e.line, key+" is not a number", r.log.show(key), "a number")
	return nil, false
}

// compare checks a number against a bound.
func (r *run) compare(rule, key string, bad func(v, bound python.Value) bool, sign string, bound int64) {
	if v, ok := r.number(key); ok && bad(v, bound) {
		r.problem(rule, r.log.line(key), key+" is "+str(v), str(v), fmt.Sprintf("%s %d", sign, bound))
	}
}

func below(v, bound python.Value) bool { return python.Less(v, bound) }
func above(v, bound python.Value) bool { return python.Less(bound, v) }

func (r *run) checkSampleCount() {
	if least := r.rule.PerformanceSamples; least != nil {
		r.compare("perf-sample-count", "effective_performance_sample_count", below, "≥", *least)
		return
	}
	r.problem("benchmark-unknown", 0, r.round.Version+" has no performance sample count for "+r.model, "", "another benchmark")
}

func (r *run) checkSeeds() {
	seeds := r.round.Seeds
	for _, s := range []struct {
		key  string
		seed uint64
	}{
		{"effective_qsl_rng_seed", seeds.QSL},
		{"effective_sample_index_rng_seed", seeds.SampleIndex},
		{"effective_schedule_rng_seed", seeds.Schedule},
	} {
		if r.endpoints && s.seed == seeds.QSL {
			continue // which only LoadGen has
		}
		e := r.log.values[s.key]
		if !e.whole || !python.Equal(e.value, unsigned(s.seed)) {
			r.problem("perf-seeds", e.line, s.key+" is not the seed of "+r.round.Version+r.otherRound(s.key), r.log.show(s.key), strconv.FormatUint(s.seed, 10))
		}
	}
}

// otherRound says which round's seed a log has.
func (r *run) otherRound(key string) string {
	for _, version := range rounds.Versions() {
		other, err := rounds.Find(version)
		if err != nil {
			continue
		}
		seed := map[string]uint64{
			"effective_qsl_rng_seed": other.Seeds.QSL, "effective_sample_index_rng_seed": other.Seeds.SampleIndex,
			"effective_schedule_rng_seed": other.Seeds.Schedule,
		}[key]
		if python.Equal(r.log.values[key].value, unsigned(seed)) {
			return ", but of " + version
		}
	}
	return ""
}

func unsigned(n uint64) python.Value { return python.Whole(new(big.Int).SetUint64(n)) }

// usesEarlyStopping reports whether a scenario's runs end by early stopping.
func usesEarlyStopping(scenario string) bool {
	return slices.Contains([]string{"Server", "SingleStream", "MultiStream"}, scenario)
}

func (r *run) checkLatency() {
	switch {
	case usesEarlyStopping(r.scenario) && !r.endpoints:
		r.checkEarlyStopping()
	case !r.endpoints || !r.rule.UsesTokens: // else checkTokens does
		r.checkMeasuredLatency()
	}
}

func (r *run) checkEarlyStopping() {
	e := r.log.values["early_stopping_met"]
	if !e.whole || !python.Truth(e.value) {
		r.problem("perf-early-stopping", e.line, "early stopping is not met: "+r.log.show("early_stopping_result"), r.log.show("early_stopping_met"), "true")
	} else if most := r.rule.LatencyNS[r.scenario]; most > 0 {
		r.compare("perf-latency", "effective_target_latency_ns", above, "≤", most)
	}
}

func (r *run) checkMeasuredLatency() {
	folder := r.scenarioFolder()
	if s := rounds.Scenario(folder); s != "" {
		folder = s
	}
	if most := r.rule.LatencyNS[folder]; most > 0 {
		r.compare("perf-latency", "result_99.00_percentile_latency_ns", above, "≤", most)
	}
}

func (r *run) checkQueryCount() {
	if !usesEarlyStopping(r.scenario) {
		if r.rule.MinQueries == nil {
			r.problem("benchmark-unknown", 0, r.round.Version+" has no query counts for "+r.model, "", "another benchmark")
		} else if least := r.rule.MinQueries[r.scenario]; least > 0 {
			r.compare("perf-min-query-count", "effective_min_query_count", below, "≥", least)
		}
	}
	if strings.ToLower(r.scenario) == "offline" {
		r.checkOfflineSamples()
	}
}

// checkOfflineSamples checks how many samples the one query of Offline has.
func (r *run) checkOfflineSamples() {
	least := r.rule.OfflineSamples
	v, ok := r.number("effective_samples_per_query")
	if least == nil {
		r.problem("benchmark-unknown", 0, "the rules have no least samples per query of "+r.model+" in Offline", "", "another scenario")
	} else if ok && r.division == "closed" && below(v, *least) {
		r.problem("perf-samples-per-query", r.log.line("effective_samples_per_query"), "an Offline query has "+str(v)+" samples", str(v), fmt.Sprintf("≥ %d", *least))
	}
}

func (r *run) checkDuration() {
	if r.model != "e2e-rag-qna" && r.model != "e2e-rag-db" { // which pass over their data once
		r.compare("perf-min-duration", "effective_min_duration_ms", below, "≥", leastDurationMS)
	}
}

func (r *run) checkNetwork() {
	if name, _ := r.log.text("sut_name"); r.description.network && !strings.Contains(name, "Network SUT") {
		r.problem("perf-network-sut", r.log.line("sut_name"), "the name of the SUT does not say that it is behind a network", r.log.show("sut_name"), `"Network SUT" in it`)
	}
}

func (r *run) checkTokens() {
	if !r.rule.UsesTokens {
		return
	}
	if e := r.log.values["requested_use_token_latencies"]; !r.endpoints && (!e.whole || !python.Truth(e.value)) {
		r.problem("perf-token-latency", e.line, "token latencies were not measured", r.log.show("requested_use_token_latencies"), "true")
		return
	}
	if r.scenario != "Server" && r.scenario != "Interactive" {
		return
	}
	r.checkTokenLimits(r.scenario)
}

func (r *run) checkTokenLimits(scenario string) {
	limits, ok := r.rule.TokenLimitsNS[scenario]
	if !ok {
		r.problem("perf-token-latency", 0, "the rules have no bounds of tokens for "+r.model+" in "+scenario, "", "another scenario")
		return
	}
	for _, l := range []struct {
		key, name string
		bound     int64
	}{
		{"result_first_token_99.00_percentile_latency_ns", "the first token", limits.TTFT},
		{"result_time_per_output_token_99.00_percentile_ns", "a token", limits.TPOT},
	} {
		if v, ok := r.number(l.key); ok && !python.Less(v, l.bound) {
			r.problem("perf-token-latency", r.log.line(l.key), "at the 99th percentile "+l.name+" takes too long in "+scenario, str(v)+" ns", fmt.Sprintf("< %d ns", l.bound))
		}
	}
}
