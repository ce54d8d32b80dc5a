package decode

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// Rules say when an answer ends.
type Rules struct {
	Stop   []int32 // tokens that end it, and are part of it
	Drop   bool    // they are not part of it
	MinNew int     // tokens before which it does not end
	MaxNew int     // maximum of tokens
	Width  int     // bytes of a token in a response: 4 or 8

	Sampling Sampling
}

// A Batcher answers samples of a source, as many at once as its decoder has slots (continuous batching). Prompts are read
// in chunks, and between two chunks each answer gets a token, so that a long prompt does not stop others. An answer does
// not depend on the other samples.
type Batcher struct {
	decoder *Decoder
	rules   Rules
	prompt  func(workload.Item) []int32
	cut     func(workload.Item) []int32 // nil: none
	sampler *sampler                    // nil: greedy
	limit   func(workload.Item) int     // nil: MaxNew

	active  []sequence // the first ones have answers, the others still have prompts to read
	started int        // number of the first ones
	items   []workload.Item
	bytes   []byte
}

// A sequence is an active sample.
type sequence struct {
	item   workload.Item
	prompt []int32
	cut    []int32 // tokens after which the answer ends; nil: none
	answer []int32
	most   int // its maximum of tokens
}

// Cut sets a row of tokens for each sample that ends its answer too; nil: none.
func (b *Batcher) Cut(of func(workload.Item) []int32) { b.cut = of }

// Limit sets a maximum of tokens for each sample, below that of the rules; 0: none.
func (b *Batcher) Limit(of func(workload.Item) int) { b.limit = of }

// NewBatcher returns a batcher. Prompt returns the tokens of a sample's prompt.
func NewBatcher(d *Decoder, rules Rules, prompt func(workload.Item) []int32) *Batcher {
	b := &Batcher{decoder: d, rules: rules, prompt: prompt, active: make([]sequence, d.Slots()), bytes: make([]byte, 0, rules.Width*rules.MaxNew)}
	for i := range b.active {
		b.active[i].answer = make([]int32, 0, rules.MaxNew)
	}
	b.active = b.active[:0]
	if rules.Sampling.Draws() {
		b.sampler = newSampler(rules.Sampling, d.layout.Rows)
	}
	return b
}

// Serve answers samples until the source is closed (workload.Decoder).
func (b *Batcher) Serve(ctx context.Context, source workload.Source) error {
	b.active, b.started = b.active[:0], 0
	return serveAll(ctx, b, source)
}

func (b *Batcher) busy() bool { return len(b.active) > 0 }

// admit takes samples for free slots.
func (b *Batcher) admit(source workload.Source) (open bool, err error) {
	room := b.decoder.Slots() - len(b.active)
	if room == 0 {
		return true, nil
	}
	b.items, open = source.Admit(b.items[:0], room, len(b.active) == 0)
	for _, item := range b.items {
		prompt := b.prompt(item)
		if len(prompt) == 0 {
			return open, fmt.Errorf("sample %d: the prompt is empty", item.Index)
		}
		b.active = b.active[:len(b.active)+1]
		s := &b.active[len(b.active)-1]
		s.item, s.prompt, s.answer = item, prompt, s.answer[:0]
		s.most = b.rules.MaxNew
		if b.limit != nil && b.limit(item) > 0 {
			s.most = min(s.most, b.limit(item))
		}
		if s.cut = nil; b.cut != nil {
			s.cut = b.cut(item)
		}
		b.decoder.Clear(len(b.active) - 1)
	}
	return open, nil
}

// read runs the model on the next chunk of the oldest prompt.
func (b *Batcher) read(ctx context.Context, reply workload.Source) error {
	if b.started == len(b.active) {
		return nil
	}
	slot := b.started
	s := &b.active[slot]
	at := b.decoder.Length(slot)
	chunk := s.prompt[at:]
	chunk = chunk[:min(len(chunk), b.decoder.limits.Chunk)]
	if err := b.decoder.Prefill(ctx, slot, chunk); err != nil {
		return fmt.Errorf("sample %d, reading the prompt: %w", s.item.Index, err)
	}
	if at+len(chunk) < len(s.prompt) {
		return nil
	}
	b.started++
	b.addToken(slot)
	reply.FirstToken(s.item.Ticket, b.encode(s.answer))
	b.stream(slot, reply)
	if b.ended(s) {
		b.finish(slot, reply)
	}
	return nil
}

// step makes a token of every answer.
func (b *Batcher) step(ctx context.Context, reply workload.Source) error {
	if b.started == 0 {
		return nil
	}
	if err := b.decoder.Step(ctx, b.started); err != nil {
		return fmt.Errorf("%d answers, the first of sample %d: %w", b.started, b.active[0].item.Index, err)
	}
	for slot := range b.started {
		b.addToken(slot)
		b.stream(slot, reply)
	}
	for slot := b.started - 1; slot >= 0; slot-- {
		if b.ended(&b.active[slot]) {
			b.finish(slot, reply)
		}
	}
	return nil
}

// stream passes the last token of an answer on.
func (b *Batcher) stream(slot int, reply workload.Source) {
	s := &b.active[slot]
	reply.Token(s.item.Ticket, b.encode(s.answer[len(s.answer)-1:]))
}

// addToken adds the chosen token to the answer, or another if the answer must not end yet.
func (b *Batcher) addToken(slot int) {
	s, d := &b.active[slot], b.decoder
	var banned []int32
	if len(s.answer) < b.rules.MinNew {
		banned = b.rules.Stop
	}
	switch {
	case b.sampler != nil:
		d.SetNext(slot, b.sampler.draw(d.Logits(slot), s.item.Index, len(s.answer), banned))
	case slices.Contains(banned, int32(d.Next(slot))):
		d.SetNext(slot, likeliestBut(d.Logits(slot), banned))
	}
	s.answer = append(s.answer, int32(d.Next(slot)))
}

// likeliestBut finds the largest score of a token that is not in stop.
func likeliestBut(logits []float32, stop []int32) int {
	best := -1
	for i, v := range logits {
		if !slices.Contains(stop, int32(i)) && (best < 0 || v > logits[best]) {
			best = i
		}
	}
	return max(best, 0)
}

func (b *Batcher) ended(s *sequence) bool {
	return len(s.answer) >= s.most || slices.Contains(b.rules.Stop, s.answer[len(s.answer)-1]) ||
		len(s.cut) > 0 && len(s.answer) >= len(s.cut) && slices.Equal(s.answer[len(s.answer)-len(s.cut):], s.cut)
}

// finish answers the sample of a slot. The last active answer moves there, and prompts being read move up.
func (b *Batcher) finish(slot int, reply workload.Source) {
	s := &b.active[slot]
	answer := s.answer
	if last := len(answer) - 1; b.rules.Drop && slices.Contains(b.rules.Stop, answer[last]) {
		answer = answer[:last]
	}
	reply.Done(s.item.Ticket, b.encode(answer), len(answer))
	b.started--
	b.move(slot, b.started)
	last := len(b.active) - 1
	for k := b.started; k < last; k++ {
		b.move(k, k+1)
	}
	b.active = b.active[:last]
}

// move moves a sequence to another slot.
func (b *Batcher) move(to, from int) {
	if to == from {
		return
	}
	b.decoder.Move(to, from)
	b.active[to], b.active[from] = b.active[from], b.active[to]
}

// encode returns the bytes of tokens, which are valid until the next call.
func (b *Batcher) encode(tokens []int32) []byte {
	b.bytes = b.bytes[:0]
	for _, t := range tokens {
		if b.rules.Width == 8 {
			b.bytes = binary.LittleEndian.AppendUint64(b.bytes, uint64(t))
		} else {
			b.bytes = binary.LittleEndian.AppendUint32(b.bytes, uint32(t))
		}
	}
	return b.bytes
}

// A batcher works in rounds: it admits samples, reads a chunk of a prompt and makes a token of each answer.
type batcher interface {
	// admit takes samples for free slots. Open is false after the last.
	admit(source workload.Source) (open bool, err error)
	// busy reports whether samples are active.
	busy() bool
	// read runs the model on the next chunk of a prompt, if any.
	read(ctx context.Context, reply workload.Source) error
	// step makes a token of each answer that has begun.
	step(ctx context.Context, reply workload.Source) error
}

// serveAll answers samples until the source is closed and none is active, or ctx ends.
func serveAll(ctx context.Context, b batcher, source workload.Source) error {
	for {
		open, err := b.admit(source)
		if err != nil {
			return err
		}
		if !b.busy() {
			if !open {
				return nil
			}
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := b.read(ctx, source); err != nil {
			return err
		}
		source.Worked()
		if err := b.step(ctx, source); err != nil {
			return err
		}
	}
}
