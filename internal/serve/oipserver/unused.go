package oipserver

import (
	"net"
	"sync"
)

// unused are connections over which nothing has come. When a server is drained they are closed: package http and gRPC would
// wait 5 s for their requests, and there will be no answer.
type unused struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
	over  bool // the server is drained
}

// add takes a connection that was made just now.
func (u *unused) add(c net.Conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.over {
		c.Close()
		return
	}
	if u.conns == nil {
		u.conns = map[net.Conn]struct{}{}
	}
	u.conns[c] = struct{}{}
}

// remove forgets a connection: something has come over it, or it is closed.
func (u *unused) remove(c net.Conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.conns, c)
}

// close closes all that there are, and those that are still made.
func (u *unused) close() {
	u.mu.Lock()
	conns := u.conns
	u.conns, u.over = nil, true
	u.mu.Unlock()
	for c := range conns {
		c.Close() // which removes it
	}
}
