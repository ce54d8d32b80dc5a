//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
)

// An answerMaker makes answers as servers write them, in all the ways that they may.
type answerMaker struct{ *rand.Rand }

// body is a text that looks like what is around it: sizes, ends of lines, heads.
func (m answerMaker) body() string {
	parts := []string{"a", "\r\n", "0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "data: x\n\n", "\x00", "ff\r\n", strings.Repeat("z", m.IntN(300))}
	var b strings.Builder
	for range m.IntN(12) {
		b.WriteString(parts[m.IntN(len(parts))])
	}
	return b.String()
}

// chunks writes a body in chunks, with what is allowed around them.
func (m answerMaker) chunks(body string) string {
	var b strings.Builder
	const end = "\r\n" // the library takes no line feed alone, as we do
	for len(body) > 0 {
		n := 1 + m.IntN(len(body))
		size := fmt.Sprintf([]string{"%x", "%X", "000%x"}[m.IntN(3)], n)
		b.WriteString(size + []string{"", ";name=value", ";x", " "}[m.IntN(4)] + end + body[:n] + end)
		body = body[n:]
	}
	b.WriteString("0" + end + []string{"", "", "X-Sum: 1" + end}[m.IntN(3)] + end)
	return b.String()
}

// answer is a whole answer, and whether its end is that of the connection.
func (m answerMaker) answer() (text string, toTheEnd bool) {
	head := []string{"HTTP/1.1 200 OK\r\n", "HTTP/1.1 503 Busy\r\n", "HTTP/1.0 200 OK\r\n", "HTTP/1.1 429 \r\n"}[m.IntN(4)]
	head += []string{"", "X-A: b\r\n", "Date: now\r\nServer: s\r\n", "Connection: keep-alive\r\n"}[m.IntN(4)]
	if m.IntN(4) == 0 {
		head = "HTTP/1.1 100 Continue\r\n\r\n" + head
	}
	body := m.body()
	switch kind := m.IntN(3); {
	case kind == 0 && !strings.Contains(head, "HTTP/1.0"): // which has no chunks
		return head + "Transfer-Encoding: chunked\r\n\r\n" + m.chunks(body), false
	case kind == 1:
		return head + "Connection: close\r\n\r\n" + body, true
	}
	return head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body), false
}

// asTheLibrary reads an answer with net/http.
func asTheLibrary(text string) (status int, body string, err error) {
	in := bufio.NewReader(strings.NewReader(text))
	for {
		r, err := http.ReadResponse(in, &http.Request{Method: http.MethodPost})
		if err != nil {
			return 0, "", err
		}
		if r.StatusCode/100 == 1 {
			continue
		}
		all, err := io.ReadAll(r.Body)
		return r.StatusCode, string(all), err
	}
}

// TestAnswersAreReadAsTheLibraryReadsThem: 300 at random, in pieces at random, of which each connection has as many as it lasts for.
func TestAnswersAreReadAsTheLibraryReadsThem(t *testing.T) {
	const count = 300
	maker := answerMaker{rand.New(rand.NewPCG(7, 7))}
	texts, ends, cuts := make([]string, count), make([]bool, count), make([]int, count)
	for i := range texts {
		texts[i], ends[i] = maker.answer()
		cuts[i] = 1 + maker.IntN(len(texts[i]))
	}
	next := make(chan int, count)
	address := serve(t, func(_ int, c net.Conn) {
		for taken(c) {
			i := <-next
			if _, err := io.WriteString(c, texts[i][:cuts[i]]); err != nil {
				return
			}
			if _, err := io.WriteString(c, texts[i][cuts[i]:]); err != nil || ends[i] {
				return
			}
		}
	})
	c := open(t)
	for i, text := range texts {
		status, want, err := asTheLibrary(text)
		if err != nil {
			t.Fatalf("answer %d is none for the library: %v: %q", i, err, text)
		}
		next <- i
		var h heard
		if err := c.Do(t.Context(), address, []byte(request), &h); !errors.Is(err, io.EOF) {
			t.Fatalf("answer %d: %v, want an end in order: %q", i, err, text)
		}
		if h.head.StatusCode != status || h.text != want {
			t.Errorf("answer %d: %d %q, want %d %q", i, h.head.StatusCode, h.text, status, want)
		}
	}
}

// TestAnswersThatAreCutAreNeverWhole: of an answer that says where it ends, every beginning is an error, for the library and for us.
func TestAnswersThatAreCutAreNeverWhole(t *testing.T) {
	maker := answerMaker{rand.New(rand.NewPCG(8, 8))}
	for range 6 {
		text, toTheEnd := maker.answer()
		if toTheEnd {
			continue
		}
		for range 8 {
			begun := text[:maker.IntN(len(text))]
			address := serve(t, func(_ int, c net.Conn) {
				if taken(c) {
					_, _ = io.WriteString(c, begun)
				}
			})
			var h heard
			_, _, library := asTheLibrary(begun)
			if err := open(t).Do(t.Context(), address, []byte(request), &h); err == nil || errors.Is(err, io.EOF) || library == nil {
				t.Errorf("%q of %q: %v, the library says %v", begun, text, err, library)
			}
		}
	}
}

func TestAnswersThatAreNoneAreErrorsThatSayWhy(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"another protocol", "SSH-2.0-OpenSSH_9.2\r\n\r\n", "the answer is no HTTP: "},
		{"a status in words", "HTTP/1.1 OK\r\n\r\n", "the answer is no HTTP: "},
		{"a header without a colon", "HTTP/1.1 200 OK\r\nnothing\r\n\r\n", "the answer is no HTTP: "},
		{"a length below nothing", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "the answer is no HTTP: "},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "the answer is no HTTP: "},
		{"a length of more digits than there are", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "the answer is no HTTP: "},
		{"another protocol from now on", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "the server goes on in another protocol (status 101)"},
		{"announcements without an end", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", mostAnnounced+1), "the server says more than 16 times that an answer follows (status 102)"},
		{"another encoding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "the answer is no HTTP: "},
		{"a chunk of words", ok + "three\r\nabc\r\n", `"three" is no size of a chunk of the answer`},
		{"a chunk that goes on", ok + "3\r\nabcdef\r\n", "a chunk of the answer is longer than it says"},
		{"a header without an end", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 1100), "the header of the answer is longer than 1048576 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := serve(t, func(_ int, conn net.Conn) {
				if taken(conn) {
					_, _ = io.WriteString(conn, c.text)
					_, _ = io.Copy(io.Discard, conn) // until the client goes
				}
			})
			var h heard
			err := open(t).Do(t.Context(), address, []byte(request), &h)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestConnectionsThatWereMadeBeforehandAreUsed, and no other is made as long as they last.
func TestConnectionsThatWereMadeBeforehandAreUsed(t *testing.T) {
	made := make(chan int, 10)
	address := serve(t, func(n int, c net.Conn) {
		made <- n
		for taken(c) {
			say(c, ok+"1\r\na\r\n0\r\n\r\n")
		}
	})
	c := open(t)
	c.Warm(t.Context(), address, 3)
	for range 3 {
		<-made
	}
	for range 5 {
		var h heard
		if err := c.Do(t.Context(), address, []byte(request), &h); !errors.Is(err, io.EOF) || h.text != "a" {
			t.Fatalf("%v, %q", err, h.text)
		}
	}
	select {
	case n := <-made:
		t.Errorf("connection %d was made although three were there", n)
	default:
	}
	c.Warm(t.Context(), "127.0.0.1:1", 2) // nobody is there, and nothing is said: requests say it
}

// TestASizeIsReadAsTheLibraryWritesIt, for numbers of all lengths, and with what may be behind it.
func TestASizeIsReadAsTheLibraryWritesIt(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for range 500 {
		n := random.Int64N(1 << (1 + random.IntN(50)))
		for _, form := range []string{"%x", "%X", "0%x", "%x;a=b", "%x ", "%x\t;q"} {
			if got, ok := sizeOf([]byte(fmt.Sprintf(form, n))); !ok || got != n {
				t.Fatalf("sizeOf(%q) = %d, %v, want %d", fmt.Sprintf(form, n), got, ok, n)
			}
		}
		for _, form := range []string{"x%x", " %x", "-%x", "%xg", "%x,", "+%x"} {
			if got, ok := sizeOf([]byte(fmt.Sprintf(form, n))); ok {
				t.Fatalf("sizeOf(%q) = %d, want none", fmt.Sprintf(form, n), got)
			}
		}
	}
	for text, want := range map[string]bool{"4000000000000": true, "4000000000001": false, "10000000000000000": false, "": false, ";": false} {
		if _, ok := sizeOf([]byte(text)); ok != want {
			t.Errorf("sizeOf(%q) is a size: %v, want %v", text, ok, want)
		}
	}
}
