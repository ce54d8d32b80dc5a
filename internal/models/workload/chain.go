package workload

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
)

// A Chain has samples that take several requests each: the next follows from the answers before it. Prompt is the first one.
type Chain interface {
	Prompts
	// Answer answers a sample, and returns its logged form and its number of tokens.
	Answer(ctx context.Context, index int, ask Ask) (response []byte, tokens int, err error)
}

// Ask asks the servers of a test. One goroutine calls it for a sample. The memory of the answer is the caller's.
type Ask func(ctx context.Context, p *backend.Prompt) (backend.Answer, error)

// chain answers a sample of a Chain. Each request has a trace of its own, as the turns of a conversation.
func (p *PromptPredictor) chain(ctx context.Context, chain Chain, item Item, reply Reply) error {
	c := &conversation{promptSink: promptSink{p.prompts, item, reply}}
	response, tokens, err := chain.Answer(ctx, item.Index, func(ctx context.Context, prompt *backend.Prompt) (backend.Answer, error) {
		due := clock.Now()
		c.trace, c.traced = nil, false
		err := p.Generate(ctx, prompt, c)
		c.noteTurn(due, err == nil)
		return c.answer, err
	})
	if err == nil {
		reply.Done(item.Ticket, response, tokens)
	}
	return err
}
