package tokenserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tokenizer/vocab"
)

func post(t *testing.T, s *Server, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w
}

func TestRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		o    Options
		path string
		body string
		want string
	}{
		"a prompt that is too long": {Options{Context: 10}, "/v1/completions", `{"prompt":"a b c d","max_tokens":7}`, "maximum context length is 10 tokens"},
		"token ids":                 {Options{TextOnly: true}, "/v1/completions", `{"prompt":[1]}`, "cannot unmarshal array"},
		"fields of others":          {Options{NoExtras: true}, "/v1/completions", `{"prompt":"x","min_tokens":1}`, "Unrecognized request argument"},
		"no route":                  {Options{NoText: true}, "/v1/completions", `{"prompt":"x"}`, "Not Found"},
		"no key":                    {Options{Key: "k"}, "/v1/models", ``, "Incorrect API key"},
		"part of an image":          {Options{}, "/v1/chat/completions", `{"messages":[{"content":[{"type":"image_url"}]}]}`, "must be text"},
		"no chat":                   {Options{NoChat: true}, "/v1/chat/completions", `{"messages":[{"content":"x"}]}`, "Not Found"},
		"no prompt":                 {Options{}, "/v1/completions", `{}`, "prompt is missing"},
		"no messages":               {Options{}, "/v1/chat/completions", `{"prompt":"x"}`, "messages are missing"},
		"not JSON":                  {Options{}, "/v1/completions", `{`, "unexpected end of JSON"},
	} {
		if w := post(t, New(test.o), test.path, test.body); w.Code < 400 || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// An answer is what the documents of the server say, those of a stream put together.
type said struct {
	text, finish               string
	ids                        []int
	prompt, completion, events int
}

type document struct {
	Choices []struct {
		Text    string
		Message struct{ Role, Content string }
		Delta   struct{ Content string }
		IDs     []int  `json:"token_ids"`
		Finish  string `json:"finish_reason"`
	}
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	}
}

// understood reads an answer as a client would.
func understood(t *testing.T, w *httptest.ResponseRecorder) (a said) {
	t.Helper()
	texts := []string{w.Body.String()}
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		texts = strings.Split(strings.TrimSuffix(w.Body.String(), "data: [DONE]\n\n"), "\n\n")
		texts = texts[:len(texts)-1]
	}
	for _, text := range texts {
		var d document
		if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "data: ")), &d); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		a.events++
		for _, c := range d.Choices {
			a.text += c.Text + c.Message.Content + c.Delta.Content
			a.ids, a.finish = append(a.ids, c.IDs...), c.Finish
		}
		if u := d.Usage; u.Total != 0 {
			a.prompt, a.completion = u.Prompt, u.Completion
			if u.Total != u.Prompt+u.Completion {
				t.Errorf("the usage is %+v", u)
			}
		}
	}
	return a
}

func TestFormsOfAnswers(t *testing.T) {
	ids := append([]int32{1, 2, vocab.Mark}, vocab.Number(407)...)
	for name, prompt := range map[string]string{"a text": "one two three" + vocab.Text([]int32{5, 17, 29}), "a hidden answer": vocab.Text(ids)} {
		s := New(Options{Right: 1, Tokens: 20})
		wanted := ""
		for _, route := range []string{"/v1/completions", "/v1/chat/completions"} {
			field := fmt.Sprintf(`"prompt":%s`, quoted(prompt))
			if strings.Contains(route, "chat") {
				field = fmt.Sprintf(`"messages":[{"content":[{"type":"text","text":%s}]}]`, quoted(prompt)) // as guidellm sends it
			}
			for _, extras := range []string{"", `,"stream":true`, `,"stream":true,"stream_options":{"include_usage":true}`} {
				a := understood(t, post(t, s, route, `{`+field+`,"max_tokens":12,"return_token_ids":true`+extras+`}`))
				spelled := ""
				for _, id := range a.ids {
					spelled += vocab.Words[id]
				}
				if wanted == "" {
					wanted = a.text
				}
				if a.text != wanted || spelled != wanted || a.finish != "length" {
					t.Errorf("%s at %s%s: %+v, want %q", name, route, extras, a, wanted)
				}
				if counted := extras == "" || strings.Contains(extras, "usage"); counted && (a.completion != len(a.ids) || a.prompt != len(strings.Fields(prompt))) || !counted && a.completion != 0 {
					t.Errorf("%s at %s%s: the usage is %d and %d of %d", name, route, extras, a.prompt, a.completion, len(a.ids))
				}
			}
		}
		if right := wanted == `\boxed{407}`; right != (name == "a hidden answer") || s.Rights() != map[bool]int{true: 1}[right] {
			t.Errorf("%s: the answer is %q, %d are right", name, wanted, s.Rights())
		}
	}
}

func TestKeys(t *testing.T) {
	s := New(Options{Key: "right"})
	for key, want := range map[string]int{"": 401, "Bearer wrong": 401, "right": 401, "Bearer right": 200} {
		r, w := httptest.NewRequest(http.MethodGet, "/v1/models", nil), httptest.NewRecorder()
		if key != "" {
			r.Header.Set("Authorization", key)
		}
		if s.ServeHTTP(w, r); w.Code != want || want == 401 && !strings.HasSuffix(w.Body.String(), strings.TrimPrefix(key, "Bearer ")+`","code":401}}`) {
			t.Errorf("%q: %d %s", key, w.Code, w.Body)
		}
		if want == 200 && !json.Valid(w.Body.Bytes()) {
			t.Errorf("the list of models is %s", w.Body)
		}
	}
	if s.Keys() != 3 || s.Requests() != 0 {
		t.Errorf("%d keys and %d prompts have come, want 3 and none", s.Keys(), s.Requests())
	}
}

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		o      Options
		extras string
		tokens int    // of the answer
		want   string // or what is wrong
	}{
		"as usual":               {Options{}, ``, 16, ""},
		"as the server has them": {Options{Tokens: 3}, ``, 3, ""},
		"the larger of two":      {Options{}, `,"max_tokens":3,"max_completion_tokens":5`, 5, ""},
		"more than usual":        {Options{Tokens: 3}, `,"max_tokens":9`, 3, ""},
		"more, without an end":   {Options{Tokens: 3}, `,"max_tokens":9,"ignore_eos":true`, 9, ""},
		"an end after all":       {Options{Tokens: 3}, `,"max_tokens":9,"ignore_eos":false`, 3, ""},
		"as many as fit":         {Options{Context: 6}, `,"max_tokens":4`, 4, ""},
		"one more than fit":      {Options{Context: 5}, `,"max_tokens":4`, 0, "maximum context length is 5 tokens. However, you requested 6 tokens"},
		"negative":               {Options{}, `,"max_tokens":-1`, 0, "max_tokens must be at least 1, got -1"},
		"negative in the other":  {Options{}, `,"max_tokens":4,"max_completion_tokens":-7`, 0, "at least 1, got -7"},
		"far too many":           {Options{}, `,"max_tokens":1048577,"ignore_eos":true`, 0, "max_tokens must be at most 1048576, got 1048577"},
		"more than can be":       {Options{}, `,"max_tokens":9223372036854775807`, 0, "at most 1048576"},
		"a least number of them": {Options{Tokens: 3}, `,"min_tokens":7`, 3, ""},
		"nothing said of an end": {Options{Tokens: 3}, `,"max_tokens":9,"ignore_eos":null`, 3, ""},
		"a word":                 {Options{}, `,"max_tokens":"4"`, 0, "cannot unmarshal string"},
	} {
		w := post(t, New(c.o), "/v1/completions", `{"prompt":" a\n b ","return_token_ids":true`+c.extras+`}`)
		if c.want != "" {
			if w.Code != 400 || !strings.Contains(w.Body.String(), c.want) || !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s: %d %s, want %q", name, w.Code, w.Body, c.want)
			}
			continue
		}
		if a := understood(t, w); len(a.ids) != c.tokens || a.completion != c.tokens || a.prompt != 2 {
			t.Errorf("%s: %+v, want %d tokens for 2", name, a, c.tokens)
		}
	}
	if w := post(t, New(Options{}), "/v1/completions", strings.Repeat(" ", maxBody+1)); w.Code != 400 || !strings.Contains(w.Body.String(), "too large") {
		t.Errorf("a request without an end: %d %s", w.Code, w.Body)
	}
}

func TestShareOfRightAnswers(t *testing.T) {
	const questions = 1000
	for _, right := range []float64{0, 0.3, 1} {
		s := New(Options{Right: right, Tokens: 64})
		answered := 0
		for i := range questions {
			ids := append([]int32{int32(i % 64), int32(i / 64), vocab.Mark}, vocab.Number(i)...)
			body, err := json.Marshal(map[string]any{"prompt": ids, "max_tokens": 50})
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/completions", strings.NewReader(string(body))))
			if quoted, _ := json.Marshal(fmt.Sprintf(`\boxed{%d}`, i)); strings.Contains(w.Body.String(), string(quoted)) {
				answered++
			}
		}
		if share := float64(answered) / questions; share < right-0.05 || share > right+0.05 || s.Rights() != answered {
			t.Errorf("%d of %d answers are right, want %g of them; the server says %d", answered, questions, right, s.Rights())
		}
	}
}

// One input may be a text, as guidellm sends it.
func TestInputs(t *testing.T) {
	for body, want := range map[string]int{`{"input":"a b"}`: 1, `{"input":["a","b"]}`: 2, `{"input":[]}`: 0, `{"input":7}`: 0} {
		w := post(t, New(Options{}), "/v1/embeddings", body)
		if n := strings.Count(w.Body.String(), `"embedding":[`); n != want || (w.Code == http.StatusOK) != (want > 0) {
			t.Errorf("%s: %d, %s", body, w.Code, w.Body)
		}
	}
}
