package checker

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/submission/python"
)

// The smallest logs that pass, of ResNet in v6.1 by scenario. The lines of findings are these.
var (
	seedLines = []string{
		"effective_qsl_rng_seed 2085463073848966840",
		"effective_sample_index_rng_seed 2747215439041700203",
		"effective_schedule_rng_seed 16159082839903944936",
		"effective_min_duration_ms 600000",
		"effective_performance_sample_count 1024",
	}
	scenarioLines = map[string][]string{
		"SingleStream": {`effective_scenario "SingleStream"`, "early_stopping_met true", "early_stopping_latency_ss 2500000"},
		"MultiStream":  {`effective_scenario "MultiStream"`, "early_stopping_met true", "early_stopping_latency_ms 9000000"},
		"Server": {
			`effective_scenario "Server"`, "early_stopping_met true", "effective_target_latency_ns 15000000",
			"result_completed_samples_per_sec 812.5",
		},
		"Offline": {
			`effective_scenario "Offline"`, "effective_min_query_count 1", "effective_samples_per_query 24576",
			"result_samples_per_second 1024.25",
		},
	}
)

func linesOf(scenario string) []string {
	return append(append([]string{}, seedLines...), scenarioLines[scenario]...)
}

func TestTheSmallestLogOfEachScenarioHasItsMetric(t *testing.T) {
	for scenario, want := range map[string]string{"SingleStream": "2.5", "MultiStream": "9.0", "Server": "812.5", "Offline": "1024.25"} {
		b := newBench(t, "v6.1", "resnet", scenario)
		got := b.g.checkRun(logOf(t, "log", linesOf(scenario)...))
		if wantSaid(t, b.g.findings, ""); python.Str(got) != want {
			t.Errorf("%s: %s, want %s", scenario, python.Str(got), want)
		}
	}
}

func TestWhatIsWrongWithARunIsNamed(t *testing.T) {
	for _, c := range []struct {
		name, scenario string
		changes        []string
		want           string
	}{
		{"too few samples in memory", "Offline", []string{"effective_performance_sample_count 1023"},
			"perf-sample-count log:5: effective_performance_sample_count is 1023; found 1023; want ≥ 1024"},
		{"a count of samples in words", "Offline", []string{`effective_performance_sample_count "1024"`},
			"log-key log:5: effective_performance_sample_count is not a number; found 1024; want a number"},
		{"no count of samples", "Offline", []string{"-effective_performance_sample_count"},
			"log-key log: effective_performance_sample_count is not a number; found no such key; want a number"},
		{"a key without a value", "Offline", []string{"effective_performance_sample_count"},
			"log-key log:5: effective_performance_sample_count is not a number; found no value; want a number"},
		{"the seed of the round before", "Server", []string{"effective_schedule_rng_seed 3936089224930324775"},
			"perf-seeds log:3: effective_schedule_rng_seed is not the seed of v6.1, but of v6.0; found 3936089224930324775; want 16159082839903944936"},
		{"a seed of no round", "Server", []string{"effective_sample_index_rng_seed 1"},
			"perf-seeds log:2: effective_sample_index_rng_seed is not the seed of v6.1; found 1; want 2747215439041700203"},
		{"the seed of another stream of the same round", "Server", []string{"effective_qsl_rng_seed 2747215439041700203"},
			"perf-seeds log:1: effective_qsl_rng_seed is not the seed of v6.1; found 2747215439041700203; want 2085463073848966840"},
		{"no seed", "Server", []string{"-effective_qsl_rng_seed"},
			"perf-seeds log: effective_qsl_rng_seed is not the seed of v6.1; found no such key; want 2085463073848966840"},
		{"a millisecond too short", "SingleStream", []string{"effective_min_duration_ms 599999"},
			"perf-min-duration log:4: effective_min_duration_ms is 599999; found 599999; want ≥ 600000"},
		{"early stopping not met, with a reason", "SingleStream", []string{"early_stopping_met false", `early_stopping_result "Only processed 10 queries."`},
			"perf-early-stopping log:7: early stopping is not met: Only processed 10 queries.; found False; want true"},
		{"early stopping not met, without one", "MultiStream", []string{"early_stopping_met 0"},
			"perf-early-stopping log:7: early stopping is not met: no such key; found 0; want true"},
		{"a bound above the rules'", "Server", []string{"effective_target_latency_ns 15000001"},
			"perf-latency log:8: effective_target_latency_ns is 15000001; found 15000001; want ≤ 15000000"},
		{"no query in Offline", "Offline", []string{"effective_min_query_count 0"},
			"perf-min-query-count log:7: effective_min_query_count is 0; found 0; want ≥ 1"},
		{"a short query in Offline", "Offline", []string{"effective_samples_per_query 24575"},
			"perf-samples-per-query log:8: an Offline query has 24575 samples; found 24575; want ≥ 24576"},
		{"a metric in words", "Offline", []string{`result_samples_per_second "many"`},
			"perf-metric log:9: result_samples_per_second is not a number; found many; want a number"},
		{"the metric of another scenario", "SingleStream", []string{"-early_stopping_latency_ss", "early_stopping_latency_ms 5"},
			"perf-metric log: early_stopping_latency_ss is not a number; found no such key; want a number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, "v6.1", "resnet", c.scenario)
			b.g.checkRun(logOf(t, "log", changed(linesOf(c.scenario), c.changes...)...))
			wantSaid(t, b.g.findings, "", c.want)
		})
	}
}

func TestALogWithoutAScenarioIsJudgedNoFurther(t *testing.T) {
	for change, found := range map[string]string{
		"-effective_scenario":            "log-key log: effective_scenario is not a text; found no such key; want a scenario",
		"effective_scenario":             "log-key log:6: effective_scenario is not a text; found no value; want a scenario",
		`effective_scenario ["Offline"]`: "log-key log:6: effective_scenario is not a text; found ['Offline']; want a scenario",
		`effective_scenario ""`:          "log-key log:6: effective_scenario is not a text; want a scenario",
	} {
		b := newBench(t, "v6.1", "resnet", "Offline")
		if v := b.g.checkRun(logOf(t, "log", changed(linesOf("Offline"), change, "effective_min_duration_ms 1")...)); v != nil {
			t.Errorf("%s: metric %v", change, v)
		}
		wantSaid(t, b.g.findings, "", found)
	}
}

func TestSettingsAtTheirBoundsPass(t *testing.T) {
	for _, c := range []struct{ why, scenario, change string }{
		{"more samples than asked for", "Offline", "effective_samples_per_query 10000000"},
		{"a float is a number", "Offline", "effective_samples_per_query 24576.0"},
		{"true is 1", "Offline", "effective_min_query_count true"},
		{"a longer run", "SingleStream", "effective_min_duration_ms 1e6"},
		{"a stricter bound", "Server", "effective_target_latency_ns 1"},
		{"early stopping by any value that Python takes for true", "SingleStream", `early_stopping_met "no"`},
		{"a metric that is a text of digits", "Offline", `result_samples_per_second " 1_000.5 "`},
		{"another key of the metric counts for nothing", "SingleStream", "early_stopping_latency_ms 0"},
		{"SingleStream has no least number of queries: early stopping counts them", "SingleStream", "effective_min_query_count 0"},
	} {
		t.Run(c.why, func(t *testing.T) {
			b := newBench(t, "v6.1", "resnet", c.scenario)
			b.g.checkRun(logOf(t, "log", changed(linesOf(c.scenario), c.change)...))
			wantSaid(t, b.g.findings, "")
		})
	}
}

func TestWhatDependsOnTheDivision(t *testing.T) {
	short := "perf-samples-per-query log:8: an Offline query has 1 samples; found 1; want ≥ 24576"
	unnamed := `perf-network-sut log: the name of the SUT does not say that it is behind a network; found no such key; want "Network SUT" in it`
	for _, c := range []struct {
		division string
		network  bool
		changes  []string
		want     []string
	}{
		{"closed", false, []string{"effective_samples_per_query 1"}, []string{short}},
		{"open", false, []string{"effective_samples_per_query 1"}, nil},
		{"network", true, []string{"effective_samples_per_query 1", `sut_name "A Network SUT"`}, nil},
		{"network", true, nil, []string{unnamed}},
		{"network", true, []string{`sut_name "network sut"`}, []string{`perf-network-sut log:10: the name of the SUT does not say that it is behind a network; found network sut; want "Network SUT" in it`}},
		{"open", true, nil, []string{unnamed}},
		{"open", false, []string{`sut_name "anything"`}, nil},
	} {
		b := newBench(t, "v6.1", "resnet", "Offline")
		b.g.division, b.g.description.network = c.division, c.network
		b.g.checkRun(logOf(t, "log", changed(linesOf("Offline"), c.changes...)...))
		wantSaid(t, b.g.findings, "", c.want...)
	}
}

func TestBenchmarksOfWhichTheRoundKnowsLittle(t *testing.T) {
	b := newBench(t, "v6.1", "nobody", "Offline")
	b.g.checkRun(logOf(t, "log", linesOf("Offline")...))
	wantSaid(t, b.g.findings, "",
		"benchmark-unknown log: v6.1 has no performance sample count for nobody; want another benchmark",
		"benchmark-unknown log: v6.1 has no query counts for nobody; want another benchmark",
		"benchmark-unknown log: the rules have no least samples per query of nobody in Offline; want another scenario")
	one := newBench(t, "v6.1", "resnet", "Burst")
	if v := one.g.checkMetricOf(t, "Burst"); v != nil {
		t.Errorf("metric %v of a scenario that no round has", v)
	}
	wantSaid(t, one.g.findings, "", "perf-metric log:1: v6.1 has no metric of this scenario; found Burst; want another scenario")
}

// checkMetricOf judges the metric of a log that has only the scenario.
func (g *judgement) checkMetricOf(t *testing.T, scenario string) python.Value {
	t.Helper()
	r := &run{judgement: g, log: logOf(t, "log", `effective_scenario "`+scenario+`"`), scenario: scenario}
	return r.checkMetric()
}

func TestBoundsOfTokensAreBelowAndNotAt(t *testing.T) {
	const (
		ttft  = "result_first_token_99.00_percentile_latency_ns"
		tpot  = "result_time_per_output_token_99.00_percentile_ns"
		slow  = "perf-token-latency log:2: at the 99th percentile the first token takes too long in Server; found 2000000000 ns; want < 2000000000 ns"
		slows = "perf-token-latency log:3: at the 99th percentile a token takes too long in Server; found 100000000.0 ns; want < 100000000 ns"
	)
	good := []string{"requested_use_token_latencies true", ttft + " 1999999999", tpot + " 99999999.5"}
	for _, c := range []struct {
		model, scenario string
		changes, want   []string
	}{
		{"llama3.1-8b", "Server", nil, nil},
		{"llama3.1-8b", "Server", []string{ttft + " 2000000000"}, []string{slow}},
		{"llama3.1-8b", "Server", []string{tpot + " 1e8"}, []string{slows}},
		{"llama3.1-8b", "Server", []string{ttft + " 2000000000", tpot + " 1e8"}, []string{slow, slows}},
		{"llama3.1-8b", "Server", []string{"-" + ttft}, []string{"log-key log: " + ttft + " is not a number; found no such key; want a number"}},
		{"llama3.1-8b", "Server", []string{"requested_use_token_latencies false", ttft + " 1e12"},
			[]string{"perf-token-latency log:1: token latencies were not measured; found False; want true"}},
		{"llama3.1-8b", "Server", []string{"-requested_use_token_latencies"},
			[]string{"perf-token-latency log: token latencies were not measured; found no such key; want true"}},
		{"llama3.1-8b", "Offline", []string{"-" + ttft, "-" + tpot}, nil}, // nobody waits
		{"llama3.1-8b", "Interactive", []string{ttft + " 499999999", tpot + " 1"}, nil},
		{"llama3.1-8b-edge", "Server", nil, []string{"perf-token-latency log: the rules have no bounds of tokens for llama3.1-8b-edge in Server; want another scenario"}},
		{"resnet", "Server", []string{"requested_use_token_latencies false"}, nil}, // has no tokens
	} {
		b := newBench(t, "v6.1", c.model, c.scenario)
		r := &run{judgement: b.g, log: logOf(t, "log", changed(good, c.changes...)...), scenario: c.scenario}
		r.checkTokens()
		wantSaid(t, b.g.findings, "", c.want...)
	}
}

func TestWhichResultsMayBeInferred(t *testing.T) {
	for _, c := range []struct{ kind, measured, folder, want string }{
		{"edge", "SingleStream", "MultiStream", ""},
		{"edge", "SingleStream", "multistream", ""},
		{"edge", "SingleStream", "Offline", ""},
		{"datacenter,edge", "MultiStream", "Offline", ""},
		{"edge", "Server", "Interactive", ""}, // which LoadGen calls Server
		{"datacenter", "Server", "interactive", ""},
		{"edge", "Offline", "offline", ""}, // the same
		{"edge", "MultiStream", "SingleStream", "perf-inferred log:1: SingleStream cannot be inferred from MultiStream; found MultiStream; want a run of SingleStream"},
		{"edge", "Offline", "Server", "perf-inferred log:1: Server cannot be inferred from Offline; found Offline; want a run of Server"},
		{"edge", "Interactive", "Server", "perf-inferred log:1: Server cannot be inferred from Interactive; found Interactive; want a run of Server"},
		{"datacenter", "SingleStream", "Offline", "perf-inferred log:1: only edge systems may infer results; found SingleStream on a system of the type datacenter; want a run of Offline"},
		{"", "SingleStream", "Offline", "perf-inferred log:1: only edge systems may infer results; found SingleStream on a system of the type ; want a run of Offline"},
	} {
		b := newBench(t, "v6.1", "resnet", c.folder)
		b.g.description.systemType = c.kind
		r := &run{judgement: b.g, log: logOf(t, "log", `effective_scenario "`+c.measured+`"`), scenario: c.measured}
		if r.checkInferred(); c.want == "" {
			wantSaid(t, b.g.findings, "")
		} else {
			wantSaid(t, b.g.findings, "", c.want)
		}
	}
}

func TestInferredMetricsAreComputedAsTheOfficialCheckerDoes(t *testing.T) {
	for _, c := range []struct {
		measured, folder string
		lines            []string
		metric, want     string
	}{
		{"SingleStream", "Offline", []string{"early_stopping_latency_ss 1", "result_qps_without_loadgen_overhead 123.5"}, "123.5", ""},
		{"SingleStream", "offline", []string{"early_stopping_latency_ss 1", `result_qps_without_loadgen_overhead "as it is"`}, "as it is", ""},
		{"SingleStream", "MultiStream", []string{"early_stopping_latency_ss 1", "early_stopping_latency_ms 2500000"}, "20.0", ""},
		{"SingleStream", "MultiStream", []string{"early_stopping_latency_ss 1", "early_stopping_latency_ms 0"}, "0.0",
			"perf-inferred log:3: too few queries to infer MultiStream; found 0; want 662 queries or more"},
		{"SingleStream", "MultiStream", []string{"early_stopping_latency_ss 1"}, "None",
			"log-key log: early_stopping_latency_ms is not a number; found no such key; want a number"},
		{"MultiStream", "Offline", []string{"early_stopping_latency_ms 1", "effective_samples_per_query 8", "result_mean_query_latency_ns 4000000"}, "2000.0", ""},
		{"MultiStream", "Offline", []string{"early_stopping_latency_ms 1", "effective_samples_per_query 8", "result_mean_query_latency_ns 0"}, "None",
			"perf-metric log:4: Offline cannot be inferred: division by zero; found 0; want a mean latency above 0"},
		{"MultiStream", "Offline", []string{"early_stopping_latency_ms 1", `effective_samples_per_query "8"`, "result_mean_query_latency_ns 1"}, "None",
			"log-key log:3: effective_samples_per_query is not a number; found 8; want a number"},
		{"MultiStream", "SingleStream", []string{"early_stopping_latency_ms 3000000"}, "3.0", ""}, // which checkInferred does not accept
	} {
		b := newBench(t, "v6.1", "resnet", c.folder)
		lines := append([]string{`effective_scenario "` + c.measured + `"`}, c.lines...)
		r := &run{judgement: b.g, log: logOf(t, "log", lines...), scenario: c.measured}
		if got := python.Str(r.checkMetric()); got != c.metric {
			t.Errorf("%s from %s: %s, want %s", c.folder, c.measured, got, c.metric)
		}
		if c.want == "" {
			wantSaid(t, b.g.findings, "")
		} else {
			wantSaid(t, b.g.findings, "", c.want)
		}
	}
}

func TestSomeBenchmarksHaveTheirOwnMetricAndUnit(t *testing.T) {
	for _, c := range []struct{ version, model, scenario, key, value, want string }{
		{"v6.1", "llama3.1-8b", "Offline", "result_tokens_per_second", "500", "500.0"},
		{"v6.1", "llama3.1-8b-edge", "SingleStream", "result_90.00_percentile_latency_ns", "1500000", "1.5"},
		{"v6.1", "wan-2.2-t2v-a14b", "SingleStream", "early_stopping_latency_ss", "2500000000", "2.5"}, // in seconds
		{"v6.0", "whisper", "Offline", "result_tokens_per_second", "7", "7.0"},
		{"v5.0", "resnet", "SingleStream", "early_stopping_latency_ss", "1e6", "1.0"},
	} {
		b := newBench(t, c.version, c.model, c.scenario)
		lines := changed([]string{`effective_scenario "` + c.scenario + `"`, b.g.round.Metric[c.scenario] + " 1"}, c.key+" "+c.value)
		r := &run{judgement: b.g, log: logOf(t, "log", lines...), scenario: c.scenario}
		if got := python.Str(r.checkMetric()); got != c.want {
			t.Errorf("%s %s %s: %s, want %s", c.version, c.model, c.scenario, got, c.want)
		}
		wantSaid(t, b.g.findings, "")
	}
}

func TestAResultOfNothingIsNamedOnce(t *testing.T) {
	for value, want := range map[string]string{
		"0":     "perf-metric log: the result is 0.0; found 0.0; want a number above 0",
		"-0.0":  "perf-metric log: the result is -0.0; found -0.0; want a number above 0",
		"null":  "perf-metric log:9: result_samples_per_second is not a number; found None; want a number",
		`"0"`:   "perf-metric log: the result is 0.0; found 0.0; want a number above 0",
		"false": "perf-metric log: the result is 0.0; found 0.0; want a number above 0",
	} {
		b := newBench(t, "v6.1", "resnet", "Offline")
		b.g.performance = logOf(t, "log", changed(linesOf("Offline"), "result_samples_per_second "+value)...)
		b.g.checkPerformance()
		wantSaid(t, b.g.findings, "", want)
	}
}

func TestRunsThatPassOverTheirDataOnceNeedNotLast(t *testing.T) {
	for model, want := range map[string]int{"e2e-rag-qna": 0, "e2e-rag-db": 0, "resnet": 1} {
		b := newBench(t, "v6.1", model, "Offline")
		r := &run{judgement: b.g, log: logOf(t, "log", "effective_min_duration_ms 1")}
		if r.checkDuration(); len(b.g.findings) != want {
			t.Errorf("%s: %d findings, want %d", model, len(b.g.findings), want)
		}
	}
}
