package checker

import "strings"

// auditChanges are made to compliance tests, to language models and to other rounds.
var auditChanges = []change{
	{"v6.1 TEST01 not passed", func(e *edit) { e.sub("S/TEST01/verify_accuracy.txt", "TEST PASS", "TEST FAIL") }},
	{"v6.1 TEST01 passed in a sentence", func(e *edit) { e.sub("S/TEST01/verify_accuracy.txt", "TEST PASS", "no TEST PASS here") }},
	{"v6.1 TEST01 passed with spaces", func(e *edit) { e.sub("S/TEST01/verify_accuracy.txt", "TEST PASS", "\u00a0TEST PASS\t") }},
	{"v6.1 TEST01 performance in a sentence", func(e *edit) { e.write("S/TEST01/verify_performance.txt", "no TEST PASSED here\n") }},
	{"v6.1 TEST04 performance not passed", func(e *edit) { e.sub("S/TEST04/verify_performance.txt", "TEST PASS", "TEST FAIL") }},
	{"v6.1 TEST04 performance not UTF-8 before", func(e *edit) { e.write("S/TEST04/verify_performance.txt", "\xff\nTEST PASS\n") }},
	{"v6.1 TEST04 without its verification", func(e *edit) { e.remove("S/TEST04/verify_performance.txt") }},
	{"v6.1 TEST04 with another verification", func(e *edit) { e.write("S/TEST04/verify_accuracy.txt", "\xff") }},
	{"v6.1 TEST06 that nobody asks for", func(e *edit) { e.write("S/TEST06/verify_accuracy.txt", "\xff") }},
	{"v6.1 TEST05 that nobody asks for", func(e *edit) { e.write("S/TEST05/verify_accuracy.txt", "\xff") }},
	{"v6.1 TEST01 without its verification", func(e *edit) { e.remove("S/TEST01/verify_accuracy.txt") }},
	{"v6.1 TEST01 without its log", func(e *edit) { e.remove("S/TEST01/performance/run_1/mlperf_log_detail.txt") }},
	{"v6.1 TEST01 with other seeds", func(e *edit) {
		e.set("S/TEST01/performance/run_1/mlperf_log_detail.txt", "effective_qsl_rng_seed", "1")
	}},
	{"v6.1 TEST01 too short", func(e *edit) {
		e.set("S/TEST01/performance/run_1/mlperf_log_detail.txt", "effective_min_duration_ms", "1")
	}},
	{"v6.1 TEST01 with an error", func(e *edit) {
		e.message("S/TEST01/performance/run_1/mlperf_log_detail.txt", "error_runtime", `"x"`, "true")
	}},
	{"v6.1 TEST01 with a metric of 0", func(e *edit) {
		e.set("O/TEST01/performance/run_1/mlperf_log_detail.txt", "result_samples_per_second", "0")
	}},
	{"v6.1 TEST01 of another scenario", func(e *edit) { e.copy("M/TEST01/performance", "S/TEST01/performance") }},
	{"v6.1 TEST01 with an accuracy log", func(e *edit) { e.write("S/TEST01/performance/run_1/mlperf_log_accuracy.json", "[]") }},
	{"v6.1 TEST01 with a trace", func(e *edit) { e.write("S/TEST01/performance/run_1/mlperf_log_trace.json", "[]") }},
	{"v6.1 TEST01 compared", func(e *edit) { fallback(e, "76.0", "75.9") }},
	{"v6.1 TEST01 compared, lower", func(e *edit) { fallback(e, "76.0", "74.95") }},
	{"v6.1 TEST01 compared, higher", func(e *edit) { fallback(e, "74.95", "76.0") }},
	{"v6.1 TEST01 compared with nothing", func(e *edit) { fallback(e, "76.0", "none") }},
	{"v6.1 TEST01 compared, fifth file", func(e *edit) { fallback(e, "76.0", "76.0"); e.write("S/TEST01/accuracy/x", "x") }},
	{"v6.1 TEST01 compared, bad number", func(e *edit) { fallback(e, "76.0", "7.6.0") }},

	{"v6.1 llama", func(e *edit) { language(e, "llama3.1-8b", "13368", llama8b) }},
	{"v6.1 llama as llama3_1", func(e *edit) { language(e, "llama3_1-8b", "13368", llama8b) }},
	{"v6.1 llama too long", func(e *edit) { language(e, "llama3.1-8b", "13368", strings.Replace(llama8b, "8167644", "8984409", 1)) }},
	{"v6.1 llama just long enough", func(e *edit) { language(e, "llama3.1-8b", "13368", strings.Replace(llama8b, "8167644", "7350880", 1)) }},
	{"v6.1 llama too short", func(e *edit) { language(e, "llama3.1-8b", "13368", strings.Replace(llama8b, "8167644", "7350879", 1)) }},
	{"v6.1 llama with a quoted length", func(e *edit) {
		language(e, "llama3.1-8b", "13368", strings.Replace(llama8b, "8167644", "'8167644'", 1))
	}},
	{"v6.1 llama without a metric", func(e *edit) { language(e, "llama3.1-8b", "13368", strings.Replace(llama8b, "rouge2", "rouge3", 1)) }},
	{"v6.1 llama without token latencies", func(e *edit) {
		language(e, "llama3.1-8b", "13368", llama8b)
		e.set(perf(home+"/results/board1/llama3.1-8b/Offline"), "requested_use_token_latencies", "false")
	}},
	{"v6.1 llama at the limit of tokens", func(e *edit) {
		language(e, "llama3.1-8b", "13368", llama8b)
		e.set(perf(home+"/results/board1/llama3.1-8b/Server"), "result_first_token_99.00_percentile_latency_ns", "2000000000")
	}},
	{"v6.1 llama just below the limit of tokens", func(e *edit) {
		language(e, "llama3.1-8b", "13368", llama8b)
		e.set(perf(home+"/results/board1/llama3.1-8b/Server"), "result_first_token_99.00_percentile_latency_ns", "1999999999")
	}},
	{"v6.1 llama at the limit of latency", func(e *edit) {
		language(e, "llama3.1-8b", "13368", llama8b)
		e.set(perf(home+"/results/board1/llama3.1-8b/Server"), "effective_target_latency_ns", "20000000000")
	}},
	{"v6.1 llama above the limit of latency", func(e *edit) {
		language(e, "llama3.1-8b", "13368", llama8b)
		e.set(perf(home+"/results/board1/llama3.1-8b/Server"), "effective_target_latency_ns", "20000000001")
	}},
	{"v6.1 llama without tokens per second", func(e *edit) {
		language(e, "llama3.1-8b", "13368", llama8b)
		e.drop(perf(home+"/results/board1/llama3.1-8b/Server"), "result_completed_tokens_per_second")
	}},
	{"v6.1 llama Interactive", func(e *edit) {
		language(e, "llama3.1-8b", "13368", llama8b)
		e.rename(home+"/results/board1/llama3.1-8b/Server", home+"/results/board1/llama3.1-8b/Interactive")
	}},
	{"v6.1 llama Offline only", func(e *edit) {
		language(e, "llama3.1-8b", "13368", llama8b)
		e.remove(home + "/results/board1/llama3.1-8b/Server")
	}},
	{"v6.1 llama TEST06 first token", func(e *edit) { test06(e, "First token check pass: Skipped", "First token check pass: True") }},
	{"v6.1 llama TEST06 EOS skipped", func(e *edit) { test06(e, "EOS check pass: True", "EOS check pass: Skipped") }},
	{"v6.1 llama TEST06 length", func(e *edit) { test06(e, "length check pass: True", "length check pass: False") }},
	{"v6.1 llama without TEST06", func(e *edit) {
		language(e, "llama3.1-8b", "13368", llama8b)
		e.remove(home + "/results/board1/llama3.1-8b/Server/TEST06")
	}},
	{"v6.1 gpt-oss", func(e *edit) { gptoss(e) }},
	{"v6.1 gpt-oss without TEST07", func(e *edit) { gptoss(e); e.remove(home + "/results/board1/gpt-oss-120b/Server/TEST07") }},
	{"v6.1 gpt-oss TEST09 in a sentence", func(e *edit) {
		gptoss(e)
		e.write(home+"/results/board1/gpt-oss-120b/Server/TEST09/verify_output_len.txt", "xTEST PASSx")
	}},
	{"v6.1 gpt-oss TEST09 failed", func(e *edit) {
		gptoss(e)
		e.write(home+"/results/board1/gpt-oss-120b/Server/TEST09/verify_output_len.txt", "TEST FAIL")
	}},
}

// olderChanges are made to a tree of v5.1.
var olderChanges = []change{
	{"v5.1 nothing", func(*edit) {}},
	{"v5.0 seeds of v5.1", func(*edit) {}},
	{"v5.1 no measurements", func(e *edit) { e.remove(home + "/measurements/board1/resnet50/SingleStream") }},
	{"v5.1 no measurements at all", func(e *edit) { e.remove(home + "/measurements") }},
	{"v5.1 measurements of another scenario", func(e *edit) {
		e.write(home+"/measurements/board1/resnet50/SingleStream/board1_a_Offline.json", "{}")
	}},
	{"v5.1 measurements of another system", func(e *edit) {
		e.rename(home+"/measurements/board1/resnet50/SingleStream/board1_exampleimpl_SingleStream.json", home+"/measurements/board1/resnet50/SingleStream/other.json")
	}},
	{"v5.1 no compliance", func(e *edit) { e.remove(home + "/compliance") }},
	{"v5.1 compliance beside results", func(e *edit) {
		e.rename(home+"/compliance/board1/resnet50/SingleStream/TEST01", "S/TEST01")
	}},
	{"v5.1 code is called src", func(e *edit) { e.rename(home+"/code", home+"/src") }},
	{"v5.1 no user.conf", func(e *edit) { e.remove(home + "/measurements/board1/resnet50/SingleStream/user.conf") }},
	{"v5.1 as v6.1", func(*edit) {}},
	{"v5.1 power", func(e *edit) { power5(e, func(*powered) {}) }},
	{"v5.1 power of a debugging server", func(e *edit) { power5(e, func(p *powered) { p.server["debug"] = true }) }},
}

func fallback(e *edit, baseline, compliance string) {
	e.sub("S/TEST01/verify_accuracy.txt", "TEST PASS", "TEST FAIL")
	e.write("S/TEST01/accuracy/baseline_accuracy.txt", "accuracy="+baseline+"%\n")
	e.write("S/TEST01/accuracy/compliance_accuracy.txt", "accuracy="+compliance+"%\n")
}

func test06(e *edit, old, text string) {
	language(e, "llama3.1-8b", "13368", llama8b)
	e.sub(home+"/results/board1/llama3.1-8b/Server/TEST06/verify_accuracy.txt", old, text)
}

func gptoss(e *edit) {
	language(e, "gpt-oss-120b", "6396", `{'exact_match': 83.13, 'tokens_per_sample': 9999}`)
	for _, s := range []string{"Server", "Offline"} {
		to := home + "/results/board1/gpt-oss-120b/" + s
		e.set(acc(to), "effective_accuracy_sample_count", "4395")
		e.remove(to + "/TEST06")
		e.write(to+"/TEST07/verify_accuracy.txt", "score\nTEST PASS\n")
		e.write(to+"/TEST09/verify_output_len.txt", "mean\nTEST PASS\n")
	}
}
