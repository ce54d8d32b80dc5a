package serve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// bytewise are words of which each byte is a token; a whole text begins with token 0.
type bytewise struct{}

func (bytewise) Encode(text string) ([]int32, error) {
	ids, _ := bytewise{}.EncodeWhole(text)
	return append([]int32{0}, ids...), nil
}

func (bytewise) EncodeWhole(text string) (ids []int32, err error) {
	for _, c := range []byte(text) {
		ids = append(ids, int32(c))
	}
	return ids, nil
}

func (bytewise) Decode([]int32) (string, error) { return "", nil }

// brackets put each message of a conversation into some.
type brackets struct{}

func (brackets) Render(messages []map[string]any) (string, error) {
	text := ""
	for _, m := range messages {
		if m["role"] == "nobody" {
			return "", fmt.Errorf("there is no role nobody")
		}
		text += fmt.Sprintf("<%v:%v>", m["role"], m["content"])
	}
	return text, nil
}

func TestAPromptBecomesTokens(t *testing.T) {
	for _, c := range []struct {
		name, text string
		words      workload.Words
		chat       workload.Chat
		want       []int32
		wrong      string
	}{
		{"a text", `{"prompt":"ab"}`, bytewise{}, nil, []int32{0, 'a', 'b'}, ""},
		{"tokens", `{"prompt":[3, 4]}`, bytewise{}, nil, []int32{3, 4}, ""},
		{"tokens, without words", `{"prompt":[3]}`, nil, nil, []int32{3}, ""},
		{"no tokens", `{"prompt":[]}`, nil, nil, nil, ""},
		{"a text, without words", `{"prompt":"ab"}`, nil, nil, nil, "the model has no tokenizer here: want a prompt that is a list of tokens"},
		{"nothing", `{"prompt":null}`, bytewise{}, nil, nil, "prompt: want a text or a list of tokens: it is null"},
		{"nothing among tokens", `{"prompt":[1,null,2]}`, bytewise{}, nil, nil, "prompt: token 1 is null or negative"},
		{"a negative token", `{"prompt":[-1]}`, nil, nil, nil, "prompt: token 0 is null or negative"},
		{"a fraction", `{"prompt":[1.5]}`, nil, nil, nil, "want a text or a list of tokens: "},
		{"more than a token can be", `{"prompt":[2147483648]}`, nil, nil, nil, "want a text or a list of tokens: "},
		{"lists", `{"prompt":[[1]]}`, nil, nil, nil, "want a text or a list of tokens: "},
		{"a number", `{"prompt":7}`, bytewise{}, nil, nil, "want a text or a list of tokens: "},
		{"a conversation", `{"messages":[{"role":"user","content":"a"},{"content":"b"}]}`, bytewise{}, brackets{}, append([]int32(nil), tokensIn("<user:a><:b>")...), ""},
		{"a conversation in parts", `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"content":[]},{"content":null}]}`, bytewise{}, brackets{}, tokensIn("<user:ab><:><:>"), ""},
		{"a conversation without a template", `{"messages":[{"content":"a"},{"content":[{"type":"text","text":"b"}]}]}`, bytewise{}, nil, append([]int32{0}, tokensIn("a\nb")...), ""},
		{"a conversation without words", `{"messages":[{"content":"a"}]}`, nil, brackets{}, nil, "no tokenizer"},
		{"a role that is not known", `{"messages":[{"role":"nobody"}]}`, bytewise{}, brackets{}, nil, "no role nobody"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := readPrompt([]byte(c.text), strings.Contains(c.text, "messages"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.tokens(c.words, c.chat)
			if c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) || c.wrong == "" && (err != nil || !slices.Equal(got, c.want)) {
				t.Errorf("%v, %v, want %v, %s", got, err, c.want, c.wrong)
			}
		})
	}
}

func tokensIn(text string) []int32 {
	ids, _ := bytewise{}.EncodeWhole(text)
	return ids
}

func TestWhatAPromptCannotAskForIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		`{"prompt":"a","temperature":0.1}`:                         "temperature: the likeliest token is always taken, want 0",
		`{"prompt":"a","n":0}`:                                     "n: there is one answer",
		`{"prompt":"a","stop":"x"}`:                                "stop: answers end where the model ends them",
		`{"prompt":"a","ignore_eos":true}`:                         "ignore_eos: ",
		`{"prompt":"a","min_tokens":1}`:                            "min_tokens: ",
		`{"prompt":"a","max_tokens":3,"max_completion_tokens":-1}`: "max_tokens is negative or 0, want at least 1",
		`{"prompt":"a","max_tokens":0}`:                            "max_tokens is negative or 0, want at least 1",
		`{"prompt":"a","echo":true}`:                               "echo: this is not done here, want false or nothing",
		`{"prompt":"a","logprobs":0}`:                              "logprobs: this is not done here, want false or nothing",
		`{"prompt":"a","frequency_penalty":1e-9}`:                  "frequency_penalty: this is not done here, want 0 or nothing",
		`{"prompt":"a","tools":[{"type":"function"}]}`:             "tools: this is not done here, want [] or nothing",
		`{"prompt":"a","response_format":{"type":"json_object"}}`:  `response_format: this is not done here, want {"type":"text"} or nothing`,
		`{"prompt":"a","suffix":"b"}`:                              `suffix: this is not done here, want "" or nothing`,
		`{"prompt":"a","best_of":2}`:                               "best_of: this is not done here, want 1 or nothing",
		`{"messages":[{"content":"a"}]}`:                           "prompt is missing",
		`{}`:                                                       "prompt is missing",
		`[]`:                                                       "a list where an object should be",
		`{"prompt":"a","prompt":"b"}`:                              `an object has two keys "prompt"`,
		`{"prompt":"a","Prompt":"b"}`:                              `an object has two keys "prompt"`,
		`{"prompt":"a","echo":true,"echo":false}`:                  `an object has two keys "echo"`,
		`{"prompt":"a","max_tokens":1.5}`:                          "max_tokens: 1.5 where a whole number of 64 bits should be",
		`{"prompt":"a","stream_options":[]}`:                       "stream_options: a list where an object should be",
		"{\"prompt\":\"\xff\"}":                                    "it is not UTF-8",
	} {
		if _, err := readPrompt([]byte(text), false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		`{"messages":[{"content":[{"type":"image_url","image_url":{"url":"x"}}]}]}`: `a part of a message is of type "image_url", want text`,
		`{"messages":[{"content":["a"]}]}`:                                          "messages.content: a text where an object should be",
		`{"messages":[{"content":"a","content":"b"}]}`:                              `an object has two keys "content"`,
		`{"messages":{}}`:                          "messages: an object where a list should be",
		`{"messages":[{"role":[],"content":"b"}]}`: "messages.role: a list where a text should be",
		`{"messages":[{"content":7}]}`:             "messages.content: a number where a text should be",
	} {
		if _, err := readPrompt([]byte(text), true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := readPrompt([]byte(`{"prompt":"a"}`), true); err == nil || err.Error() != "messages are missing" {
		t.Errorf("a prompt for a conversation: %v", err)
	}
	for text, want := range map[string]int{`{"prompt":"a"}`: 0, `{"prompt":"a","max_tokens":3}`: 3, `{"prompt":"a","max_tokens":3,"max_completion_tokens":5}`: 5,
		`{"prompt":"a","temperature":0,"n":1,"stop":[],"min_tokens":0,"ignore_eos":false,"max_tokens":null}`:                                                                                                 0,
		`{"prompt":"a","echo":false,"logprobs":null,"frequency_penalty":-0.0,"presence_penalty":0e5,"repetition_penalty":1.0,"tools":[],"response_format":{"type":"text"},"top_p":0.5,"seed":7,"user":"me"}`: 0} {
		if p, err := readPrompt([]byte(text), false); err != nil || p.limit() != want {
			t.Errorf("%s: %+v, %v, want a limit of %d", text, p, err, want)
		}
	}
}

func TestFieldsOfAFormAreChecked(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"model", "anything", ""},
		{"language", "en", ""},
		{"language", "", ""},
		{"language", "de", `language is "de", want en`},
		{"response_format", "text", ""},
		{"response_format", "srt", `response_format is "srt", want json or text`},
		{"stream", "true", `stream is "true", want false`},
		{"prompt", "hello", `prompt is "hello", want nothing`},
		{"temperature", "0.0", ""},
		{"temperature", "-0", ""},
		{"temperature", "NaN", `temperature is "NaN", want 0`},
		{"temperature", "1e-9", `temperature is "1e-9", want 0`},
		{"temperature", "", `temperature is "", want 0`},
		{"timestamp_granularities[]", "word", "timestamp_granularities[] is not known here"},
	} {
		f := &speechForm{fields: map[string]string{c.name: c.value}}
		if err := f.check("en"); (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s=%s: %v, want %q", c.name, c.value, err, c.want)
		}
	}
}

func TestWhatARequestMayTakeFollowsFromTheInputs(t *testing.T) {
	port := func(d tensor.DType, shape ...int64) backend.Port {
		return backend.Port{Name: "x", Type: d, Shape: shape}
	}
	for _, c := range []struct {
		name    string
		inputs  []backend.Port
		batched bool
		want    int64
	}{
		{"fixed", []backend.Port{port(tensor.Float32, 2, 3), port(tensor.Int8, 5)}, false, 29},
		{"samples side by side", []backend.Port{port(tensor.Float32, -1, 3)}, true, 64 * 12},
		{"samples of one", []backend.Port{port(tensor.Float32, -1, 3)}, false, 12 + freeBytes},
		{"a free extent", []backend.Port{port(tensor.Int16, 4, -1, 3)}, false, 24 + freeBytes},
		{"two free ones", []backend.Port{port(tensor.Int16, 1, -1), port(tensor.Int16, 1, -1)}, false, 4 + freeBytes},
		{"strings", []backend.Port{port(tensor.String, 1), port(tensor.Int16, 3)}, false, 6 + freeBytes},
		{"any shape", []backend.Port{{Name: "x", Type: tensor.Float32, AnyShape: true}}, false, freeBytes},
		{"a scalar", []backend.Port{port(tensor.Float64)}, false, 8},
	} {
		m := &tensorsModel{table: &table{ports: workload.Ports{Inputs: c.inputs}, batched: c.batched}}
		if got := m.MaxBytes(); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}
