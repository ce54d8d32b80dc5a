package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/backend/oip/oiptest"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// eager serves connections of which it reads the head of a request only, answers, and leaves open.
func eager(t *testing.T, config *tls.Config, answer string) (url string) {
	t.Helper()
	l, scheme := listen(t, "tcp"), "http"
	if config != nil {
		l, scheme = tls.NewListener(l, config), "https"
	}
	go oiptest.Accept(l, func(c net.Conn) {
		t.Cleanup(func() { c.Close() })
		if _, err := http.ReadRequest(bufio.NewReaderSize(c, 16)); err == nil {
			_, _ = io.WriteString(c, answer)
		}
	})
	return scheme + "://" + l.Addr().String()
}

func TestAnAnswerBeforeTheWholeRequestIsHeard(t *testing.T) {
	const width = 8 << 20 // floats: more than all buffers of the system
	ca := newAuthority(t)
	config, err := ca.issue(t, time.Hour).Client()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, answer, want string
		config             *tls.Config
	}{
		{"a refusal", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 6\r\n\r\nnot me", "not me", nil},
		{"a refusal over TLS", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 6\r\n\r\nnot me", "not me", config},
		{"what cannot be an answer", inferred(`{"outputs":[]}`, "", 0), errEarly.Error(), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // each waits
			o := Options{Endpoints: []string{eager(t, c.config, c.answer)}, Timeout: time.Minute, TLS: credentials.TLS{CA: ca.file}}
			begin := time.Now()
			_, err := double(t.Context(), open(t, o), tensor.New(tensor.Float32, 1, width))
			if err == nil || !strings.Contains(err.Error(), c.want) || time.Since(begin) > 30*time.Second {
				t.Errorf("%v after %v, want %q", err, time.Since(begin), c.want)
			}
		})
	}
}

// TLS 1.3 has tickets for later connections come when they like: they are no answer.
func TestTicketsOfTLSAreNoAnswer(t *testing.T) {
	t.Parallel() // it waits
	ca := newAuthority(t)
	config, err := ca.issue(t, time.Hour).Client()
	if err != nil {
		t.Fatal(err)
	}
	config.ClientAuth = tls.RequestClientCert // so that tickets come behind the handshake, as those of OpenSSL do
	l := tls.NewListener(listen(t, "tcp"), config)
	go oiptest.Accept(l, func(c net.Conn) {
		defer c.Close()
		if c.(*tls.Conn).Handshake() != nil {
			return
		}
		time.Sleep(2 * patience) // a busy machine
		if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(c, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 11\r\n\r\nI heard all")
		}
	})
	o := Options{Endpoints: []string{"https://" + l.Addr().String()}, Timeout: time.Minute, TLS: credentials.TLS{CA: ca.file}}
	c := open(t, o)
	c.nodes[0].transport.(*httpNode).rounds.tls.ClientSessionCache = tls.NewLRUClientSessionCache(1) // without which servers in Go send none
	_, err = double(t.Context(), c, tensor.New(tensor.Float32, 1, 8<<20))
	if err == nil || !strings.Contains(err.Error(), "I heard all") {
		t.Errorf("the error is %v, want the answer to all of the request", err)
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	endpoints, _ := serve(t, oipserver.Config{Models: []oipserver.Model{&oiptest.Doubler{Name: "m", Width: 4}}})
	for _, scheme := range []string{"http", "unix"} {
		c := open(t, Options{Endpoints: []string{endpoints[scheme]}})
		for range 5 {
			checkDouble(t, c, 1)
			if _, err := double(t.Context(), c, tensor.New(tensor.Float32, 1, 3)); protocol.CodeOf(err) != protocol.InvalidArgument {
				t.Fatal(err) // of which the connection is none the worse
			}
		}
		if n := c.Traffic().Connections; n > 2 { // a server may close one whose request it refused
			t.Errorf("%s: %d connections for requests one after the other", scheme, n)
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { checkDouble(t, c, 1) })
		}
		all.Wait()
	}
}

func TestAConnectionThatTheServerHasClosedIsNotUsedAgain(t *testing.T) {
	l := listen(t, "tcp")
	closed := make(chan struct{})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			q, err := http.ReadRequest(bufio.NewReader(c))
			if err == nil {
				_, err = io.Copy(io.Discard, q.Body)
			}
			if err == nil {
				json := `{"outputs":[{"name":"y","datatype":"FP32","shape":[1,4],"data":[1,3,5,7]}]}`
				fmt.Fprintf(c, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(json), json) // and does not say that it closes
			}
			c.Close()
			closed <- struct{}{}
		}
	}()
	c := open(t, Options{Endpoints: []string{"http://" + l.Addr().String()}})
	for range 5 {
		checkDouble(t, c, 1)
		<-closed
		waitUntil(t, func() bool { // the end has come
			h := c.nodes[0].transport.(*httpNode)
			h.rounds.mu.Lock()
			defer h.rounds.mu.Unlock()
			return !h.rounds.kept[0].raw.silent()
		})
	}
	if n := c.Traffic().Connections; n != 5 {
		t.Errorf("%d connections, want 5", n)
	}
}

// waitUntil waits for something that happens soon.
func waitUntil(t *testing.T, happened func() bool) {
	t.Helper()
	for begin := time.Now(); !happened(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatal("it does not happen")
		}
	}
}

func TestOnlySoManyConnectionsAreKept(t *testing.T) {
	r := rounds{most: 2}
	line := func() (*line, net.Conn) {
		a, b := net.Pipe()
		raw := &conn{a, &traffic{}}
		return &line{Conn: raw, raw: raw}, b
	}
	isClosed := func(peer net.Conn) bool {
		_ = peer.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		_, err := peer.Read(make([]byte, 1))
		return err == io.EOF
	}
	old, oldPeer := line()
	r.keep(old)
	old.since = time.Now().Add(-idle)
	var peers []net.Conn
	for range 3 {
		l, peer := line()
		r.keep(l)
		peers = append(peers, peer)
	}
	for i, want := range []bool{false, false, true} {
		if got := isClosed(peers[i]); got != want {
			t.Errorf("connection %d is closed: %v, want %v", i, got, want)
		}
	}
	if !isClosed(oldPeer) {
		t.Error("one that nobody used for long is kept")
	}
	r.close()
	if !isClosed(peers[0]) || !isClosed(peers[1]) {
		t.Error("connections outlast their client")
	}
	late, peer := line()
	if r.keep(late); !isClosed(peer) {
		t.Error("a connection is kept after the end")
	}
}

func TestAConnectionWhoseRequestWasCutIsNotUsedAgain(t *testing.T) {
	for _, early := range []bool{false, true} {
		l := listen(t, "tcp")
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		peer, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer peer.Close()
		raw := &conn{c, &traffic{}}
		r := &rounds{most: 1}
		x := &exchange{Response: &http.Response{}, rounds: r, stop: func() bool { return true }, line: &line{Conn: raw, raw: raw, room: 1}}
		x.line.in = bufio.NewReader(x.line)
		if early {
			fmt.Fprint(peer, "H")
			waitUntil(t, func() bool { return !raw.silent() })
		}
		w := watch{line: x.line}
		w.begin()
		w.look() // while the last byte is sent
		w.end(nil)
		if x.end(true); len(r.kept) == 1 == early {
			t.Errorf("answered early: %v; %d connections are kept", early, len(r.kept))
		}
	}
}

func TestALineBreakInATokenIsRefused(t *testing.T) {
	_, err := New(t.Context(), Options{Endpoints: []string{"http://localhost:1"}, Token: "a\r\nX-Evil: 1"})
	if err == nil || !strings.Contains(err.Error(), "Authorization") || strings.Contains(err.Error(), "Evil") {
		t.Error(err)
	}
}

func TestAnExchangeEndsWithItsContext(t *testing.T) {
	url := canned(t, "") // it never answers
	c := open(t, Options{Endpoints: []string{url}})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	begin := time.Now()
	if _, err := double(ctx, c, tensor.New(tensor.Float32, 1, 4)); err == nil || time.Since(begin) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	if n := len(c.nodes[0].transport.(*httpNode).rounds.kept); n != 0 {
		t.Errorf("%d connections are kept that wait for an answer", n)
	}
}

// An answer that is none leaves nothing behind: its connection is closed at once.
func TestAConnectionWhoseAnswerIsNoneIsClosed(t *testing.T) {
	l := listen(t, "tcp")
	left := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			left <- err
			return
		}
		defer c.Close()
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, "220 mail.example ESMTP\r\n\r\n")
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, err = c.Read(make([]byte, 1))
		left <- err
	}()
	c := open(t, Options{Endpoints: []string{"http://" + l.Addr().String()}})
	if _, err := c.Servers(t.Context()); err == nil || !strings.Contains(err.Error(), "malformed HTTP") {
		t.Errorf("%v", err)
	}
	if err := <-left; errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection is still open")
	}
}
