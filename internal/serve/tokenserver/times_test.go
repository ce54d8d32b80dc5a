package tokenserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver/tokentest"
)

const ms = time.Millisecond

// asking returns what asks a server something, on a network of the test.
func asking(t *testing.T, s *tokenserver.Server) func(ctx context.Context, body string) (io.ReadCloser, error) {
	client := &http.Client{Transport: &http.Transport{DialContext: tokentest.Serve(t, s).Dial, DisableKeepAlives: true}}
	return func(ctx context.Context, body string) (io.ReadCloser, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server/v1/completions", strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		a, err := client.Do(r)
		if err != nil {
			return nil, err
		}
		return a.Body, nil
	}
}

// times are when tokens and the end of an answer arrive.
func times(t *testing.T, answer io.ReadCloser, err error, begin time.Time) (tokens []time.Duration, end time.Duration) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	for s := bufio.NewScanner(answer); s.Scan(); {
		if strings.Contains(s.Text(), `"finish_reason":null`) {
			tokens = append(tokens, time.Since(begin))
		}
	}
	return tokens, time.Since(begin)
}

func TestTimesOfTokens(t *testing.T) {
	for _, c := range []struct {
		name    string
		options tokenserver.Options
		tokens  int
		want    []time.Duration
	}{
		{"one by one", tokenserver.Options{Prefill: 200 * ms, PerToken: 70 * ms}, 4, []time.Duration{200 * ms, 270 * ms, 340 * ms, 410 * ms}},
		{"closely", tokenserver.Options{Prefill: 20 * ms, PerToken: ms}, 3, []time.Duration{20 * ms, 21 * ms, 22 * ms}},
		{"two at once", tokenserver.Options{Prefill: 20 * ms, PerToken: 10 * ms, PerWrite: 2}, 5, []time.Duration{20 * ms, 20 * ms, 40 * ms, 40 * ms, 60 * ms}},
		{"more at once than there are", tokenserver.Options{Prefill: 20 * ms, PerToken: 10 * ms, PerWrite: 9}, 3, []time.Duration{20 * ms, 20 * ms, 20 * ms}},
		{"fewer than one at once", tokenserver.Options{PerToken: 10 * ms, PerWrite: -1}, 2, []time.Duration{0, 10 * ms}},
		{"at once", tokenserver.Options{}, 3, []time.Duration{0, 0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ask := asking(t, tokenserver.New(c.options))
				begin := time.Now()
				answer, err := ask(t.Context(), fmt.Sprintf(`{"prompt":"x","max_tokens":%d,"stream":true}`, c.tokens))
				got, end := times(t, answer, err, begin)
				if !slices.Equal(got, c.want) || end != c.want[len(c.want)-1] {
					t.Errorf("tokens arrive after %v and the end after %v, want %v", got, end, c.want)
				}
				begin = time.Now()
				answer, err = ask(t.Context(), fmt.Sprintf(`{"prompt":"x","max_tokens":%d}`, c.tokens))
				_, end = times(t, answer, err, begin)
				if want := c.options.Prefill + time.Duration(c.tokens-1)*c.options.PerToken; end != want {
					t.Errorf("a whole answer arrives after %v, want %v", end, want)
				}
			})
		})
	}
}

func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tokenserver.New(tokenserver.Options{Prefill: 100 * ms, PerToken: 10 * ms, Slots: 2})
		ask := asking(t, s)
		begin := time.Now()
		ends := make(chan time.Duration, 5)
		for i := range 5 {
			go func() {
				ctx := t.Context()
				if i == 4 { // gives up before there is a slot
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, 150*ms)
					defer cancel()
				}
				answer, err := ask(ctx, `{"prompt":"x","max_tokens":11,"stream":true}`)
				if err != nil {
					ends <- time.Since(begin)
					return
				}
				_, end := times(t, answer, err, begin)
				ends <- end
			}()
			synctest.Wait()
		}
		if s.Open() != 5 || s.Requests() != 5 {
			t.Errorf("%d requests are open of %d, want 5", s.Open(), s.Requests())
		}
		for _, want := range []time.Duration{150 * ms, 200 * ms, 200 * ms, 400 * ms, 400 * ms} {
			if got := <-ends; got != want {
				t.Errorf("a request ends after %v, want %v", got, want)
			}
		}
		synctest.Wait()
		if s.Open() != 0 {
			t.Errorf("%d requests are open after all have ended", s.Open())
		}
	})
}

func TestClientGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tokenserver.New(tokenserver.Options{PerToken: time.Hour})
		ask := asking(t, s)
		for _, stream := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			begin := time.Now()
			time.AfterFunc(90*time.Minute, cancel)
			answer, err := ask(ctx, fmt.Sprintf(`{"prompt":"x","max_tokens":9,"stream":%v}`, stream))
			if err == nil {
				_, _ = io.ReadAll(answer)
				answer.Close()
			}
			synctest.Wait()
			if s.Open() != 0 || time.Since(begin) != 90*time.Minute {
				t.Errorf("stream %v: %d requests are open after %v", stream, s.Open(), time.Since(begin))
			}
		}
	})
}

// streamed is what a client gets within a time that asks for a stream of eight tokens.
func streamed(t *testing.T, o tokenserver.Options, limit time.Duration) (status int, kind, body string, err error) {
	t.Helper()
	s := tokenserver.New(o)
	s.RedirectTo = "http://server/elsewhere"
	ctx, cancel := context.WithTimeout(t.Context(), limit)
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

func TestFaults(t *testing.T) {
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
