package build

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
)

// infer adds the results of scenarios that an edge system needs and nobody ran, from those
// that the rules allow: MultiStream from SingleStream, Offline from MultiStream or else from
// SingleStream (tools/submission/preprocess_submission.py). What is copied is the whole
// result.
func (b *builder) infer(list []*result) ([]*result, error) {
	if !strings.Contains(b.Description["system_type"], "edge") {
		return nil, fmt.Errorf("results are inferred for edge systems only, this one's system_type is %q", b.Description["system_type"])
	}
	for benchmark, have := range byScenario(list) {
		for _, scenario := range b.round.Model(benchmark).Required["edge"] {
			from := source(scenario, have)
			if have[scenario] != nil || from == nil {
				continue
			}
			one := *from
			one.scenario, one.from = scenario, from
			if _, _, err := one.value(b); err != nil {
				return nil, err
			}
			list = append(list, &one)
		}
	}
	return list, nil
}

// byScenario finds results by benchmark and scenario.
func byScenario(list []*result) map[string]map[string]*result {
	measured := map[string]map[string]*result{}
	for _, r := range list {
		if measured[r.benchmark] == nil {
			measured[r.benchmark] = map[string]*result{}
		}
		measured[r.benchmark][r.scenario] = r
	}
	return measured
}

// source is the result that a scenario's may be inferred from; nil: there is none.
func source(scenario string, have map[string]*result) *result {
	switch scenario {
	case "MultiStream":
		return have["SingleStream"]
	case "Offline":
		if have["MultiStream"] != nil {
			return have["MultiStream"]
		}
		return have["SingleStream"]
	}
	return nil
}

// streamSamples is how many samples a query of MultiStream has.
const streamSamples = 8

// inferred are the rules' formulas (checks/performance_check.py), by what is inferred from
// what.
var inferred = map[[2]string]func(log *mlperflog.Detail) (float64, error){
	{"SingleStream", "MultiStream"}: func(log *mlperflog.Detail) (float64, error) {
		ns, err := log.Float("early_stopping_latency_ms")
		return ns * streamSamples / 1e6, err
	},
	{"SingleStream", "Offline"}: func(log *mlperflog.Detail) (float64, error) {
		return log.Float("result_qps_without_loadgen_overhead")
	},
	{"MultiStream", "Offline"}: func(log *mlperflog.Detail) (float64, error) {
		samples, err := log.Float("effective_samples_per_query")
		if err != nil {
			return 0, err
		}
		ns, err := log.Float("result_mean_query_latency_ns")
		if err != nil || ns == 0 {
			return 0, err
		}
		return samples * 1000 / (ns / 1e6), nil
	},
}

// value is the result as it will be reported, and its unit.
func (r *result) value(b *builder) (value float64, unit string, err error) {
	unit = b.round.Model(r.benchmark).UnitOf(r.scenario)
	log := r.performance.log
	if r.from == nil {
		value, err = measured(b, r, log)
		if strings.HasPrefix(unit, "Latency (ms") {
			value /= 1e6
		} else if unit == "Latency (s)" {
			value /= 1e9
		}
		return value, unit, err
	}
	value, err = inferred[[2]string{r.from.scenario, r.scenario}](log)
	if err == nil && value <= 0 {
		err = fmt.Errorf("%s cannot be inferred from %s: %s has too few queries for that", r.name(), r.from.scenario, log.Name)
	}
	return value, unit, err
}

// measured is the result that the log has.
func measured(b *builder, r *result, log *mlperflog.Detail) (float64, error) {
	scenario := r.asLogged()
	key := b.round.Metric[scenario]
	if own := b.round.Model(r.benchmark).Metric[scenario]; own != "" {
		key = own
	}
	return log.Float(key)
}

// asLogged is the scenario as LoadGen calls it, which does not know Interactive.
func (r *result) asLogged() string {
	if r.scenario == "Interactive" {
		return "Server"
	}
	return r.scenario
}

// how says how a result was inferred, in words.
func (r *result) how() string {
	return map[string]string{
		"MultiStream": "8 times the early-stopping estimate of the 99th percentile of SingleStream",
		"Offline":     "the rate of " + r.from.scenario + " without the time of the load generator",
	}[r.scenario]
}
