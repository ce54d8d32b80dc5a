package oipserver

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"
)

// A fakeConn is closed or not.
type fakeConn struct {
	net.Conn
	closed int
}

func (c *fakeConn) Close() error { c.closed++; return nil }

func TestOfTooManyConnectionsTheOneThatWasIdleLongestIsClosed(t *testing.T) {
	type step struct {
		conn  int
		state http.ConnState
	}
	for _, c := range []struct {
		name   string
		steps  []step
		closed []int
		open   int
	}{
		{"as many as there may be", []step{{0, http.StateNew}, {1, http.StateNew}}, nil, 2},
		{"one more", []step{{0, http.StateNew}, {1, http.StateNew}, {2, http.StateNew}}, []int{0}, 2},
		{"one more, and the first has a request", []step{{0, http.StateNew}, {1, http.StateNew}, {0, http.StateActive}, {2, http.StateNew}}, []int{1}, 2},
		{"the first was used again", []step{{0, http.StateNew}, {1, http.StateNew}, {0, http.StateActive}, {0, http.StateIdle}, {2, http.StateNew}}, []int{1}, 2},
		{"all have requests", []step{{0, http.StateNew}, {0, http.StateActive}, {1, http.StateNew}, {1, http.StateActive}, {2, http.StateNew}}, []int{2}, 2},
		{"one is closed before", []step{{0, http.StateNew}, {1, http.StateNew}, {0, http.StateClosed}, {2, http.StateNew}}, nil, 2},
		{"one is taken over", []step{{0, http.StateNew}, {0, http.StateActive}, {0, http.StateHijacked}}, nil, 0},
		{"what is closed is told of twice", []step{{0, http.StateNew}, {1, http.StateNew}, {2, http.StateNew}, {0, http.StateClosed}}, []int{0}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			conns := newConnections(2)
			list := []*fakeConn{{}, {}, {}}
			for _, s := range c.steps {
				conns.changed(list[s.conn], s.state)
			}
			var closed []int
			for i, conn := range list {
				if conn.closed > 0 {
					closed = append(closed, i)
				}
			}
			if !slices.Equal(closed, c.closed) || conns.count() != c.open {
				t.Errorf("closed are %v, %d are open, want %v and %d", closed, conns.count(), c.closed, c.open)
			}
		})
	}
}

// listed gives connections from a list, and then an error.
type listed struct {
	net.Listener
	conns []net.Conn
}

var errNoMore = errors.New("no more")

func (l *listed) Accept() (net.Conn, error) {
	if len(l.conns) == 0 {
		return nil, errNoMore
	}
	c := l.conns[0]
	l.conns = l.conns[1:]
	return c, nil
}

func TestConnectionsWithoutRoomAreClosedAtOnce(t *testing.T) {
	conns := []*fakeConn{{}, {}, {}, {}}
	l := &listed{}
	for _, c := range conns {
		l.conns = append(l.conns, c)
	}
	b := &bounded{Listener: l, room: make(chan struct{}, 1)}
	first, err := b.Accept()
	if err != nil || conns[0].closed != 0 {
		t.Fatal(err)
	}
	l.conns = l.conns[:1] // only one more for now
	if _, err := b.Accept(); !errors.Is(err, errNoMore) || conns[1].closed != 1 {
		t.Errorf("the second one is there beside the first: %v", err)
	}
	first.Close()
	first.Close() // which gives no second place
	l.conns = []net.Conn{conns[2], conns[3]}
	if _, err := b.Accept(); err != nil || conns[2].closed != 0 {
		t.Errorf("after the first was closed there is no room: %v", err)
	}
	if _, err := b.Accept(); !errors.Is(err, errNoMore) || conns[3].closed != 1 {
		t.Errorf("a connection that was closed twice made room for two: %v", err)
	}
}

func TestLimitsHaveDefaults(t *testing.T) {
	var l Limits
	l.fill()
	if want := (Limits{4096, 5 * time.Second, 2 * time.Minute, 10 * time.Second, 30 * time.Second}); l != want {
		t.Errorf("the limits are %+v, want %+v", l, want)
	}
	own := Limits{1, 2, 3, 4, 5}
	l = own
	if l.fill(); l != own {
		t.Errorf("limits of one's own become %+v", l)
	}
	for bytes, more := range map[int64]time.Duration{0: 0, 1<<20 - 1: 0, 3600 << 20: time.Hour, 7200<<20 - 1: 7199 * time.Second} {
		if d := time.Until(allowance(time.Hour, bytes)) - time.Hour - more; d > 0 || d < -time.Minute {
			t.Errorf("for %d bytes there are %v more than %v", bytes, d, more)
		}
	}
}
