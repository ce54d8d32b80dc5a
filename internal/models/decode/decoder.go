package decode

import (
	"context"
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/units"
)

// Limits are the sizes of a Decoder.
type Limits struct {
	Slots   int // sequences
	Context int // tokens of each, prompt and answer together
	Chunk   int // tokens of a prompt in one run
}

// A Decoder runs a model on prompts and on the tokens after them, in slots: one for each sequence. The cache of all sequences
// is one slab of memory per layer, [slots, heads, context, size], in the device's memory if the session has it
// (backend.Keeper). A prompt is read by itself, on a view of its slot; a step makes one more token of the first slots at
// once. It is for one goroutine.
type Decoder struct {
	layout  Layout
	session backend.Session
	limits  Limits
	cache   cacheSteps

	lengths []int     // tokens of each slot in the cache
	next    []int     // tokens chosen last
	logits  []float32 // of the last tokens, slot by slot
	free    []func() error
	values  []backend.Value
	broken  error // of a copy within the cache
}

// cacheSteps is the part of a decoder that depends on the kind of cache.
type cacheSteps interface {
	// prefill runs the model on tokens after those of a slot.
	prefill(ctx context.Context, slot int, tokens []int32) error
	// step runs the model on the chosen token of each of the first n slots.
	step(ctx context.Context, n int) error
	// move copies the cache of a slot, from a token on, to another.
	move(to, from, first int)
}

// NewDecoder allocates the memory. It must be closed.
func NewDecoder(s backend.Session, l Layout, room Limits) (*Decoder, error) {
	if room.Slots < 1 || room.Context < 2 || room.Chunk < 1 {
		return nil, fmt.Errorf("a decoder of %d slots, %d tokens and chunks of %d: expected at least 1, 2 and 1", room.Slots, room.Context, room.Chunk)
	}
	d := &Decoder{layout: l, session: s, limits: room, lengths: make([]int, room.Slots), next: make([]int, room.Slots)}
	var err error
	if l.Cache == SharedCache {
		d.cache, err = newSharedSteps(d)
	} else {
		d.cache, err = newGrowingSteps(d)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close frees the memory.
func (d *Decoder) Close() error {
	var errs []error
	for _, v := range d.values {
		errs = append(errs, v.Close())
	}
	for _, free := range d.free {
		errs = append(errs, free())
	}
	d.values, d.free = nil, nil
	return errors.Join(errs...)
}

// Slots is the number of slots.
func (d *Decoder) Slots() int { return d.limits.Slots }

// Clear begins a new sequence in a slot.
func (d *Decoder) Clear(slot int) { d.lengths[slot] = 0 }

// Length is the number of tokens of a slot in the cache.
func (d *Decoder) Length(slot int) int { return d.lengths[slot] }

// Prefill runs the model on tokens, at most a chunk, after those of a slot. Next then is the likeliest token after the last.
func (d *Decoder) Prefill(ctx context.Context, slot int, tokens []int32) error {
	if len(tokens) == 0 || len(tokens) > d.limits.Chunk || d.lengths[slot]+len(tokens) > d.limits.Context {
		return fmt.Errorf("%d tokens after %d do not fit: a slot has %d, and a chunk %d", len(tokens), d.lengths[slot], d.limits.Context, d.limits.Chunk)
	}
	if d.broken != nil {
		return d.broken
	}
	if err := d.cache.prefill(ctx, slot, tokens); err != nil {
		return err
	}
	d.lengths[slot] += len(tokens)
	return nil
}

// Step runs the model on the next token of each of the first n slots.
func (d *Decoder) Step(ctx context.Context, n int) error {
	if d.broken != nil {
		return d.broken
	}
	for slot := range n {
		if d.lengths[slot] >= d.limits.Context {
			return fmt.Errorf("slot %d has %d tokens: the context is full", slot, d.lengths[slot])
		}
	}
	if err := d.cache.step(ctx, n); err != nil {
		return err
	}
	for slot := range n {
		d.lengths[slot]++
	}
	return nil
}

// Move copies a slot to another.
func (d *Decoder) Move(to, from int) { d.Fork(to, from, 0) }

// Fork is Move for slots with the same first tokens.
func (d *Decoder) Fork(to, from, same int) {
	d.cache.move(to, from, same)
	d.lengths[to], d.next[to] = d.lengths[from], d.next[from]
	rows := int(d.layout.Rows)
	copy(d.logits[to*rows:][:rows], d.logits[from*rows:][:rows])
}

// Next is the likeliest token, or that of SetNext.
func (d *Decoder) Next(slot int) int { return d.next[slot] }

// SetNext chooses the token that the next step reads.
func (d *Decoder) SetNext(slot, token int) { d.next[slot] = token }

// Logits are the scores of all tokens to come next.
func (d *Decoder) Logits(slot int) []float32 {
	rows := int(d.layout.Rows)
	return d.logits[slot*rows:][:rows]
}

// errNotNumbers says that a model's scores are not numbers.
var errNotNumbers = errors.New("the model's scores are not numbers")

// likeliest finds the largest score; the first of equal ones.
func likeliest(logits []float32) int {
	best, top := 0, logits[0]
	for i, v := range logits {
		if v > top || top != top {
			best, top = i, v
		}
	}
	return best
}

// checkNext finds scores that are not numbers. That of the likeliest token suffices: a NaN in a layer spreads to all scores.
func (d *Decoder) checkNext(slot int) error {
	if !units.Finite(d.Logits(slot)[d.next[slot]]) {
		return errNotNumbers
	}
	return nil
}

// bind makes a value that is closed with the decoder.
func (d *Decoder) bind(t tensor.Tensor) (backend.Value, error) {
	v, err := d.session.Bind(t)
	if err == nil {
		d.values = append(d.values, v)
	}
	return v, err
}

// arranged puts values into the order of a session's ports.
func arranged(ports []backend.Port, values map[string]backend.Value) ([]backend.Value, error) {
	list := make([]backend.Value, len(ports))
	for i, p := range ports {
		if list[i] = values[p.Name]; list[i] == nil {
			return nil, fmt.Errorf("the model has an unknown port %s", p.Name)
		}
	}
	return list, nil
}
