package client

import (
	"errors"
	"io"
	"net"
	"sync"
)

// A body is that of a request: pieces of memory that are read where they lie. After stop nobody
// reads them any more, even if the request goes on somewhere.
type body struct {
	guard  *guard
	pieces net.Buffers // what has not been read
	size   int64
}

// A guard knows who reads the memory of a request.
type guard struct {
	mu      sync.Mutex
	free    sync.Cond // a direct write has ended
	stopped bool
	writing net.Conn // of a direct write
}

var errStopped = errors.New("the request has ended")

func newBody(pieces net.Buffers) *body {
	g := &guard{}
	g.free.L = &g.mu
	b := &body{guard: g, pieces: pieces}
	for _, p := range pieces {
		b.size += int64(len(p))
	}
	return b
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	b.guard.mu.Lock()
	defer b.guard.mu.Unlock()
	if b.guard.stopped {
		return 0, errStopped
	}
	for len(b.pieces) > 0 && len(b.pieces[0]) == 0 {
		b.pieces = b.pieces[1:]
	}
	if len(b.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.pieces[0])
	b.pieces[0] = b.pieces[0][n:]
	return n, nil
}

// Close implements io.Closer. It does not end a write that is under way: stop does.
func (*body) Close() error { return nil }

// writeTo writes what is left to a connection, at once.
func (b *body) writeTo(c net.Conn) (int64, error) {
	g := b.guard
	g.mu.Lock()
	if g.stopped {
		g.mu.Unlock()
		return 0, errStopped
	}
	g.writing = c
	pieces := b.pieces
	b.pieces = nil
	g.mu.Unlock()
	n, err := pieces.WriteTo(c)
	g.mu.Lock()
	g.writing = nil
	g.mu.Unlock()
	g.free.Broadcast()
	return n, err
}

// stop sees to it that nobody reads the memory from now on. A write that is still under
// way, to a server that does not read for instance, ends with its connection.
func (g *guard) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	if g.writing != nil {
		g.writing.Close()
	}
	for g.writing != nil {
		g.free.Wait()
	}
}
