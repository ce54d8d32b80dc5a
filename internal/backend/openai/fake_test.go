package openai

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/endpoint"
	"github.com/mlperf-go/mlperf/internal/tokenserver"
)

// A pipes is a network of its own, on which time may be fake.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{accept: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (*pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.accept <- there:
		return here, nil
	case <-p.closed:
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve has a handler answer on a network of its own, for as long as the test lasts.
func serve(t *testing.T, h http.Handler) (*pipes, Config) {
	t.Helper()
	p := newPipes()
	server := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(p)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return p, Config{
		Servers: endpoint.Options{URLs: []string{"http://server"}, Dial: p.dial}, Model: "m", Stream: true, Timeout: time.Minute, Quiet: 10 * time.Second,
	}
}

// open opens an engine for as long as the test lasts.
func open(t *testing.T, c Config) (backend.Generator, []string, error) {
	t.Helper()
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	s, err := e.Open(t.Context(), backend.Options{Note: func(text string) { notes = append(notes, text) }})
	if err != nil {
		return nil, nil, errors.Join(err, e.Close())
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), e.Close()); err != nil {
			t.Error(err)
		}
	})
	return s.(backend.Generator), notes, nil
}

func mustOpen(t *testing.T, o tokenserver.Options, change func(*Config)) (backend.Generator, *tokenserver.Server) {
	t.Helper()
	server := tokenserver.New(o)
	_, c := serve(t, server)
	if change != nil {
		change(&c)
	}
	g, _, err := open(t, c)
	if err != nil {
		t.Fatal(err)
	}
	return g, server
}

// A heard is what a sink was told.
type heard struct {
	began        time.Time
	first, whole time.Duration
	firsts       int
	piece, text  string
	ids          []int32
	tokens       int
	dones        int
}

func (h *heard) First(piece []byte) {
	h.first, h.piece, h.firsts = time.Since(h.began), string(piece), h.firsts+1
}

func (h *heard) Done(a backend.Answer) {
	h.whole, h.text, h.ids, h.tokens, h.dones = time.Since(h.began), string(a.Text), append(h.ids, a.IDs...), a.Tokens, h.dones+1
}

// ask has a prompt answered.
func ask(t *testing.T, g backend.Generator, p backend.Prompt) (*heard, error) {
	t.Helper()
	h := &heard{began: time.Now()}
	err := g.Generate(t.Context(), &p, h)
	return h, err
}

func contains(err error, parts ...string) bool {
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			return false
		}
	}
	return true
}
