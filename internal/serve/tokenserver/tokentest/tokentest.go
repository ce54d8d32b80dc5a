// Package tokentest helps tests of clients of the token server: its network is in memory, so that time on it may be
// that of testing/synctest.
//
//	network := tokentest.Serve(t, tokenserver.New(tokenserver.Options{}))
//	config := openai.Config{URLs: []string{"http://server"}, Dial: network.Dial}
//
// It knows no hosts: all addresses lead to the one server.
package tokentest

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tokenizer/vocab"
)

// A Network leads to one server.
type Network struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Serve has a handler answer on a network of its own until the test ends. Then it waits for all answers: the token server
// sleeps through a short wait even if its client has gone.
func Serve(t testing.TB, h http.Handler) *Network {
	t.Helper()
	n := &Network{accept: make(chan net.Conn), closed: make(chan struct{})}
	var answers sync.WaitGroup // by connections
	server := &http.Server{Handler: h, ConnState: func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			answers.Add(1)
		case http.StateClosed, http.StateHijacked:
			answers.Done()
		}
	}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(n)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
		answers.Wait()
	})
	return n
}

// Accept implements net.Listener.
func (n *Network) Accept() (net.Conn, error) {
	select {
	case c := <-n.accept:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. The network leads nowhere then.
func (n *Network) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

// Addr implements net.Listener.
func (*Network) Addr() net.Addr { return &net.TCPAddr{} }

// Dial connects to the server.
func (n *Network) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case n.accept <- there:
		return here, nil
	case <-n.closed:
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Tokenizer is the content of a tokenizer.json whose tokens are those of the token server.
func Tokenizer(t testing.TB) []byte {
	t.Helper()
	text, err := json.Marshal(vocab.Tokenizer())
	if err != nil {
		t.Fatal(err)
	}
	return text
}
