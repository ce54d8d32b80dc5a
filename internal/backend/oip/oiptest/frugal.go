package oiptest

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
)

// Accept has each connection served by a goroutine of its own, until the listener is closed.
func Accept(l net.Listener, serve func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go serve(c)
	}
}

// Frugal answers each inference with the same bytes, a whole answer of HTTP. It allocates nothing for that and
// takes little time, so that what is measured is the client. Other requests are passed on to rest.
func Frugal(l net.Listener, answer []byte, rest http.Handler) {
	Accept(l, func(c net.Conn) {
		defer c.Close()
		for r := bufio.NewReaderSize(c, 64<<10); frugal(c, r, answer, rest) == nil; {
		}
	})
}

// frugal answers a request.
func frugal(c net.Conn, r *bufio.Reader, answer []byte, rest http.Handler) error {
	if _, err := r.Peek(1); err != nil {
		return err
	}
	begun, err := r.Peek(r.Buffered())
	if err != nil {
		return err
	}
	line, _, _ := bytes.Cut(begun, []byte("\r\n"))
	if !bytes.Contains(line, []byte("/infer ")) {
		return passedOn(c, r, rest)
	}
	n, err := length(r)
	if err == nil {
		_, err = r.Discard(n)
	}
	if err == nil {
		_, err = c.Write(answer)
	}
	return err
}

// lengthIs begins the line of a head that says how long a body is.
var lengthIs = []byte("Content-Length: ")

// length reads the head of a request, and returns how many bytes follow it.
func length(r *bufio.Reader) (n int, err error) {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil || len(line) == 2 {
			return n, err
		}
		if rest, ok := bytes.CutPrefix(line, lengthIs); ok {
			n, _ = strconv.Atoi(string(rest[:len(rest)-2])) // which needs no memory of its own
		}
	}
}

// passedOn has a handler answer a request.
func passedOn(c net.Conn, r *bufio.Reader, rest http.Handler) error {
	q, err := http.ReadRequest(r)
	if err != nil {
		return err
	}
	w := httptest.NewRecorder()
	rest.ServeHTTP(w, q)
	a := w.Result()
	a.ContentLength = int64(w.Body.Len())
	return a.Write(c)
}
