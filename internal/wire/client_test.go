//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A heard is what a receiver was told.
type heard struct {
	mu    sync.Mutex
	head  *http.Response
	text  string
	until string // a text behind which nothing is wanted; empty: all is
	came  chan struct{}
}

func (h *heard) Head(r *http.Response) { h.head = r }

func (h *heard) Piece(p []byte, at time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.text == "" && h.came != nil {
		close(h.came)
	}
	h.text += string(p)
	return !at.IsZero() && (h.until == "" || !strings.Contains(h.text, h.until))
}

// serve has each connection handled, and returns the address.
func serve(t *testing.T, handle func(n int, c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer c.Close()
				handle(n, c)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		group.Wait()
	})
	return l.Addr().String()
}

func open(t *testing.T) *Client {
	t.Helper()
	c, err := Open(time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	})
	return c
}

const (
	request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
	ok      = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
)

// taken reads a request of the tests; false: there is none.
func taken(c net.Conn) bool {
	_, err := io.ReadFull(c, make([]byte, len(request)))
	return err == nil
}

// say sends texts with a moment between them, so that they arrive by themselves.
func say(c net.Conn, texts ...string) {
	for _, text := range texts {
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestAnAnswerIsPassedOnAndItsConnectionUsedAgain(t *testing.T) {
	address := serve(t, func(n int, c net.Conn) {
		for taken(c) {
			say(c, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r", "\nX: y\r\nTransfer-Enc", "oding: chunked\r\n\r\n3\r\nab", fmt.Sprintf("%d\r", n), "\n0\r\n\r\n")
		}
	})
	c := open(t)
	for range 3 {
		h := &heard{}
		if err := c.Do(t.Context(), address, []byte(request), h); err != io.EOF || h.text != "ab0" || h.head.Header.Get("X") != "y" {
			t.Errorf("%v, %q, want the answer of the first connection", err, h.text)
		}
	}
}

// TestEachRequestHasItsOwnAnswer has requests of several goroutines use the same connections one after another.
func TestEachRequestHasItsOwnAnswer(t *testing.T) {
	address := serve(t, func(_ int, c net.Conn) {
		for text := make([]byte, 4); ; {
			if _, err := io.ReadFull(c, text); err != nil {
				return
			}
			if _, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n%s", text); err != nil {
				return
			}
		}
	})
	c := open(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for k := range 250 {
				h, want := &heard{}, fmt.Sprintf("%d%03d", i, k)
				if err := c.Do(t.Context(), address, []byte(want), h); err != io.EOF || h.text != want {
					t.Errorf("%v, %q, want %q", err, h.text, want)
				}
			}
		})
	}
	group.Wait()
}

func TestHowAnswersEnd(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer func(c net.Conn)
		until  string
		want   error
		text   string
	}{
		{"where the connection does", func(c net.Conn) { say(c, "HTTP/1.0 200 OK\r\n\r\nab", "c") }, "", io.EOF, "abc"},
		{"in the middle", func(c net.Conn) { say(c, ok+"3\r\nabc\r\n") }, "", io.ErrUnexpectedEOF, "abc"},
		{"together with its beginning", func(c net.Conn) { _, _ = io.WriteString(c, ok+"3\r\nabc\r\n") }, "", io.ErrUnexpectedEOF, "abc"},
		{"before it begins", func(net.Conn) {}, "", io.ErrUnexpectedEOF, ""},
		{"with what is wanted", func(c net.Conn) { say(c, ok+"3\r\nabc\r\n", "3\r\ndef\r\n0\r\n\r\n") }, "c", nil, "abc"},
		{"with what is wanted, and goes on for ever", func(c net.Conn) {
			for _, err := io.WriteString(c, ok); err == nil; _, err = io.WriteString(c, "3\r\nabc\r\n") {
				time.Sleep(time.Millisecond)
			}
		}, "c", nil, "abc"},
		{"with a reset", func(c net.Conn) {
			say(c, ok+"3\r\nabc\r\n")
			_ = c.(*net.TCPConn).SetLinger(0)
		}, "", syscall.ECONNRESET, "abc"},
		{"as no HTTP", func(c net.Conn) { say(c, "SSH-2.0-x\r\n\r\n") }, "", nil, ""},
		{"with a header without an end", func(c net.Conn) { say(c, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("y", maxHead+1)) }, "", nil, ""},
	} {
		answered := make(chan struct{})
		address := serve(t, func(n int, c net.Conn) {
			if n == 0 && taken(c) {
				test.answer(c)
				close(answered)
				return
			}
			for taken(c) {
				say(c, ok+"4\r\nnext\r\n0\r\n\r\n")
			}
		})
		c, h := open(t), &heard{until: test.until}
		err := c.Do(t.Context(), address, []byte(request), h)
		if h.text != test.text || test.want != nil && !errors.Is(err, test.want) || test.want == nil && (err == nil) != (test.until != "") {
			t.Errorf("%s: %v, %q, want %v and %q", test.name, err, h.text, test.want, test.text)
		}
		<-answered
		for _, err := range []error{io.ErrUnexpectedEOF, io.EOF} { // what was closed just now may be met once
			next := &heard{}
			if got := c.Do(t.Context(), address, []byte(request), next); got == io.EOF && next.text == "next" {
				break
			} else if err == io.EOF {
				t.Errorf("%s: the request behind it: %v, %q", test.name, got, next.text)
			}
		}
	}
}

func TestWhoGivesUpClosesTheConnection(t *testing.T) {
	gone := make(chan error, 1)
	address := serve(t, func(_ int, c net.Conn) {
		taken(c)
		say(c, ok+"3\r\nabc\r\n")
		_, err := c.Read(make([]byte, 1))
		gone <- err
	})
	ctx, cancel := context.WithCancel(t.Context())
	h := &heard{came: make(chan struct{})}
	go func() {
		<-h.came
		cancel()
	}()
	if err := open(t).Do(ctx, address, []byte(request), h); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-gone; err == nil {
		t.Error("the connection is open")
	}
}

// A server that takes its time to read gets all of it, and may answer before it has.
func TestLongRequestsAreSentAsThereIsRoom(t *testing.T) {
	const megabytes = 8 << 20
	long := "POST / HTTP/1.1\r\nHost: x\r\n\r\n" + strings.Repeat("x", megabytes)
	address := serve(t, func(n int, c net.Conn) {
		if n == 0 {
			time.Sleep(20 * time.Millisecond) // so that there is no room
			if _, err := io.ReadFull(c, make([]byte, len(long))); err == nil {
				say(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nall\r\n0\r\n\r\n")
			}
		} else {
			say(c, "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
			_, _ = io.Copy(io.Discard, c)
		}
	})
	c := open(t)
	h := &heard{}
	if err := c.Do(t.Context(), address, []byte(long), h); err != io.EOF || h.text != "all" {
		t.Errorf("%v, %q", err, h.text)
	}
	if err := c.Do(t.Context(), address, []byte(long), h); err != io.EOF || h.head.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%v, %+v", err, h.head)
	}
}

// A server that is full may answer as soon as somebody comes, before anything was asked.
func TestAnAnswerMayBeThereBeforeTheRequest(t *testing.T) {
	address := serve(t, func(_ int, c net.Conn) {
		say(c, "HTTP/1.1 503 Full\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
		_, _ = io.Copy(io.Discard, c)
	})
	c := open(t)
	for range 300 {
		h := &heard{}
		if err := c.Do(t.Context(), address, []byte(request), h); err != io.EOF || h.head.StatusCode != http.StatusServiceUnavailable || h.text != "no" {
			t.Fatalf("%v, %+v, %q", err, h.head, h.text)
		}
	}
}

func TestManyStreamsAtOnceKeepToThemselves(t *testing.T) {
	const streams, pieces = 300, 40
	address := serve(t, func(n int, c net.Conn) {
		for taken(c) {
			_, _ = io.WriteString(c, ok)
			for range pieces {
				_, _ = fmt.Fprintf(c, "5\r\n%04d,\r\n", n)
			}
			_, _ = io.WriteString(c, "0\r\n\r\n")
		}
	})
	c := open(t)
	c.Warm(t.Context(), address, 50)
	var group sync.WaitGroup
	for range streams {
		group.Go(func() {
			for range 3 {
				h := &heard{}
				err := c.Do(t.Context(), address, []byte(request), h)
				if err != io.EOF || len(h.text) != 5*pieces || h.text != strings.Repeat(h.text[:5], pieces) {
					t.Errorf("%v, %q", err, h.text)
				}
			}
		})
	}
	group.Wait()
}

func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := open(t).Do(t.Context(), l.Addr().String(), []byte(request), &heard{}); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error(err)
	}
}

// What follows an answer on its connection decides whether that is used again.
func TestAConnectionIsUsedAgainOnlyIfItsAnswerWasWholeAndAlone(t *testing.T) {
	const whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for _, test := range []struct {
		name, answer, until string
		again               bool
	}{
		{"a length", whole, "", true},
		{"no body", "HTTP/1.1 204 No Content\r\n\r\n", "", true},
		{"no body, of length 0", "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", "", true},
		{"several heads before it", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + whole, "", true},
		{"as many heads before it as there may be", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", mostAnnounced) + whole, "", true},
		{"heads whose lines end with line feeds alone", "HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\nContent-Length: 2\r\n\nok", "", true},
		{"a head that ends with an empty line of both", "HTTP/1.1 200 OK\nContent-Length: 2\n\r\nok", "", true},
		{"chunks with something behind them", ok + "2\r\nok\r\n0\r\nX: y\r\n\r\n", "", true},
		{"a little that nobody wants", ok + "2\r\nok\r\n3\r\nand\r\n0\r\n\r\n", "ok", true},
		{"much that nobody wants", ok + "2\r\nok\r\n" + strings.Repeat("1000\r\n"+strings.Repeat("x", 0x1000)+"\r\n", 2*readBuffer/0x1000) + "0\r\n\r\n", "ok", false},
		{"a second answer", whole + whole, "", false},
		{"a line more than its length", whole + "\r\n", "", false},
		{"the last one, it says", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", "", false},
		{"that of an old server", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var connections atomic.Int32
			address := serve(t, func(_ int, c net.Conn) {
				connections.Add(1)
				for taken(c) {
					if _, err := io.WriteString(c, test.answer); err != nil {
						return
					}
				}
			})
			c := open(t)
			for n := range 3 {
				h := &heard{until: test.until}
				if err := c.Do(t.Context(), address, []byte(request), h); err != nil && err != io.EOF || (err == nil) != (test.until != "") {
					t.Fatalf("request %d: %v, %q", n, err, h.text)
				}
				if test.until != "" && test.again {
					for kept := 0; kept == 0; { // its end comes behind what was wanted
						c.mu.Lock()
						kept = len(c.idle[address])
						c.mu.Unlock()
					}
				}
			}
			if got := connections.Load(); (got == 1) != test.again {
				t.Errorf("%d connections were made for 3 requests, used again shall be %v", got, test.again)
			}
		})
	}
}

func TestWhatNobodyAskedForClosesTheConnection(t *testing.T) {
	gone := make(chan error, 1)
	address := serve(t, func(n int, c net.Conn) {
		if n == 0 {
			_, _ = io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
			_, err := c.Read(make([]byte, 1))
			gone <- err
			return
		}
		for taken(c) {
			say(c, ok+"2\r\nok\r\n0\r\n\r\n")
		}
	})
	c := open(t)
	c.Warm(t.Context(), address, 1)
	if err := <-gone; err == nil {
		t.Error("the connection is used")
	}
	for { // until it has been heard that it is closed
		h := &heard{}
		if err := c.Do(t.Context(), address, []byte(request), h); err == io.EOF && h.text == "ok" {
			break
		} else if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("%v, %q", err, h.text)
		}
	}
}

func TestConnectionsThatNobodyUsesAreClosed(t *testing.T) {
	closed := make(chan bool, 3)
	address := serve(t, func(_ int, c net.Conn) {
		_, _ = io.Copy(io.Discard, c)
		closed <- true
	})
	c := open(t)
	c.Warm(t.Context(), address, 3)
	now := time.Now()
	if old := c.old(now.Add(idleTimeout - time.Second)); len(old) != 0 || len(c.idle[address]) != 3 {
		t.Errorf("%d of 3 connections are old before their time", len(old))
	}
	c.idle[address][1].dead.Store(true)
	if old := c.old(now); len(old) != 0 || len(c.idle[address]) != 2 {
		t.Errorf("%d connections are old and %d are kept, want none and those 2 that live", len(old), len(c.idle[address]))
	}
	old := c.old(now.Add(idleTimeout + time.Second))
	if len(old) != 2 || len(c.idle[address]) != 0 {
		t.Fatalf("%d connections are old and %d are kept, want 2 and none", len(old), len(c.idle[address]))
	}
	for _, k := range old {
		k.abandon(anyNumber)
		k.abandon(anyNumber) // of which nothing is left
	}
	c.Warm(t.Context(), "127.0.0.1:1", 2) // where nobody is
	if len(c.idle["127.0.0.1:1"]) != 0 {
		t.Error("connections to nobody are kept")
	}
}

func TestABodyThatNobodyWantsIsNotWaitedForLong(t *testing.T) {
	for _, c := range []struct {
		state  state
		after  time.Duration
		closed bool
	}{{rest, drainTimeout - ms, false}, {rest, drainTimeout + ms, true}, {body, time.Hour, false}, {idle, time.Hour, false}} {
		r, err := newReader()
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		var pair [2]int
		if pair, err = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0); err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(pair[1])
		now := time.Now()
		k := &conn{reader: r, fd: pair[0], state: c.state, left: now, over: make(chan error, 1)}
		if err := r.add(k); err != nil {
			t.Fatal(err)
		}
		if r.drained(now.Add(c.after)); k.dead.Load() != c.closed {
			t.Errorf("in state %d after %v it is closed: %v", c.state, c.after, k.dead.Load())
		}
		k.close()
		k.close() // once more
		if len(r.all()) != 0 || !k.dead.Load() {
			t.Error("a connection that is closed is waited for")
		}
	}
}

func TestARequestThatIsAbandonedTooLateHurtsNoOther(t *testing.T) {
	k := &conn{fd: -1, state: idle, number: 4}
	k.abandon(3)
	if turn, ok := k.begin(&heard{}); ok || turn.number != 5 || cap(turn.over) != 1 {
		t.Errorf("a closed connection begins request %d: %v", k.number, ok)
	}
	if n, err := k.write([]byte("x")); n != 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a closed connection takes %d bytes, %v", n, err)
	}
}

// TestAConnectionThatWasClosedJustNowIsReplaced: it was taken before that was known, and nothing has been sent over it.
func TestAConnectionThatWasClosedJustNowIsReplaced(t *testing.T) {
	address := serve(t, func(_ int, c net.Conn) {
		for taken(c) {
			say(c, ok+"2\r\nok\r\n0\r\n\r\n")
		}
	})
	c := open(t)
	c.Warm(t.Context(), address, 2)
	for _, k := range c.idle[address] {
		k.mu.Lock()
		k.close()
		k.dead.Store(false) // as who took it before saw it
		k.mu.Unlock()
	}
	h := &heard{}
	if err := c.Do(t.Context(), address, []byte(request), h); !errors.Is(err, io.EOF) || h.text != "ok" {
		t.Errorf("%v, %q", err, h.text)
	}
}

func TestAConnectionCannotBeMadeForEver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := open(t).Do(ctx, "127.0.0.1:1", []byte(request), &heard{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was given up", err)
	}
}

const ms = time.Millisecond
