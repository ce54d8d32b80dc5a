package openai

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver/tokentest"
)

const ms = time.Millisecond

// A setup is how an engine is opened, and for which prompts.
type setup struct {
	Config
	texts backend.Texts
}

// serve has a handler answer on a network of its own, for as long as the test lasts.
func serve(t *testing.T, h http.Handler) (*tokentest.Network, setup) {
	t.Helper()
	n := tokentest.Serve(t, h)
	return n, setup{Config: Config{URLs: []string{"http://server"}, Dial: n.Dial, Model: "m", Stream: true, Timeout: time.Minute, Quiet: 10 * time.Second}}
}

// byHost connects to networks by the names of hosts.
func byHost(of map[string]*tokentest.Network) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if of[address] == nil {
			return nil, &net.OpError{Op: "dial", Err: fmt.Errorf("lookup %s: no such host", address)}
		}
		return of[address].Dial(ctx, network, address)
	}
}

// open opens an engine for as long as the test lasts.
func open(t *testing.T, c setup) (backend.Generator, []string, error) {
	t.Helper()
	e, err := New(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	s, err := e.Open(t.Context(), backend.Options{Texts: c.texts, Note: func(text string) { notes = append(notes, text) }})
	if err != nil {
		return nil, nil, errors.Join(err, e.Close())
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), e.Close()); err != nil {
			t.Error(err)
		}
	})
	return s.(backend.Generator), notes, nil
}

// openTokens opens an engine at a server of tokens.
func openTokens(t *testing.T, o tokenserver.Options, change func(*setup)) (backend.Generator, *tokenserver.Server) {
	t.Helper()
	server := tokenserver.New(o)
	_, c := serve(t, server)
	if change != nil {
		change(&c)
	}
	g, _, err := open(t, c)
	if err != nil {
		t.Fatal(err)
	}
	return g, server
}

// A recorder is a sink.
type recorder struct {
	began           time.Time
	firstAt, doneAt time.Duration
	firsts, dones   int
	piece, text     string
	firstIDs, ids   []int32
	tokens          int
}

func (r *recorder) First(piece []byte, ids []int32) {
	r.firstAt, r.piece, r.firsts, r.firstIDs = time.Since(r.began), string(piece), r.firsts+1, append(r.firstIDs, ids...)
}

func (r *recorder) Done(a backend.Answer) {
	r.doneAt, r.text, r.ids, r.tokens, r.dones = time.Since(r.began), string(a.Text), append(r.ids, a.IDs...), a.Tokens, r.dones+1
}

// ask has a prompt answered.
func ask(t *testing.T, g backend.Generator, p backend.Prompt) (*recorder, error) {
	t.Helper()
	r := &recorder{began: time.Now()}
	err := g.Generate(t.Context(), &p, r)
	return r, err
}

// wholeAnswer is the answer of a server of n tokens that comes at once.
func wholeAnswer(t *testing.T, prompt string, n int) string {
	t.Helper()
	g, _ := openTokens(t, tokenserver.Options{Tokens: n}, func(c *setup) { c.Stream = false })
	r, err := ask(t, g, backend.Prompt{Text: prompt})
	if err != nil {
		t.Fatal(err)
	}
	return r.text
}

func contains(err error, parts ...string) bool {
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			return false
		}
	}
	return true
}

func TestTimesOfTokens(t *testing.T) {
	for name, change := range map[string]func(*setup){
		"completions": nil, "chat": func(c *setup) { c.Route = Chat }, "token ids": func(c *setup) { c.texts.IDs = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, _ := openTokens(t, tokenserver.Options{Prefill: 70 * ms, PerToken: 10 * ms, Tokens: 100}, change)
				h, err := ask(t, g, backend.Prompt{Text: "once upon a time", IDs: []int32{4, 5, 6}, MaxTokens: 30})
				if err != nil {
					t.Fatal(err)
				}
				if h.firstAt != 70*ms || h.doneAt != 70*ms+29*10*ms || h.tokens != 30 || h.firsts != 1 || h.dones != 1 || !strings.HasPrefix(h.text, h.piece) {
					t.Errorf("%+v, want the first token after 70 ms and 30 tokens after 360 ms", h)
				}
				m := g.Measured()
				if m.Answers != 1 || m.Pieces != 30 || m.Tokens != 30 || m.FirstToken.P50 != 70*ms || m.Between.P50/ms != 9 && m.Between.P50 != 10*ms || m.Between.Count != 29 {
					t.Errorf("measured %+v", m)
				}
				if (name == "token ids") != (len(h.ids) == 30) {
					t.Errorf("%d token ids", len(h.ids))
				}
			})
		})
	}
}

// A model may say tokens that have no text: they count if the server counts them.
func TestTokensWithoutText(t *testing.T) {
	for _, test := range []struct {
		name    string
		o       tokenserver.Options
		change  func(*setup)
		tokens  int
		firsts  int
		failure string
	}{
		{"a stream", tokenserver.Options{}, nil, 4, 1, ""},
		{"a whole answer", tokenserver.Options{}, func(c *setup) { c.Stream = false }, 4, 0, ""},
		{"one that is kept as token ids", tokenserver.Options{NoExtras: true}, func(c *setup) { c.texts.Logged, c.texts.Tokenize = true, bytewise }, 4, 1, ""},
		{"a server that counts nothing", tokenserver.Options{NoUsage: true}, nil, 0, 0, "empty answer"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var mute atomic.Bool
			test.o.PerToken, test.o.Prefill = 10*ms, 10*ms
			test.o.Fault = func(int) tokenserver.Fault {
				if mute.Load() {
					return tokenserver.Mute
				}
				return tokenserver.None
			}
			g, _ := openTokens(t, test.o, test.change)
			mute.Store(true)
			p := backend.Prompt{Text: "one two three", MaxTokens: 4}
			h := &recorder{began: time.Now()}
			err := g.Generate(t.Context(), &p, h)
			if (err == nil) != (test.failure == "") || err != nil && !contains(err, test.failure) || h.tokens != test.tokens || h.text != "" || h.firsts != test.firsts {
				t.Errorf("%s: %v, %+v", test.name, err, h)
			}
			if err == nil && (h.doneAt != 40*ms || test.firsts == 1 && h.firstAt != 40*ms || p.Told != 3) {
				t.Errorf("%s: first %v, whole %v, the prompt has %d tokens", test.name, h.firstAt, h.doneAt, p.Told)
			}
		})
	}
}

func TestTextOfStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := openTokens(t, tokenserver.Options{Tokens: 64, PerWrite: 5}, nil)
		h, err := ask(t, g, backend.Prompt{Text: "a \"quoted\"\n<prompt> & 😀"})
		if want := wholeAnswer(t, "a \"quoted\"\n<prompt> & 😀", 64); err != nil || h.text != want || !strings.Contains(want, "😀") {
			t.Errorf("%v, %q, want %q", err, h.text, want)
		}
	})
}

func TestWholeAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := openTokens(t, tokenserver.Options{Prefill: 20 * ms, PerToken: 10 * ms}, func(c *setup) { c.Stream = false })
		h, err := ask(t, g, backend.Prompt{Text: "x", MaxTokens: 9})
		if err != nil || h.doneAt != 100*ms || h.tokens != 9 || h.firsts != 0 || !strings.HasPrefix(h.text, " token") {
			t.Errorf("%v, %+v", err, h)
		}
	})
}

func TestPromptsRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, server := openTokens(t, tokenserver.Options{Prefill: 50 * ms, PerToken: 10 * ms}, nil)
		before := server.Requests()
		var group sync.WaitGroup
		for range 300 {
			group.Go(func() {
				if h, err := ask(t, g, backend.Prompt{Text: "x", MaxTokens: 6}); err != nil || h.doneAt != 100*ms {
					t.Errorf("%v, %+v", err, h)
				}
			})
		}
		group.Wait()
		if m := g.Measured(); m.Most != 300 || m.Answers != 300 || server.Requests() != before+300 {
			t.Errorf("%d at once, %d answers, %d requests", m.Most, m.Answers, server.Requests()-before)
		}
	})
}

// bytewise is a tokenizer whose tokens are bytes.
func bytewise(text []byte) (ids []int32, err error) {
	for _, b := range text {
		ids = append(ids, int32(b))
	}
	return ids, nil
}

// What is kept as tokens has as many as are kept, and says who made them.
func TestLoggedAnswersHaveTokenIDs(t *testing.T) {
	for _, test := range []struct {
		name   string
		o      tokenserver.Options
		change func(*setup)
		want   string // counted by
		err    string
	}{
		{"of the server", tokenserver.Options{}, func(c *setup) { c.texts.IDs, c.texts.Tokenize = true, bytewise }, countedIDs, ""},
		{"of the server, to a text", tokenserver.Options{TextOnly: true}, func(c *setup) { c.texts.IDs, c.texts.Tokenize = true, bytewise }, countedIDs, ""},
		{"of the tokenizer", tokenserver.Options{NoExtras: true}, func(c *setup) { c.texts.Tokenize = bytewise }, countedLocally, ""},
		{"of whole answers", tokenserver.Options{NoExtras: true}, func(c *setup) { c.Stream, c.texts.Tokenize = false, bytewise }, countedLocally, ""},
		{"of nobody", tokenserver.Options{NoExtras: true}, nil, "", "no token ids"},
		{"of a tokenizer that fails", tokenserver.Options{NoExtras: true}, func(c *setup) {
			c.texts.Tokenize = func([]byte) ([]int32, error) { return nil, errors.New("unheard of") }
		}, "", "unheard of"},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, c := serve(t, tokenserver.New(test.o))
			c.texts.Logged = true
			if test.change != nil {
				test.change(&c)
			}
			g, _, err := open(t, c)
			if test.err != "" { // found out before the first prompt
				if !contains(err, test.err) {
					t.Errorf("%s: %v, want %q", test.name, err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			h, err := ask(t, g, backend.Prompt{Text: "x", IDs: []int32{1}, MaxTokens: 5})
			m := g.Measured()
			if err != nil || m.Counted != test.want || len(h.ids) != h.tokens || (test.want == countedLocally) != (m.Tokenized == 1 && h.tokens == len(h.text)) {
				t.Errorf("%s: %v, %+v, counted by %q, %d made here", test.name, err, h, m.Counted, m.Tokenized)
			}
			if test.want == countedIDs && (len(h.firstIDs) != 1 || h.firstIDs[0] != h.ids[0]) {
				t.Errorf("%s: the first token is %v of %v", test.name, h.firstIDs, h.ids)
			}
		})
	}
}

func TestRouteOfConversations(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*setup)
		route  string
	}{
		{"they do", nil, Chat},
		{"unless completions are asked for", func(c *setup) { c.Route = Completions }, Completions},
		{"or they are token ids, too", func(c *setup) { c.texts.IDs = true }, Completions},
	} {
		synctest.Test(t, func(t *testing.T) {
			g, _ := openTokens(t, tokenserver.Options{}, func(c *setup) {
				c.texts.Chat = true
				if test.change != nil {
					test.change(c)
				}
			})
			if got := g.Info().Facts["route"]; got != test.route || g.TakesIDs() != (test.name[0] == 'o') {
				t.Errorf("%s: by %s", test.name, got)
			}
		})
	}
}

func TestSourceOfTokenCounts(t *testing.T) {
	for want, test := range map[string]struct {
		o      tokenserver.Options
		change func(*setup)
		tokens int
	}{
		countedByServer: {tokenserver.Options{PerWrite: 3}, nil, 16},
		countedIDs:      {tokenserver.Options{NoUsage: true}, func(c *setup) { c.texts.IDs = true }, 16},
		countedLocally:  {tokenserver.Options{NoUsage: true}, func(c *setup) { c.texts.Tokenize = bytewise }, 0},
		countedPieces:   {tokenserver.Options{NoUsage: true}, nil, 16},
	} {
		synctest.Test(t, func(t *testing.T) {
			g, _ := openTokens(t, test.o, test.change)
			h, err := ask(t, g, backend.Prompt{Text: "x", IDs: []int32{1}})
			if m := g.Measured(); err != nil || m.Counted != want || test.tokens != 0 && h.tokens != test.tokens || test.tokens == 0 && h.tokens != len(h.text) {
				t.Errorf("%v: counted by %q: %d, want by %q", err, m.Counted, h.tokens, want)
			}
		})
	}
}

func TestDialectIsFound(t *testing.T) {
	for _, test := range []struct {
		name   string
		o      tokenserver.Options
		change func(*setup)
		want   []string // of the notes, in order
	}{
		{"all understood", tokenserver.Options{}, func(c *setup) { c.texts.IDs, c.Exact = true, true }, nil},
		{"no token ids", tokenserver.Options{TextOnly: true}, func(c *setup) { c.texts.IDs = true }, []string{"takes no token ids"}},
		{"no completions", tokenserver.Options{NoText: true}, nil, []string{"no route for completions"}},
		{"no fields of others", tokenserver.Options{NoExtras: true}, func(c *setup) { c.Exact = true }, []string{"does not know ignore_eos"}},
		{"neither", tokenserver.Options{NoExtras: true, NoText: true}, func(c *setup) { c.texts.IDs, c.Exact = true, true },
			[]string{"no route for completions", "takes no token ids", "does not know ignore_eos"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, c := serve(t, tokenserver.New(test.o))
				if test.change != nil {
					test.change(&c)
				}
				g, notes, err := open(t, c)
				if err != nil || len(notes) != len(test.want) {
					t.Fatalf("%v, %q, want notes of %q", err, notes, test.want)
				}
				for i, note := range notes {
					if !strings.Contains(note, test.want[i]) || !strings.Contains(note, "status 4") {
						t.Errorf("note %q, want of %q and the status", note, test.want[i])
					}
				}
				if _, err := ask(t, g, backend.Prompt{Text: "x", IDs: []int32{1}, MaxTokens: 3, Exact: true}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestOnlyModelNeedsNoName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := serve(t, tokenserver.New(tokenserver.Options{}))
		c.Model = ""
		g, notes, err := open(t, c)
		if err != nil || len(notes) != 1 || g.Info().Facts["endpoint_model"] != "m" {
			t.Errorf("%v, %q, %v", err, notes, g)
		}
	})
}

func TestCancelClosesTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, server := openTokens(t, tokenserver.Options{Prefill: 10 * ms, PerToken: time.Second}, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		time.AfterFunc(2500*ms, func() { cancel(stopped) })
		began := time.Now()
		err := g.Generate(ctx, &backend.Prompt{Text: "x"}, discard{})
		if !errors.Is(err, stopped) || time.Since(began) > 2600*ms {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		time.Sleep(time.Second)
		if n := server.Open(); n != 0 {
			t.Errorf("%d requests are open a second later", n)
		}
		if m := g.Measured(); len(m.Failures) != 0 {
			t.Errorf("what was cancelled counts as a failure: %+v", m.Failures)
		}
	})
}

func TestSeveralServersShareTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast, c := serve(t, tokenserver.New(tokenserver.Options{Prefill: 10 * ms}))
		slow, _ := serve(t, tokenserver.New(tokenserver.Options{Prefill: 90 * ms}))
		c.URLs = []string{"http://fast", "http://slow"}
		c.Dial = byHost(map[string]*tokentest.Network{"fast:80": fast, "slow:80": slow})
		g, _, err := open(t, c)
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		var left atomic.Int64
		left.Store(200)
		for range 4 {
			group.Go(func() {
				for left.Add(-1) >= 0 {
					if _, err := ask(t, g, backend.Prompt{Text: "x"}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		m := g.Measured()
		if len(m.Servers) != 2 || m.Servers[0].Requests+m.Servers[1].Requests != 200 || m.Servers[0].Requests < 4*m.Servers[1].Requests {
			t.Errorf("%+v, want most requests at the fast one", m.Servers)
		}
	})
}

// Servers have room for few connections, or for few that wait: those that come are enough.
func TestConnectionsOfSmallServers(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, test := range []struct {
		name string
		dial func(of *atomic.Int32, waiting int32, since time.Duration) error // nil: it is accepted
		note string
		err  string
	}{
		{"room for all", func(*atomic.Int32, int32, time.Duration) error { return nil }, "", ""},
		{"five may wait", func(_ *atomic.Int32, waiting int32, _ time.Duration) error {
			if waiting > 5 {
				return refused
			}
			return nil
		}, "", ""},
		{"busy for half a second", func(of *atomic.Int32, _ int32, since time.Duration) error {
			if since < 500*ms && of.Load() > 3 {
				return refused
			}
			return nil
		}, "", ""},
		{"room for ten", func(of *atomic.Int32, _ int32, _ time.Duration) error {
			if of.Load() > 10 {
				return refused
			}
			return nil
		}, "http://server took 10 of 64 connections: ", ""},
		{"others are not answered", func(of *atomic.Int32, _ int32, _ time.Duration) error {
			if of.Load() > 1 {
				return errors.ErrUnsupported
			}
			return nil
		}, "http://server took 1 of 64 connections: ", ""},
		{"none comes", func(*atomic.Int32, int32, time.Duration) error { return refused }, "", "http://server: no connection"},
	} {
		synctest.Test(t, func(t *testing.T) {
			network, c := serve(t, tokenserver.New(tokenserver.Options{}))
			var of, waiting atomic.Int32
			began := time.Now()
			c.Warm = 64
			c.Dial = func(ctx context.Context, n, address string) (net.Conn, error) {
				defer waiting.Add(-1)
				now := waiting.Add(1)
				of.Add(1)
				time.Sleep(10 * ms)
				switch err := test.dial(&of, now, time.Since(began)); {
				case errors.Is(err, errors.ErrUnsupported):
					<-ctx.Done()
					return nil, ctx.Err()
				case err != nil:
					of.Add(-1)
					return nil, err
				}
				return network.Dial(ctx, n, address)
			}
			g, notes, err := open(t, c)
			if test.err != "" {
				if !contains(err, test.err) || time.Since(began) > time.Second {
					t.Errorf("%s: %v after %v, want %q", test.name, err, time.Since(began), test.err)
				}
				return
			}
			if took := time.Since(began); err != nil || took > 10*time.Second || (len(notes) > 0) != (test.note != "") || !strings.HasPrefix(strings.Join(notes, "; "), test.note) {
				t.Fatalf("%s: %v, notes %q after %v, want %q", test.name, err, notes, took, test.note)
			}
			if test.note == "" && of.Load() != 64 {
				t.Errorf("%s: %d connections", test.name, of.Load())
			}
			if _, err := ask(t, g, backend.Prompt{Text: "x"}); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
		})
	}
}
