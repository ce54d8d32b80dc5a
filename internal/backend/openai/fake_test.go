package openai

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai/endpoint"
	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver/tokentest"
)

// An asking is how an engine is opened, and for which prompts.
type asking struct {
	Config
	texts backend.Texts
}

// serve has a handler answer on a network of its own, for as long as the test lasts.
func serve(t *testing.T, h http.Handler) (*tokentest.Network, asking) {
	t.Helper()
	n := tokentest.Serve(t, h)
	return n, asking{Config: Config{
		Servers: endpoint.Options{URLs: []string{"http://server"}, Dial: n.Dial}, Model: "m", Stream: true, Timeout: time.Minute, Quiet: 10 * time.Second,
	}}
}

// open opens an engine for as long as the test lasts.
func open(t *testing.T, c asking) (backend.Generator, []string, error) {
	t.Helper()
	e, err := New(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	s, err := e.Open(t.Context(), backend.Options{Texts: c.texts, Note: func(text string) { notes = append(notes, text) }})
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

func mustOpen(t *testing.T, o tokenserver.Options, change func(*asking)) (backend.Generator, *tokenserver.Server) {
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
	ids, begun   []int32
	tokens       int
	dones        int
}

func (h *heard) First(piece []byte, ids []int32) {
	h.begun = append(h.begun, ids...)
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
	g, _ := mustOpen(t, tokenserver.Options{Tokens: n}, func(c *asking) { c.Stream = false })
	h, err := ask(t, g, backend.Prompt{Text: prompt})
	if err != nil {
		t.Fatal(err)
	}
	return h.text
}
