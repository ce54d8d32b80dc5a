package oipserver

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A handing listener hands over connections that it is given.
type handing struct {
	conns chan net.Conn
	over  chan struct{}
}

func (h handing) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.over:
		return nil, net.ErrClosed
	}
}

func (h handing) Close() error {
	select {
	case <-h.over:
	default:
		close(h.over)
	}
	return nil
}

func (handing) Addr() net.Addr { return &net.TCPAddr{} }

// Package http waits 5 s for the first request of a connection, and gRPC for as long as headers may take.
func TestAConnectionOverWhichNothingCameDoesNotHoldUpTheEnd(t *testing.T) {
	for name, serve := range map[string]func(*Server, net.Listener) error{"HTTP": (*Server).ServeHTTP, "gRPC": (*Server).ServeGRPC} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, l := New(Config{}), handing{make(chan net.Conn), make(chan struct{})}
				ended := make(chan error, 1)
				go func() { ended <- serve(s, l) }()
				client, there := net.Pipe()
				l.conns <- there
				closed := make(chan error, 1)
				go func() { _, err := io.Copy(io.Discard, client); closed <- err }()
				synctest.Wait()
				begin := time.Now()
				if err := s.Drain(t.Context()); err != nil {
					t.Error(err)
				}
				if took := time.Since(begin); took > 100*time.Millisecond {
					t.Errorf("it took %v", took)
				}
				if err := <-closed; err != nil {
					t.Errorf("the client sees %v", err)
				}
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestWhatIsUsedOrClosedIsNotUnused(t *testing.T) {
	var u unused
	used, never, late := &fakeConn{}, &fakeConn{}, &fakeConn{}
	u.add(used)
	u.add(never)
	u.remove(used)
	u.close()
	u.add(late) // accepted just before the listener was closed
	if used.closed != 0 || never.closed != 1 || late.closed != 1 {
		t.Errorf("closed are: used %d times, never used %d, made late %d; want 0, 1, 1", used.closed, never.closed, late.closed)
	}
	b := &bounded{Listener: &listed{conns: []net.Conn{&spoken{}, &spoken{}}}, room: make(chan struct{}, 2)}
	for _, reads := range []bool{true, false} {
		c, err := b.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if reads {
			if _, err := c.Read(make([]byte, 2)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(b.unused.conns) != 1 {
		t.Errorf("%d connections are unused, want the one over which nothing came", len(b.unused.conns))
	}
}

// spoken is a connection over which something came.
type spoken struct{ fakeConn }

func (*spoken) Read(p []byte) (int, error) { return copy(p, "PRI"), nil }
