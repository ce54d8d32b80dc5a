package openai

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver/tokentest"
)

// byHost connects to networks by the names of hosts.
func byHost(of map[string]*tokentest.Network) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if of[address] == nil {
			return nil, &net.OpError{Op: "dial", Err: fmt.Errorf("lookup %s: no such host", address)}
		}
		return of[address].Dial(ctx, network, address)
	}
}

// faultTexts is what the engine says of each fault of a server, with time-outs of a whole answer and of a
// silence in the middle.
func faultTexts(total, quiet time.Duration) map[tokenserver.Fault]string {
	return map[tokenserver.Fault]string{
		tokenserver.Silence:       fmt.Sprintf("time-out: no whole answer within %v", total),
		tokenserver.Refuse:        "status 500: Internal Server Error: {\"error\":{\"message\":\"internal error\"",
		tokenserver.Busy:          "status 429: Too Many Requests",
		tokenserver.Break:         "connection broken: the server closed it",
		tokenserver.ErrorInside:   "error in the stream: CUDA out of memory",
		tokenserver.Stop:          "stream without an end: the stream ended after 8 pieces without [DONE]",
		tokenserver.Stall:         fmt.Sprintf("time-out: the answer stopped in the middle, nothing came for %v", quiet),
		tokenserver.Garbage:       "malformed event: \"{\\\"choices\\\":",
		tokenserver.Twice:         "more pieces than tokens: the answer came in 17 pieces",
		tokenserver.Empty:         "empty answer: ",
		tokenserver.LongLine:      "answer too long: an event is longer than 1048576 bytes",
		tokenserver.WrongType:     "wrong content type: the answer is \"text/html\", want text/event-stream: <html>",
		tokenserver.Compressed:    "compressed answer: the answer is compressed (gzip)",
		tokenserver.RedirectLossy: "redirection: ",
		tokenserver.Endless:       "answer too long: the answer goes on after the 20 tokens",
		tokenserver.NoType:        "wrong content type: the answer is \"text/plain",
	}
}

// Each fault fails its prompt, in time and by its name, and the next one is answered.
func TestEachFaultFailsItsPromptAndIsNamed(t *testing.T) {
	for fault, want := range faultTexts(time.Minute, 10*time.Second) {
		t.Run(fault.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var next atomic.Int32
				g, server := mustOpen(t, tokenserver.Options{PerToken: ms, Fault: func(int) tokenserver.Fault { return tokenserver.Fault(next.Load()) }}, nil)
				server.RedirectTo = "http://elsewhere/v1/completions"
				next.Store(int32(fault))
				began := time.Now()
				h, err := ask(t, g, backend.Prompt{Text: "x", MaxTokens: 20})
				if !contains(err, want) || h.dones != 0 {
					t.Errorf("%v, answered %d times; want %q", err, h.dones, want)
				}
				if took := time.Since(began); took > 61*time.Second {
					t.Errorf("it took %v to find out", took)
				}
				kind, _, _ := strings.Cut(want, ":")
				if m := g.Measured(); m.Answers != 0 || len(m.Failures) != 1 || m.Failures[0].Kind != kind || m.Failures[0].Count != 1 {
					t.Errorf("measured %+v", m)
				}
				next.Store(0)
				if h, err := ask(t, g, backend.Prompt{Text: "x"}); err != nil || h.tokens != 16 {
					t.Errorf("the next prompt: %v, %+v", err, h)
				}
			})
		})
	}
}

func TestHowAServerCutsItsAnswersDoesNotMatter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := mustOpen(t, tokenserver.Options{Fault: func(int) tokenserver.Fault { return tokenserver.Trickle }}, nil)
		if h, err := ask(t, g, backend.Prompt{Text: "x"}); err != nil || h.text != said(t, "x", 16) {
			t.Errorf("%v, %+v", err, h)
		}
	})
}

func TestAPromptThatIsTooLongIsSaidToBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := mustOpen(t, tokenserver.Options{Context: 50}, nil)
		if _, err := ask(t, g, backend.Prompt{Text: strings.Repeat("word ", 100)}); !contains(err, "status 400", "maximum context length is 50 tokens") {
			t.Error(err)
		}
	})
}

// What is wrong from the beginning is found out before any traffic.
func TestServersThatCannotBeMeasuredAreRefusedAtOnce(t *testing.T) {
	always := func(f tokenserver.Fault) tokenserver.Options {
		return tokenserver.Options{Fault: func(int) tokenserver.Fault { return f }}
	}
	for name, test := range map[string]struct {
		o      tokenserver.Options
		change func(*asking)
		want   string
	}{
		"a wrong key":           {tokenserver.Options{Key: "right"}, nil, "status 401"},
		"no route":              {tokenserver.Options{NoChat: true, NoText: true}, nil, "takes no prompts: status 404"},
		"ignores stream":        {tokenserver.Options{WholeOnly: true}, nil, "; with off the answers are measured as a whole, without first tokens"},
		"nobody knows the host": {tokenserver.Options{}, func(c *asking) { c.Servers.Dial = byHost(nil) }, "no connection: "},
		"a page":                {always(tokenserver.WrongType), nil, "wrong content type"},
		"it never answers":      {always(tokenserver.Silence), nil, "time-out"},
		"one of two is not there": {tokenserver.Options{}, func(c *asking) {
			dial := c.Servers.Dial
			c.Servers.URLs = append(c.Servers.URLs, "http://gone")
			c.Servers.Dial = func(ctx context.Context, n, address string) (net.Conn, error) {
				if strings.HasPrefix(address, "gone") {
					return byHost(nil)(ctx, n, address)
				}
				return dial(ctx, n, address)
			}
		}, "http://gone: no connection"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, c := serve(t, tokenserver.New(test.o))
				if test.change != nil {
					test.change(&c)
				}
				began := time.Now()
				if _, _, err := open(t, c); !contains(err, test.want) || time.Since(began) > 2*time.Minute {
					t.Errorf("%v after %v, want %q", err, time.Since(began), test.want)
				}
			})
		})
	}
}

func TestWhatFailedIsSentAgainOnlyIfThatIsWanted(t *testing.T) {
	for _, test := range []struct {
		fault       tokenserver.Fault
		retries     int
		well        bool
		wantRetries int64
	}{
		{tokenserver.Busy, 0, false, 0},
		{tokenserver.Busy, 2, true, 2},
		{tokenserver.Refuse, 1, false, 1},
		{tokenserver.Refuse, 3, true, 2},
		{tokenserver.Break, 5, false, 0}, // it had begun
		{tokenserver.Garbage, 5, false, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var bad atomic.Int32
			o := tokenserver.Options{Fault: func(int) tokenserver.Fault {
				if bad.Add(-1) >= 0 {
					return test.fault
				}
				return tokenserver.None
			}}
			g, _ := mustOpen(t, o, func(c *asking) { c.Retries = test.retries })
			bad.Store(2)
			h, err := ask(t, g, backend.Prompt{Text: "x"})
			if m := g.Measured(); (err == nil) != test.well || m.Retries != test.wantRetries || h.firsts > 1 {
				t.Errorf("%v with %d retries: %v, %d retries", test.fault, test.retries, err, m.Retries)
			}
		})
	}
}

const key = "sk-very-secret-0123456789"

func TestAKeyIsInNoText(t *testing.T) {
	t.Setenv("TEST_KEY", key)
	synctest.Test(t, func(t *testing.T) {
		_, c := serve(t, tokenserver.New(tokenserver.Options{Key: "another"}))
		c.Servers.TokenEnv = []string{"TEST_KEY"}
		e, err := New(c.Config)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		_, err = e.Open(t.Context(), backend.Options{})
		if !contains(err, "status 401", "[key]") || strings.Contains(fmt.Sprintf("%v %+v %#v", err, e, e.servers), "very-secret") {
			t.Errorf("%v, %+v", err, e)
		}
	})
}

func TestAKeyDoesNotFollowToAnotherHost(t *testing.T) {
	t.Setenv("TEST_KEY", key)
	synctest.Test(t, func(t *testing.T) {
		var next atomic.Int32
		other := tokenserver.New(tokenserver.Options{})
		first := tokenserver.New(tokenserver.Options{Key: key, Fault: func(int) tokenserver.Fault { return tokenserver.Fault(next.Load()) }})
		there, _ := serve(t, other)
		here, c := serve(t, first)
		first.RedirectTo = "http://elsewhere.server/v1/completions"
		c.Servers.TokenEnv, c.Servers.Dial = []string{"TEST_KEY"}, byHost(map[string]*tokentest.Network{"server:80": here, "elsewhere.server:80": there})
		g, _, err := open(t, c)
		if err != nil {
			t.Fatal(err)
		}
		keys := first.Keys()
		next.Store(int32(tokenserver.Redirect))
		if _, err := ask(t, g, backend.Prompt{Text: "x"}); err != nil {
			t.Error(err)
		}
		if first.Keys() != keys+1 || other.Requests() != 1 || other.Keys() != 0 {
			t.Errorf("the server saw %d keys more, the other %d in %d requests", first.Keys()-keys, other.Keys(), other.Requests())
		}
	})
}

// A server of one's own kind of badness.
func TestMemoryIsBoundedWhateverIsSent(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(w http.ResponseWriter)
		stream bool
		want   string
	}{
		"an endless line":   {func(w http.ResponseWriter) { pour(w, "data: ", "x") }, true, "an event is longer than"},
		"endless comments":  {func(w http.ResponseWriter) { pour(w, "", ": ping\n\n") }, true, "time-out"},
		"an endless answer": {func(w http.ResponseWriter) { pour(w, `{"choices":[{"text":"`, strings.Repeat("x", 100)) }, false, "the answer is longer than"},
		"an endless refusal": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusInternalServerError)
			pour(w, "", "no ")
		}, true, "status 500: Internal Server Error: no no"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				well := tokenserver.New(tokenserver.Options{})
				var bad atomic.Bool
				_, c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if !bad.Load() {
						well.ServeHTTP(w, r)
						return
					}
					w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[test.stream])
					test.answer(w)
				}))
				c.Stream = test.stream
				g, _, err := open(t, c)
				if err != nil {
					t.Fatal(err)
				}
				bad.Store(true)
				if _, err := ask(t, g, backend.Prompt{Text: "x"}); !contains(err, test.want) || len(err.Error()) > 1000 {
					t.Errorf("%.2000v, want %q", err, test.want)
				}
				time.Sleep(2 * time.Second) // until the server has seen that nobody listens
			})
		})
	}
}

// pour sends text for as long as somebody takes it.
func pour(w http.ResponseWriter, first, again string) {
	chunk := []byte(strings.Repeat(again, 64<<10))
	_, err := w.Write([]byte(first))
	for err == nil {
		if _, err = w.Write(chunk); err == nil {
			time.Sleep(time.Second)
		}
	}
}

func TestAServerWhoseFirstAnswerIsEmptyCanBeMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := mustOpen(t, tokenserver.Options{Fault: func(n int) tokenserver.Fault {
			if n == 0 {
				return tokenserver.Empty
			}
			return tokenserver.None
		}}, nil)
		if h, err := ask(t, g, backend.Prompt{Text: "a", MaxTokens: 4}); err != nil || h.tokens == 0 {
			t.Errorf("%d tokens, %v", h.tokens, err)
		}
	})
}
