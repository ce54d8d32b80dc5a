package checker

import (
	"encoding/json"
	"fmt"
	"strings"
)

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

// closedQwen is two results of qwen3-vl-235b-a22b in closed, of which one is changed.
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
