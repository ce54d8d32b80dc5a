package tokenserver

import (
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
