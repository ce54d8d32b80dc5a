package openai

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
)

// serverStreams are streams as different servers write them.
var serverStreams = []struct {
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
	{"reasons and answers in the same events", `
data: {"choices":[{"delta":{"content":"yes","reasoning":"so ","reasoning_content":"so "}}]}

data: {"choices":[{"delta":{"content":"!","reasoning":" "},"finish_reason":"stop"}]}

data: [DONE]

`, "so yes !", "stop", 2, 2},
	{"a proxy: comments, names, ids and carriage returns", ": OPENROUTER PROCESSING\r\n\r\n: OPENROUTER PROCESSING\r\n\r\nid: 1\r\nevent: message\r\ndata: {\"choices\":[{\"text\":\"a\"}]}\r\n\r\nretry: 10\r\n\r\n" +
		"data: {\"choices\":[{\"text\":\"b\",\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE] \r\n\r\n", "ab", "stop", 2, 2},
	{"an event over several lines", "data: {\"choices\":\ndata: [{\"text\":\ndata: \"a\"}]}\n\ndata: [DONE]\n\n", "a", "", 1, 1},
	{"letters in escapes and in pairs of them", `data: {"choices":[{"text":"\u00e9\ud83d\ude00\n\"\\"}]}` + "\n\ndata: [DONE]\n\n", "é😀\n\"\\", "", 1, 1},
	{"what follows the end does not count", "data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: [DONE]\n\ndata: {\"choices\":[{\"text\":\"b\"}]}\n\ndata: no JSON\n\n", "a", "", 1, 1},
	{"no space, no line feed at the end", "data:{\"choices\":[{\"text\":\"a\"}]}\n\ndata:[DONE]", "a", "", 1, 1},
}

// answering answers all prompts with a text.
func answering(kind, answer string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, modelsRoute) {
			fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
			return
		}
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, answer)
	})
}

// readStream reads a stream as the answer to a prompt without a limit.
func readStream(stream io.Reader) (*answer, *failure) { return readStreamOf(&backend.Prompt{}, stream) }

func readStreamOf(p *backend.Prompt, stream io.Reader) (*answer, *failure) {
	a := &answer{session: &session{config: Config{Stream: true}, stats: newStats(), servers: &servers{}}, prompt: p, sink: discard{}}
	a.begin()
	silence := time.NewTimer(time.Hour)
	defer silence.Stop()
	return a, a.read(&timedReader{Reader: stream, silence: silence, most: time.Hour})
}

func TestStreamsOfServers(t *testing.T) {
	for _, c := range serverStreams {
		for how, r := range map[string]io.Reader{"at once": strings.NewReader(c.stream), "byte by byte": iotest.OneByteReader(strings.NewReader(c.stream))} {
			a, failed := readStream(r)
			if failed != nil || string(a.text) != c.text || a.pieces != c.pieces || a.tokens != c.tokens || a.finish != c.finish {
				t.Errorf("%s, %s: %v, %q in %d pieces with %d tokens, ended by %q", c.name, how, failed, a.text, a.pieces, a.tokens, a.finish)
			}
		}
	}
}

// A part of a stream never passes for all of it.
func TestTruncatedStreamsFail(t *testing.T) {
	for _, c := range serverStreams {
		end := strings.Index(c.stream, doneMark) + len(doneMark)
		for n := range end - 1 {
			if a, failed := readStream(strings.NewReader(c.stream[:n])); failed == nil {
				t.Fatalf("%s: %d of %d bytes are the answer %q", c.name, n, len(c.stream), a.text)
			}
		}
	}
}

func TestErrorsInStreams(t *testing.T) {
	const begin, end = `data: {"choices":[{"text":"a"}]}` + "\n\ndata: ", "\n\ndata: [DONE]\n\n"
	for name, c := range map[string]struct{ answer, want string }{
		"with a message":           {begin + `{"error":{"message":"out of \u001b[2Jmemory","code":500}}` + end, "error in the stream: out of ?[2Jmemory"},
		"in a word":                {begin + `{"error":"it broke"}` + end, "error in the stream: it broke"},
		"without a message":        {begin + `{"error":{"code":7}}` + end, `error in the stream: {"code":7}`},
		"of FastAPI":               {begin + `{"detail":"out of memory"}` + end, `error in the stream: "out of memory"`},
		"details":                  {begin + `{"detail":[{"loc":["body"],"msg":"no"}]}` + end, `error in the stream: [{"loc"`},
		"an object":                {begin + `{"object":"error","message":"too long","code":400}` + end, "error in the stream: too long"},
		"an object with choices":   {begin + `{"object":"error","message":"gone","choices":[]}` + end, "error in the stream: gone"},
		"a type":                   {begin + `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + end, "error in the stream: Overloaded"},
		"a message":                {begin + `{"message":"Internal Server Error"}` + end, "error in the stream: Internal Server Error"},
		"several":                  {begin + `{"errors":[{"code":3}]}` + end, `error in the stream: {"errors"`},
		"a code":                   {begin + `{"error_code":500,"error_msg":"x"}` + end, `error in the stream: {"error_code"`},
		"a status":                 {begin + `{"status":"failed"}` + end, `error in the stream: {"status"`},
		"nothing":                  {begin + `{}` + end, "error in the stream: {}"},
		"a line":                   {"data: {\"choices\":[{\"text\":\"a\"}]}\n\nerror: {\"code\":500}\n\n", `error in the stream: error: {"code":500}`},
		"a line and an end":        {"data: {\"choices\":[{\"text\":\"a\"}]}\n\nerror: {\"code\":500}" + end, `error in the stream: error: {"code":500}`},
		"an event":                 {"data: {\"choices\":[{\"text\":\"a\"}]}\n\nevent: error\ndata: {\"x\":1}" + end, `error in the stream: event: error {"x":1}`},
		"an event without data":    {"event: error" + end, "error in the stream: event: error"},
		"an event at the end":      {"event:error\ndata: gone", "error in the stream: event: error gone"},
		"a document":               {"data: {\"choices\":[{\"text\":\"a\"}]}\n\n{\"detail\":\"gone\"}" + end, `error in the stream: {"detail":"gone"}`},
		"a page":                   {"data: {\"choices\":[{\"text\":\"a\"}]}\n\n<html>502</html>" + end, "error in the stream: <html>"},
		"behind the last piece":    {begin + `{"choices":[{"text":"","finish_reason":"stop"}]}` + "\n\ndata: " + `{"detail":"x"}` + end, `error in the stream: "x"`},
		"cancelled":                {begin + `{"choices":[{"text":"b","finish_reason":"cancelled"}]}` + end, `broken off (cancelled): the answer has the finish_reason "cancelled"`},
		"cancelled, then stopped":  {begin + `{"choices":[{"finish_reason":"Abort"}]}` + "\n\ndata: " + `{"choices":[{"finish_reason":"stop"}]}` + end, "broken off (abort)"},
		"filtered":                 {begin + `{"choices":[{"text":"","finish_reason":"content_filter"}]}` + end, "broken off (content_filter)"},
		"an error as a reason":     {begin + `{"choices":[{"text":"","finish_reason":"error"}]}` + end, "broken off (error)"},
		"a tool that none offered": {begin + `{"choices":[{"delta":{"tool_calls":[{"index":0}]},"finish_reason":"tool_calls"}]}` + end, "broken off (tool_calls)"},
		"a reason of its own":      {begin + `{"choices":[{"text":"","finish_reason":"shutdown\u001b[2J"}]}` + end, `broken off: the answer has the finish_reason "shutdown?[2J"`},
		"stopped":                  {begin + `{"choices":[{"text":"","finish_reason":"STOP"}]}` + end, ""},
		"stopped by TGI":           {begin + `{"choices":[{"text":"","finish_reason":"eos_token"}]}` + end, ""},
		"beside a text":            {begin + `{"choices":[{"text":"b"}],"error":{"message":"late"}}` + end, "error in the stream: late"},
		"null":                     {begin + `{"error":null}` + end, ""},
		"behind the end":           {begin + "[DONE]\n\ndata: " + `{"error":"late"}` + end, ""},
		"a key twice":              {begin + `{"choices":[{"text":"b"}],"choices":[]}` + end, `malformed event: jsontext: duplicate object member name "choices"`},
		"a text that is not JSON":  {`data: {"choices":[{"text":"\x"}]}` + end, "malformed event: "},
		"bytes that are not UTF-8": {"data: {\"choices\":[{\"text\":\"\xff\"}]}" + end, "malformed event: "},
		"no text, one token":       {`data: {"choices":[],"usage":{"completion_tokens":1}}` + end, ""},
		"no text, no token":        {`data: {"choices":[],"usage":{"completion_tokens":0}}` + end, "empty answer: the server ended the answer (\"\") without a text"},
		"no text, a token id":      {`data: {"choices":[{"token_ids":[5]}]}` + end, ""},
		"negative tokens":          {begin + `{"choices":[],"usage":{"completion_tokens":-8}}` + end, "malformed event: the answer has -8 tokens"},
		"a fraction of tokens":     {begin + `{"choices":[],"usage":{"completion_tokens": 1.5 }}` + end, "malformed event: "},
		"too many tokens":          {begin + `{"choices":[],"usage":{"completion_tokens":1000000000000}}` + end, "answer too long: the answer has 1000000000000 tokens"},
		"no number of tokens":      {begin + `{"choices":[],"usage":{"completion_tokens": null, "prompt_tokens":-1}}` + end, ""},
		"hidden reasoning":         {begin + `{"choices":[],"usage":{"completion_tokens":901,"completion_tokens_details":{"reasoning_tokens":900}}}` + end, ""},
		"not that much of it":      {begin + `{"choices":[],"usage":{"completion_tokens":901,"completion_tokens_details":{"reasoning_tokens":9}}}` + end, "more tokens than text"},
		"nothing but reasoning":    {`data: {"choices":[],"usage":{"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":9}}}` + end, "empty answer"},
		"negative reasoning":       {begin + `{"choices":[],"usage":{"completion_tokens":1,"completion_tokens_details":{"reasoning_tokens":-900}}}` + end, ""},
		"usage without reasoning":  {strings.Repeat(`data: {"choices":[{"delta":{"reasoning_content":"ab"}}]}`+"\n\n", 2) + begin + `{"choices":[],"usage":{"completion_tokens":1}}` + end, ""},
		"usage without pieces":     {begin + `{"choices":[{"text":"b"}]}` + "\n\ndata: " + `{"choices":[],"usage":{"completion_tokens":1}}` + end, "more pieces than tokens"},
		"negative token ids":       {`data: {"choices":[{"text":"a","token_ids":[-1]}]}` + end, "malformed event: [-1] are not token ids"},
		"no data":                  {"nothing\n\n" + "data: [DONE]\n\n", "empty answer"},
		"no end":                   {"event: x\nid: 7\n\n", "stream without an end: the stream ended after 0 pieces without [DONE]"},
	} {
		_, failed := readStream(strings.NewReader(c.answer))
		if c.want == "" && failed != nil || c.want != "" && (failed == nil || !strings.HasPrefix(failed.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, failed, c.want)
		}
	}
}

// More tokens than were asked for would count.
func TestMoreTokensThanAskedForFail(t *testing.T) {
	events := func(list ...string) string {
		return "data: " + strings.Join(list, "\n\ndata: ") + "\n\ndata: [DONE]\n\n"
	}
	const piece, two = `{"choices":[{"text":"a"}]}`, `{"choices":[{"text":"a","token_ids":[1,2]}]}`
	for name, c := range map[string]struct{ answer, want string }{
		"as many":                    {events(piece, `{"choices":[],"usage":{"completion_tokens":2,"prompt_tokens":1}}`), ""},
		"one more":                   {events(piece, `{"choices":[],"usage":{"completion_tokens":3,"prompt_tokens":1}}`), "answer too long: the answer has 3 tokens as the server says, asked were at most 2"},
		"as many, with their ids":    {events(two), ""},
		"one more, with their ids":   {events(two, `{"choices":[{"text":"","token_ids":[3]}]}`), "has 3 tokens as the server says, asked were at most 2"},
		"ids without an end":         {events(strings.Repeat(`{"choices":[{"token_ids":[1]}]}`+"\n\ndata: ", 1000)), "has 3 tokens"},
		"more pieces than they have": {events(piece, piece, piece), "the answer goes on after the 2 tokens"},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, a := serve(t, answering(typeStream, c.answer))
			_, _, err := open(t, a) // asks for two tokens
			if c.want == "" && err != nil || c.want != "" && !contains(err, c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		})
	}
}

// rawServer writes an answer to a prompt as it is, and closes the connection.
func rawServer(t *testing.T, answer *atomic.Pointer[string]) setup {
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
	return setup{Config: Config{URLs: []string{"http://" + l.Addr().String()}, Model: "m", Stream: true, Timeout: 10 * time.Second, Quiet: 5 * time.Second}}
}

// A body that is cut short never passes for an answer.
func TestBodiesThatAreCutShortFail(t *testing.T) {
	const stream, whole = "data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: [DONE]\n\n", `{"choices":[{"text":"a"}]}`
	head := func(more string) string { return "HTTP/1.1 200 OK\r\nContent-Type: TYPE\r\n" + more + "\r\n\r\n" }
	chunk := func(text string) string { return fmt.Sprintf("%x;ext=1\r\n%s\r\n", len(text), text) }
	for _, c := range []struct{ name, answer, want string }{
		{"until the connection ends", head("Connection: close") + "BODY", ""},
		{"of HTTP/1.0", strings.Replace(head("X: y"), "1.1", "1.0", 1) + "BODY", ""},
		{"of a length", head("Content-Length: LENGTH") + "BODY", ""},
		{"shorter than it says", head("Content-Length: 100000") + "HALF", "connection broken"},
		{"in half a chunk", head("Transfer-Encoding: chunked") + "fff\r\nHALF", "connection broken"},
		{"no HTTP", "SSH-2.0-OpenSSH_9.6\r\n", "connection broken"},
		{"nothing", "", "connection broken"},
		{"without a type", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nBODY", "wrong content type"},
		{"a status that is no error", "HTTP/1.1 204 No Content\r\n\r\n", "status 204"},
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
				a := rawServer(t, &now)
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

func TestMemoryIsBounded(t *testing.T) {
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
