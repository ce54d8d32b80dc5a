package server

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
	most int

	mu   sync.Mutex
	open map[net.Conn]*list.Element // nil: a request is under way
	idle *list.List                 // the one that has been so for the longest time in front
}

func newConnections(most int) *connections {
	return &connections{most: most, open: map[net.Conn]*list.Element{}, idle: list.New()}
}

// changed is told what becomes of a connection.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
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
	room chan struct{}
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
			return &boundedConn{Conn: c, leave: func() { <-b.room }}, nil
		default:
			c.Close()
		}
	}
}

type boundedConn struct {
	net.Conn
	once  sync.Once
	leave func()
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	c.once.Do(c.leave)
	return c.Conn.Close()
}
