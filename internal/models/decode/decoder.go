package decode

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// Room says how much a Decoder has under way at once.
type Room struct {
	Slots   int // sequences
	Context int // tokens of each, prompt and answer together
	Chunk   int // tokens of a prompt that are read at once
}

// A Decoder has a model read prompts and say the tokens after them, in slots: one for each sequence.
// The cache of all sequences is one slab of memory per layer, [slots, heads, context, size], where the model
// computes if the session has memory there (backend.Keeper). A
// prompt is read by itself, on a view of its slot; a step makes one more token of the first
// slots at once. It is for one goroutine.
type Decoder struct {
	layout  Layout
	session backend.Session
	room    Room
	machine steps

	lengths []int     // tokens of each slot that are in the cache
	next    []int     // tokens that were chosen last
	logits  []float32 // of the last tokens, slot by slot
	free    []func() error
	values  []backend.Value
	broken  error // what could not be copied within the cache
}

// steps is what differs between ways to keep the cache.
type steps interface {
	// prefill reads tokens behind the end of a slot.
	prefill(ctx context.Context, slot int, tokens []int32) error
	// step reads the chosen token of each of the first n slots.
	step(ctx context.Context, n int) error
	// move copies what a slot has, from a token on, to another.
	move(to, from, first int)
}

// NewDecoder takes the memory. It must be closed.
func NewDecoder(s backend.Session, l Layout, room Room) (*Decoder, error) {
	if room.Slots < 1 || room.Context < 2 || room.Chunk < 1 {
		return nil, fmt.Errorf("a decoder of %d slots for %d tokens, read %d at once, has no room", room.Slots, room.Context, room.Chunk)
	}
	d := &Decoder{layout: l, session: s, room: room, lengths: make([]int, room.Slots), next: make([]int, room.Slots)}
	var err error
	if l.Cache == SharedCache {
		d.machine, err = newSharedSteps(d)
	} else {
		d.machine, err = newGrowingSteps(d)
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

// Slots is how many sequences there is room for.
func (d *Decoder) Slots() int { return d.room.Slots }

// Clear begins a new sequence in a slot.
func (d *Decoder) Clear(slot int) { d.lengths[slot] = 0 }

// Length is how many tokens of a slot the model has read.
func (d *Decoder) Length(slot int) int { return d.lengths[slot] }

// Prefill has the model read tokens, at most a chunk of them, behind those of a slot. Next then is the
// likeliest token after the last.
func (d *Decoder) Prefill(ctx context.Context, slot int, tokens []int32) error {
	if len(tokens) == 0 || len(tokens) > d.room.Chunk || d.lengths[slot]+len(tokens) > d.room.Context {
		return fmt.Errorf("%d tokens after %d do not fit: a slot has room for %d, of which %d are read at once", len(tokens), d.lengths[slot], d.room.Context, d.room.Chunk)
	}
	if d.broken != nil {
		return d.broken
	}
	if err := d.machine.prefill(ctx, slot, tokens); err != nil {
		return err
	}
	d.lengths[slot] += len(tokens)
	return nil
}

// Step has the model read the next token of each of the first n slots.
func (d *Decoder) Step(ctx context.Context, n int) error {
	if d.broken != nil {
		return d.broken
	}
	for slot := range n {
		if d.lengths[slot] >= d.room.Context {
			return fmt.Errorf("slot %d has %d tokens, there is no room for more", slot, d.lengths[slot])
		}
	}
	if err := d.machine.step(ctx, n); err != nil {
		return err
	}
	for slot := range n {
		d.lengths[slot]++
	}
	return nil
}

// Move lets a slot have what another has.
func (d *Decoder) Move(to, from int) { d.Fork(to, from, 0) }

// Fork is Move for slots whose first tokens are the same.
func (d *Decoder) Fork(to, from, same int) {
	d.machine.move(to, from, same)
	d.lengths[to], d.next[to] = d.lengths[from], d.next[from]
	rows := int(d.layout.Rows)
	copy(d.logits[to*rows:][:rows], d.logits[from*rows:][:rows])
}

// Next is the token that the model finds likeliest, or that SetNext chose.
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

// checkNext finds scores that are no numbers. One of the likeliest token tells: what is no number in
// a layer spoils all scores.
func (d *Decoder) checkNext(slot int) error {
	if v := float64(d.Logits(slot)[d.next[slot]]); math.IsNaN(v) || math.IsInf(v, 0) {
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
			return nil, fmt.Errorf("nothing is known of the model's port %s", p.Name)
		}
	}
	return list, nil
}
