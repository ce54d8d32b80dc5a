package checker

// treeChanges are made to folders, descriptions and compliance tests.
var treeChanges = []change{
	{"v6.1 division in capitals", func(e *edit) { e.rename("closed", "Closed") }},
	{"v6.1 submitter without results", func(e *edit) { e.mkdir("closed/Other/systems") }},
	{"v6.1 system without a description", func(e *edit) { e.remove(home + "/systems/board1.json") }},
	{"v6.1 empty system without a description", func(e *edit) { e.mkdir(home + "/results/board2") }},
	{"v6.1 description is cut", func(e *edit) { e.write(home+"/systems/board1.json", `{"status": "ava`) }},
	{"v6.1 description is a list", func(e *edit) { e.write(home+"/systems/board1.json", `[]`) }},
	{"v6.1 description with a byte order mark", func(e *edit) {
		e.write(home+"/systems/board1.json", "\ufeff"+e.read(home+"/systems/board1.json"))
	}},
	{"v6.1 description not UTF-8", func(e *edit) { e.system("hw_notes", "\"\xff\"") }},
	{"v6.1 description of another case", func(e *edit) { e.rename(home+"/systems/board1.json", home+"/systems/Board1.json") }},
	{"v6.1 type Edge", func(e *edit) { e.system("system_type", `"Edge"`) }},
	{"v6.1 type with a space", func(e *edit) { e.system("system_type", `"edge, datacenter"`) }},
	{"v6.1 both types", func(e *edit) { e.system("system_type", `"edge,datacenter"`) }},
	{"v6.1 no type", func(e *edit) { e.dropField(home+"/systems/board1.json", "system_type") }},
	{"v6.1 type a number", func(e *edit) { e.system("system_type", "1") }},
	{"v6.1 open with type Edge", func(e *edit) { open(e); e.field("open/ExampleOrg/systems/board1.json", "system_type", `"Edge"`) }},
	{"v6.1 status in capitals", func(e *edit) { e.system("status", `"RDI"`) }},
	{"v6.1 status unknown", func(e *edit) { e.system("status", `"soon"`) }},
	{"v6.1 status null", func(e *edit) { e.system("status", "null") }},
	{"v6.1 status missing", func(e *edit) { e.dropField(home+"/systems/board1.json", "status") }},
	{"v6.1 submitter in capitals", func(e *edit) { e.system("submitter", `"EXAMPLEORG"`) }},
	{"v6.1 another submitter", func(e *edit) { e.system("submitter", `"Other"`) }},
	{"v6.1 another division", func(e *edit) { e.system("division", `"open"`) }},
	{"v6.1 division Closed in the description", func(e *edit) { e.system("division", `"Closed"`) }},
	{"v6.1 field missing", func(e *edit) { e.dropField(home+"/systems/board1.json", "cooling") }},
	{"v6.1 field empty", func(e *edit) { e.system("cooling", `""`) }},
	{"v6.1 field that may be empty missing", func(e *edit) { e.dropField(home+"/systems/board1.json", "sw_notes") }},
	{"v6.1 nodes in words", func(e *edit) { e.system("number_of_nodes", `"two"`) }},
	{"v6.1 nodes 1.0", func(e *edit) { e.system("number_of_nodes", `"1.0"`) }},
	{"v6.1 nodes number 1.5", func(e *edit) { e.system("number_of_nodes", "1.5") }},
	{"v6.1 nodes a list", func(e *edit) { e.system("number_of_nodes", "[1]") }},
	{"v6.1 accelerators 1.5", func(e *edit) { e.system("accelerators_per_node", `"1.5"`) }},
	{"v6.1 quote in a name", func(e *edit) { e.system("system_name", `"a \" b"`) }},
	{"v6.1 notes a list", func(e *edit) { e.system("sw_notes", `["x"]`) }},
	{"v6.1 network fields needed", func(e *edit) { e.system("is_network", `"no"`) }},
	{"v6.1 is_network null", func(e *edit) { e.system("is_network", "null") }},
	{"v6.1 nameplate that cannot be read", func(e *edit) { e.write(home+"/systems/board1_power.yaml", "a: [1\nb: }") }},
	{"v6.1 nameplate", func(e *edit) { e.write(home+"/systems/board1_power.yaml", "node:\n  PSUs: []\n") }},
	{"v6.1 measurements cut", func(e *edit) { e.write("S/measurements.json", "{") }},
	{"v6.1 measurements a list", func(e *edit) { e.write("S/measurements.json", "[]") }},
	{"v6.1 measurements missing", func(e *edit) { e.remove("S/measurements.json") }},
	{"v6.1 measurements with an empty field", func(e *edit) { e.field("S/measurements.json", "retraining", `""`) }},
	{"v6.1 measurements without a field", func(e *edit) { e.dropField("S/measurements.json", "retraining") }},
	{"v6.1 user.conf of one line", func(e *edit) { e.write("S/user.conf", "\n") }},
	{"v6.1 src is a file", func(e *edit) { e.remove(home + "/src"); e.write(home+"/src", "x") }},
	{"v6.1 benchmark unknown", func(e *edit) { e.rename(home+"/results/board1/resnet50", home+"/results/board1/resnet51x") }},
	{"v6.1 benchmark guessed", func(e *edit) { e.rename(home+"/results/board1/resnet50", home+"/results/board1/my-resnet50-int8") }},
	{"v6.1 benchmark in capitals", func(e *edit) { e.rename(home+"/results/board1/resnet50", home+"/results/board1/ResNet50") }},
	{"v6.1 benchmark retired", func(e *edit) { e.rename(home+"/results/board1/resnet50", home+"/results/board1/retinanet") }},
	{"v6.1 empty benchmark", func(e *edit) { e.mkdir(home + "/results/board1/bert-99") }},
	{"v6.1 empty unknown benchmark", func(e *edit) { e.mkdir(home + "/results/board1/other") }},
	{"v6.1 hidden benchmark", func(e *edit) { e.copy("R/", home+"/results/board1/.resnet50") }},
	{"v6.1 empty folder beside scenarios", func(e *edit) { e.mkdir("R/Nothing") }},
	{"v6.1 open with an empty folder beside scenarios", func(e *edit) { open(e); e.mkdir(openBench("resnet50/Nothing")) }},
	{"v6.1 Server on edge", func(e *edit) { e.copy("R/SingleStream", "R/Server") }},
	{"v6.1 capitals", func(e *edit) { e.rename("R/SingleStream", "R/SINGLESTREAM") }},
	{"v6.1 both spellings", func(e *edit) { e.copy("R/SingleStream", "R/singlestream") }},
	{"v6.1 scenario is a link", func(e *edit) {
		e.rename("R/SingleStream", "elsewhere")
		e.symlink("../../../../../elsewhere", "R/SingleStream")
	}},
	{"v6.1 division is a link", func(e *edit) { e.rename("closed", "real"); e.symlink("real", "closed") }},
	{"v6.1 inferred without its key", func(e *edit) {
		e.copy("R/SingleStream", "R/Offline")
		e.drop(perf("O"), "result_qps_without_loadgen_overhead")
	}},
	{"v6.1 inferred from too few queries", func(e *edit) {
		e.copy("R/SingleStream", "R/MultiStream")
		e.set(perf("M"), "early_stopping_latency_ms", "0")
	}},
	{"v6.1 inferred from a mean of 0", func(e *edit) {
		e.copy("R/MultiStream", "R/Offline")
		e.set(perf("O"), "result_mean_query_latency_ns", "0")
	}},
	{"v6.1 open inferred in the datacenter", func(e *edit) {
		open(e)
		e.copy(openBench("resnet50/SingleStream"), openBench("resnet50/Offline"))
		e.field("open/ExampleOrg/systems/board1.json", "system_type", `"datacenter"`)
	}},
	{"v6.1 open without accuracy", func(e *edit) { open(e); e.write(openBench("resnet50/Offline/accuracy/accuracy.txt"), "nothing\n") }},
	{"v6.1 open without accuracy.txt", func(e *edit) { open(e); e.remove(openBench("resnet50/Offline/accuracy/accuracy.txt")) }},
	{"v6.1 open with a bad number", func(e *edit) {
		open(e)
		e.write(openBench("resnet50/Offline/accuracy/accuracy.txt"), "accuracy=1.2.3\n")
	}},
	{"v6.1 open with few samples", func(e *edit) { open(e); e.set(perf(openBench("resnet50/Offline")), "effective_samples_per_query", "5") }},
	{"v6.1 open with other seeds", func(e *edit) { open(e); e.set(perf(openBench("resnet50/Offline")), "effective_qsl_rng_seed", "5") }},
	{"v6.1 open with a log of TEST01 that is cut", func(e *edit) {
		open(e)
		e.write(openBench("resnet50/Offline/TEST01/performance/run_1/mlperf_log_detail.txt"), ":::MLLOG {")
	}},
	{"v6.1 open, mapped to an alias", func(e *edit) {
		open(e)
		e.rename(openBench("resnet50"), openBench("mymodel"))
		e.write("open/ExampleOrg/model_mapping.json", `{"mymodel": "resnet50"}`)
	}},
	{"v6.1 open, mapping that is cut", func(e *edit) { open(e); e.write("open/ExampleOrg/model_mapping.json", `{`) }},
	{"v6.1 open, mapping a list", func(e *edit) { open(e); e.write("open/ExampleOrg/model_mapping.json", `[]`) }},
	{"v6.1 open, mapping a list and needed", func(e *edit) {
		open(e)
		e.rename(openBench("resnet50"), openBench("mymodel"))
		e.write("open/ExampleOrg/model_mapping.json", `[]`)
	}},
	{"v6.1 open, mapped to a list", func(e *edit) {
		open(e)
		e.rename(openBench("resnet50"), openBench("mymodel"))
		e.write("open/ExampleOrg/model_mapping.json", `{"mymodel": ["resnet"]}`)
	}},
	{"v6.1 network with few samples", func(e *edit) {
		network(e, true)
		e.set(perf("network/ExampleOrg/results/board1/resnet50/Offline"), "effective_samples_per_query", "5")
	}},
	{"v6.1 network without its name", func(e *edit) {
		network(e, true)
		e.set(perf("network/ExampleOrg/results/board1/resnet50/Offline"), "sut_name", `"SUT"`)
	}},
	{"v6.1 network without its name in TEST04", func(e *edit) {
		network(e, true)
		e.set("network/ExampleOrg/results/board1/resnet50/Offline/TEST04/performance/run_1/mlperf_log_detail.txt", "sut_name", `"SUT"`)
	}},
}
