package client

import (
	"context"
	"net"
	"sync/atomic"
)

// traffic counts what goes through the connections to a server.
type traffic struct{ connections, sent, received atomic.Int64 }

// Traffic says what went through the connections to all servers, on the wire.
type Traffic struct {
	Connections, Sent, Received int64
	ByServer                    []int64 // requests that were sent to each
}

// Traffic returns what was counted so far.
func (c *Client) Traffic() Traffic {
	var t Traffic
	for _, n := range c.nodes {
		t.Connections += n.traffic.connections.Load()
		t.Sent += n.traffic.sent.Load()
		t.Received += n.traffic.received.Load()
		t.ByServer = append(t.ByServer, n.sent.Load())
	}
	return t
}

// A conn counts its bytes.
type conn struct {
	net.Conn
	traffic *traffic
}

// dial connects to a server.
func (n *node) dial(ctx context.Context) (*conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, n.network, n.address)
	if err != nil {
		return nil, err
	}
	n.traffic.connections.Add(1)
	return &conn{c, &n.traffic}, nil
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.traffic.received.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.traffic.sent.Add(int64(n))
	return n, err
}

// writeAll writes pieces of memory from where they lie, at once.
func (c *conn) writeAll(pieces net.Buffers) error {
	n, err := pieces.WriteTo(c.Conn)
	c.traffic.sent.Add(n)
	return err
}
