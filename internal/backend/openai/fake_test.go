package openai

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/endpoint"
	"github.com/mlperf-go/mlperf/internal/tokenserver"
	"github.com/mlperf-go/mlperf/internal/tokenserver/tokentest"
)

// serve has a handler answer on a network of its own, for as long as the test lasts.
func serve(t *testing.T, h http.Handler) (*tokentest.Network, Config) {
	t.Helper()
	n := tokentest.Serve(t, h)
	return n, Config{
		Servers: endpoint.Options{URLs: []string{"http://server"}, Dial: n.Dial}, Model: "m", Stream: true, Timeout: time.Minute, Quiet: 10 * time.Second,
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

// said is what the server says to a prompt of text in n tokens, as it says it whole.
func said(t *testing.T, prompt string, n int) string {
	t.Helper()
	g, _ := mustOpen(t, tokenserver.Options{Tokens: n}, func(c *Config) { c.Stream = false })
	h, err := ask(t, g, backend.Prompt{Text: prompt})
	if err != nil {
		t.Fatal(err)
	}
	return h.text
}
