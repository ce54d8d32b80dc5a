package tokenserver

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// streamed is what a client gets that asks for a stream of eight tokens, for as long as it has patience.
func streamed(t *testing.T, o Options, patience time.Duration) (status int, kind, body string, err error) {
	t.Helper()
	s := New(o)
	server := httptest.NewServer(s)
	defer server.Close()
	s.RedirectTo = server.URL + "/elsewhere"
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/v1/completions", strings.NewReader(`{"prompt":"x","max_tokens":8,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "identity")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil {
		return 0, "", "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header.Get("Content-Type"), string(text), err
}

func TestFaultsAreWhatTheySay(t *testing.T) {
	for fault, want := range map[Fault]struct {
		status int
		body   string // a part of it
		ends   bool   // in order
		done   bool   // with [DONE]
	}{
		None: {200, " token", true, true}, Refuse: {500, "internal error", true, false}, Busy: {429, "too many", true, false}, Silence: {0, "", false, false},
		Break: {200, "data: ", false, false}, ErrorInside: {200, "CUDA out of memory", true, true}, Stop: {200, "data: ", true, false}, Stall: {200, "data: ", false, false},
		Garbage: {200, "\"text\":\n\n", true, true}, Twice: {200, "data: ", true, true}, Empty: {200, "finish_reason", true, true}, LongLine: {200, "xxxxxxxx", true, true},
		WrongType: {200, "<html>", true, false}, Compressed: {200, "", true, false}, Redirect: {307, "", true, false}, RedirectLossy: {302, "", true, false},
		Endless: {200, "data: ", false, false}, Trickle: {200, " token", true, true}, NoType: {200, "data: ", true, true},
	} {
		o := Options{Tokens: 8, Fault: func(int) Fault { return fault }}
		if fault == Endless {
			o.PerToken = time.Millisecond
		}
		patience := time.Minute
		if fault == Silence || fault == Stall || fault == Endless {
			patience = 300 * time.Millisecond
		}
		status, kind, body, err := streamed(t, o, patience)
		if status != want.status || !strings.Contains(body, want.body) || (err == nil) != want.ends || strings.HasSuffix(body, "data: [DONE]\n\n") != want.done {
			t.Errorf("%v: status %d, %d bytes, %v: %.200s", fault, status, len(body), err, body)
		}
		if events := strings.HasPrefix(kind, "text/event-stream"); status == 200 && events == (fault == NoType || fault == WrongType) {
			t.Errorf("%v: the type is %q", fault, kind)
		}
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
