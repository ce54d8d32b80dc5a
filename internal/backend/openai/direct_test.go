package openai

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/endpoint"
	"github.com/mlperf-go/mlperf/internal/tokenserver"
)

// at is an engine at a server of real connections, as users have it, with more patience than a busy machine needs.
func at(h http.Handler, t *testing.T) asking {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return asking{Config: Config{Servers: endpoint.Options{URLs: []string{server.URL + "/v1"}}, Model: "m", Stream: true, Timeout: time.Minute, Quiet: time.Minute}}
}

// Over real connections net/http does not read the answers of most systems: they are the same.
func TestOverRealConnectionsFaultsAreNamedTheSame(t *testing.T) {
	const total, quiet = 2 * time.Second, time.Second // of those that wait for them
	want := said(t, "x", 16)
	texts := faultTexts(total, quiet)
	texts[tokenserver.Trickle] = ""
	for fault, text := range texts {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			var next atomic.Int32
			server := tokenserver.New(tokenserver.Options{Fault: func(int) tokenserver.Fault { return tokenserver.Fault(next.Load()) }})
			server.RedirectTo = "/v1/chat/completions"
			c := at(server, t)
			switch fault {
			case tokenserver.Silence:
				c.Timeout = total
			case tokenserver.Stall:
				c.Quiet = quiet
			}
			g, _, err := open(t, c)
			if err != nil {
				t.Fatal(err)
			}
			next.Store(int32(fault))
			h, err := ask(t, g, backend.Prompt{Text: "x", MaxTokens: 20})
			if text == "" && (err != nil || h.text != want) || text != "" && (!contains(err, text) || h.dones != 0) {
				t.Errorf("%v, answered %d times; want %q", err, h.dones, text)
			}
			next.Store(0)
			if h, err := ask(t, g, backend.Prompt{Text: "x", MaxTokens: 20}); err != nil || h.text != want || h.firsts != 1 || h.dones != 1 {
				t.Errorf("the next prompt: %v, %+v", err, h)
			}
			kind, _, _ := strings.Cut(text, ":")
			if m := g.Measured(); text != "" && (len(m.Failures) != 1 || m.Failures[0].Kind != kind || m.Answers != 1) {
				t.Errorf("measured %+v", m)
			}
		})
	}
}

func TestOverRealConnectionsRedirectionsAreFollowed(t *testing.T) {
	to := tokenserver.New(tokenserver.Options{})
	there := httptest.NewServer(to)
	defer there.Close()
	var away atomic.Bool
	from := tokenserver.New(tokenserver.Options{Key: key, Fault: func(int) tokenserver.Fault {
		if away.Load() {
			return tokenserver.Redirect
		}
		return tokenserver.None
	}})
	from.RedirectTo = there.URL + "/v1/completions"
	t.Setenv("TEST_KEY", key)
	c := at(from, t)
	c.Servers.TokenEnv = []string{"TEST_KEY"}
	g, _, err := open(t, c)
	if err != nil {
		t.Fatal(err)
	}
	away.Store(true)
	if h, err := ask(t, g, backend.Prompt{Text: "x"}); err != nil || h.tokens != 16 || to.Requests() != 1 || to.Keys() != 0 {
		t.Errorf("%v, %+v; %d requests came, %d with the key", err, h, to.Requests(), to.Keys())
	}
}

func TestOverRealConnectionsManyAreAskedAtOnce(t *testing.T) {
	const streams = 200
	c := at(tokenserver.New(tokenserver.Options{Tokens: 50, Prefill: 2 * ms, PerToken: ms}), t)
	c.Warm = 16
	g, _, err := open(t, c)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range streams {
		group.Go(func() {
			h, err := ask(t, g, backend.Prompt{Text: strings.Repeat("a long prompt ", 1000)})
			if err != nil || h.tokens != 50 || h.first < 2*ms || h.whole < 51*ms || !strings.HasPrefix(h.text, h.piece) {
				t.Errorf("%v, %+v", err, h)
			}
		})
	}
	group.Wait()
	if m := g.Measured(); m.Answers != streams || m.Pieces != 50*streams || m.Between.Count != 49*streams || m.Whole.Min < 51*ms || m.FirstToken.Min < 2*ms || m.FirstToken.Max > m.Whole.Max {
		t.Errorf("%+v", m)
	}
}
