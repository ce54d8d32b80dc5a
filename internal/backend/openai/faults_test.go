package openai

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// Each fault fails its prompt, in time and by its name, and the next one is answered.
func TestFaultsOfServers(t *testing.T) {
	for fault, want := range map[tokenserver.Fault]string{
		tokenserver.Silence:       "time-out: the answer did not end within 1m0s",
		tokenserver.Refuse:        "status 500: Internal Server Error: {\"error\":{\"message\":\"internal error\"",
		tokenserver.Busy:          "status 429: Too Many Requests",
		tokenserver.Break:         "connection broken: the server closed it",
		tokenserver.ErrorInside:   "error in the stream: CUDA out of memory",
		tokenserver.Stop:          "stream without an end: the stream ended after 8 pieces without [DONE]",
		tokenserver.Stall:         "time-out: the answer stopped in the middle: nothing came for 10s",
		tokenserver.Garbage:       "malformed event: jsontext: unexpected EOF",
		tokenserver.Twice:         "more pieces than tokens: the answer came in 17 pieces",
		tokenserver.Empty:         "empty answer: ",
		tokenserver.LongLine:      "answer too long: an event is longer than 1048576 bytes",
		tokenserver.WrongType:     "wrong content type: the answer is \"text/html\": must be text/event-stream: <html>",
		tokenserver.Compressed:    "compressed answer: the server compressed the answer (gzip)",
		tokenserver.RedirectLossy: "redirection: ",
		tokenserver.Endless:       "answer too long: the answer goes on after the 20 tokens",
		tokenserver.NoType:        "wrong content type: the answer is \"text/plain",
	} {
		t.Run(fault.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var next atomic.Int32
				g, server := openTokens(t, tokenserver.Options{PerToken: ms, Fault: func(int) tokenserver.Fault { return tokenserver.Fault(next.Load()) }}, nil)
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

// What is wrong from the beginning is found out before any traffic.
func TestServersThatCannotBeMeasured(t *testing.T) {
	always := func(f tokenserver.Fault) tokenserver.Options {
		return tokenserver.Options{Fault: func(int) tokenserver.Fault { return f }}
	}
	for name, test := range map[string]struct {
		o      tokenserver.Options
		change func(*setup)
		want   string
	}{
		"a wrong key":           {tokenserver.Options{Key: "right"}, nil, "status 401"},
		"no route":              {tokenserver.Options{NoChat: true, NoText: true}, nil, "takes no prompts: status 404"},
		"ignores stream":        {tokenserver.Options{WholeOnly: true}, nil, "; with off the answers are measured as a whole, without first tokens"},
		"nobody knows the host": {tokenserver.Options{}, func(c *setup) { c.Dial = byHost(nil) }, "no connection: "},
		"a page":                {always(tokenserver.WrongType), nil, "wrong content type"},
		"it never answers":      {always(tokenserver.Silence), nil, "time-out"},
		"one of two is not there": {tokenserver.Options{}, func(c *setup) {
			dial := c.Dial
			c.URLs = append(c.URLs, "http://gone")
			c.Dial = func(ctx context.Context, n, address string) (net.Conn, error) {
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

func TestRetries(t *testing.T) {
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
			g, _ := openTokens(t, o, func(c *setup) { c.Retries = test.retries })
			bad.Store(2)
			h, err := ask(t, g, backend.Prompt{Text: "x"})
			if m := g.Measured(); (err == nil) != test.well || m.Retries != test.wantRetries || h.firsts > 1 {
				t.Errorf("%v with %d retries: %v, %d retries", test.fault, test.retries, err, m.Retries)
			}
		})
	}
}

// A server says with Retry-After how long it wants to be left alone.
func TestRetryWaits(t *testing.T) {
	for after, want := range map[string]time.Duration{"": 350 * ms, "0": 350 * ms, "7": 21 * time.Second, "86400": 3 * time.Minute, "soon": 350 * ms,
		"Sat, 01 Jan 2000 00:00:30 GMT": 30*time.Second + 300*ms, "Sat, 01 Jan 2000 02:00:00 GMT": 3 * time.Minute, "Fri, 31 Dec 1999 23:00:00 GMT": 350 * ms} {
		synctest.Test(t, func(t *testing.T) {
			var busy atomic.Int32
			tokens := tokenserver.New(tokenserver.Options{})
			_, c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if busy.Add(-1) >= 0 {
					w.Header().Set("Retry-After", after)
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				tokens.ServeHTTP(w, r)
			}))
			c.Retries, c.Timeout = 3, time.Hour
			g, _, err := open(t, c)
			if err != nil {
				t.Fatal(err)
			}
			busy.Store(3)
			if r, err := ask(t, g, backend.Prompt{Text: "x"}); err != nil || r.doneAt != want {
				t.Errorf("Retry-After: %s: %v, after %v, want %v", after, err, r.doneAt, want)
			}
		})
	}
}

func TestModelIsUnknown(t *testing.T) {
	for text, want := range map[string]string{
		`404 {"detail":"Not Found"}`:           `http://server did not list its models: status 404: Not Found: {"detail":"Not Found"}`,
		`200 <html>`:                           "http://server did not list its models: it answers <html>",
		`200 {"data":[]}`:                      "http://server has no models",
		`200 {"data":[{"id":"a"},{"id":"b"}]}`: "http://server has a, b",
	} {
		synctest.Test(t, func(t *testing.T) {
			_, c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if text[0] == '4' {
					w.WriteHeader(http.StatusNotFound)
				}
				_, _ = w.Write([]byte(text[len("200 "):]))
			}))
			c.Model = ""
			if _, _, err := open(t, c); err == nil || !contains(err, want) {
				t.Errorf("%s: %v, want %q", text, err, want)
			}
		})
	}
}

func TestFailuresDoNotShowTheKey(t *testing.T) {
	t.Setenv("TEST_KEY", secret)
	long := strings.Repeat("1", 280) + " " + secret
	for name, h := range map[string]http.Handler{
		"a text":            answering(typeStream, "data: {\"choices\":[{\"text\":\"\\x"+long+"\"}]}\n\n"),
		"token ids":         answering(typeStream, "data: {\"choices\":[{\"text\":\"a\",\"token_ids\":[\""+long+"\"]}]}\n\n"),
		"an event":          answering(typeStream, "data: "+long+"\n\n"),
		"an error":          answering(typeStream, "data: {\"error\":{\"message\":\""+long+"\"}}\n\n"),
		"its end":           answering(typeStream, "data: {\"choices\":[{\"finish_reason\":\""+long+"\"}]}\n\ndata: [DONE]\n\n"),
		"another type":      answering("text/"+strings.Repeat("x", 280)+secret, "x"),
		"a page":            answering("text/html", long),
		"an answer at once": answering(typeWhole, long),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, a := serve(t, h)
				a.TokenEnv = []string{"TEST_KEY"}
				g, _, err := open(t, a)
				text := fmt.Sprint(err)
				if err == nil { // an empty answer does not keep a server from being asked
					_, err = ask(t, g, backend.Prompt{Text: "x"})
					text += fmt.Sprint(err, g.Measured())
				}
				if err == nil || strings.Contains(text, secret[:len(secret)/2]) {
					t.Errorf("shown is %s", text)
				}
			})
		})
	}
}

// A server that closes a connection after each answer, and says that it keeps it alive, has each request sent again on a new connection, once.
// One that answers no second request on any connection fails.
func TestConnectionsThatAreClosed(t *testing.T) {
	const body = "data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	for _, c := range []struct {
		once, dead bool
		resent     int64
		want       string
	}{{resent: 1}, {once: true, want: "connection broken"}, {dead: true, resent: 1, want: "connection broken"}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		testenv.Must(t, err)
		t.Cleanup(func() { l.Close() })
		var dead atomic.Bool
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
					in := bufio.NewReader(conn)
					for prompts := 0; ; {
						r, err := http.ReadRequest(in)
						if err != nil {
							return
						}
						_, _ = io.Copy(io.Discard, r.Body)
						kind, text := "application/json", `{"data":[{"id":"m"}]}`
						if r.Method == http.MethodPost {
							if prompts++; prompts > 1 || dead.Load() {
								return // without a word
							}
							kind, text = typeStream, body
						}
						fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nKeep-Alive: timeout=5, max=100\r\nContent-Length: %d\r\n\r\n%s", kind, len(text), text)
					}
				}()
			}
		}()
		g, _, err := open(t, setup{Config: Config{URLs: []string{"http://" + l.Addr().String()}, Stream: true, Once: c.once}})
		testenv.Must(t, err)
		dead.Store(c.dead)
		trace := &backend.Trace{}
		err = g.Generate(t.Context(), &backend.Prompt{Text: "x"}, traced{trace}) // on the connection of the request before
		if m := g.Measured(); m.Resent != c.resent || m.Retries != 0 || (err == nil) != (c.want == "") || err != nil && !contains(err, c.want) {
			t.Errorf("%+v: %v, sent again %d times", c, err, m.Resent)
		}
		if trace.Attempts != 1+int(c.resent) {
			t.Errorf("%+v: %d attempts", c, trace.Attempts)
		}
	}
}

// traced is a sink with a trace.
type traced struct{ trace *backend.Trace }

func (traced) First([]byte, []int32)   {}
func (traced) Done(backend.Answer)     {}
func (s traced) Trace() *backend.Trace { return s.trace }

// A prompt with a patience is tried again after some statuses and the time-out, after pauses that double, as the reference of e2e-rag does.
func TestPatience(t *testing.T) {
	const first, timeout = time.Second, 10 * time.Second
	for name, c := range map[string]struct {
		faults []int // statuses of the tries; 0: no answer until the time-out
		after  string
		tries  int
		took   time.Duration
		works  bool
	}{
		"at once":               {nil, "", 1, 0, true},
		"too many":              {[]int{429, 429}, "", 3, 3 * first, true},
		"too many, with a wait": {[]int{429}, "7", 2, 7 * time.Second, true},
		"gone for a moment":     {[]int{502, 503, 504, 503}, "7", 5, 15 * first, true},
		"gone":                  {[]int{503, 503, 503, 503, 503}, "", 5, 15 * first, false},
		"broken":                {[]int{500}, "", 1, 0, false},
		"refused":               {[]int{400}, "", 1, 0, false},
		"late":                  {[]int{0, 0}, "", 3, 2*timeout + 3*first, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var began, tries atomic.Int32
				inner := tokenserver.New(tokenserver.Options{})
				_, setup := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					n := -1
					if began.Load() == 1 {
						n = int(tries.Add(1)) - 1
					}
					switch {
					case n < 0 || n >= len(c.faults):
						inner.ServeHTTP(w, r)
					case c.faults[n] == 0:
						_, _ = io.Copy(io.Discard, r.Body)
						<-r.Context().Done()
					default:
						if c.after != "" {
							w.Header().Set("Retry-After", c.after)
						}
						w.WriteHeader(c.faults[n])
					}
				}))
				setup.Stream = false
				g, _, err := open(t, setup)
				testenv.Must(t, err)
				began.Store(1)
				at := time.Now()
				_, err = ask(t, g, backend.Prompt{Text: "x", Patience: &backend.Patience{Timeout: timeout, Tries: 5, Pause: first}})
				if took := time.Since(at); (err == nil) != c.works || int(tries.Load()) != c.tries || took != c.took {
					t.Errorf("%v after %v and %d tries, want %v and %d", err, took, tries.Load(), c.took, c.tries)
				}
			})
		})
	}
}
