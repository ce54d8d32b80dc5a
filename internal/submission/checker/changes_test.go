package checker

// A change is made to a tree that the official checker passes. What it says then is in
// testdata/verdicts.json.
type change struct {
	name string // starts with the round
	make func(e *edit)
}

// tableChanges are changes of all kinds.
var tableChanges = []change{
	{"v6.1 nothing", func(*edit) {}},
	{"v6.1 no summary in run_1", func(e *edit) { e.remove("S/performance/run_1/mlperf_log_summary.txt") }},
	{"v6.1 no summary in accuracy", func(e *edit) { e.remove("S/accuracy/mlperf_log_summary.txt") }},
	{"v6.1 extra file in run_1", func(e *edit) { e.write("S/performance/run_1/notes.txt", "x") }},
	{"v6.1 extra file in TEST04", func(e *edit) { e.write("S/TEST04/performance/run_1/notes.txt", "x") }},
	{"v6.1 no summary in TEST04", func(e *edit) { e.remove("S/TEST04/performance/run_1/mlperf_log_summary.txt") }},
	{"v6.1 no documentation", func(e *edit) { e.remove(home + "/documentation") }},
	{"v6.1 junk at the root", func(e *edit) { e.write("junk.bin", "x") }},
	{"v6.1 hidden file", func(e *edit) { e.write("S/.hidden", "x") }},
	{"v6.1 empty folder", func(e *edit) { e.mkdir(home + "/nothing") }},
	{"v6.1 pycache", func(e *edit) { e.write(home+"/src/__pycache__/a.pyc", "x") }},
	{"v6.1 name with a space", func(e *edit) { e.write(home+"/src/a file.py", "x") }},
	{"v6.1 orphan system", func(e *edit) { e.write(home+"/systems/other.json", "{}") }},
	{"v6.1 no TEST01 accuracy", func(e *edit) { e.remove("S/TEST01/accuracy") }},
	{"v6.1 src is called code", func(e *edit) { e.rename(home+"/src", home+"/code") }},
	{"v6.1 no MultiStream", func(e *edit) { e.remove("R/MultiStream") }},
	{"v6.1 no user.conf", func(e *edit) { e.remove("S/user.conf") }},
	{"v6.1 empty README", func(e *edit) { e.write("S/README.md", "") }},
	{"v6.1 accelerators 0", func(e *edit) { e.system("accelerators_per_node", "0") }},
	{"v6.1 accelerators N-A", func(e *edit) { e.system("accelerators_per_node", `"N/A"`) }},
	{"v6.1 accelerators text 0", func(e *edit) { e.system("accelerators_per_node", `"0"`) }},
	{"v6.1 INVALID", func(e *edit) { e.set("S/performance/run_1/mlperf_log_detail.txt", "result_validity", `"INVALID"`) }},
	{"v6.1 error in the performance log", func(e *edit) { e.message(perf("S"), "error_runtime", `"bad"`, "true") }},
	{"v6.1 error in the accuracy log", func(e *edit) { e.message(acc("S"), "error_runtime", `"bad"`, "true") }},
	{"v6.1 early stopping not met", func(e *edit) { e.set(perf("S"), "early_stopping_met", "false") }},
	{"v6.1 accuracy 75.600", func(e *edit) { e.sub("S/accuracy/accuracy.txt", "76.012", "75.600") }},
	{"v6.1 broken hash line", func(e *edit) { e.sub("S/accuracy/accuracy.txt", "hash=", "hash: ") }},
	{"v6.1 MultiStream and Offline inferred", func(e *edit) { e.copy("R/SingleStream", "R/MultiStream"); e.copy("R/SingleStream", "R/Offline") }},
	{"v6.1 Offline inferred from MultiStream", func(e *edit) { e.copy("R/MultiStream", "R/Offline") }},
	{"v6.1 SingleStream inferred from MultiStream", func(e *edit) { e.copy("R/MultiStream", "R/SingleStream") }},
	{"v6.1 small letters", func(e *edit) {
		e.rename("R/SingleStream", "R/singlestream")
		e.rename("R/MultiStream", "R/multistream")
		e.rename("R/Offline", "R/offline")
	}},
	{"v6.1 open with one scenario", func(e *edit) { open(e); e.remove("open/ExampleOrg/results/board1/resnet50/MultiStream"); noTests(e) }},
	{"v6.1 open with its own model", func(e *edit) { open(e); e.rename(openBench("resnet50"), openBench("mymodel")) }},
	{"v6.1 open with a model mapping", func(e *edit) {
		open(e)
		e.rename(openBench("resnet50"), openBench("mymodel"))
		e.write("open/ExampleOrg/model_mapping.json", `{"mymodel": "resnet"}`)
	}},
	{"v6.1 network without its fields", func(e *edit) { network(e, false) }},
	{"v6.1 network", func(e *edit) { network(e, true) }},
	{"v6.1 closed with is_network text false", func(e *edit) { e.system("is_network", `"false"`) }},
	{"v6.1 closed with is_network false", func(e *edit) { e.system("is_network", "false") }},
	{"v6.1 resnet in the datacenter", func(e *edit) { e.system("system_type", `"datacenter"`) }},
	{"v6.1 no accuracy folder", func(e *edit) { e.remove("S/accuracy") }},
	{"v6.1 no performance folder", func(e *edit) { e.remove("S/performance") }},
	{"v6.1 no tests", func(e *edit) { e.remove("S/TEST01"); e.remove("S/TEST04") }},
	{"v6.0 seeds of v6.1", func(*edit) {}},
}

func perf(s string) string { return s + "/performance/run_1/mlperf_log_detail.txt" }
func acc(s string) string  { return s + "/accuracy/mlperf_log_detail.txt" }

func openBench(name string) string { return "open/ExampleOrg/results/board1/" + name }

// open moves everything to the open division.
func open(e *edit) {
	e.rename("closed", "open")
	e.field("open/ExampleOrg/systems/board1.json", "division", `"open"`)
}

func noTests(e *edit) {
	for _, s := range []string{"SingleStream", "Offline"} {
		e.remove(openBench("resnet50/" + s + "/TEST01"))
		e.remove(openBench("resnet50/" + s + "/TEST04"))
	}
}

// network moves everything to the division network.
func network(e *edit, described bool) {
	e.rename("closed", "network")
	path := "network/ExampleOrg/systems/board1.json"
	e.field(path, "division", `"network"`)
	if !described {
		return
	}
	for _, name := range FieldNames(NetworkFields()) {
		e.field(path, name, `"x"`)
	}
	e.field(path, "is_network", `"true"`)
	for _, log := range e.logs("network/ExampleOrg") {
		e.set(log, "sut_name", `"my Network SUT"`)
	}
}

// language turns the results into those of a language model in the datacenter: Offline
// and Server.
func language(e *edit, name string, samples string, accuracy string) {
	e.system("system_type", `"datacenter"`)
	to := home + "/results/board1/" + name
	e.remove("R/MultiStream")
	e.rename("R/SingleStream", "R/Server")
	e.rename(home+"/results/board1/resnet50", to)
	for _, s := range []string{"Server", "Offline"} {
		e.remove(to + "/" + s + "/TEST01")
		e.remove(to + "/" + s + "/TEST04")
		e.write(to+"/"+s+"/accuracy/accuracy.txt", accuracy+"\nhash=abc\n")
		e.write(to+"/"+s+"/TEST06/verify_accuracy.txt", "First token check pass: Skipped\nEOS check pass: True\nSample length check pass: True\nTEST06 verification complete\n")
		log := perf(to + "/" + s)
		e.set(log, "effective_performance_sample_count", samples)
		e.set(acc(to+"/"+s), "effective_accuracy_sample_count", samples)
		e.add(log, "requested_use_token_latencies", "true")
	}
	server := perf(to + "/Server")
	e.set(server, "effective_scenario", `"Server"`)
	e.set(server, "effective_target_latency_ns", "100000000")
	e.add(server, "result_completed_samples_per_sec", "10.5")
	e.add(server, "result_completed_tokens_per_second", "1234.5")
	e.add(server, "result_first_token_99.00_percentile_latency_ns", "400000000")
	e.add(server, "result_time_per_output_token_99.00_percentile_ns", "25000000")
	e.add(perf(to+"/Offline"), "result_tokens_per_second", "4321.25")
}

const llama8b = `{'rouge1': '38.7792', 'rouge2': '15.9075', 'rougeL': '24.4957', 'rougeLsum': '35.793', 'gen_len': 8167644, 'gen_num': 13368}`
