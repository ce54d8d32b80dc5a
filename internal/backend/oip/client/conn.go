package client

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// A conn counts the bytes of a connection to a server.
type conn struct {
	net.Conn
	server *server
}

// dial connects to the server.
func (s *server) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	c, err := backend.Dialer().DialContext(ctx, s.network, s.address)
	if err != nil {
		return nil, err
	}
	s.connections.Add(1)
	return &conn{c, s}, nil
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.server.received.Add(int64(n))
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.server.sent.Add(int64(n))
	return n, err
}

// ReadFrom writes a body from its own memory: net/http passes what does not fit into its buffer as an io.LimitedReader of it.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	if limited, ok := r.(*io.LimitedReader); ok {
		if b, ok := limited.R.(*body); ok {
			n, err := b.WriteTo(c.Conn)
			limited.N -= n
			c.server.sent.Add(n)
			return n, err
		}
	}
	return io.Copy(struct{ io.Writer }{c}, r)
}

// A body is that of a request. After Close nothing reads its memory: net/http may still send a request when the answer, or
// an error, has come.
type body struct {
	mu     sync.Mutex
	pieces net.Buffers // that were not read yet
	closed bool
}

var errClosedBody = errors.New("the request was given up")

func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, errClosedBody
	}
	return b.pieces.Read(p)
}

// WriteTo implements io.WriterTo.
func (b *body) WriteTo(w io.Writer) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, errClosedBody
	}
	return b.pieces.WriteTo(w)
}

// Close waits for a read or write that is under way. net/http ends the connection of a request that failed, or whose answer
// was read, so that it ends soon.
func (b *body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// sent reports whether all of the body was read. It is closed.
func (b *body) sent() bool { return len(b.pieces) == 0 }
