package generative

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// wordsOnly is a tokenizer of some words.
const wordsOnly = `{"version": "1.0", "added_tokens": [{"id": 0, "content": "<unk>", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}],
 "normalizer": null, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\s+"}, "behavior": "Removed"}, "post_processor": null, "decoder": null,
 "model": {"type": "BPE", "ignore_merges": true, "fuse_unk": true, "unk_token": "<unk>", "vocab": {"<unk>": 0, "Input:": 1, "Response:": 2, "one": 3, "two": 4, "say": 5}}}`

func TestReadInstructions(t *testing.T) {
	dir := folderWith(t, map[string]string{
		"cnn_eval.json": `[{"instruction": "say", "input": "one two", "output": "two."}]`, "tokenizer.json": wordsOnly,
	})
	q, err := readInstructions(source{folder: dir})
	if err != nil {
		t.Fatal(err)
	}
	var known []int32
	for _, id := range q.tokens[0] {
		if id != 0 {
			known = append(known, id)
		}
	}
	if diff := cmp.Diff([]int32{5, 1, 3, 4, 2}, known); diff != "" || q.targets[0] != "two." {
		t.Errorf("tokens %v, target %q:\n%s", q.tokens[0], q.targets[0], diff)
	}
	long := strings.Repeat("one ", 3000)
	dir = folderWith(t, map[string]string{"cnn_eval.json": `[{"instruction": "say", "input": "` + long + `", "output": "two."}]`, "tokenizer.json": wordsOnly})
	if q, err = readInstructions(source{folder: dir}); err != nil || len(q.tokens[0]) != 1919 || q.tokens[0][1918] != 3 {
		t.Errorf("a long article has %d tokens, %v: the end is cut, as by the reference", len(q.tokens[0]), err)
	}
}

func TestReadOnlyPickle(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "prompts [1]")
	if err := os.CopyFS(dir, os.DirFS(folderWith(t, map[string]string{"mine.pkl": `[{"a": 1}]`}))); err != nil {
		t.Fatal(err)
	}
	if table, err := (source{folder: dir}).read("official.pkl"); err != nil || table.Len() != 1 {
		t.Errorf("read %v, %v, want the row of mine.pkl", table, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "other.pkl.gz"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (source{folder: dir}).read("official.pkl"); !testenv.Names(err, "official.pkl … 2 pickles") {
		t.Errorf("of two pickles: error %v", err)
	}
}

func TestReadMixed(t *testing.T) {
	rows := `[{"dataset": "OpenOrca", "id": "cot.1", "tok_input": [1], "gt_output": "a text"},
	 {"dataset": "GSM8K", "id": "train.2", "tok_input": [2], "gt_output": "18"},
	 {"dataset": "MBXP", "id": "cpp_f", "tok_input": [3], "gt_output": "assert"}]`
	q, err := readMixed(source{folder: folderWith(t, map[string]string{"mixtral.json": rows})})
	if err != nil {
		t.Fatal(err)
	}
	want := []accuracy.MixedText{{Dataset: "OpenOrca", ID: "cot.1", Wanted: "a text"}, {Dataset: "GSM8K", ID: "train.2", Wanted: "18"}, {Dataset: "MBXP", ID: "cpp_f", Wanted: "assert"}}
	if diff := cmp.Diff(want, q.mixed); diff != "" || len(q.cuts) != 1 || cmp.Diff(mbxpEnd, q.cuts[2]) != "" {
		t.Errorf("mixed, cuts %v (-want +got):\n%s", q.cuts, diff)
	}
	for from, want := range map[string]string{`"MBXP"`: `prompt 2 is of "HumanEval"`, `"gt_output": "18"`: "gt_output"} {
		to := map[string]string{`"MBXP"`: `"HumanEval"`, `"gt_output": "18"`: `"x": "18"`}[from]
		_, err := readMixed(source{folder: folderWith(t, map[string]string{"mixtral.json": strings.Replace(rows, from, to, 1)})})
		if !testenv.Names(err, want) {
			t.Errorf("%s: error %v, want %q", to, err, want)
		}
	}
}

func TestFolderWithoutPrompts(t *testing.T) {
	if _, err := readOrca(source{folder: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "open_orca_gpt4_tokenized_llama.sampled_24576.pkl") {
		t.Errorf("error %v", err)
	}
}

func TestTokenizerFitsModel(t *testing.T) {
	w := benchmark{rules: decode.Rules{Stop: []int32{9}, MinNew: 1, MaxNew: 10, Width: 4}, read: readArticles}
	large := strings.Replace(wordsOnly, `"say": 5`, `"say": 100`, 1)
	for name, tokenizer := range map[string]string{"": wordsOnly, "the tokenizer has tokens up to 100, the model a vocabulary of 100": large, "tokenizer.json": "{"} {
		dir := folderWith(t, map[string]string{"cnn_eval.json": twoArticles, "tokenizer.json": tokenizer, "model.onnx": ""})
		_, err := w.open(workload.Setup{DatasetDir: dir, ModelPath: dir, Ports: decoderPorts()})
		if (err == nil) != (name == "") || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want %q", err, name)
		}
	}
}

// Where both lie in one folder, each benchmark has its own articles.
func TestEdgeArticles(t *testing.T) {
	article := func(name string) string { return `[{"tok_input": [1], "output": "` + name + `"}]` }
	for _, c := range []struct {
		files      []string
		all, edges string
	}{
		{[]string{"cnn_eval.json", "sample_cnn_eval_5000.json"}, "cnn_eval.json", "sample_cnn_eval_5000.json"},
		{[]string{"cnn_eval.json", "cnn_eval_5000.json"}, "cnn_eval.json", "cnn_eval_5000.json"},
		{[]string{"cnn_eval.json"}, "cnn_eval.json", "cnn_eval.json"},
		{[]string{"sample_cnn_eval_5000.json"}, "sample_cnn_eval_5000.json", "sample_cnn_eval_5000.json"},
	} {
		dir := t.TempDir()
		for _, name := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(article(name)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for model, want := range map[string]string{"llama3.1-8b": c.all, "llama3.1-8b-edge": c.edges} {
			w, err := modelNamed(t, model).OpenRemote(workload.Setup{DatasetDir: dir})
			if err != nil || w.Prompts.(*remotePrompts).data.targets[0] != want {
				t.Errorf("of %v %s reads %v, %v, want %s", c.files, model, w, err, want)
			}
		}
	}
}

func TestTokenizerPath(t *testing.T) {
	with := map[string]string{"tokenizer.json": wordsOnly, "cnn_eval.json": twoArticles}
	data, model, bare := folderWith(t, with), folderWith(t, with), folderWith(t, map[string]string{"cnn_eval.json": twoArticles})
	for _, c := range []struct {
		name string
		from source
		want string
	}{
		{"that was named", source{folder: data, model: model, tokenizer: "own.json"}, "own.json"},
		{"beside the data", source{folder: data, model: model}, data + "/tokenizer.json"},
		{"beside the file of the data", source{folder: data + "/cnn_eval.json", model: model}, data + "/tokenizer.json"},
		{"beside the model", source{folder: bare, model: model}, model + "/tokenizer.json"},
		{"nowhere", source{folder: bare, model: bare}, bare + "/tokenizer.json"},
		{"nowhere, without a model", source{folder: bare}, bare + "/tokenizer.json"},
	} {
		if got := c.from.tokenizerPath(); got != filepath.FromSlash(c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if err := (source{folder: bare, tokenizer: bare + "/none.json"}).fits(100); err == nil || !strings.Contains(err.Error(), "opening the tokenizer: ") {
		t.Errorf("a tokenizer that was named and is not there: %v", err)
	}
	if err := (source{folder: bare}).fits(0); err != nil {
		t.Errorf("without a tokenizer there is nothing that does not fit: %v", err)
	}
}
