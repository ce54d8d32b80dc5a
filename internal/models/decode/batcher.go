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
	Stop   []int32 // tokens that end it; the one that does is part of it,
	Drop   bool    // unless it is dropped
	MinNew int     // tokens before which it does not end
	MaxNew int     // tokens after which it ends anyhow
	Width  int     // bytes of a token in a response: 4 or 8

	Sampling Sampling
}

// A Batcher answers samples of a source, as many at once as its decoder has slots. Prompts are
// read chunk by chunk, and between two chunks all answers get a token more: so a long prompt
// holds nobody up. Each answer is what it would be if it were the only one.
type Batcher struct {
	decoder *Decoder
	rules   Rules
	prompt  func(workload.Item) []int32
	cut     func(workload.Item) []int32 // nil: nowhere
	sampler *sampler                    // nil: the likeliest token is taken
	limit   func(workload.Item) int     // nil: that of the rules

	live    []sequence // the first ones are answered, the others wait for being read
	started int        // are answered
	items   []workload.Item
	bytes   []byte
}

// A sequence is a sample under way.
type sequence struct {
	item   workload.Item
	prompt []int32
	cut    []int32 // tokens after which the answer ends; nil: none
	answer []int32
	most   int // tokens of it
}

// Cut has answers end with a row of tokens too, where a sample has one.
func (b *Batcher) Cut(of func(workload.Item) []int32) { b.cut = of }

// Limit has answers end after as many tokens as a sample says, if that is more than 0 and less
// than the rules say.
func (b *Batcher) Limit(of func(workload.Item) int) { b.limit = of }

// NewBatcher returns a batcher. Prompt finds the tokens of a sample's prompt.
func NewBatcher(d *Decoder, rules Rules, prompt func(workload.Item) []int32) *Batcher {
	b := &Batcher{decoder: d, rules: rules, prompt: prompt, live: make([]sequence, d.Slots()), bytes: make([]byte, 0, rules.Width*rules.MaxNew)}
	for i := range b.live {
		b.live[i].answer = make([]int32, 0, rules.MaxNew)
	}
	b.live = b.live[:0]
	if rules.Sampling.Draws() {
		b.sampler = newSampler(rules.Sampling, d.layout.Rows)
	}
	return b
}

// Serve answers samples until the source is closed (workload.Decoder).
func (b *Batcher) Serve(ctx context.Context, source workload.Source) error {
	b.live, b.started = b.live[:0], 0
	return serveAll(ctx, b, source)
}

func (b *Batcher) busy() bool { return len(b.live) > 0 }

// admit takes samples as long as there are slots.
func (b *Batcher) admit(source workload.Source) (open bool, err error) {
	room := b.decoder.Slots() - len(b.live)
	if room == 0 {
		return true, nil
	}
	b.items, open = source.Admit(b.items[:0], room, len(b.live) == 0)
	for _, item := range b.items {
		prompt := b.prompt(item)
		if len(prompt) == 0 {
			return open, fmt.Errorf("sample %d: the prompt is empty", item.Index)
		}
		b.live = b.live[:len(b.live)+1]
		s := &b.live[len(b.live)-1]
		s.item, s.prompt, s.answer = item, prompt, s.answer[:0]
		s.most = b.rules.MaxNew
		if b.limit != nil && b.limit(item) > 0 {
			s.most = min(s.most, b.limit(item))
		}
		if s.cut = nil; b.cut != nil {
			s.cut = b.cut(item)
		}
		b.decoder.Clear(len(b.live) - 1)
	}
	return open, nil
}

// read reads a chunk of the oldest prompt that was not read yet.
func (b *Batcher) read(ctx context.Context, reply workload.Source) error {
	if b.started == len(b.live) {
		return nil
	}
	slot := b.started
	s := &b.live[slot]
	at := b.decoder.Length(slot)
	chunk := s.prompt[at:]
	chunk = chunk[:min(len(chunk), b.decoder.room.Chunk)]
	if err := b.decoder.Prefill(ctx, slot, chunk); err != nil {
		return fmt.Errorf("sample %d, reading the prompt: %w", s.item.Index, err)
	}
	if at+len(chunk) < len(s.prompt) {
		return nil
	}
	b.started++
	b.take(slot)
	reply.FirstToken(s.item.Ticket, b.encode(s.answer))
	b.tell(slot, reply)
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
		return fmt.Errorf("%d answers, the first of sample %d: %w", b.started, b.live[0].item.Index, err)
	}
	for slot := range b.started {
		b.take(slot)
		b.tell(slot, reply)
	}
	for slot := b.started - 1; slot >= 0; slot-- {
		if b.ended(&b.live[slot]) {
			b.finish(slot, reply)
		}
	}
	return nil
}

// tell passes the last token of an answer on.
func (b *Batcher) tell(slot int, reply workload.Source) {
	s := &b.live[slot]
	reply.Token(s.item.Ticket, b.encode(s.answer[len(s.answer)-1:]))
}

// take adds the chosen token to the answer, or another one if it must not end yet.
func (b *Batcher) take(slot int) {
	s, d := &b.live[slot], b.decoder
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

// likeliestBut finds the largest score of a token that does not end an answer.
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
	return len(s.answer) >= s.most || slices.Contains(b.rules.Stop, s.answer[len(s.answer)-1]) || len(s.cut) > 0 && endsWith(s.answer, s.cut)
}

func endsWith(tokens, last []int32) bool {
	return len(tokens) >= len(last) && slices.Equal(tokens[len(tokens)-len(last):], last)
}

// finish answers the sample of a slot. The last answer that goes on moves there, and what is read of
// a prompt moves up.
func (b *Batcher) finish(slot int, reply workload.Source) {
	s := &b.live[slot]
	answer := s.answer
	if last := len(answer) - 1; b.rules.Drop && slices.Contains(b.rules.Stop, answer[last]) {
		answer = answer[:last]
	}
	reply.Done(s.item.Ticket, b.encode(answer), len(answer))
	b.started--
	b.move(slot, b.started)
	last := len(b.live) - 1
	for k := b.started; k < last; k++ {
		b.move(k, k+1)
	}
	b.live = b.live[:last]
}

// move lets a slot have another's sequence, and that the memory of its own.
func (b *Batcher) move(to, from int) {
	if to == from {
		return
	}
	b.decoder.Move(to, from)
	b.live[to], b.live[from] = b.live[from], b.live[to]
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
