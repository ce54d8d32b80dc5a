package workload

import (
	"context"
	"errors"
	"sync"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// Prompting is a Workload whose samples are prompts to an engine that takes text. Its methods may be
// called from several goroutines at once.
type Prompting interface {
	// Texts are what the prompts have in common.
	Texts() backend.Texts
	// Prompt is that of a sample.
	Prompt(index int) *backend.Prompt
	// First is what is kept of the first piece of an answer.
	First(index int, piece []byte, ids []int32) []byte
	// Response is what is kept of an answer, and how many tokens it has.
	Response(index int, a backend.Answer) (response []byte, tokens int)
}

// A Generating is a Concurrent over an engine that takes text: the predictor of all workloads
// whose samples are prompts, where the engine does the decoding.
type Generating struct {
	backend.Generator
	of Prompting
}

// NewGenerating returns a predictor of a workload.
func NewGenerating(sessions Sessions, of Prompting) (*Generating, error) {
	g, ok := sessions[Only].(backend.Generator)
	if !ok {
		return nil, errors.New("prompts need an engine that takes text")
	}
	return &Generating{g, of}, nil
}

// Use implements Predictor: prompts are in memory as long as the workload is.
func (*Generating) Use(*Store) error { return nil }

// Close implements Predictor. The session is its owner's to close.
func (*Generating) Close() error { return nil }

// Answer implements Concurrent.
func (g *Generating) Answer(ctx context.Context, item Item, reply Reply) error {
	return g.Generate(ctx, g.of.Prompt(item.Index), &passing{g.of, item, reply})
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
	of    Prompting
	item  Item
	reply Reply
}

// First implements backend.Sink.
func (p *passing) First(piece []byte, ids []int32) {
	p.reply.FirstToken(p.item.Ticket, p.of.First(p.item.Index, piece, ids))
}

// Done implements backend.Sink.
func (p *passing) Done(a backend.Answer) {
	response, tokens := p.of.Response(p.item.Index, a)
	p.reply.Done(p.item.Ticket, response, tokens)
}

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
