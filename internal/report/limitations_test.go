package report

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
)

// Every limitation has words, and these name each of its fields that a run fills in.
func TestEveryLimitationHasWords(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../config/limitation/limitation.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[limitation.ID]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "ID" {
				id, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil || ids[limitation.ID(id)] {
					t.Errorf("%s is used twice, or %v", id, err)
				}
				ids[limitation.ID(id)] = true
			}
		}
		return true
	})
	for id := range ids {
		if words[id] == "" {
			t.Errorf("%s has no words", id)
		}
		l := limitation.Limitation{ID: id, Key: "KEY", Value: "VALUE", Of: "OF", Want: "WANT", Origin: "ORIGIN"}
		if text := Sentence(l); strings.ContainsAny(text, "{}[]") {
			t.Errorf("%s: %s", id, text)
		}
	}
	if len(ids) != len(words) || len(ids) < 30 {
		t.Errorf("%d limitations, %d have words", len(ids), len(words))
	}
}

func TestSentences(t *testing.T) {
	for want, l := range map[string]limitation.Limitation{
		"closed division: the latency bound is 1 s instead of the official 15 ms (my.conf:3)": {ID: limitation.Setting, Key: "target_latency", Value: "1s", Want: "15ms", Origin: "my.conf:3"},
		"closed division: test05 is true instead of the official false":                       {ID: limitation.Setting, Key: "test05", Value: "true", Want: "false"},
		"not of the rules: queries arrive by burst instead of poisson (flag --arrivals)":      {ID: limitation.Setting, Key: "arrivals", Value: "burst", Want: "poisson", Origin: "flag --arrivals"},
		"quick run: target_latency is 1 s instead of 15 ms":                                   {ID: limitation.Setting, Key: "target_latency", Value: "1s", Want: "15ms", Role: limitation.QuickRun},
		"model file of unknown source: a.onnx (SHA-256 ab) is no official file":               {ID: limitation.UnknownModel, Key: "a.onnx", Value: "ab"},
		"model file of unknown source: {value}[x] (SHA-256 ab) is no official file; it says that it was made of {key}": {
			ID: limitation.UnknownModel, Key: "{value}[x]", Value: "ab", Origin: "made of {key}"},
		"too_new: 3 of 5, by the rules 5 (a file)": {ID: "too_new", Value: "3", Of: "5", Want: "5", Origin: "a file"},
	} {
		if got := Sentence(l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What a result may be used for does not depend on the version that wrote its record.
func TestOlderRecords(t *testing.T) {
	const sum = "0f1e"
	setting := func(key, value, want, origin string, role limitation.Role) Limitations {
		return Limitations{{ID: limitation.Setting, Key: key, Value: value, Want: want, Origin: origin, Role: role}}
	}
	for sentence, want := range map[string]Limitations{
		"closed division: min_query_count is 10 instead of the official 662 (user.conf:1)":             setting("min_query_count", "10", "662", "user.conf:1", limitation.UserConf),
		"closed division: the latency bound is 1s instead of the official 15ms (flag --latency)":       setting("target_latency", "1s", "15ms", "flag --latency", limitation.Flag),
		"closed division: accuracy_log_rng_seed is 7 instead of the official 0 (runs/audit.config:2)":  setting("accuracy_log_rng_seed", "7", "0", "runs/audit.config:2", limitation.AuditConf),
		"closed division: min_duration is 1s instead of the official 10m0s (a (b) audit.config:2 (x))": setting("min_duration", "1s", "10m0s", "a (b) audit.config:2 (x)", ""),
		"not of the rules: queries arrive by burst:4x500ms instead of poisson (flag --arrivals)":       setting("arrivals", "burst:4x500ms", "poisson", "flag --arrivals", limitation.Flag),
		"quick run: min_duration is 10s instead of 10m0s, min_query_count is 64 instead of 100": append(
			setting("min_duration", "10s", "10m0s", "quick run", limitation.QuickRun), setting("min_query_count", "64", "100", "quick run", limitation.QuickRun)...),
		"quick run: something else": {{ID: limitation.Older, Value: "quick run: something else"}},
		"model file of unknown source: my (SHA-256 1).onnx (SHA-256 " + sum + ") is no official file":                   {{ID: limitation.UnknownModel, Key: "my (SHA-256 1).onnx", Value: sum}},
		"model file of unknown source: a.onnx (SHA-256 " + sum + ") is no official file; it says that it was made of b": {{ID: limitation.UnknownModel, Key: "a.onnx", Value: sum, Origin: "made of b"}},
		"the built-in model is smaller than the real one: 2 of 32 layers":                                               {{ID: limitation.SmallerModel, Value: "2 of 32 layers"}},
		"the engine is simulated: it takes its time and computes nothing":                                               {{ID: limitation.SimulatedEngine}},
		"own model: not a benchmark of the rules, and without their settings, data and targets":                         {{ID: limitation.OwnModel}},
		"the built-in model: the official architecture with random weights, not the trained ones":                       {{ID: limitation.BuiltInModel}},
		"the built-in data: synthetic, not the official set":                                                            {{ID: limitation.BuiltInData}},
		"not an official MLPerf result: those come from the C++ LoadGen, unmodified, and are reviewed by MLCommons":     {{ID: limitation.Unofficial}},
		"results.json was changed after the run: the results are not those of the run":                                  {{ID: limitation.RecordChanged}},
		"run_1/mlperf_log_detail.txt was changed after the run: it does not belong to these results":                    {{ID: limitation.FileChanged, Key: "run_1/mlperf_log_detail.txt"}},
		"mlperf_log_accuracy.json is missing or cannot be read: the results cannot be checked against it":               {{ID: limitation.FileMissing, Key: "mlperf_log_accuracy.json"}},
		"results.json of an older version without a seal: nothing shows whether it was changed after the run":           {{ID: limitation.Unsealed}},
		"the data set has 8 samples instead of the official 50000":                                                      {{ID: limitation.Older, Value: "the data set has 8 samples instead of the official 50000"}},
		"x closed division: min_query_count is 10 instead of the official 662 (audit.config:1)":                         {{ID: limitation.Older, Value: "x closed division: min_query_count is 10 instead of the official 662 (audit.config:1)"}},
	} {
		document, err := json.Marshal(map[string]any{
			"schema": schema3, "result": Valid, "seal": "", "caveats": []string{sentence}, "limitations": []any{}, "backend": map[string]any{"engine": "simulated"},
			"settings": []map[string]string{{"key": "qsl_rng_seed", "value": "1", "origin": "rules v6.1"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Parse(document)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Limitations.Has(limitation.RecordChanged) {
			t.Errorf("%q: without its seal the record counts as unchanged", sentence)
		}
		if diff := cmp.Diff(want, r.Limitations[:len(want)]); diff != "" {
			t.Errorf("%q (-want +got):\n%s", sentence, diff)
		}
		if !r.Backend.Simulated || r.Schema != Schema || r.Settings[0].Role != limitation.RuleSet {
			t.Errorf("%+v", r)
		}
		now := strings.NewReplacer("1s", "1 s", "15ms", "15 ms", "10m0s", "600 s", "10s", "10 s").Replace(sentence)
		if got := strings.Join(r.Limitations[:len(want)].Sentences(), "; "); got != now && got != sentence {
			t.Errorf("%q, want %q", got, now)
		}
	}
}
