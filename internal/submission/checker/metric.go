package checker

import (
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/python"
)

const (
	nsPerMS           = 1000000
	multiStreamSample = 8 // samples of a MultiStream query that is inferred from SingleStream
)

// inferable are the scenarios that a result may be inferred for, by the one that was
// measured.
var inferable = map[string][]string{"singlestream": {"multistream", "offline"}, "multistream": {"offline"}}

// inferred reports whether the folder is that of another scenario than the log's.
// Interactive, for LoadGen, is a Server run.
func (r *run) inferred() bool {
	log, folder := strings.ToLower(r.scenario), strings.ToLower(r.scenarioFolder())
	return log != folder && (log != "server" || folder != "interactive")
}

func (r *run) checkInferred() {
	if !r.inferred() {
		return
	}
	log, folder := strings.ToLower(r.scenario), strings.ToLower(r.scenarioFolder())
	line := r.log.line("effective_scenario")
	if !strings.Contains(strings.ToLower(r.description.systemType), "edge") {
		r.problem("perf-inferred", line, "only edge systems may infer results", r.scenario+" on a system of the type "+r.description.systemType, "a run of "+r.scenarioFolder())
		return
	}
	for _, s := range inferable[log] {
		if s == folder {
			return
		}
	}
	r.problem("perf-inferred", line, r.scenarioFolder()+" cannot be inferred from "+r.scenario, r.scenario, "a run of "+r.scenarioFolder())
}

// checkMetric returns the metric, nil if there is none.
func (r *run) checkMetric() python.Value {
	keys, scenario := r.round.Metric, r.scenario
	if r.endpoints {
		keys, scenario = r.round.EndpointsMetric, strings.ToLower(r.scenario)
	}
	key, ok := keys[scenario]
	if !ok {
		r.problem("perf-metric", r.log.line("effective_scenario"), r.round.Version+" has no metric of this scenario", r.scenario, "another scenario")
		return nil
	}
	v, ok := r.float(key)
	if own := r.rule.Metric[r.scenario]; ok && own != "" {
		v, ok = r.float(own)
	}
	if !ok {
		return nil
	}
	if v = r.inUnit(v); r.inferred() {
		return r.inferredMetric(v)
	}
	return v
}

// inUnit turns the ns of a latency into ms, of videos into seconds.
func (r *run) inUnit(v float64) float64 {
	if r.scenario != "SingleStream" && r.scenario != "MultiStream" {
		return v
	}
	if v /= nsPerMS; r.model == "wan-2.2-t2v-a14b" {
		v /= 1000
	}
	return v
}

// float returns the value of a key that must be a number, or a text that is one.
func (r *run) float(key string) (float64, bool) {
	e := r.log.values[key]
	if e.whole {
		v, err := python.Float(e.value)
		if err == nil {
			return v, true
		}
	}
	r.problem("perf-metric", e.line, key+" is not a number", r.log.show(key), "a number")
	return 0, false
}

// inferredMetric returns the metric of the folder's scenario from another's log.
func (r *run) inferredMetric(measured float64) python.Value {
	folder := r.scenarioFolder()
	if folder == strings.ToLower(folder) {
		folder = rounds.Scenario(folder)
	}
	switch r.scenario + " → " + folder {
	case "SingleStream → Offline":
		return r.log.values["result_qps_without_loadgen_overhead"].value // whatever it is
	case "MultiStream → Offline":
		return r.offlineOfMultiStream()
	case "SingleStream → MultiStream":
		return r.multiStreamOfSingleStream()
	}
	return measured
}

func (r *run) offlineOfMultiStream() python.Value {
	samples, ok := r.number("effective_samples_per_query")
	latency, okLatency := r.number("result_mean_query_latency_ns")
	if !ok || !okLatency {
		return nil
	}
	ms, err := python.Div(latency, int64(nsPerMS))
	if err == nil {
		var rate float64
		if rate, err = python.Div(python.Mul(samples, 1000), ms); err == nil {
			return rate
		}
	}
	r.problem("perf-metric", r.log.line("result_mean_query_latency_ns"), "Offline cannot be inferred: "+err.Error(), str(latency), "a mean latency above 0")
	return nil
}

func (r *run) multiStreamOfSingleStream() python.Value {
	latency, ok := r.number("early_stopping_latency_ms")
	if !ok {
		return nil
	}
	if !python.Truth(latency) {
		r.problem("perf-inferred", r.log.line("early_stopping_latency_ms"), "too few queries to infer MultiStream", str(latency), "662 queries or more")
	}
	v, err := python.Div(python.Mul(latency, multiStreamSample), int64(nsPerMS))
	if err != nil {
		r.problem("perf-metric", r.log.line("early_stopping_latency_ms"), "MultiStream cannot be inferred: "+err.Error(), str(latency), "a latency")
		return nil
	}
	return v
}
