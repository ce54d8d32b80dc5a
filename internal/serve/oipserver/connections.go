package oipserver

import (
	"container/list"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
)

// connections are those over HTTP. If there are too many, those that have done nothing for the
// longest time are closed.
type connections struct {
	most   int
	unused unused

	mu   sync.Mutex
	open map[net.Conn]*list.Element // nil: a request is under way
	idle *list.List                 // the one that has been so for the longest time in front
}

func newConnections(most int) *connections {
	return &connections{most: most, open: map[net.Conn]*list.Element{}, idle: list.New()}
}

// changed is told what becomes of a connection.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if state == http.StateNew {
		c.unused.add(conn)
	} else {
		c.unused.remove(conn)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.open[conn]; e != nil {
		c.idle.Remove(e)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.open[conn] = c.idle.PushBack(conn)
	case http.StateActive:
		c.open[conn] = nil
	default:
		delete(c.open, conn)
	}
	if first := c.idle.Front(); len(c.open) > c.most && first != nil {
		idle := c.idle.Remove(first).(net.Conn)
		delete(c.open, idle)
		idle.Close()
	}
}

func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

// silent is a logger that says nothing: libraries do not print.
func silent() *log.Logger { return log.New(io.Discard, "", 0) }

// A bounded listener closes connections for which there is no room.
type bounded struct {
	net.Listener
	room   chan struct{}
	unused unused
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case b.room <- struct{}{}:
			made := &boundedConn{Conn: c, of: b}
			b.unused.add(made)
			return made, nil
		default:
			c.Close()
		}
	}
}

// Close implements net.Listener. What was accepted, and over which nothing has come, is closed with it.
func (b *bounded) Close() error {
	err := b.Listener.Close()
	b.unused.close()
	return err
}

type boundedConn struct {
	net.Conn
	of         *bounded
	used, left sync.Once
}

// Read implements net.Conn.
func (c *boundedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.used.Do(func() { c.of.unused.remove(c) })
	}
	return n, err
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	c.left.Do(func() {
		c.of.unused.remove(c)
		<-c.of.room
	})
	return c.Conn.Close()
}
