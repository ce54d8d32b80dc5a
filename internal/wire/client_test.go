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
				say(c, ok+"3\r\nall\r\n0\r\n\r\n")
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
	time.Sleep(10 * time.Millisecond) // until the server has closed the first connection
	if err := c.Do(t.Context(), address, []byte(long), h); err != io.EOF || h.head.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%v, %+v", err, h.head)
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
