package server

import (
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"

	"github.com/mlperf-go/mlperf/internal/oip"
)

// A taken answer is one whose client takes it in time: who asks and does not read would keep the memory of a thousand answers
// for each connection. gRPC has no bound for that, so that the connection is closed, as over HTTP.
type taken struct {
	limit time.Duration
	conn  net.Conn

	mu    sync.Mutex
	used  int // buffers that were not sent yet
	timer *time.Timer
}

// mustBeTaken bounds how long an answer may be on its way, from when gRPC has it.
func (s *Server) mustBeTaken(ctx context.Context, out *oip.Sending) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return
	}
	if c, ok := p.AuthInfo.(connection); ok {
		k := &taken{limit: time.Until(allowance(s.config.Limits.Answer, out.Size())), conn: c.conn}
		out.Buffer = k.buffer
	}
}

// buffer makes a buffer over the elements of a tensor. Package mem does not tell when small ones are freed; those fit into
// what gRPC has ready for each answer.
func (k *taken) buffer(data []byte) mem.Buffer {
	if mem.IsBelowBufferPoolingThreshold(len(data)) {
		return mem.SliceBuffer(data)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used++
	if k.timer == nil {
		k.timer = time.AfterFunc(k.limit, func() { k.conn.Close() })
	}
	return mem.NewBuffer(&data, k)
}

// Get implements mem.BufferPool, which nobody asks for memory.
func (*taken) Get(n int) *[]byte { b := make([]byte, n); return &b }

// Put implements mem.BufferPool: a buffer was sent, or nobody wants it any more.
func (k *taken) Put(*[]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.used--; k.used == 0 {
		k.timer.Stop()
	}
}

// A handshake tells requests their connection, which gRPC does not.
type handshake struct {
	credentials.TransportCredentials
}

// connection is what is known of a client, and its connection.
type connection struct {
	credentials.AuthInfo
	conn net.Conn
}

// ServerHandshake implements credentials.TransportCredentials.
func (h handshake) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, about, err := h.TransportCredentials.ServerHandshake(raw)
	return c, connection{about, raw}, err
}

// Clone implements credentials.TransportCredentials.
func (h handshake) Clone() credentials.TransportCredentials {
	return handshake{h.TransportCredentials.Clone()}
}
