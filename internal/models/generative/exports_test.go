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

	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// wholeExport is a genai_config.json with all that a builder of onnxruntime-genai writes, of which most means nothing here.
const wholeExport = `{
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

func TestAWholeExportIsUnderstoodAsFarAsItCounts(t *testing.T) {
	c, err := parseGenAI([]byte(wholeExport))
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
		{"cut off", wholeExport[400:], "", "unexpected end of JSON input"},
		{"a context of nothing", "131072,\n        \"decoder\"", "0,\n        \"decoder\"", "model.context_length is 0, want 1 to 2147483647 tokens"},
		{"a context without end", "131072,\n        \"decoder\"", "1e300,\n        \"decoder\"", "context_length"},
		{"a context of more than can be counted", "131072,\n        \"decoder\"", "9223372036854775807,\n        \"decoder\"", "model.context_length is 9223372036854775807, want 1 to 2147483647 tokens"},
		{"one end", "[ 32007, 32001, 32000 ]", "2", ""},
		{"no end", "[ 32007, 32001, 32000 ]", "[]", "model.eos_token_id is missing"},
		{"an end of nothing", "[ 32007, 32001, 32000 ]", "null", "model.eos_token_id is missing"},
		{"ends with nothing among them", "[ 32007, 32001, 32000 ]", "[null, 3]", ""},
		{"a negative end", "32001", "-2", "model.eos_token_id has -2, want tokens"},
		{"an end beyond 32 bits", "32001", "4294967298", "eos_token_id"},
		{"an end in words", "32001", `"</s>"`, "eos_token_id"},
		{"a file elsewhere", "model_q4.onnx", "../model.onnx", `model.decoder.filename is "../model.onnx", want a file beside it`},
		{"a file from the root", "model_q4.onnx", "/etc/passwd", `model.decoder.filename is "/etc/passwd", want a file beside it`},
		{"no name of the file", `"filename": "model_q4.onnx",`, "", ""},
		{"no inputs", `"inputs"`, `"inlets"`, "model.decoder.inputs is missing"},
		{"no outputs", `"outputs"`, `"outlets"`, "model.decoder.outputs is missing"},
		{"no decoder", `"decoder"`, `"encoder"`, "model.decoder is missing"},
		{"no vocabulary", `"vocab_size"`, `"vocabulary"`, "model.vocab_size is missing"},
		{"drawn, with a cold that cannot be", `"do_sample": false`, `"do_sample": true, "temperature": -1, "ignored": 1`, ""},
		{"drawn of a negative number of tokens", `"do_sample": false`, `"do_sample": true`, ""},
		{"a top_p of two, which nobody draws by", "0.95", "2", ""},
	} {
		text := wholeExport
		if c.old != "" {
			text = strings.ReplaceAll(text, c.old, c.new)
		}
		_, err := parseGenAI([]byte(text))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// What an export draws by is checked if it draws, and only then.
func TestTheSamplingOfAnExportIsCheckedIfItDraws(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"0.5", "-0.5", "search: temperature is -0.5, want 0 or more"}, {"40", "-1", "search: top_k is -1, want 0 or more"}, {"0.95", "1.5", "search: top_p is 1.5, want 0 to 1"}, {"0.5", "0", ""},
	} {
		text := strings.Replace(wholeExport, ": "+c.old, ": "+c.new, 1)
		if _, err := parseGenAI([]byte(text)); err != nil {
			t.Errorf("%s as %s, undrawn: %v", c.old, c.new, err)
		}
		_, err := parseGenAI([]byte(strings.Replace(text, `"do_sample": false`, `"do_sample": true`, 1)))
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s as %s: %v, want %q", c.old, c.new, err, c.want)
		}
	}
	for text, want := range map[string]uint64{"-1": 0, "0": 0, "7": 7, "9223372036854775807": math.MaxInt64} {
		c, err := parseGenAI([]byte(strings.Replace(wholeExport, `"do_sample": false`, `"do_sample": true, "random_seed": `+text, 1)))
		if err != nil || c.sampling() != (decode.Sampling{Temperature: 0.5, TopK: 40, TopP: 0.95, Seed: want}) {
			t.Errorf("a seed of %s: %+v, %v", text, c.sampling(), err)
		}
	}
}

// The file beside a model decides, or else what the model's own file says, or nobody.
func TestACardIsFromTheFirstWhoKnows(t *testing.T) {
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
		{"both", wholeExport, says, 131072, []int32{32007, 32001, 32000}},
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
			if got := card.stopOr([]int32{9}); len(c.stop) == 0 && !slices.Equal(got, []int32{9}) || len(c.stop) > 0 && !slices.Equal(got, c.stop) {
				t.Errorf("%s: answers end with %v", c.name, got)
			}
		}
	}
	if _, err := readCard(folderWith(t, map[string]string{genaiConfig: "{"})); err == nil || !strings.Contains(err.Error(), genaiConfig+": unexpected end") {
		t.Errorf("an export that is cut off: %v", err)
	}
	if _, err := readCard(t.TempDir()); err == nil || !strings.Contains(err.Error(), "has no model.onnx") {
		t.Errorf("an empty folder: %v", err)
	}
}

// All names that an option may give are those of ports, each once.
func TestEveryPortMayHaveAnotherName(t *testing.T) {
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
func TestSettingsAreReadFromOptions(t *testing.T) {
	set, err := parseRunOptions(workload.Values{cacheOption: "SHARED", contextOption: "2147483647", chunkOption: "1", samplingOption: "model", portsOption: "logits=scores"})
	want := runOptions{names: map[string]string{"logits": "scores"}, cache: decode.SharedCache, context: math.MaxInt32, chunk: 1, sampling: "model"}
	if diff := cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", set)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if set, err := parseRunOptions(nil); err != nil || set.context != 0 || set.chunk != 0 || set.cache != "" || len(set.names) != 0 {
		t.Errorf("of no options: %+v, %v", set, err)
	}
}
