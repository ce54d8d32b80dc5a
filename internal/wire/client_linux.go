//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	mostReaders  = 8
	coresPerOne  = 2                      // a thread that reads for so many cores
	idleTimeout  = 4 * time.Second        // of a connection that nobody uses; uvicorn closes it after 5 s
	drainTimeout = 200 * time.Millisecond // for the end of a body of which nothing more is wanted
	lookEvery    = 100 * time.Millisecond
)

// A Client sends requests. Its methods may be called from several goroutines at once.
type Client struct {
	dialer  net.Dialer
	readers []*reader
	next    atomic.Uint32

	mu   sync.Mutex
	idle map[string][]*conn // by address, the one that was used last at the end

	stop    chan struct{}
	running sync.WaitGroup
	once    sync.Once
}

// Open returns a client.
func Open(connectTimeout time.Duration) (*Client, error) {
	c := &Client{dialer: net.Dialer{Timeout: connectTimeout, KeepAlive: 15 * time.Second}, idle: map[string][]*conn{}, stop: make(chan struct{})}
	for range min(mostReaders, max(1, runtime.NumCPU()/coresPerOne)) {
		r, err := newReader()
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.readers = append(c.readers, r)
		c.running.Go(r.run)
	}
	c.running.Go(c.look)
	return c, nil
}

// Close closes all connections. No request may be under way.
func (c *Client) Close() error {
	c.once.Do(func() {
		close(c.stop)
		for _, r := range c.readers {
			r.wake()
		}
		c.running.Wait()
		for _, r := range c.readers {
			r.close()
		}
	})
	return nil
}

// Warm makes connections, as far as it can, for requests that follow.
func (c *Client) Warm(ctx context.Context, address string, n int) {
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			if k, err := c.dial(ctx, address); err == nil && k.listen() == nil {
				c.keep(k)
			}
		})
	}
	group.Wait()
}

// Do sends a request and returns when its answer is over: nil if the receiver wanted no more, io.EOF
// if the answer ended in order before that. If the context ends, the connection is closed, and
// the receiver is not called any more.
func (c *Client) Do(ctx context.Context, address string, request []byte, to Receiver) error {
	t, err := c.begin(ctx, address, to)
	if err != nil {
		return err
	}
	t.send(ctx, request, t.over)
	select {
	case err := <-t.over:
		return err
	case <-ctx.Done():
		t.abandon(t.number)
		return ctx.Err()
	}
}

// begin begins a request on a connection that is kept, or on a new one. The server may close one that is kept up to then:
// nothing was sent, so that another one will do.
func (c *Client) begin(ctx context.Context, address string, to Receiver) (turn, error) {
	for k := c.take(address); k != nil; k = c.take(address) {
		if t, ok := k.begin(to); ok {
			return t, nil
		}
	}
	k, err := c.dial(ctx, address)
	if err != nil {
		return turn{}, err
	}
	t, _ := k.begin(to) // before anybody listens: a server that is full may answer at once
	return t, k.listen()
}

// dial makes a connection, to which nobody listens yet. Its file is taken from the runtime, whose own thread would be woken by
// everything that comes, too.
func (c *Client) dial(ctx context.Context, address string) (*conn, error) {
	made, err := c.dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer made.Close() // fd is another name of its file
	raw, err := made.(*net.TCPConn).SyscallConn()
	if err != nil {
		return nil, err
	}
	k := &conn{client: c, address: address, writable: make(chan struct{}, 1)}
	var failed error
	err = raw.Control(func(fd uintptr) {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		if k.fd, failed = syscall.Dup(int(fd)); failed == nil {
			syscall.CloseOnExec(k.fd)
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	k.reader = c.readers[int(c.next.Add(1))%len(c.readers)]
	return k, nil
}

// take takes a connection that is kept; nil: there is none.
func (c *Client) take(address string) *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.idle[address]) > 0 {
		list := c.idle[address]
		k := list[len(list)-1]
		c.idle[address] = list[:len(list)-1]
		if !k.dead.Load() {
			return k
		}
	}
	return nil
}

// keep keeps a connection for another request.
func (c *Client) keep(k *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.since = time.Now()
	c.idle[k.address] = append(c.idle[k.address], k)
}

// look closes connections that nobody uses, and those whose answers do not end.
func (c *Client) look() {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			for _, k := range c.old(now) {
				k.abandon(anyNumber)
			}
			for _, r := range c.readers {
				r.drained(now)
			}
		case <-c.stop:
			return
		}
	}
}

// old takes those that are kept for too long, or are closed.
func (c *Client) old(now time.Time) (old []*conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for address, list := range c.idle {
		kept := list[:0]
		for _, k := range list {
			if now.Sub(k.since) > idleTimeout {
				old = append(old, k)
			} else if !k.dead.Load() {
				kept = append(kept, k)
			}
		}
		clear(list[len(kept):])
		c.idle[address] = kept
	}
	return old
}

var errClosed = io.ErrUnexpectedEOF
