package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/backend"
)

func TestWhatAServerSaysIsOneShortLine(t *testing.T) {
	for in, want := range map[string]string{
		" a\r\n\tb ":            "a b",
		"\x1b[2J\x07\u202egone": "?[2J??gone",
		"no \xff UTF-8":         "no ? UTF-8",
		"é😀":                    "é😀",
		" \n":                   "",
	} {
		if got := cut(in); got != want {
			t.Errorf("cut(%q) = %q, want %q", in, got, want)
		}
	}
	for n := range 4 { // a letter is cut in all places
		if got := cut(strings.Repeat("x", n) + strings.Repeat("😀", longestQuote)); !utf8.ValidString(got) || !strings.HasSuffix(got, "😀…") || len(got) > longestQuote+len("…") {
			t.Errorf("%d bytes before: %q", n, got)
		}
	}
	if just := strings.Repeat("x", longestQuote); cut(just) != just || cut(just+"y") != just+"…" {
		t.Error("what is just short enough is not quoted whole")
	}
}

// answering answers prompts as they are written; of models it tells one.
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

// A server's numbers and lists are as long as it likes.
func TestAnAnswerOfMoreTokensThanWereAskedForFails(t *testing.T) {
	events := func(list ...string) string {
		return "data: " + strings.Join(list, "\n\ndata: ") + "\n\ndata: [DONE]\n\n"
	}
	const piece, two = `{"choices":[{"text":"a"}]}`, `{"choices":[{"text":"a","token_ids":[1,2]}]}`
	for _, c := range []struct{ name, answer, want string }{
		{"as many as were asked for", events(piece, `{"choices":[],"usage":{"completion_tokens":2,"prompt_tokens":1}}`), ""},
		{"one more, it says", events(piece, `{"choices":[],"usage":{"completion_tokens":3,"prompt_tokens":1}}`), "answer too long: the answer has 3 tokens as the server says, asked were at most 2"},
		{"many more, it says", events(piece, `{"usage":{"completion_tokens":1000000000000}}`), "has 1000000000000 tokens"},
		{"as many, with their numbers", events(two), ""},
		{"one more, with their numbers", events(two, `{"choices":[{"text":"","token_ids":[3]}]}`), "has 3 tokens as the server says, asked were at most 2"},
		{"numbers without an end", events(strings.Repeat(`{"choices":[{"token_ids":[1]}]}`+"\n\ndata: ", 1000)), "has 3 tokens"},
		{"numbers that are none", events(`{"choices":[{"text":"a","token_ids":[-1]}]}`), `"[-1]" are no token ids`},
		{"numbers beyond all vocabularies", events(`{"choices":[{"text":"a","token_ids":[2147483648]}]}`), "are no token ids"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, a := serve(t, answering(typeStream, c.answer))
				_, _, err := open(t, a) // asks for two tokens
				if c.want == "" && err != nil || c.want != "" && !contains(err, c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
			})
		})
	}
}

func TestNoFailureShowsTheKeyNorAPartOfIt(t *testing.T) {
	t.Setenv("TEST_KEY", key)
	long := strings.Repeat("1", longestQuote-20) + " " + key
	for name, h := range map[string]http.Handler{
		"a text":            answering(typeStream, "data: {\"choices\":[{\"text\":\"\\x"+long+"\"}]}\n\n"),
		"token ids":         answering(typeStream, "data: {\"choices\":[{\"text\":\"a\",\"token_ids\":[\""+long+"\"]}]}\n\n"),
		"an event":          answering(typeStream, "data: "+long+"\n\n"),
		"an error":          answering(typeStream, "data: {\"error\":{\"message\":\""+long+"\"}}\n\n"),
		"its end":           answering(typeStream, "data: {\"choices\":[{\"finish_reason\":\""+long+"\"}]}\n\ndata: [DONE]\n\n"),
		"another type":      answering("text/"+strings.Repeat("x", longestQuote-20)+key, "x"),
		"a page":            answering("text/html", long),
		"an answer at once": answering(typeWhole, long),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, a := serve(t, h)
				a.Servers.TokenEnv = []string{"TEST_KEY"}
				g, _, err := open(t, a)
				text := fmt.Sprint(err)
				if err == nil { // an empty answer does not keep a server from being asked
					_, err = ask(t, g, backend.Prompt{Text: "x"})
					text += fmt.Sprint(err, g.Measured())
				}
				if err == nil || strings.Contains(text, key[:len(key)/2]) {
					t.Errorf("shown is %s", text)
				}
			})
		})
	}
}

func TestFailuresOfConnectionsAreNamed(t *testing.T) {
	over, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("ctrl-c"))
	late, cancelLate := context.WithCancelCause(context.Background())
	cancelLate(failf(kindTimeout, "no whole answer within 1s"))
	for _, c := range []struct {
		ctx   context.Context
		err   error
		want  string
		again bool
	}{
		{context.Background(), fmt.Errorf("x: %w", syscall.ECONNREFUSED), "no connection: x: connection refused", true},
		{context.Background(), &net.OpError{Op: "dial", Err: errors.New("no such host")}, "no connection: dial: no such host", true},
		{context.Background(), errors.New("remote error: tls: bad certificate"), "no connection: remote error", true},
		{context.Background(), &net.OpError{Op: "read", Err: syscall.ECONNRESET}, "connection broken: read: connection reset by peer", true},
		{context.Background(), io.ErrUnexpectedEOF, "connection broken: the server closed it (unexpected EOF)", true},
		{context.Background(), io.EOF, "connection broken: the server closed it (EOF)", true},
		{context.Background(), errLongEvent, "answer too long: an event is longer than 1048576 bytes", false},
		{context.Background(), errors.New("the server redirects more than 3 times"), "redirection: ", false},
		{over, io.EOF, "the test was over: ctrl-c", false},
		{late, io.EOF, "time-out: no whole answer within 1s", false},
	} {
		if f := transportFailure(c.ctx, c.err); !strings.HasPrefix(f.Error(), c.want) || f.again != c.again || errors.Unwrap(f) == nil {
			t.Errorf("%v: %v, again %v, want %q, %v", c.err, f, f.again, c.want, c.again)
		}
	}
	for status, again := range map[int]bool{400: false, 401: false, 404: false, 408: false, 429: true, 500: true, 501: false, 502: true, 503: true, 504: true} {
		if f := statusFailure(status, "why"); f.again != again || f.Error() != fmt.Sprintf("status %d: %s: why", status, http.StatusText(status)) {
			t.Errorf("status %d: %v, again %v", status, f, f.again)
		}
	}
}
