package tokenserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func post(t *testing.T, s *Server, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w
}

func TestAnswersFollowFromPromptsAndLimits(t *testing.T) {
	s := New(Options{Tokens: 8})
	for name, test := range map[string]struct {
		path, body string
		status     int
		tokens     int // said; 0: none
	}{
		"completion":              {"/v1/completions", `{"prompt":"a b c","max_tokens":5}`, 200, 5},
		"chat":                    {"/v1/chat/completions", `{"messages":[{"content":"a b c"}],"max_completion_tokens":3}`, 200, 3},
		"token ids":               {"/v1/completions", `{"prompt":[1,2,3]}`, 200, 8},
		"more than it has to say": {"/v1/completions", `{"prompt":"x","max_tokens":50}`, 200, 8},
		"whatever it has to say":  {"/v1/completions", `{"prompt":"x","max_tokens":50,"ignore_eos":true}`, 200, 50},
		"no prompt":               {"/v1/completions", `{}`, 400, 0},
		"no messages":             {"/v1/chat/completions", `{"prompt":"x"}`, 400, 0},
		"no JSON":                 {"/v1/completions", `{`, 400, 0},
		"a number":                {"/v1/completions", `{"prompt":5}`, 400, 0},
		"elsewhere":               {"/v2", `{}`, 404, 0},
	} {
		w := post(t, s, test.path, test.body)
		if w.Code != test.status || test.tokens != 0 && strings.Count(w.Body.String(), `"completion_tokens":`+string(rune('0'+test.tokens%10))) == 0 && test.tokens < 10 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		again := post(t, s, test.path, test.body)
		if again.Body.String() != w.Body.String() {
			t.Errorf("%s: another answer the second time", name)
		}
	}
}

func TestAStreamSaysWhatTheWholeAnswerSays(t *testing.T) {
	s := New(Options{PerWrite: 3})
	w := post(t, s, "/v1/completions", `{"prompt":"x","max_tokens":7,"stream":true,"stream_options":{"include_usage":true}}`)
	text, _ := io.ReadAll(w.Body)
	if n := strings.Count(string(text), "data: "); n != 7+3 || !strings.HasSuffix(string(text), "data: [DONE]\n\n") || !strings.Contains(string(text), `"completion_tokens":7`) {
		t.Errorf("%d events: %s", n, text)
	}
}

func TestFaultsHaveNames(t *testing.T) {
	for f := None; int(f) < len(names); f++ {
		if got, err := ParseFault(f.String()); err != nil || got != f {
			t.Errorf("ParseFault(%v) = %v, %v", f, got, err)
		}
	}
	if _, err := ParseFault("flood"); err == nil || !strings.Contains(err.Error(), "stall") {
		t.Errorf("ParseFault(flood): %v", err)
	}
	if NoType.String() != "no-type" {
		t.Errorf("the last fault is called %s", NoType)
	}
}

func TestRefusalsSayWhatIsWrong(t *testing.T) {
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
	} {
		if w := post(t, New(test.o), test.path, test.body); w.Code < 400 || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestIDsBelongToTheWords(t *testing.T) {
	w := post(t, New(Options{Tokens: 3}), "/v1/completions", `{"prompt":"x","return_token_ids":true}`)
	if !strings.Contains(w.Body.String(), `"token_ids":[`) || len(words) != 96 {
		t.Errorf("%s", w.Body)
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

func TestEveryFormOfAnAnswerSaysTheSame(t *testing.T) {
	ids := append([]int32{1, 2, Hidden}, Number(407)...)
	for name, prompt := range map[string]string{"a text": "one two three" + Spelled([]int32{5, 17, 29}), "a hidden answer": Spelled(ids)} {
		s := New(Options{Right: 1, Tokens: 20})
		wanted := ""
		for _, route := range []string{"/v1/completions", "/v1/chat/completions"} {
			field := fmt.Sprintf(`"prompt":%s`, quoted(prompt))
			if strings.Contains(route, "chat") {
				field = fmt.Sprintf(`"messages":[{"content":%s}]`, quoted(prompt))
			}
			for _, extras := range []string{"", `,"stream":true`, `,"stream":true,"stream_options":{"include_usage":true}`} {
				a := understood(t, post(t, s, route, `{`+field+`,"max_tokens":12,"return_token_ids":true`+extras+`}`))
				spelled := ""
				for _, id := range a.ids {
					spelled += words[id]
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

func TestWhatAServerDoesNotDo(t *testing.T) {
	const text, chat = `{"prompt":"x","stream":true,"return_token_ids":true}`, `{"messages":[{"content":"x"}],"stream":true}`
	if w := post(t, New(Options{WholeOnly: true}), "/v1/completions", text); w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("a server of whole answers: %v", w.Header())
	}
	if a := understood(t, post(t, New(Options{NoUsage: true}), "/v1/completions", text[:len(text)-1]+`,"stream_options":{"include_usage":true}}`)); a.completion != 0 || len(a.ids) != 16 {
		t.Errorf("a server that tells no numbers: %+v", a)
	}
	for name, c := range map[string]struct {
		o          Options
		text, chat int
	}{"no chat": {Options{NoChat: true}, 200, 404}, "no text": {Options{NoText: true}, 404, 200}, "all": {Options{}, 200, 200}, "a key": {Options{Key: "k"}, 401, 401}} {
		s := New(c.o)
		if a, b := post(t, s, "/v1/completions", text).Code, post(t, s, "/v1/chat/completions", chat).Code; a != c.text || b != c.chat {
			t.Errorf("%s: %d and %d, want %d and %d", name, a, b, c.text, c.chat)
		}
		if n := map[int]int{200: 1}[c.text] + map[int]int{200: 1}[c.chat]; s.Requests() != n {
			t.Errorf("%s: %d prompts have come, want %d", name, s.Requests(), n)
		}
	}
}

func TestKeysAreCountedAndAsked(t *testing.T) {
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

func TestLimitsOfTokens(t *testing.T) {
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

// Whoever reads tokens by their text needs words of which none begins another one.
func TestTextsOfTokensCanBeToldApart(t *testing.T) {
	for i, a := range words {
		for k, b := range words {
			if i != k && strings.HasPrefix(a, b) {
				t.Errorf("token %d, %q, begins with token %d, %q", i, a, k, b)
			}
		}
	}
	vocabulary := Tokenizer()["model"].(map[string]any)["vocab"].(map[string]int)
	if len(vocabulary) != len(words)+1 || vocabulary[words[29]] != 29 || vocabulary[words[Hidden]] != Hidden {
		t.Errorf("the vocabulary has %d tokens", len(vocabulary))
	}
}
