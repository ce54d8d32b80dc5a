package decode

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// sharedSteps runs a model that reads and writes its cache in place. All that a step needs is bound
// once, for each number of slots: it allocates nothing.
type sharedSteps struct {
	d     *Decoder
	slabs []slab // key and value of each layer

	fed     numbers // the chosen tokens, which the model writes itself if it can
	lens    numbers // of the slots, less one
	rows    numbers // of the slots' tokens in a step
	total   numbers
	places  numbers
	mask    numbers // [slots, context]
	masked  []int   // ones of each row of the mask
	outNext numbers

	stepping []call // by the number of slots, less one
	reading  []reader

	prompt     numbers // a chunk
	promptRow  numbers
	promptAt   numbers   // places of the chunk
	chunkScore []float32 // of a chunk, where all rows have scores
	chunks     map[int]chunk
}

// A call is the arguments of a run.
type call struct{ inputs, outputs []backend.Value }

// A reader is what reading into a slot needs, whatever the number of tokens.
type reader struct {
	call
	values map[string]backend.Value
}

// A chunk is what reading so many tokens needs, whatever the slot.
type chunk struct{ tokens, places, scores backend.Value }

func (d *Decoder) portType(name string) tensor.DType {
	for _, p := range d.session.Info().Inputs {
		if p.Name == name {
			return p.Type
		}
	}
	for _, p := range d.session.Info().Outputs {
		if p.Name == name {
			return p.Type
		}
	}
	return tensor.Int64
}

func newSharedSteps(d *Decoder) (*sharedSteps, error) {
	l, room := d.layout, d.room
	s := &sharedSteps{
		d: d, fed: newNumbers(d.portType(l.Tokens), room.Slots), lens: newNumbers(d.portType(l.Lengths), room.Slots), rows: newNumbers(d.portType(l.LastRows), room.Slots),
		total: newNumbers(d.portType(l.Total), 1), places: newNumbers(d.portType(l.Positions), room.Slots), outNext: newNumbers(d.portType(l.Next), room.Slots),
		prompt: newNumbers(d.portType(l.Tokens), room.Chunk), promptRow: newNumbers(d.portType(l.LastRows), 1), promptAt: newNumbers(d.portType(l.Positions), room.Chunk),
		chunks: map[int]chunk{}, masked: make([]int, room.Slots),
	}
	for slot := range room.Slots {
		s.rows.set(slot, slot)
	}
	if l.Mask != "" {
		s.mask = newNumbers(d.portType(l.Mask), room.Slots*room.Context)
	}
	if err := s.takeScores(); err != nil {
		return nil, err
	}
	if err := s.takeSlabs(); err != nil {
		return nil, err
	}
	for slot := range room.Slots {
		if err := s.addCalls(slot); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// takeScores takes memory for the scores of all slots, and of a chunk where all rows have scores.
func (s *sharedSteps) takeScores() (err error) {
	if s.d.logits, err = s.d.scores(s.d.room.Slots); err == nil && s.d.layout.AllRows {
		s.chunkScore, err = s.d.scores(s.d.room.Chunk)
	}
	return err
}

func (d *Decoder) scores(rows int) ([]float32, error) {
	m, err := d.memory(tensor.Float32, int64(rows), d.layout.Rows)
	if err != nil {
		return nil, err
	}
	return tensor.Data[float32](m), nil
}

// takeSlabs takes memory for the keys and values of all layers.
func (s *sharedSteps) takeSlabs() error {
	for range 2 * s.d.layout.Layers {
		slab, err := s.d.slab(int64(s.d.room.Slots) * s.slotSize())
		if err != nil {
			return err
		}
		s.slabs = append(s.slabs, slab)
	}
	return nil
}

func (s *sharedSteps) prefill(ctx context.Context, slot int, tokens []int32) error {
	c, err := s.readCall(slot, len(tokens))
	if err != nil {
		return err
	}
	d, at, end := s.d, s.d.lengths[slot], s.d.lengths[slot]+len(tokens)
	for i, t := range tokens {
		s.prompt.set(i, int(t))
		s.promptAt.set(i, at+i)
	}
	s.promptRow.set(0, len(tokens)-1)
	s.lens.set(slot, end-1)
	s.total.set(0, end)
	s.see(slot, end)
	if err := d.session.Run(ctx, c.inputs, c.outputs); err != nil {
		return err
	}
	if d.layout.AllRows {
		rows := int(d.layout.Rows)
		copy(d.Logits(slot), s.chunkScore[(len(tokens)-1)*rows:][:rows])
	}
	return s.choose(slot)
}

func (s *sharedSteps) step(ctx context.Context, n int) error {
	d, longest := s.d, 0
	for slot := range n {
		end := d.lengths[slot] + 1
		s.fed.set(slot, d.next[slot])
		s.places.set(slot, end-1)
		s.lens.set(slot, end-1)
		s.see(slot, end)
		longest = max(longest, end)
	}
	s.total.set(0, longest)
	c := s.stepping[n-1]
	if err := d.session.Run(ctx, c.inputs, c.outputs); err != nil {
		return err
	}
	for slot := range n {
		if err := s.choose(slot); err != nil {
			return err
		}
	}
	return nil
}

// see lets the model look at so many tokens of a slot.
func (s *sharedSteps) see(slot, n int) {
	if s.d.layout.Mask == "" {
		return
	}
	first := slot * s.d.room.Context
	for ; s.masked[slot] < n; s.masked[slot]++ {
		s.mask.set(first+s.masked[slot], 1)
	}
	for ; s.masked[slot] > n; s.masked[slot]-- {
		s.mask.set(first+s.masked[slot]-1, 0)
	}
}

// choose takes the token that the model chose, or the likeliest.
func (s *sharedSteps) choose(slot int) error {
	d := s.d
	if d.layout.Next != "" {
		d.next[slot] = s.outNext.get(slot)
	} else {
		d.next[slot] = likeliest(d.Logits(slot))
	}
	if d.next[slot] < 0 || int64(d.next[slot]) >= d.layout.Rows {
		return errNotNumbers
	}
	return d.checkNext(slot)
}

// slotSize is how many elements of a slab a slot has.
func (s *sharedSteps) slotSize() int64 {
	l := s.d.layout
	return l.KVHeads * int64(s.d.room.Context) * l.HeadSize
}

func (s *sharedSteps) move(to, from, first int) {
	size := s.d.layout.HeadSize
	head, slot := int64(s.d.room.Context)*size, s.slotSize()
	begin, n := int64(first)*size, int64(s.d.lengths[from]-first)*size
	for _, slab := range s.slabs {
		for at := begin; at < slot; at += head {
			slab.copy(int64(to)*slot+at, int64(from)*slot+at, n)
		}
	}
}
