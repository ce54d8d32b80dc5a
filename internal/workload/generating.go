package workload

import (
	"context"
	"errors"
	"sync"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// A Generating is a Concurrent over an engine that takes text: the predictor of all workloads
// whose samples are prompts, where the engine does the decoding.
type Generating struct {
	backend.Generator
	prompt   func(index int) *backend.Prompt
	response func(backend.Answer) []byte
}

// NewGenerating returns a predictor. Prompt is that of a sample, and response what the accuracy
// log keeps of its answer. Both may be called from several goroutines at once.
func NewGenerating(g backend.Generator, prompt func(index int) *backend.Prompt, response func(backend.Answer) []byte) *Generating {
	return &Generating{g, prompt, response}
}

// Use implements Predictor: prompts are in memory as long as the workload is.
func (*Generating) Use(*Store) error { return nil }

// Close implements Predictor. The session is its owner's to close.
func (*Generating) Close() error { return nil }

// Answer implements Concurrent.
func (g *Generating) Answer(ctx context.Context, item Item, reply Reply) error {
	return g.Generate(ctx, g.prompt(item.Index), &passing{g, item.Ticket, reply})
}

// Predict implements Predictor: all items at once, and replies one after the other.
func (g *Generating) Predict(ctx context.Context, items []Item, reply Reply) error {
	var group sync.WaitGroup
	inTurn := &serial{reply: reply}
	errs := make([]error, len(items))
	for i, item := range items {
		group.Go(func() { errs[i] = g.Answer(ctx, item, inTurn) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// passing passes an answer on as the reply to a sample.
type passing struct {
	of     *Generating
	ticket int
	reply  Reply
}

// First implements backend.Sink.
func (p *passing) First(piece []byte) { p.reply.FirstToken(p.ticket, piece) }

// Done implements backend.Sink.
func (p *passing) Done(a backend.Answer) { p.reply.Done(p.ticket, p.of.response(a), a.Tokens) }

// serial is a reply that several goroutines may use.
type serial struct {
	mu    sync.Mutex
	reply Reply
}

// FirstToken implements Reply.
func (s *serial) FirstToken(ticket int, token []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reply.FirstToken(ticket, token)
}

// Done implements Reply.
func (s *serial) Done(ticket int, response []byte, tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reply.Done(ticket, response, tokens)
}
