package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"sync"
	"time"
)

// rounds sends requests over HTTP/1.1 on connections that it keeps. A request and its answer are one
// goroutine's, that of who asks: it writes the tensors from where they lie, and nobody uses them any more
// when it returns. Package net/http has two more goroutines for each connection, which take longer than all
// the rest where requests are small, and go on reading the memory of a request that was given up.
type rounds struct {
	dial func(ctx context.Context) (*conn, error)
	tls  *tls.Config // nil: none
	most int         // connections that are kept

	mu     sync.Mutex
	kept   []*line // the one used last at the end
	closed bool
}

const (
	// patience is how long the server is given to say why it does not take a request.
	patience = 200 * time.Millisecond
	// idle is how long a connection is kept without a request. Servers close theirs after 5 s or
	// more (uvicorn): a request must not meet the end of a connection.
	idle = 4 * time.Second
	// mostHead bounds the head of an answer in bytes.
	mostHead = 64 << 10
	// inBuffer is how much of an answer is read at once, unless it goes where it belongs.
	inBuffer = 16 << 10
)

// A line is a connection with at most one request under way.
type line struct {
	net.Conn       // TLS, if there is any
	raw      *conn // what it is of
	in       *bufio.Reader
	room     int64 // bytes that may still be read: a head does not go on for ever
	cut      bool  // a request was not sent whole, or may not have been: nothing more can be sent
	since    time.Time
}

// Read implements io.Reader for the line's buffer.
func (l *line) Read(p []byte) (int, error) {
	if l.room <= 0 {
		return 0, fmt.Errorf("the head of the answer has more than %d bytes", mostHead)
	}
	n, err := l.Conn.Read(p[:min(int64(len(p)), l.room)])
	l.room -= int64(n)
	return n, err
}

// take takes a connection that is kept, or makes one.
func (r *rounds) take(ctx context.Context) (*line, error) {
	for {
		r.mu.Lock()
		n := len(r.kept) - 1
		if n < 0 {
			r.mu.Unlock()
			return r.connect(ctx)
		}
		l := r.kept[n]
		r.kept = r.kept[:n]
		r.mu.Unlock()
		if time.Since(l.since) < idle && l.raw.silent() {
			return l, nil
		}
		l.raw.Close() // the server has
	}
}

// connect makes a connection.
func (r *rounds) connect(ctx context.Context) (*line, error) {
	raw, err := r.dial(ctx)
	if err != nil {
		return nil, err
	}
	l := &line{Conn: raw, raw: raw}
	l.in = bufio.NewReaderSize(l, inBuffer)
	if r.tls != nil {
		c := tls.Client(raw, r.tls)
		within, cancel := context.WithTimeoutCause(ctx, askTimeout, fmt.Errorf("no TLS handshake within %v", askTimeout))
		defer cancel()
		if err := c.HandshakeContext(within); err != nil {
			raw.Close()
			if within.Err() != nil {
				err = context.Cause(within)
			}
			return nil, err
		}
		l.Conn = c
	}
	return l, nil
}

// keep keeps a connection for the next request.
func (r *rounds) keep(l *line) {
	l.since = time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	old := 0
	for old < len(r.kept) && time.Since(r.kept[old].since) >= idle {
		r.kept[old].Close()
		old++
	}
	r.kept = append(r.kept[:0], r.kept[old:]...)
	if r.closed || len(r.kept) >= r.most {
		l.Close()
		return
	}
	r.kept = append(r.kept, l)
}

// close closes the connections that have no request, and those that have one when it has ended.
func (r *rounds) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, l := range r.kept {
		l.Close()
	}
	r.kept = nil
}

// An exchange is a request that was sent, and the head of its answer. Who has one ends it.
type exchange struct {
	*http.Response
	rounds *rounds
	line   *line
	stop   func() bool // the end of the context no longer ends the exchange; false: it has
}

// past is an instant that has passed.
var past = time.Unix(1, 0)

// errEarly says that an answer cannot be one.
var errEarly = errors.New("it answered before it had the whole request")

// begin sends a request, and reads the head of its answer.
func (r *rounds) begin(ctx context.Context, pieces net.Buffers) (*exchange, error) {
	l, err := r.take(ctx)
	if err != nil {
		return nil, err
	}
	x := &exchange{rounds: r, line: l, stop: context.AfterFunc(ctx, func() { _ = l.raw.SetDeadline(past) })}
	if unsent := l.send(pieces); unsent != nil {
		err = x.refusal(ctx, unsent)
	} else {
		x.Response, err = l.head()
	}
	if err != nil {
		x.end(false)
		return nil, err
	}
	return x, nil
}

// refusal reads the head of the answer to a request that was not sent whole. The server may have said why, before it
// closed the connection.
func (x *exchange) refusal(ctx context.Context, unsent error) (err error) {
	x.line.cut = true
	if ctx.Err() == nil {
		_ = x.line.raw.SetReadDeadline(time.Now().Add(patience))
	}
	if x.Response, err = x.line.head(); err != nil {
		return unsent // the cause
	}
	if x.StatusCode == http.StatusOK {
		return errEarly
	}
	return nil
}

// end ends an exchange: read says that its answer was read to the end.
func (x *exchange) end(read bool) {
	if x.stop() && read && !x.line.cut && !x.Close && x.line.in.Buffered() == 0 {
		x.rounds.keep(x.line)
		return
	}
	x.line.raw.Close() // TLS would wait for its farewell to be sent
}

// secret reports whether there is TLS.
func (l *line) secret() bool { return l.Conn != net.Conn(l.raw) }

// head reads the head of an answer, after those that only announce it.
func (l *line) head() (*http.Response, error) {
	for {
		a, err := http.ReadResponse(l.in, nil)
		if err != nil {
			return nil, err
		}
		if a.StatusCode/100 != 1 {
			l.room = math.MaxInt64
			return a, nil
		}
	}
}

// send sends a request. A server that answers before it has all of it may not read on: then the rest is not sent.
func (l *line) send(pieces net.Buffers) (err error) {
	l.room = mostHead
	w := watch{line: l}
	w.begin()
	defer func() { w.end(err) }()
	if !l.secret() {
		return l.raw.writeAll(pieces)
	}
	for _, p := range pieces {
		if _, err := l.Write(p); err != nil {
			return err
		}
	}
	return nil
}
