package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// Prompts are samples for an engine that takes text. Several goroutines may call the methods at once.
type Prompts interface {
	// Texts says what the prompts have in common.
	Texts() backend.Texts
	// WithoutIDs prepares the prompts for an engine that takes no token ids.
	WithoutIDs() error
	// Prompt is that of a sample.
	Prompt(index int) *backend.Prompt
	// First is the logged form of the first piece of an answer.
	First(index int, piece []byte, ids []int32) []byte
	// Response is the logged form of an answer, and its number of tokens.
	Response(index int, a backend.Answer) (response []byte, tokens int)
}

// A PromptPredictor has an engine that takes text answer prompts. It answers each on its own, any number at
// once: it has no batches, and a prompt that fails leaves the others alone.
type PromptPredictor struct {
	backend.Generator
	prompts Prompts
	turns   turnTimes
	broken  sync.Map // sessions with a prompt that failed
}

// NewPromptPredictor returns a predictor for prompts.
func NewPromptPredictor(sessions Sessions, prompts Prompts) (*PromptPredictor, error) {
	g, ok := sessions[Only].(backend.Generator)
	if !ok {
		return nil, errors.New("prompts need an engine that takes text")
	}
	if !g.TakesIDs() {
		if err := prompts.WithoutIDs(); err != nil {
			return nil, err
		}
	}
	return &PromptPredictor{Generator: g, prompts: prompts}, nil
}

// Use implements Predictor: prompts are in memory as long as the workload is.
func (*PromptPredictor) Use(*Store) error { return nil }

// Close implements Predictor. The owner of the session closes it.
func (*PromptPredictor) Close() error { return nil }

// Answer answers an item and returns when that is done; many goroutines call it at once. An error
// says why the sample has no answer.
func (p *PromptPredictor) Answer(ctx context.Context, item Item, reply Reply) error {
	if chain, ok := p.prompts.(Chain); ok {
		return p.chain(ctx, chain, item, reply)
	}
	prompt := p.prompts.Prompt(item.Index)
	if len(prompt.Turns) > 0 {
		return p.converse(ctx, prompt, item, reply)
	}
	if prompt.Session == "" {
		return p.Generate(ctx, prompt, &promptSink{p.prompts, item, reply})
	}
	if !prompt.Follows {
		p.broken.Delete(prompt.Session)
	} else if _, broken := p.broken.Load(prompt.Session); broken {
		return fmt.Errorf("an earlier turn of the conversation %s failed: the rest of it is not sent", prompt.Session)
	}
	err := p.Generate(ctx, prompt, &promptSink{p.prompts, item, reply})
	if err != nil {
		p.broken.Store(prompt.Session, true)
	}
	return err
}

// Predict implements Predictor: it asks for all items at once, and replies to one after the other.
func (p *PromptPredictor) Predict(ctx context.Context, items []Item, reply Reply) error {
	var group sync.WaitGroup
	inTurn := &lockedReply{reply: reply}
	errs := make([]error, len(items))
	for i, item := range items {
		group.Go(func() { errs[i] = p.Answer(ctx, item, inTurn) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// A promptSink passes an answer of the engine on as the reply to a sample.
type promptSink struct {
	prompts Prompts
	item    Item
	reply   Reply
}

// First implements backend.Sink.
func (s *promptSink) First(piece []byte, ids []int32) {
	s.reply.FirstToken(s.item.Ticket, s.prompts.First(s.item.Index, piece, ids))
}

// A TracedReply is a Reply that wants to know what became of the requests to servers.
type TracedReply interface {
	Reply
	Trace(ticket int) *backend.Trace
}

// Trace implements backend.Tracer.
func (s *promptSink) Trace() *backend.Trace {
	if t, ok := s.reply.(TracedReply); ok {
		return t.Trace(s.item.Ticket)
	}
	return nil
}

// Done implements backend.Sink.
func (s *promptSink) Done(a backend.Answer) {
	response, tokens := s.prompts.Response(s.item.Index, a)
	s.reply.Done(s.item.Ticket, response, tokens)
}

// A lockedReply is a reply that several goroutines may use.
type lockedReply struct {
	mu    sync.Mutex
	reply Reply
}

// FirstToken implements Reply.
func (l *lockedReply) FirstToken(ticket int, token []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reply.FirstToken(ticket, token)
}

// Done implements Reply.
func (l *lockedReply) Done(ticket int, response []byte, tokens int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reply.Done(ticket, response, tokens)
}
