package openai

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai/endpoint"
)

// Streams as servers of many makings write them.
var foreign = []struct {
	name, stream, text, finish string
	pieces, tokens             int
}{
	{"OpenAI's chat: a role first, usage that is null until the end, and noise", `
data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt","system_fingerprint":"fp","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x9"}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"Hel"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":""}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}],"usage":null,"obfuscation":"123456"}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}

data: {"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,"completion_tokens_details":{"reasoning_tokens":0}}}

data: [DONE]

`, "Hello", "stop", 2, 2},
	{"Azure's: what filters say comes first", `
data: {"choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false}}}]}

data: {"choices":[{"content_filter_results":{},"delta":{"content":"a"},"finish_reason":null}]}

data: {"choices":[{"delta":{},"finish_reason":"length"}]}

data: [DONE]
`, "a", "length", 1, 1},
	{"vLLM's: usage with each piece, and the reason with the last one", `
data: {"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":" one","logprobs":null,"finish_reason":null,"stop_reason":null,"token_ids":null}],"usage":{"prompt_tokens":3,"total_tokens":4,"completion_tokens":1}}

data: {"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":" two","logprobs":null,"finish_reason":"length","stop_reason":null}],"usage":{"prompt_tokens":3,"total_tokens":5,"completion_tokens":2}}

data: [DONE]

`, " one two", "length", 2, 2},
	{"a server that thinks aloud", `
data: {"choices":[{"delta":{"role":"assistant","content":null,"reasoning_content":"hm "}}]}

data: {"choices":[{"delta":{"content":null,"reasoning":"so "}}]}

data: {"choices":[{"delta":{"content":"yes","reasoning_content":null},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":3}}

data: [DONE]

`, "hm so yes", "stop", 3, 3},
	{"a proxy: comments, names, ids and carriage returns", ": OPENROUTER PROCESSING\r\n\r\n: OPENROUTER PROCESSING\r\n\r\nid: 1\r\nevent: message\r\ndata: {\"choices\":[{\"text\":\"a\"}]}\r\n\r\nretry: 10\r\n\r\n" +
		"data: {\"choices\":[{\"text\":\"b\",\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE] \r\n\r\n", "ab", "stop", 2, 2},
	{"an event over several lines", "data: {\"choices\":\ndata: [{\"text\":\ndata: \"a\"}]}\n\ndata: [DONE]\n\n", "a", "", 1, 1},
	{"letters in escapes and in pairs of them", `data: {"choices":[{"text":"\u00e9\ud83d\ude00\n\"\\"}]}` + "\n\ndata: [DONE]\n\n", "é😀\n\"\\", "", 1, 1},
	{"what follows the end does not count", "data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: [DONE]\n\ndata: {\"choices\":[{\"text\":\"b\"}]}\n\ndata: no JSON\n\n", "a", "", 1, 1},
	{"no space, no line feed at the end", "data:{\"choices\":[{\"text\":\"a\"}]}\n\ndata:[DONE]", "a", "", 1, 1},
	{"a byte order mark", "\ufeffdata: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: [DONE]\n\n", "a", "", 1, 1},
}

func TestStreamsOfManyMakingsAreUnderstood(t *testing.T) {
	for _, f := range foreign {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, c := serve(t, answering(typeStream+"; charset=utf-8", strings.TrimPrefix(f.stream, "\n")))
				c.Route = Completions
				c.texts.Temperature = 0.5
				g, _, err := open(t, c)
				if f.pieces > 2 { // more than the two tokens that are asked for first
					if !contains(err, "the answer goes on after the 2 tokens") {
						t.Errorf("%v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				h, err := ask(t, g, backend.Prompt{Text: "x"})
				m := g.Measured()
				if err != nil || h.text != f.text || h.tokens != f.tokens || m.Pieces != int64(f.pieces) || m.Finished[f.finish] != 1 {
					t.Errorf("%v, %+v, measured %+v; want %q in %d pieces", err, h, m, f.text, f.pieces)
				}
			})
		})
	}
}

// heardOf reads a stream with a call, in pieces of random sizes.
func heardOf(t *testing.T, random *rand.Rand, stream string) (*call, *failure) {
	t.Helper()
	watched := newWatch(time.Minute, time.Minute)
	defer watched.close()
	c := &call{session: &session{stats: newStats(), watch: watched, servers: &endpoint.Servers{}}, prompt: &backend.Prompt{}, sink: discard{}, sent: time.Now()}
	c.begin()
	c.watched = watched.begin(func(error) {})
	f := c.stream(&chopped{random, strings.NewReader(stream)})
	if f == nil {
		f = c.check()
	}
	return c, f
}

// chopped reads so much at once as it likes.
type chopped struct {
	random *rand.Rand
	of     io.Reader
}

func (c *chopped) Read(p []byte) (int, error) { return c.of.Read(p[:1+c.random.IntN(min(len(p), 60))]) }

func TestWhereAStreamIsCutDoesNotMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, f := range foreign {
		for range 20 {
			c, failed := heardOf(t, random, strings.TrimPrefix(f.stream, "\n"))
			if failed != nil || string(c.text) != f.text || c.pieces != f.pieces || c.finish != f.finish {
				t.Fatalf("%s: %v, %q in %d pieces, ended by %q", f.name, failed, c.text, c.pieces, c.finish)
			}
		}
	}
}

// A half of a stream never passes for all of it.
func TestAStreamThatEndsAnywhereIsNoAnswer(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for _, f := range foreign {
		stream := strings.TrimPrefix(f.stream, "\n")
		end := strings.Index(stream, doneMark)
		for n := 0; n < end+len(doneMark)-1; n += 1 + random.IntN(5) {
			if c, failed := heardOf(t, random, stream[:n]); failed == nil {
				t.Fatalf("%s: %d of %d bytes are the answer %q", f.name, n, len(stream), c.text)
			}
		}
	}
}

// odd serves connections with answers as they are written; each is closed behind its answer.
func odd(t *testing.T, answer *atomic.Pointer[string]) asking {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					text := *answer.Load()
					if strings.HasSuffix(r.URL.Path, modelsRoute) {
						text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
					}
					if _, err := io.WriteString(c, text); err != nil || !strings.HasSuffix(r.URL.Path, modelsRoute) {
						return
					}
				}
			}()
		}
	}()
	return asking{Config: Config{Servers: endpoint.Options{URLs: []string{"http://" + l.Addr().String()}}, Model: "m", Stream: true, Timeout: 10 * time.Second, Quiet: 5 * time.Second}}
}

// A body that is cut short never passes for an answer.
func TestHTTPThatIsOddIsReadOrNamed(t *testing.T) {
	const stream, whole = "data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: [DONE]\n\n", `{"choices":[{"text":"a"}]}`
	head := func(more string) string { return "HTTP/1.1 200 OK\r\nContent-Type: TYPE\r\n" + more + "\r\n\r\n" }
	chunk := func(text string) string { return fmt.Sprintf("%x;ext=1\r\n%s\r\n", len(text), text) }
	for _, c := range []struct{ name, answer, want string }{
		{"until the connection ends", head("Connection: close") + "BODY", ""},
		{"of HTTP/1.0", strings.Replace(head("X: y"), "1.1", "1.0", 1) + "BODY", ""},
		{"in chunks with trailers", head("Transfer-Encoding: chunked\r\nTrailer: X") + chunk("BODY") + "0\r\nX: y\r\n\r\n", ""},
		{"of a length", head("Content-Length: LENGTH") + "BODY", ""},
		{"shorter than it says", head("Content-Length: 100000") + "HALF", "connection broken"},
		{"in half a chunk", head("Transfer-Encoding: chunked") + "fff\r\nHALF", "connection broken"},
		{"no HTTP", "SSH-2.0-OpenSSH_9.6\r\n", "connection broken"},
		{"nothing", "", "connection broken"},
		{"without a type", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nBODY", "wrong content type"},
		{"a status that is no error", "HTTP/1.1 204 No Content\r\n\r\n", "status 204"},
		{"an error in JSON", "HTTP/1.1 503 Busy\r\nContent-Length: 16\r\n\r\n{\"error\":\"full\"}", `status 503: Service Unavailable: {"error":"full"}`},
		{"packed", head("Content-Encoding: br\r\nConnection: close") + "BODY", "compressed answer"},
	} {
		for _, streams := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, streamed: %v", c.name, streams), func(t *testing.T) {
				t.Parallel()
				kind, body := typeWhole, whole
				if streams {
					kind, body = typeStream, stream
				}
				fill := func(s string) string {
					s = strings.NewReplacer("LENGTH", fmt.Sprint(len(body)), "TYPE", kind, chunk("BODY"), chunk(body), "BODY", body, "HALF", body[:len(body)/2]).Replace(s)
					return s
				}
				var now atomic.Pointer[string]
				good, bad := fill(head("Connection: close")+"BODY"), fill(c.answer)
				now.Store(&good)
				a := odd(t, &now)
				a.Stream = streams
				g, _, err := open(t, a)
				if err != nil {
					t.Fatal(err)
				}
				now.Store(&bad)
				h, err := ask(t, g, backend.Prompt{Text: "x"})
				if c.want == "" && (err != nil || h.text != "a" || h.tokens != 1) || c.want != "" && (!contains(err, c.want) || h.dones != 0) {
					t.Errorf("%v, %+v, want %q", err, h, c.want)
				}
			})
		}
	}
}

func TestWhatAServerSaysWentWrongIsSaid(t *testing.T) {
	const begin, end = `data: {"choices":[{"text":"a"}]}` + "\n\ndata: ", "\n\ndata: [DONE]\n\n"
	for _, c := range []struct{ name, answer, want string }{
		{"with a message", begin + `{"error":{"message":"out of \u001b[2Jmemory","code":500}}` + end, "error in the stream: out of ?[2Jmemory"},
		{"in a word", begin + `{"error":"it broke"}` + end, "error in the stream: it broke"},
		{"with no words", begin + `{"error":{"code":7}}` + end, "error in the stream: the server says nothing else"},
		{"in a list", begin + `{"error":["a"]}` + end, "error in the stream: the server says nothing else"},
		{"twice", begin + `{"choices":[{"text":"b"}],"choices":[]}` + end, `malformed event: an object of the answer has two keys "choices"`},
		{"beside a text", begin + `{"choices":[{"text":"b"}],"error":{"message":"late"}}` + end, "error in the stream: late"},
		{"not at all", begin + `{"error":null}` + end, ""},
		{"behind the end", begin + "[DONE]\n\ndata: " + `{"error":"late"}` + end, ""},
		{"no text, and one token that is counted", `data: {"choices":[],"usage":{"completion_tokens":1}}` + end, ""},
		{"no text, and no token", `data: {"choices":[],"usage":{"completion_tokens":0}}` + end, "empty answer: the server ended the answer (\"\") without a text, and says of no tokens"},
		{"a number of tokens below nothing", begin + `{"choices":[],"usage":{"completion_tokens":-8}}` + end, "malformed event: the answer has -8 tokens as the server says, which is no number of them"},
		{"tokens and a half", begin + `{"choices":[],"usage":{"completion_tokens": 1.5 }}` + end, "malformed event: the answer has 1.5 tokens"},
		{"more tokens than can be counted", begin + `{"choices":[],"usage":{"completion_tokens":1000000000000000000000000000000}}` + end, "malformed event: the answer has 1000000000000000000000000000000 tokens"},
		{"a number of tokens in words", begin + `{"choices":[],"usage":{"completion_tokens":"1"}}` + end, `malformed event: the answer has "1" tokens`},
		{"no number of tokens", begin + `{"choices":[],"usage":{"completion_tokens": null, "prompt_tokens":-1}}` + end, ""},
		{"no text, and a token", `data: {"choices":[{"token_ids":[5]}]}` + end, ""},
		{"a text that is no string of JSON", `data: {"choices":[{"text":"\x"}]}` + end, "malformed event: "},
		{"no events", "nothing\n\n" + "data: [DONE]\n\n", "empty answer"},
		{"other fields only", "event: x\nid: 7\n\n", "stream without an end: the stream ended after 0 pieces without [DONE]"},
	} {
		_, failed := heardOf(t, rand.New(rand.NewPCG(1, 1)), c.answer)
		if c.want == "" && failed != nil || c.want != "" && (failed == nil || !strings.HasPrefix(failed.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, failed, c.want)
		}
	}
}
