package workload

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
)

// A PausedReply is a Reply that takes the part of the time of an answer that is none of its tokens, before Done.
type PausedReply interface {
	Reply
	Paused(ticket int, d time.Duration)
}

// converse asks the turns of a conversation, each after the answer to the one before and its delay. The answers are one reply: its first
// token is that of the first turn, and the time between turns is none of its tokens.
func (p *PromptPredictor) converse(ctx context.Context, prompt *backend.Prompt, item Item, reply Reply) error {
	turn, due := *prompt, clock.Now()
	turn.Turns = nil
	c := &conversation{promptSink: promptSink{p.prompts, item, reply}}
	for n := 0; ; n++ {
		if n > 0 {
			next := &prompt.Turns[n-1]
			answer := backend.Message{Role: "assistant", Content: string(c.answer.Text)}
			if next.Answer != nil {
				answer = *next.Answer
			}
			turn.Messages = append(slices.Concat(turn.Messages, []backend.Message{answer}), next.Messages...)
			turn.IDs, turn.Text, turn.Told, turn.MaxTokens = nil, "", 0, next.MaxTokens
			if turn.MinTokens = 0; turn.Exact {
				turn.MinTokens = turn.MaxTokens
			}
			if err := wait(ctx, next.Delay); err != nil {
				return err
			}
			due = c.ended.Add(next.Delay)
		}
		c.first, c.trace, c.traced = time.Time{}, nil, false
		err := p.Generate(ctx, &turn, c)
		c.noteTurn(due, err == nil)
		if err != nil {
			return err
		}
		p.turns.add(n, c.first.Sub(due), c.ended.Sub(due))
		c.count()
		if n == len(prompt.Turns) {
			break
		}
	}
	if paused, ok := reply.(PausedReply); ok {
		paused.Paused(item.Ticket, c.paused(len(prompt.Turns)+1))
	}
	response, _ := p.prompts.Response(item.Index, c.answer)
	reply.Done(item.Ticket, response, c.tokens)
	return nil
}

// wait waits, unless the test ends before.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A conversation is a sink for the answers to its turns.
type conversation struct {
	promptSink
	answer       backend.Answer // the last; its text is a copy
	first, ended time.Time      // of the turn
	begun        time.Time      // when the first token of the first turn came
	tokens       int            // of all turns
	trace        *backend.Trace // of the turn
	traced       bool           // it was asked for
	spoken       time.Duration  // from the first token of each turn to its end
}

// Trace implements backend.Tracer: each turn has its own.
func (c *conversation) Trace() *backend.Trace {
	if !c.traced {
		c.trace, c.traced = c.promptSink.Trace(), true
	}
	return c.trace
}

// noteTurn notes what its trace does not know of the turn.
func (c *conversation) noteTurn(due time.Time, answered bool) {
	if c.trace == nil {
		return
	}
	if c.trace.Due = due; answered {
		c.trace.Done, c.trace.Tokens = c.ended, c.answer.Tokens
	}
}

// First implements backend.Sink.
func (c *conversation) First(piece []byte, ids []int32) {
	if c.first = clock.Now(); c.begun.IsZero() {
		c.begun = c.first
		c.promptSink.First(piece, ids)
	}
}

// Done implements backend.Sink.
func (c *conversation) Done(a backend.Answer) {
	c.ended = clock.Now()
	a.Text, a.IDs = slices.Clone(a.Text), nil
	c.answer = a
}

// count adds the answer to a turn.
func (c *conversation) count() {
	if c.first.IsZero() { // it came whole
		c.first = c.ended
	}
	c.tokens += c.answer.Tokens
	c.spoken += c.ended.Sub(c.first)
}

// paused is the time that is none of the tokens, if the time per token is to be that of the tokens after the first of each turn.
func (c *conversation) paused(turns int) time.Duration {
	if c.begun.IsZero() || c.tokens <= turns {
		return 0
	}
	perToken := float64(c.spoken) / float64(c.tokens-turns)
	return max(0, c.ended.Sub(c.begun)-time.Duration(perToken*float64(c.tokens-1)))
}

// turnTimes are the times of turns by their number.
type turnTimes struct {
	mu   sync.Mutex
	list []struct{ first, whole *backend.Times }
}

// mostTurns is how many turns have times of their own; later ones count with the last of these.
const mostTurns = 64

func (t *turnTimes) add(n int, first, whole time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n = min(n, mostTurns-1)
	for len(t.list) <= n {
		t.list = append(t.list, struct{ first, whole *backend.Times }{backend.NewTimes(), backend.NewTimes()})
	}
	t.list[n].first.Add(first)
	t.list[n].whole.Add(whole)
}

// Reset implements backend.Generator.
func (p *PromptPredictor) Reset() {
	p.turns.mu.Lock()
	p.turns.list = nil
	p.turns.mu.Unlock()
	p.broken.Clear()
	if r, ok := p.prompts.(interface{ Reset() }); ok { // they keep what the answers had
		r.Reset()
	}
	p.Generator.Reset()
}

// Measured implements backend.Generator.
func (p *PromptPredictor) Measured() backend.Generated {
	g := p.Generator.Measured()
	p.turns.mu.Lock()
	defer p.turns.mu.Unlock()
	for _, t := range p.turns.list {
		g.Turns = append(g.Turns, backend.TurnTimes{FirstToken: t.first.Spread(), Whole: t.whole.Spread()})
	}
	return g
}
