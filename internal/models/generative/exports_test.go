package generative

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// fullExport is a genai_config.json with all keys of onnxruntime-genai's builder.
const fullExport = `{
    "model": {
        "bos_token_id": 1,
        "context_length": 131072,
        "decoder": {
            "session_options": {
                "log_id": "onnxruntime-genai",
                "provider_options": [ { "cuda": { "enable_cuda_graph": "0" } } ]
            },
            "filename": "model_q4.onnx",
            "head_size": 96,
            "hidden_size": 3072,
            "inputs": {
                "input_ids": "tokens",
                "attention_mask": "mask",
                "position_ids": "places",
                "past_key_names": "past.%d.key",
                "past_value_names": "past.%d.value",
                "past_sequence_length": "lengths",
                "total_sequence_length": "total"
            },
            "outputs": {
                "logits": "scores",
                "present_key_names": "next.%d.key",
                "present_value_names": "next.%d.value"
            },
            "num_attention_heads": 32,
            "num_hidden_layers": 32,
            "num_key_value_heads": 32
        },
        "eos_token_id": [ 32007, 32001, 32000 ],
        "pad_token_id": 32000,
        "type": "phi3",
        "vocab_size": 32064
    },
    "search": {
        "diversity_penalty": 0.0,
        "do_sample": false,
        "early_stopping": true,
        "length_penalty": 1.0,
        "max_length": 131072,
        "min_length": 0,
        "no_repeat_ngram_size": 0,
        "num_beams": 1,
        "num_return_sequences": 1,
        "past_present_share_buffer": false,
        "repetition_penalty": 1.0,
        "temperature": 0.5,
        "top_k": 40,
        "top_p": 0.95
    }
}`

func TestFullGenAIConfig(t *testing.T) {
	c, err := parseGenAI([]byte(fullExport))
	if err != nil {
		t.Fatal(err)
	}
	card := c.card()
	want := decode.UsualNames()
	want.Tokens, want.Mask, want.Positions, want.PastKey, want.PastValue = "tokens", "mask", "places", "past.%d.key", "past.%d.value"
	want.Lengths, want.Total, want.Logits, want.PresentKey, want.PresentValue = "lengths", "total", "scores", "next.%d.key", "next.%d.value"
	if diff := cmp.Diff(want, named(card.names)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if card.cache != decode.GrowingCache || card.context != 131072 || !slices.Equal(card.stop, []int32{32007, 32001, 32000}) || card.sampling.Draws() {
		t.Errorf("it says %+v", card)
	}
	if own := named(card.names, map[string]string{"logits": "other"}); own.Logits != "other" || own.Tokens != "tokens" {
		t.Errorf("with a name of the user's: %+v", own)
	}
}

// One value of a whole export after the other is what it cannot be.
func TestEachValueOfAnExportIsChecked(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"as it is", "", "", ""},
		{"a byte order mark", "{\n    \"model\"", "\ufeff{\n    \"model\"", "invalid character"},
		{"CRLF", "\n", "\r\n", ""},
		{"cut off", fullExport[400:], "", "unexpected end of JSON input"},
		{"a context of nothing", "131072,\n        \"decoder\"", "0,\n        \"decoder\"", "model.context_length … 0 … 1 … 2147483647"},
		{"a context without end", "131072,\n        \"decoder\"", "1e300,\n        \"decoder\"", "context_length"},
		{"a context of more than can be counted", "131072,\n        \"decoder\"", "9223372036854775807,\n        \"decoder\"", "model.context_length … 9223372036854775807 … 1 … 2147483647"},
		{"one end", "[ 32007, 32001, 32000 ]", "2", ""},
		{"no end", "[ 32007, 32001, 32000 ]", "[]", "model.eos_token_id … missing"},
		{"an end of nothing", "[ 32007, 32001, 32000 ]", "null", "model.eos_token_id … missing"},
		{"ends with nothing among them", "[ 32007, 32001, 32000 ]", "[null, 3]", ""},
		{"a negative end", "32001", "-2", "model.eos_token_id … -2"},
		{"an end beyond 32 bits", "32001", "4294967298", "eos_token_id"},
		{"an end in words", "32001", `"</s>"`, "eos_token_id"},
		{"a file in another folder", "model_q4.onnx", "../model.onnx", `model.decoder.filename … "../model.onnx"`},
		{"a file from the root", "model_q4.onnx", "/etc/passwd", `model.decoder.filename … "/etc/passwd"`},
		{"no name of the file", `"filename": "model_q4.onnx",`, "", ""},
		{"no inputs", `"inputs"`, `"inlets"`, "model.decoder.inputs … missing"},
		{"no outputs", `"outputs"`, `"outlets"`, "model.decoder.outputs … missing"},
		{"no decoder", `"decoder"`, `"encoder"`, "model.decoder … missing"},
		{"no vocabulary", `"vocab_size"`, `"vocabulary"`, "model.vocab_size … missing"},
		{"drawn, with a cold that cannot be", `"do_sample": false`, `"do_sample": true, "temperature": -1, "ignored": 1`, ""},
		{"drawn of a negative number of tokens", `"do_sample": false`, `"do_sample": true`, ""},
		{"a top_p of two", "0.95", "2", ""},
	} {
		text := fullExport
		if c.old != "" {
			text = strings.ReplaceAll(text, c.old, c.new)
		}
		_, err := parseGenAI([]byte(text))
		if !testenv.Names(err, c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// What an export draws by is checked if it draws, and only then.
func TestTheSamplingOfAnExportIsCheckedIfItDraws(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"0.5", "-0.5", "search … temperature … -0.5 … 0"}, {"40", "-1", "search … top_k … -1 … 0"}, {"0.95", "1.5", "search … top_p … 1.5 … 0 … 1"}, {"0.5", "0", ""},
	} {
		text := strings.Replace(fullExport, ": "+c.old, ": "+c.new, 1)
		if _, err := parseGenAI([]byte(text)); err != nil {
			t.Errorf("%s as %s, undrawn: %v", c.old, c.new, err)
		}
		_, err := parseGenAI([]byte(strings.Replace(text, `"do_sample": false`, `"do_sample": true`, 1)))
		if !testenv.Names(err, c.want) {
			t.Errorf("%s as %s: %v, want %q", c.old, c.new, err, c.want)
		}
	}
	for text, want := range map[string]uint64{"-1": 0, "0": 0, "7": 7, "9223372036854775807": math.MaxInt64} {
		c, err := parseGenAI([]byte(strings.Replace(fullExport, `"do_sample": false`, `"do_sample": true, "random_seed": `+text, 1)))
		if err != nil || c.sampling() != (decode.Sampling{Temperature: 0.5, TopK: 40, TopP: 0.95, Seed: want}) {
			t.Errorf("a seed of %s: %+v, %v", text, c.sampling(), err)
		}
	}
}

// genai_config.json comes first, then the metadata of the model's file.
func TestReadCard(t *testing.T) {
	built := func(t *testing.T, path string, metadata ...onnx.Property) {
		t.Helper()
		m := &onnx.Model{IRVersion: 8, Opsets: []onnx.Opset{{Version: 17}}, Graph: &onnx.Graph{Name: "g"}, Metadata: metadata}
		if err := m.WriteFile(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	says := []onnx.Property{{Key: "context_length", Value: "512"}, {Key: "eos_token_id", Value: "3"}, {Key: "author", Value: "12"}}
	for _, c := range []struct {
		name     string
		export   string
		metadata []onnx.Property
		context  int
		stop     []int32
	}{
		{"both", fullExport, says, 131072, []int32{32007, 32001, 32000}},
		{"the model's file alone", "", says, 512, []int32{3}},
		{"a model that says nothing", "", nil, 0, nil},
		{"a model that says something else", "", []onnx.Property{{Key: "context_length", Value: "long"}, {Key: "eos_token_id", Value: "-1"}}, 0, nil},
	} {
		dir := t.TempDir()
		built(t, filepath.Join(dir, "model.onnx"), c.metadata...)
		built(t, filepath.Join(dir, "model_q4.onnx"), c.metadata...)
		if c.export != "" {
			if err := os.WriteFile(filepath.Join(dir, genaiConfig), []byte(c.export), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{dir, filepath.Join(dir, "model.onnx")} {
			card, err := readCard(path)
			if err != nil || card.context != c.context || !slices.Equal(card.stop, c.stop) {
				t.Errorf("%s, %s: %+v, %v", c.name, filepath.Base(path), card, err)
			}
		}
	}
	if _, err := readCard(folderWith(t, map[string]string{genaiConfig: "{"})); !testenv.Names(err, genaiConfig+": unexpected end") {
		t.Errorf("an export that is cut off: %v", err)
	}
	if _, err := readCard(t.TempDir()); err == nil || !strings.Contains(err.Error(), "has no model.onnx") {
		t.Errorf("an empty folder: %v", err)
	}
}

// All names that an option may give are those of ports, each once.
func TestEveryPortName(t *testing.T) {
	usual := decode.UsualNames()
	for name := range fields(&usual) {
		own := "own"
		if strings.Contains(name, "%d") {
			own = "own.%d"
		}
		names, err := parseNames(name + "=" + own)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := named(names)
		changed := 0
		for before, now := range fields(&got) {
			_ = now
			if before == own {
				changed++
			}
		}
		if changed != 1 {
			t.Errorf("%s: %d names have changed: %+v", name, changed, got)
		}
	}
	for key := range genaiNames {
		fresh := decode.UsualNames()
		if fields(&fresh)[key] == nil {
			t.Errorf("onnxruntime-genai's name is for %s, which is no port", key)
		}
	}
}

// The options of the family are read together or not at all.
func TestRunOptions(t *testing.T) {
	set, err := parseRunOptions(workload.Values{cacheOption: "SHARED", contextOption: "2147483647", chunkOption: "1", samplingOption: "model", portsOption: "logits=scores"})
	want := runOptions{names: map[string]string{"logits": "scores"}, cache: decode.SharedCache, context: math.MaxInt32, chunk: 1, sampling: "model"}
	if diff := cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", set)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if set, err := parseRunOptions(nil); err != nil || set.context != 0 || set.chunk != 0 || set.cache != "" || len(set.names) != 0 {
		t.Errorf("of no options: %+v, %v", set, err)
	}
}

// export is a genai_config.json as onnxruntime-genai's builder writes it, shortened.
const export = `{
  "model": {
    "bos_token_id": 128000, "context_length": 4096,
    "decoder": {
      "filename": "decoder.onnx", "head_size": 64, "num_hidden_layers": 1,
      "inputs": {"input_ids": "input_ids", "attention_mask": "attention_mask", "past_key_names": "past.%d.k", "past_value_names": "past.%d.v"},
      "outputs": {"logits": "logits", "present_key_names": "now.%d.k", "present_value_names": "now.%d.v"}
    },
    "eos_token_id": [128001, 128009], "type": "llama", "vocab_size": 128256
  },
  "search": {"max_length": 4096, "past_present_share_buffer": true}
}`

func folderWith(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestGenAINames(t *testing.T) {
	dir := folderWith(t, map[string]string{"genai_config.json": export, "decoder.onnx": ""})
	files, err := decoderFiles(dir)
	if err != nil || len(files) != 1 || files[0].Path != filepath.Join(dir, "decoder.onnx") {
		t.Errorf("files %v, %v", files, err)
	}
	for _, path := range []string{dir, files[0].Path} {
		card, err := readCard(path)
		if err != nil {
			t.Fatal(err)
		}
		names := named(card.names)
		if names.PastKey != "past.%d.k" || names.PresentValue != "now.%d.v" || names.Tokens != "input_ids" || card.cache != decode.SharedCache ||
			card.context != 4096 || card.headSize != 64 || cmp.Diff(card.stop, []int32{128001, 128009}) != "" {
			t.Errorf("%s says %+v, names %+v", path, card, names)
		}
	}
}

func TestGenAIErrors(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"a key of the model", `"vocab_size": 128256`, `"vocab": 128256`, "model.vocab_size … missing"},
		{"the context", `"context_length": 4096`, `"contextlength": 4096`, "model.context_length … missing"},
		{"the end", `"eos_token_id": [128001, 128009], `, ``, "model.eos_token_id … missing"},
		{"the inputs", `"inputs"`, `"in"`, "model.decoder.inputs … missing"},
		{"the decoder", `"decoder": {`, `"encoder": {`, "model.decoder … missing"},
		{"a file in another folder", `decoder.onnx`, `../../decoder.onnx`, `model.decoder.filename … "../../decoder.onnx"`},
		{"a number", `[128001, 128009]`, `"the end"`, "cannot unmarshal"},
		{"an end that is known", `[128001, 128009]`, `null`, "model.eos_token_id … missing"},
		{"one of several", `[128001, 128009]`, `[null]`, "model.eos_token_id … missing"},
		{"an end that is a token", `[128001, 128009]`, `[128001, -1]`, "model.eos_token_id … -1"},
		{"an end that can be", `[128001, 128009]`, `4294967298`, "cannot unmarshal"},
		{"room", `"context_length": 4096`, `"context_length": 0`, "model.context_length … 0 … 1 … 2147483647"},
		{"room for anything", `"context_length": 4096`, `"context_length": -4096`, "model.context_length … -4096 … 1 … 2147483647"},
		{"the outputs", `"outputs"`, `"out"`, "model.decoder.outputs … missing"},
		{"JSON", `{`, ``, "invalid character"},
	} {
		dir := folderWith(t, map[string]string{"genai_config.json": strings.Replace(export, c.from, c.to, 1)})
		if _, err := readCard(dir); !testenv.Names(err, c.want) || !strings.Contains(err.Error(), "genai_config.json") {
			t.Errorf("without %s: error %v, want %q", c.name, err, c.want)
		}
	}
	dir := folderWith(t, map[string]string{"genai_config.json": export})
	if _, err := decoderFiles(dir); err == nil || !strings.Contains(err.Error(), "has no decoder.onnx") {
		t.Errorf("without the file: error %v", err)
	}
}

func FuzzGenAIConfig(f *testing.F) {
	f.Add(export)
	f.Add(`{"model": {"eos_token_id": 2}}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseGenAI([]byte(text))
		if err != nil {
			return
		}
		if card := c.card(); card.context < 1 || len(card.stop) == 0 || slices.Min(card.stop) < 0 || card.sampling.Check() != nil {
			t.Errorf("%q is read as %+v", text, card)
		}
	})
}

func TestDecoderFiles(t *testing.T) {
	usual, own := folderWith(t, map[string]string{"model.onnx": ""}), folderWith(t, map[string]string{"genai_config.json": strings.Replace(export, `"filename": "decoder.onnx", `, "", 1), "model.onnx": ""})
	for path, want := range map[string]string{usual: usual + "/model.onnx", own: own + "/model.onnx", usual + "/other.onnx": usual + "/other.onnx"} {
		if files, err := decoderFiles(path); err != nil || len(files) != 1 || files[0] != (workload.File{Role: workload.Only, Path: filepath.FromSlash(want)}) {
			t.Errorf("decoderFiles(%s) = %v, %v, want %s", path, files, err, want)
		}
	}
	empty := t.TempDir()
	if _, err := decoderFiles(empty); !testenv.Names(err, "the folder "+empty+" has no model.onnx") {
		t.Errorf("of an empty folder: %v", err)
	}
	if _, err := readCard(empty); err == nil || !strings.Contains(err.Error(), "has no model.onnx") {
		t.Errorf("the card of an empty folder: %v", err)
	}
	broken := folderWith(t, map[string]string{"genai_config.json": "[", "model.onnx": ""})
	if _, err := decoderFiles(broken); !testenv.Names(err, "genai_config.json … unexpected end") {
		t.Errorf("beside a broken file: %v", err)
	}
}

func TestGenAIEndTokens(t *testing.T) {
	own := strings.NewReplacer("past.%d.k", "past_key_values.%d.key", "past.%d.v", "past_key_values.%d.value", "now.%d.k", "present.%d.key", "now.%d.v", "present.%d.value",
		`, "past_present_share_buffer": true`, "", "[128001, 128009]", "[7, 9]").Replace(export)
	for config, want := range map[string][]int32{"": {9}, own: {7, 9}} {
		files := map[string]string{"cnn_eval.json": twoArticles, "decoder.onnx": "", "model.onnx": ""}
		if config != "" {
			files["genai_config.json"] = config
		}
		dir := folderWith(t, files)
		w := benchmark{rules: decode.Rules{Stop: []int32{9}, MinNew: 1, MaxNew: 10, Width: 4}, read: readArticles}
		opened, err := w.open(workload.Setup{DatasetDir: dir, ModelPath: dir, Ports: decoderPorts()})
		if err != nil {
			t.Fatal(err)
		}
		if got := opened.EndTokens; !slices.Equal(got, want) || len(opened.Limitations) != len(want)-1 {
			t.Errorf("it ends with %v, want %v; limitations %v", got, want, opened.Limitations)
		}
		if !slices.Equal(w.rules.Stop, []int32{9}) {
			t.Errorf("the benchmark ends with %v now", w.rules.Stop)
		}
	}
}

func TestGenAICache(t *testing.T) {
	for search, want := range map[string]decode.Cache{
		`"past_present_share_buffer": true`: decode.SharedCache, `"past_present_share_buffer": false`: decode.GrowingCache, `"max_length": 1`: "",
	} {
		c, err := parseGenAI([]byte(strings.Replace(export, `"past_present_share_buffer": true`, search, 1)))
		if err != nil || c.card().cache != want {
			t.Errorf("%s: %v, %v, want %q", search, c, err, want)
		}
	}
}

func TestGenAIOneEndToken(t *testing.T) {
	c, err := parseGenAI([]byte(strings.Replace(export, "[128001, 128009]", "7", 1)))
	if err != nil || !slices.Equal(c.card().stop, []int32{7}) || c.card().sampling != (decode.Sampling{}) {
		t.Errorf("%v, %v", c, err)
	}
}

func TestGenAISampling(t *testing.T) {
	for search, want := range map[string]decode.Sampling{
		`"do_sample": true, "temperature": 0.6, "top_k": 50, "top_p": 0.9, "random_seed": 11`: {Temperature: 0.6, TopK: 50, TopP: 0.9, Seed: 11},
		`"do_sample": true, "temperature": 0.6, "random_seed": -1`:                            {Temperature: 0.6},
		`"do_sample": false, "temperature": 0.6, "top_k": 50`:                                 {},
	} {
		c, err := parseGenAI([]byte(strings.Replace(export, `"max_length": 4096`, search, 1)))
		if err != nil || c.card().sampling != want {
			t.Errorf("%s: %+v, %v, want %+v", search, c, err, want)
		}
	}
}

func TestPortNames(t *testing.T) {
	own, err := parseNames("input_ids=tokens, past_key_values.%d.key=cache.%d.k")
	if err != nil {
		t.Fatal(err)
	}
	if n := named(map[string]string{"input_ids": "ids", "logits": "scores"}, own); n.Tokens != "tokens" || n.PastKey != "cache.%d.k" || n.Logits != "scores" {
		t.Errorf("names %+v", n)
	}
	for text, want := range map[string]string{
		"tokens":                      `"tokens": must be usual=own`,
		"inputs=x":                    `"inputs" is not one of attention_mask, input_ids`,
		"past_key_values.%d.key=past": "%d stands for the number of a layer",
		"logits=":                     ": must be usual=own",
	} {
		if _, err := parseNames(text); !testenv.Names(err, want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// decoderPorts are those of a decoder with one layer.
func decoderPorts() map[string]workload.Ports {
	p := func(name string, t tensor.DType, shape ...int64) backend.Port {
		return backend.Port{Name: name, Type: t, Shape: shape}
	}
	return map[string]workload.Ports{workload.Only: {
		Inputs: []backend.Port{
			p("input_ids", tensor.Int64, -1, -1), p("attention_mask", tensor.Int64, -1, -1),
			p("past_key_values.0.key", tensor.Float32, -1, 2, -1, 8), p("past_key_values.0.value", tensor.Float32, -1, 2, -1, 8),
		},
		Outputs: []backend.Port{
			p("logits", tensor.Float32, -1, -1, 100), p("present.0.key", tensor.Float32, -1, 2, -1, 8), p("present.0.value", tensor.Float32, -1, 2, -1, 8),
		},
	}}
}

const twoArticles = `[{"instruction": "", "input": "a", "tok_input": [1, 2, 3], "output": "one two."}, {"input": "b", "tok_input": [4, 5, 6, 7, 8], "output": "three."}]`

func TestPromptErrors(t *testing.T) {
	w := benchmark{rules: decode.Rules{Stop: []int32{9}, MinNew: 1, MaxNew: 10, Width: 4}, read: readArticles}
	for _, c := range []struct {
		name, articles string
		options        workload.Values
		want           string
	}{
		{"they do", twoArticles, nil, ""},
		{"with just enough room", twoArticles, workload.Values{"context": "15"}, ""},
		{"a prompt longer than the context", twoArticles, workload.Values{"context": "14"}, "context … prompt 1 … 5 tokens … 10 … 14"},
		{"tokens that the model does not know", strings.Replace(twoArticles, "7, 8", "7, 100", 1), nil, "prompt 1 … token 100 … 100"},
		{"an empty prompt", strings.Replace(twoArticles, "4, 5, 6, 7, 8", "", 1), nil, "prompt 1 … empty"},
		{"no prompt", "[]", nil, "no rows"},
		{"no list", "{}", nil, "column tok_input"},
		{"no room", twoArticles, workload.Values{"context": "0"}, "context … 0 … 1 … 2147483647"},
		{"less than no room", twoArticles, workload.Values{"context": "-5"}, "context … -5 … 1 … 2147483647"},
		{"nothing at once", twoArticles, workload.Values{"prefill-chunk": "0"}, "prefill-chunk … 0 … 1 … 2147483647"},
		{"more room than tokens can be counted", twoArticles, workload.Values{"context": "9223372036854775807"}, "context … 9223372036854775807 … 1 … 2147483647"},
		{"more at once than tokens can be counted", twoArticles, workload.Values{"prefill-chunk": "2147483648"}, "prefill-chunk … 2147483648 … 1 … 2147483647"},
		{"no number", twoArticles, workload.Values{"context": "many"}, `context … "many"`},
		{"the last token that the model knows", strings.Replace(twoArticles, "7, 8", "7, 99", 1), nil, ""},
		{"the first one", strings.Replace(twoArticles, "7, 8", "7, 0", 1), nil, ""},
		{"a token below all", strings.Replace(twoArticles, "7, 8", "7, -1", 1), nil, "row 1 … column tok_input … token 4 … -1"},
		{"a name of nothing", twoArticles, workload.Values{"port-names": "words=scores"}, `port-names … "words" … attention_mask`},
		{"another name", twoArticles, workload.Values{"port-names": "logits=scores"}, `output … "scores"`},
	} {
		dir := folderWith(t, map[string]string{"cnn_eval.json": c.articles})
		_, err := w.open(workload.Setup{DatasetDir: dir, ModelPath: filepath.Join(dir, "none.onnx"), Ports: decoderPorts(), Options: c.options})
		if c.want == "" && err != nil || c.want != "" && !testenv.Names(err, c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestDecoderWorkload(t *testing.T) {
	w := benchmark{rules: decode.Rules{Stop: []int32{9}, MinNew: 1, MaxNew: 10, Width: 4}, read: readArticles}
	dir := folderWith(t, map[string]string{"cnn_eval.json": twoArticles})
	opened, err := w.open(workload.Setup{DatasetDir: dir, ModelPath: filepath.Join(dir, "none.onnx"), Ports: decoderPorts(), Count: 2})
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(opened.Notes, "\n")
	for _, want := range []string{"tokens go into input_ids, the cache goes in and comes out longer; 1 layers of 2×8 float32", "up to 5 tokens and answers up to 10; they end with [9] (from the benchmark)"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes\n%s\nwant %q", notes, want)
		}
	}
	if opened.Slots < 2 {
		t.Error("sequences are decoded one by one")
	}
	if opened.Batch != 0 || opened.Samples != 2 {
		t.Errorf("batch %d, %d prompts", opened.Batch, opened.Samples)
	}
	if got := opened.PredictorBytes(4); got != 2*4*15*2*2*8*4 {
		t.Errorf("4 slots take %d bytes", got)
	}
	if diff := cmp.Diff([]string{"logits", "present.0.key", "present.0.value"}, opened.Outputs("")); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	row := []tensor.Tensor{tensor.New(tensor.Int32, opened.Row(1)[0].Shape...)}
	if err := opened.Prepare(1, row); err != nil || cmp.Diff(tensor.Data[int32](row[0]), []int32{4, 5, 6, 7, 8}) != "" {
		t.Errorf("row %v, %v", tensor.Data[int32](row[0]), err)
	}
}
