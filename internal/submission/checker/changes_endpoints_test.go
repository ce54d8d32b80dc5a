package checker

import (
	"encoding/json"
	"fmt"
	"strings"
)

// closedChanges are made to results of systems behind an endpoint in closed.
var closedChanges = []change{
	{"v6.1 endpoints of qwen", closedQwen(func(*served) {})},
	{"v6.1 endpoints of qwen below the target", closedQwen(func(s *served) { s.score(0)["score"] = 0.78 })},
	{"v6.1 endpoints of qwen with a score by name", closedQwen(func(s *served) { s.score(0)["score"] = object{"f1_hierarchical": 0.79, "f1": 0.1} })},
	{"v6.1 endpoints of qwen with a score by its last name", closedQwen(func(s *served) { s.score(0)["score"] = object{"hierarchical": "0.79", "f1": 0.1} })},
	{"v6.1 endpoints of qwen with a score f1", closedQwen(func(s *served) { s.score(0)["score"] = object{"F1_HIERARCHICAL": "x", "f1": 0.79} })},
	{"v6.1 endpoints of qwen with a score of no name", closedQwen(func(s *served) { s.score(0)["score"] = object{"other": 0.79} })},
	{"v6.1 endpoints of qwen with a score in words", closedQwen(func(s *served) { s.score(0)["score"] = "good" })},
	{"v6.1 endpoints of qwen with a list as the score", closedQwen(func(s *served) { s.score(0)["score"] = []any{0.79} })},
	{"v6.1 endpoints of qwen with too few samples", closedQwen(func(s *served) { s.score(0)["total_samples"] = 8000 })},
}

// endpointsChanges are made to results of systems behind an endpoint.
var endpointsChanges = []change{
	{"v6.1 endpoints", llamaServer(func(*served) {})},
	{"v6.0 endpoints", llamaServer(func(*served) {})},
	{"v6.1 endpoints of a scenario Online", endpoints("llama3.1-8b", "Online", "online", func(*served) {})},
	{"v6.1 endpoints of a scenario server", endpoints("llama3.1-8b", "server", "online", func(*served) {})},
	{"v6.1 endpoints of another model", endpoints("llama2-70b-99", "Server", "online", func(*served) {})},
	{"v6.1 endpoints offline without its metric", endpoints("llama3.1-8b", "Offline", "offline", func(*served) {})},
	{"v6.1 endpoints offline", endpoints("qwen3-vl-235b-a22b", "Offline", "Offline", qwen(48289))},
	{"v6.1 endpoints in small letters", endpoints("qwen3-vl-235b-a22b", "Offline", "offline", qwen(48289))},
	{"v6.1 endpoints interactive", endpoints("llama3.1-8b", "Interactive", "online", func(*served) {})},
	{"v6.1 endpoints interactive by its type", endpoints("llama3.1-8b", "Interactive", "interactive", func(*served) {})},
	{"v6.1 endpoints interactive with slow tokens", endpoints("llama3.1-8b", "Interactive", "online", func(s *served) {
		s.summary["ttft"] = object{"early_stopping_percentiles": object{"99": 500000000}}
	})},
	{"v6.1 endpoints interactive without a type", endpoints("llama3.1-8b", "Interactive", "online", func(s *served) { s.configured("type: online\n", "") })},
	{"v6.1 endpoints without a type", llamaServer(func(s *served) { s.configured("type: online\n", "") })},
	{"v6.1 endpoints with a number as the type", llamaServer(func(s *served) { s.configured("type: online\n", "type: 1\n") })},
	{"v6.1 endpoints interactive with a number as the type", endpoints("llama3.1-8b", "Interactive", "online", func(s *served) { s.configured("type: online\n", "type: 5\n") })},
	{"v6.1 endpoints with a number as the scenario of the accuracy", llamaServer(func(s *served) {
		s.results["effective_scenario"], s.results["duration_ns"], s.results["n_samples_issued"] = 5, 1e9, 100
	})},
	{"v6.1 endpoints with a duration in words and no count beside the accuracy", llamaServer(func(s *served) { s.results["duration_ns"] = "long" })},
	{"v6.1 endpoints with a duration in words, no count and no samples", llamaServer(func(s *served) {
		s.results["duration_ns"] = "long"
		delete(s.score(0), "total_samples")
	})},
	{"v6.1 endpoints with a duration in words beside the accuracy", llamaServer(func(s *served) {
		s.results["duration_ns"], s.results["n_samples_issued"] = "long", 100
	})},
	{"v6.1 endpoints with a scenario in the summary", llamaServer(func(s *served) { s.summary["effective_scenario"] = "offline" })},
	{"v6.1 endpoints SingleStream", endpoints("wan-2.2-t2v-a14b", "SingleStream", "online", wan)},
	{"v6.1 endpoints SingleStream without a type", endpoints("wan-2.2-t2v-a14b", "SingleStream", "online", func(s *served) {
		wan(s)
		s.configured("type: online\n", "")
	})},
	{"v6.1 endpoints MultiStream", endpoints("qwen3-vl-235b-a22b", "MultiStream", "MultiStream", qwen(48289))},
	{"v6.1 endpoints of a scenario that no round has", endpoints("llama3.1-8b", "Server", "sometimes", func(*served) {})},
	{"v6.1 endpoints with a log of the accuracy", llamaServer(func(s *served) {
		s.file("accuracy/mlperf_log_detail.txt", s.read(acc(openBench("resnet50/Offline"))))
	})},

	{"v6.1 endpoints without a summary", llamaServer(func(s *served) { s.summary = nil })},
	{"v6.1 endpoints without a score", llamaServer(func(s *served) { s.results = nil })},
	{"v6.1 endpoints without a configuration", llamaServer(func(s *served) { s.config = "" })},
	{"v6.1 endpoints without any file", llamaServer(func(s *served) { s.summary, s.results, s.config = nil, nil, "" })},
	{"v6.1 endpoints with a configuration in config.yml", llamaServer(func(s *served) { s.file("config.yml", s.config); s.config = "" })},
	{"v6.1 endpoints with a bad config.yaml and a good config.yml", llamaServer(func(s *served) { s.file("config.yml", s.config); s.config = "a: [" })},
	{"v6.1 endpoints with an empty config.yaml and a good config.yml", llamaServer(func(s *served) { s.file("config.yml", s.config); s.config = "{}" })},
	{"v6.1 endpoints with a configuration that is a list", llamaServer(func(s *served) { s.config = "[1]" })},
	{"v6.1 endpoints whose summary is cut", llamaServer(func(s *served) { s.file("performance/result_summary.json", "{") })},
	{"v6.1 endpoints whose summary is a list", llamaServer(func(s *served) { s.file("performance/result_summary.json", "[]") })},
	{"v6.1 endpoints whose summary is not UTF-8", llamaServer(func(s *served) { s.file("performance/result_summary.json", "{\"a\": \"\xff\"}") })},
	{"v6.1 endpoints whose scores are cut", llamaServer(func(s *served) { s.file("accuracy/accuracy_results.json", "{") })},
	{"v6.1 endpoints whose scores are a list", llamaServer(func(s *served) { s.file("accuracy/accuracy_results.json", "[]") })},

	{"v6.1 endpoints with another seed", llamaServer(func(s *served) { s.configured("2747215439041700203", "1") })},
	{"v6.1 endpoints with another seed of the schedule", llamaServer(func(s *served) { s.configured("16159082839903944936", "1") })},
	{"v6.1 endpoints without a seed", llamaServer(func(s *served) { s.configured("scheduler_random_seed", "seed") })},
	{"v6.1 endpoints with a seed in quotes", llamaServer(func(s *served) { s.configured("2747215439041700203", "'2747215439041700203'") })},
	{"v6.1 endpoints with a seed in the summary", llamaServer(func(s *served) { s.summary["effective_schedule_rng_seed"] = 5 })},
	{"v6.1 endpoints with a seed by its own name", llamaServer(func(s *served) {
		s.configured("scheduler_random_seed", "seed")
		s.config += "effective_schedule_rng_seed: 16159082839903944936\n"
	})},
	{"v6.1 endpoints too short", llamaServer(func(s *served) { s.configured("600000", "599999") })},
	{"v6.1 endpoints of a duration in words", llamaServer(func(s *served) { s.configured("600000", "'600000'") })},
	{"v6.1 endpoints of a duration by a name with points", llamaServer(func(s *served) {
		s.configured("min_duration_ms", "min")
		s.config += "settings.runtime.min_duration_ms: 600000\n"
	})},
	{"v6.1 endpoints without a duration", llamaServer(func(s *served) { s.configured("min_duration_ms", "min") })},

	{"v6.1 endpoints with slow tokens", llamaServer(func(s *served) { tokens(s, "ttft", 2000000000) })},
	{"v6.1 endpoints with tokens just in time", llamaServer(func(s *served) { tokens(s, "ttft", 1999999999) })},
	{"v6.1 endpoints with slow later tokens", llamaServer(func(s *served) { tokens(s, "tpot", 100000000) })},
	{"v6.1 endpoints with tokens called 99.0", llamaServer(func(s *served) {
		s.summary["tpot"] = object{"early_stopping_percentiles": object{"99.0": 25000000}}
	})},
	{"v6.1 endpoints without tokens", llamaServer(func(s *served) { delete(s.summary, "tpot") })},
	{"v6.1 endpoints with tokens below a list", llamaServer(func(s *served) { s.summary["tpot"] = []any{1} })},
	{"v6.1 endpoints with tokens below a number", llamaServer(func(s *served) { s.summary["tpot"] = object{"early_stopping_percentiles": 5} })},
	{"v6.1 endpoints with tokens below an empty object", llamaServer(func(s *served) {
		s.summary["tpot"] = object{"early_stopping_percentiles": object{"99": object{}}}
	})},
	{"v6.1 endpoints without tokens per second", llamaServer(func(s *served) { delete(s.summary, "tps") })},
	{"v6.1 endpoints without queries per second", llamaServer(func(s *served) { delete(s.summary, "qps") })},
	{"v6.1 endpoints without queries per second and a duration", llamaServer(func(s *served) { delete(s.summary, "qps"); delete(s.summary, "duration_ns") })},
	{"v6.1 endpoints with queries counted in the configuration", llamaServer(func(s *served) {
		delete(s.summary, "qps")
		delete(s.summary, "n_samples_issued")
		s.config += "n_samples_issued: 13368\n"
	})},
	{"v6.1 endpoints of qwen with queries counted in the configuration", endpoints("qwen3-vl-235b-a22b", "Server", "online", func(s *served) {
		qwen(48289)(s)
		delete(s.summary, "qps")
		delete(s.summary, "n_samples_issued")
		s.config += "n_samples_issued: 13368\n"
	})},
	{"v6.1 endpoints of qwen with a count of queries", endpoints("qwen3-vl-235b-a22b", "Server", "online", func(s *served) {
		qwen(48289)(s)
		delete(s.summary, "qps")
		s.summary["generated_query_count"] = 600
	})},
	{"v6.1 endpoints with a duration of 0", llamaServer(func(s *served) { delete(s.summary, "qps"); s.summary["duration_ns"] = 0 })},
	{"v6.1 endpoints with queries in words", llamaServer(func(s *served) { s.summary["qps"] = "many" })},
	{"v6.1 endpoints with a latency above the bound", endpoints("qwen3-vl-235b-a22b", "Server", "online", func(s *served) {
		qwen(48289)(s)
		s.summary["latency"] = object{"early_stopping_percentiles": object{"99": 12000000001}}
	})},
	{"v6.1 endpoints with a latency at the bound", endpoints("qwen3-vl-235b-a22b", "Server", "online", func(s *served) {
		qwen(48289)(s)
		s.summary["latency"] = object{"early_stopping_percentiles": object{"99": 12000000000}}
	})},
	{"v6.1 endpoints without a latency that has a bound", endpoints("qwen3-vl-235b-a22b", "Server", "online", func(s *served) {
		qwen(48289)(s)
		delete(s.summary, "latency")
	})},

	{"v6.1 endpoints with failed queries", llamaServer(func(s *served) { s.results["n_samples_failed"] = 3 })},
	{"v6.1 endpoints with failed queries in the summary", llamaServer(func(s *served) { s.summary["n_samples_failed"] = 3 })},
	{"v6.1 endpoints with failed queries as a text", llamaServer(func(s *served) { s.results["result"] = object{"failed": "0"} })},
	{"v6.1 endpoints with failed queries as an empty text", llamaServer(func(s *served) { s.results["result"] = object{"failed": ""} })},
	{"v6.1 endpoints with failed queries in the configuration", llamaServer(func(s *served) { s.config += "result: {failed: 1}\n" })},
	{"v6.1 endpoints with one sample less", llamaServer(func(s *served) { s.score(0)["total_samples"] = 13367 })},
	{"v6.1 endpoints with samples as a text", llamaServer(func(s *served) { s.score(0)["total_samples"] = "13368" })},
	{"v6.1 endpoints with samples in words", llamaServer(func(s *served) { s.score(0)["total_samples"] = "all" })},
	{"v6.1 endpoints with samples in words of another set", llamaServer(func(s *served) { s.more(object{"total_samples": "all", "dataset_type": "performance"}) })},
	{"v6.1 endpoints with samples in words behind others", llamaServer(func(s *served) { s.more(object{"total_samples": "none"}) })},
	{"v6.1 endpoints with samples of two sets", llamaServer(func(s *served) {
		s.score(0)["total_samples"] = 13000
		s.more(object{"response_counts": object{"issued": 368.5}, "dataset_type": "accuracy"})
	})},
	{"v6.1 endpoints with samples of a set that does not count", llamaServer(func(s *served) { s.more(object{"total_samples": 5, "dataset_type": "performance"}) })},
	{"v6.1 endpoints without samples", llamaServer(func(s *served) { delete(s.score(0), "total_samples") })},
	{"v6.1 endpoints with samples that were issued", llamaServer(func(s *served) { delete(s.score(0), "total_samples"); s.results["n_samples_issued"] = 13368 })},
	{"v6.1 endpoints with a set that is a number", llamaServer(func(s *served) { s.results["accuracy_scores"] = append(s.results["accuracy_scores"].([]any), 5) })},
	{"v6.1 endpoints without a score of the set", llamaServer(func(s *served) { delete(s.score(0), "score") })},
	{"v6.1 endpoints with sets that are an object", llamaServer(func(s *served) { s.results["accuracy_scores"] = object{"a": 1} })},
	{"v6.1 endpoints with a score of the second set", llamaServer(func(s *served) { delete(s.score(0), "score"); s.more(object{"score": 1.5, "total_samples": 0}) })},
	{"v6.1 endpoints with a number as the score", llamaServer(func(s *served) { s.score(0)["score"] = 39.5 })},
	{"v6.1 endpoints with a text as the score", llamaServer(func(s *served) { s.score(0)["score"] = `a, "b" {c}` })},
	{"v6.1 endpoints with a list as the score", llamaServer(func(s *served) { s.score(0)["score"] = []any{1.5, true, nil} })},

	{"v6.1 endpoints of wan", endpoints("wan-2.2-t2v-a14b", "Offline", "offline", wan)},
	{"v6.1 endpoints of wan without an audit", audited(``)},
	{"v6.1 endpoints of wan without videos", func(e *edit) {
		endpoints("wan-2.2-t2v-a14b", "Offline", "offline", wan)(e)
		e.remove(openBench("wan-2.2-t2v-a14b/Offline/accuracy/videos"))
	}},
	{"v6.1 endpoints of wan with one video less", func(e *edit) {
		endpoints("wan-2.2-t2v-a14b", "Offline", "offline", wan)(e)
		e.remove(openBench("wan-2.2-t2v-a14b/Offline/accuracy/videos/130.mp4"))
	}},
	{"v6.1 endpoints of wan with a video of another kind", func(e *edit) {
		endpoints("wan-2.2-t2v-a14b", "Offline", "offline", wan)(e)
		videos := openBench("wan-2.2-t2v-a14b/Offline/accuracy/videos/")
		e.rename(videos+"130.mp4", videos+"130.x.webm")
	}},
	{"v6.1 endpoints of wan with an audit that failed", audited(`{"test": "output_caching_test", "passed": false}`)},
	{"v6.1 endpoints of wan with an audit that passed in words", audited(`{"test": "output_caching_test", "passed": "no"}`)},
	{"v6.1 endpoints of wan with another audit", audited(`{"test": "other", "passed": true}`)},
	{"v6.1 endpoints of wan with an audit without a name", audited(`{"passed": true}`)},
	{"v6.1 endpoints of wan with an audit that is cut", audited(`{`)},
	{"v6.1 endpoints of wan with an audit that is a list", audited(`[]`)},
	{"v6.1 endpoints with an audit that failed", llamaServer(func(s *served) {
		s.file("audit/audit_consistency_output_test.json", `{"test": "consistency_output_test", "passed": 0}`)
	})},
	{"v6.1 endpoints with an audit", llamaServer(func(s *served) {
		s.file("audit/audit_consistency_output_test.json", `{"test": "consistency_output_test", "passed": 1}`)
	})},
	{"v6.1 endpoints of gpt-oss", endpoints("gpt-oss-120b", "Server", "online", gpt(1200))},
	{"v6.1 endpoints of gpt-oss with the fewest tokens", endpoints("gpt-oss-120b", "Server", "online", gpt(1150.38))},
	{"v6.1 endpoints of gpt-oss with the most tokens", endpoints("gpt-oss-120b", "Server", "online", gpt(1406.02))},
	{"v6.1 endpoints of gpt-oss with too few tokens", endpoints("gpt-oss-120b", "Server", "online", gpt(1150.37))},
	{"v6.1 endpoints of gpt-oss with too many tokens", endpoints("gpt-oss-120b", "Server", "online", gpt(1406.03))},
	{"v6.1 endpoints of gpt-oss with tokens in words", endpoints("gpt-oss-120b", "Server", "online", gpt("1200"))},
	{"v6.1 endpoints of gpt-oss without tokens", endpoints("gpt-oss-120b", "Server", "online", gpt(nil))},
	{"v6.1 endpoints without a README", func(e *edit) { llamaServer(func(*served) {})(e); e.remove(openBench("llama3.1-8b/Server/README.md")) }},
	{"v6.1 endpoints without measurements", func(e *edit) {
		llamaServer(func(*served) {})(e)
		e.remove(openBench("llama3.1-8b/Server/measurements.json"))
	}},
}

// A served is a result that was measured without LoadGen, before it is written.
type served struct {
	*edit
	home             string
	summary, results object
	config           string // config.yaml
}

// endpoints leaves one result in the open division: that of a system behind an endpoint.
func endpoints(model, folder, kind string, change func(s *served)) func(e *edit) {
	return func(e *edit) {
		alone(e, "Offline")
		e.field("open/ExampleOrg/systems/board1.json", "system_type", `"datacenter"`)
		serve(e, openBench(model), folder, kind, change)
		e.remove(openBench("resnet50"))
	}
}

// serve writes a result that was measured without LoadGen, with what lies beside one
// that was measured with it.
func serve(e *edit, bench, folder, kind string, change func(s *served)) {
	s := &served{edit: e, home: bench + "/" + folder}
	shares := func(at float64) object { return object{"50": at / 2, "99": at, "99.9": at * 2} }
	s.summary = object{
		"n_samples_issued": 13368, "n_samples_completed": 13368, "n_samples_failed": 0, "duration_ns": 600000000000,
		"qps": 22.25, "tps": 1234.5, "latency": object{"avg": 5e8, "early_stopping_percentiles": shares(1e9)},
		"ttft": object{"avg": 1e8, "early_stopping_percentiles": shares(4e8)}, "tpot": object{"early_stopping_percentiles": shares(25e6)},
		"output_sequence_lengths": object{"min": 1, "avg": 1200.5, "max": 2000},
	}
	s.results = object{"accuracy_scores": []any{object{"dataset_type": "accuracy", "total_samples": 13368, "score": object{"rouge1": 39.5}}}}
	s.config = "type: " + kind + `
settings:
  load_pattern: {type: poisson, target_qps: 10}
  runtime:
    min_duration_ms: 600000
    dataloader_random_seed: 2747215439041700203
    scheduler_random_seed: 16159082839903944936
`
	change(s)
	s.json("performance/result_summary.json", s.summary)
	s.json("accuracy/accuracy_results.json", s.results)
	s.file("config.yaml", s.config)
	for _, name := range []string{"README.md", "measurements.json"} {
		s.file(name, e.read(bench[:strings.LastIndex(bench, "/")]+"/resnet50/Offline/"+name))
	}
}

// file writes a file of the result, unless that is there already or the text is empty.
func (s *served) file(name, text string) {
	if !s.exists(s.home+"/"+name) && text != "" {
		s.write(s.home+"/"+name, text)
	}
}

func (s *served) json(name string, v object) {
	if v != nil {
		text, err := json.Marshal(v)
		s.ok(err)
		s.file(name, string(text))
	}
}

// configured replaces a text of config.yaml, which must be there.
func (s *served) configured(old, text string) {
	if !strings.Contains(s.config, old) {
		s.t.Fatalf("config.yaml has no %q", old)
	}
	s.config = strings.ReplaceAll(s.config, old, text)
}

func (s *served) score(n int) object { return s.results["accuracy_scores"].([]any)[n].(object) }

func llamaServer(change func(s *served)) func(e *edit) {
	return endpoints("llama3.1-8b", "Server", "online", change)
}

func (s *served) more(set object) {
	s.results["accuracy_scores"] = append(s.results["accuracy_scores"].([]any), set)
}

// tokens changes the 99th percentile of a latency of tokens.
func tokens(s *served, name string, ns int) {
	s.summary[name] = object{"early_stopping_percentiles": object{"99": ns}}
}

// qwen makes a result that of qwen3-vl-235b-a22b.
func qwen(samples int) func(s *served) {
	return func(s *served) {
		s.results["accuracy_scores"] = []any{object{"total_samples": samples, "score": 0.79}}
	}
}

// closedQwen makes two results of qwen3-vl-235b-a22b in closed and changes one.
func closedQwen(change func(s *served)) func(e *edit) {
	return func(e *edit) {
		e.system("system_type", `"datacenter"`)
		bench := home + "/results/board1/qwen3-vl-235b-a22b"
		serve(e, bench, "Offline", "offline", qwen(48289))
		serve(e, bench, "Server", "online", func(s *served) { qwen(48289)(s); change(s) })
		e.remove(home + "/results/board1/resnet50")
	}
}

// wan makes a result that of wan-2.2-t2v-a14b.
func wan(s *served) { wanAudited(s, `{"test": "output_caching_test", "passed": true}`) }

func wanAudited(s *served, audit string) {
	s.results["accuracy_scores"] = []any{object{"total_samples": 248, "score": 70}}
	for _, name := range []int{130, 106, 84, 59, 12, 123, 43, 22, 238, 32} {
		s.file(fmt.Sprintf("accuracy/videos/%d.mp4", name), "x")
	}
	s.file("audit/audit_output_caching_test.json", audit)
}

func audited(audit string) func(e *edit) {
	return endpoints("wan-2.2-t2v-a14b", "Offline", "offline", func(s *served) { wanAudited(s, audit) })
}

// gpt makes a result that of gpt-oss-120b, whose outputs have so many tokens.
func gpt(tokens any) func(s *served) {
	return func(s *served) {
		sets := []any{}
		for _, n := range []int{990, 1980, 1425} {
			sets = append(sets, object{"dataset_type": "accuracy", "total_samples": n, "score": object{"exact_match": 83.5}})
		}
		s.results["accuracy_scores"] = sets
		s.summary["output_sequence_lengths"] = object{"avg": tokens}
		s.file("audit/audit_accuracy_in_performance_full_test.json", `{"test": "accuracy_in_performance_full_test", "passed": true}`)
	}
}
