package tokenserver_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver/tokentest"
)

// streamed is what a client gets that asks for a stream of eight tokens, for as long as it has patience.
func streamed(t *testing.T, o tokenserver.Options, patience time.Duration) (status int, kind, body string, err error) {
	t.Helper()
	s := tokenserver.New(o)
	s.RedirectTo = "http://server/elsewhere"
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server/v1/completions", strings.NewReader(`{"prompt":"x","max_tokens":8,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "identity")
	client := &http.Client{Transport: &http.Transport{DialContext: tokentest.Serve(t, s).Dial, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil {
		return 0, "", "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header.Get("Content-Type"), string(text), err
}

func TestFaultsAreWhatTheySay(t *testing.T) {
	for name, want := range map[string]struct {
		status int
		body   string // a part of it
		ends   bool   // in order
		done   bool   // with [DONE]
	}{
		"none": {200, " token", true, true}, "500": {500, "internal error", true, false}, "429": {429, "too many", true, false}, "silence": {0, "", false, false},
		"break": {200, "data: ", false, false}, "error": {200, "CUDA out of memory", true, true}, "stop": {200, "data: ", true, false}, "stall": {200, "data: ", false, false},
		"garbage": {200, "\"text\":\n\n", true, true}, "twice": {200, "data: ", true, true}, "empty": {200, "finish_reason", true, true}, "long-line": {200, "xxxxxxxx", true, true},
		"wrong-type": {200, "<html>", true, false}, "compressed": {200, "", true, false}, "redirect": {307, "", true, false}, "redirect-lossy": {302, "", true, false},
		"endless": {200, "data: ", false, false}, "trickle": {200, " token", true, true}, "no-type": {200, "data: ", true, true}, "mute": {200, "finish_reason", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fault, err := tokenserver.ParseFault(name)
				if err != nil {
					t.Fatal(err)
				}
				o := tokenserver.Options{Tokens: 8, PerToken: 10 * time.Millisecond, Fault: func(int) tokenserver.Fault { return fault }}
				status, kind, body, err := streamed(t, o, 1005*time.Millisecond)
				if status != want.status || !strings.Contains(body, want.body) || (err == nil) != want.ends || strings.HasSuffix(body, "data: [DONE]\n\n") != want.done {
					t.Errorf("status %d, %d bytes, %v: %.200s", status, len(body), err, body)
				}
				if events := strings.HasPrefix(kind, "text/event-stream"); status == 200 && events == (name == "no-type" || name == "wrong-type") {
					t.Errorf("the type is %q", kind)
				}
				tokens := map[string]int{"none": 8, "error": 4, "stop": 4, "break": 4, "stall": 4, "garbage": 8, "twice": 9, "empty": 0, "mute": 0, "trickle": 8, "endless": 101}
				if n, ok := tokens[name]; ok && strings.Count(body, "\"finish_reason\":null") != n {
					t.Errorf("%d tokens were sent, want %d", strings.Count(body, "\"finish_reason\":null"), n)
				}
			})
		})
	}
}
