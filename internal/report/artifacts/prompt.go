package artifacts

import (
	"sync/atomic"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// promptOf is what an event says of a prompt (core/types.py, PromptData): a list of the type's name, the
// text, the token ids and the messages, of which one is there, and nothing behind it.
func promptOf(p *backend.Prompt) []any {
	switch {
	case len(p.IDs) > 0:
		return []any{"PromptData", nil, p.IDs}
	case len(p.Messages) > 0:
		return []any{"PromptData", nil, nil, p.Messages}
	}
	return []any{"PromptData", p.Text}
}

// lengthOf is how many tokens a prompt has: its ids, or what the server told; 0: nobody knows.
func lengthOf(p *backend.Prompt) int {
	if len(p.IDs) > 0 {
		return len(p.IDs)
	}
	return int(atomic.LoadInt32(&p.Told))
}

// prompt is that of a sample; nil: it is not known.
func (r *Run) prompt(s loadgen.SampleRecord) *backend.Prompt {
	if r.Prompt == nil {
		return nil
	}
	return r.Prompt(int(s.Index))
}

// inputs are the lengths of the prompts of all requests, as far as they are known.
func (r *Run) inputs() (lengths []float64) {
	r.each(func(s loadgen.SampleRecord) {
		if p := r.prompt(s); p != nil && lengthOf(p) > 0 {
			lengths = append(lengths, float64(lengthOf(p)))
		}
	})
	return lengths
}
