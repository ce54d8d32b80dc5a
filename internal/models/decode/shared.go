package decode

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// sharedSteps runs a model that reads and writes its cache in place. The values of a step are bound once for each number of
// slots, so that a step allocates nothing.
type sharedSteps struct {
	d     *Decoder
	slabs []slab // key and value of each layer

	tokens    integers // the chosen tokens
	lengths   integers // of the slots, less one
	rows      integers // of the slots' tokens in a step
	total     integers
	positions integers
	mask      integers // [slots, context]
	masked    []int    // ones of each row of the mask
	outNext   integers

	stepping []call // by the number of slots, less one
	reading  []reader

	prompt          integers // a chunk
	promptRow       integers
	promptPositions integers  // places of the chunk
	chunkScore      []float32 // of a chunk, where all rows have scores
	chunks          map[int]chunk
}

// A call is the arguments of a run.
type call struct{ inputs, outputs []backend.Value }

// A reader has the values for reading into a slot that do not depend on the number of tokens.
type reader struct {
	call
	values map[string]backend.Value
}

// A chunk has the values for reading a number of tokens that do not depend on the slot.
type chunk struct{ tokens, positions, scores backend.Value }

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
	l, room := d.layout, d.limits
	s := &sharedSteps{
		d: d, tokens: newIntegers(d.portType(l.Tokens), room.Slots), lengths: newIntegers(d.portType(l.Lengths), room.Slots),
		rows:  newIntegers(d.portType(l.LastRows), room.Slots),
		total: newIntegers(d.portType(l.Total), 1), positions: newIntegers(d.portType(l.Positions), room.Slots),
		outNext: newIntegers(d.portType(l.Next), room.Slots),
		prompt:  newIntegers(d.portType(l.Tokens), room.Chunk), promptRow: newIntegers(d.portType(l.LastRows), 1),
		promptPositions: newIntegers(d.portType(l.Positions), room.Chunk),
		chunks:          map[int]chunk{}, masked: make([]int, room.Slots),
	}
	for slot := range room.Slots {
		s.rows.set(slot, slot)
	}
	if l.Mask != "" {
		s.mask = newIntegers(d.portType(l.Mask), room.Slots*room.Context)
	}
	var err error
	if d.logits, err = d.scores(room.Slots); err == nil && l.AllRows {
		s.chunkScore, err = d.scores(room.Chunk)
	}
	if err != nil {
		return nil, err
	}
	for range 2 * l.Layers {
		slab, err := d.slab(int64(room.Slots) * s.slotSize())
		if err != nil {
			return nil, err
		}
		s.slabs = append(s.slabs, slab)
	}
	for slot := range room.Slots {
		step, err := s.caches(0, slot+1)
		if err == nil {
			err = s.addStep(step, slot+1)
		}
		if err != nil {
			return nil, err
		}
		c, err := arrangedCall(d.session.Info(), step)
		if err != nil {
			return nil, err
		}
		s.stepping = append(s.stepping, c)
		read, err := s.caches(slot, 1)
		if err == nil {
			err = s.addRead(read, slot)
		}
		if err != nil {
			return nil, err
		}
		s.reading = append(s.reading, reader{values: read})
	}
	return s, nil
}

func (d *Decoder) scores(rows int) ([]float32, error) {
	m, err := d.memory(tensor.Float32, int64(rows), d.layout.Rows)
	if err != nil {
		return nil, err
	}
	return tensor.Data[float32](m), nil
}

func (s *sharedSteps) prefill(ctx context.Context, slot int, tokens []int32) error {
	c, err := s.readCall(slot, len(tokens))
	if err != nil {
		return err
	}
	d, at, end := s.d, s.d.lengths[slot], s.d.lengths[slot]+len(tokens)
	for i, t := range tokens {
		s.prompt.set(i, int(t))
		s.promptPositions.set(i, at+i)
	}
	s.promptRow.set(0, len(tokens)-1)
	s.lengths.set(slot, end-1)
	s.total.set(0, end)
	s.setMask(slot, end)
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
		s.tokens.set(slot, d.next[slot])
		s.positions.set(slot, end-1)
		s.lengths.set(slot, end-1)
		s.setMask(slot, end)
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

// setMask sets the first n places of a slot's attention mask.
func (s *sharedSteps) setMask(slot, n int) {
	if s.d.layout.Mask == "" {
		return
	}
	first := slot * s.d.limits.Context
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

// slotSize is the number of elements of a slot in a slab.
func (s *sharedSteps) slotSize() int64 {
	l := s.d.layout
	return l.KVHeads * int64(s.d.limits.Context) * l.HeadSize
}

func (s *sharedSteps) move(to, from, first int) {
	size := s.d.layout.HeadSize
	head, slot := int64(s.d.limits.Context)*size, s.slotSize()
	begin, n := int64(first)*size, int64(s.d.lengths[from]-first)*size
	for _, slab := range s.slabs {
		for at := begin; at < slot; at += head {
			slab.copy(int64(to)*slot+at, int64(from)*slot+at, n)
		}
	}
}

// arrangedCall puts values into the order of the ports. Ports without a value stay empty.
func arrangedCall(info backend.Info, values map[string]backend.Value) (c call, err error) {
	if c.inputs, err = arranged(info.Inputs, values); err == nil {
		c.outputs, err = arranged(info.Outputs, values)
	}
	return c, err
}

// A binder binds tensors under names, until one fails.
type binder struct {
	d      *Decoder
	values map[string]backend.Value
	err    error
}

func (b *binder) add(name string, t func() tensor.Tensor) {
	if name == "" || b.err != nil {
		return
	}
	b.values[name], b.err = b.d.bind(t())
}

// caches binds n slots from one on, as inputs and as outputs.
func (s *sharedSteps) caches(first, n int) (map[string]backend.Value, error) {
	l := s.d.layout
	values := map[string]backend.Value{}
	for layer := range l.Layers {
		for kv, names := range [2][2]string{{l.PastKey, l.PresentKey}, {l.PastValue, l.PresentValue}} {
			v, err := s.slabs[2*layer+kv].value(int64(first)*s.slotSize(), int64(n), l.KVHeads, int64(s.d.limits.Context), l.HeadSize)
			if err != nil {
				return nil, err
			}
			values[numbered(names[0], layer)], values[numbered(names[1], layer)] = v, v
		}
	}
	return values, nil
}

// addStep binds the inputs and outputs of a step of n slots beside the caches.
func (s *sharedSteps) addStep(values map[string]backend.Value, n int) error {
	l, size, context := s.d.layout, int64(n), s.d.limits.Context
	b := &binder{d: s.d, values: values}
	b.add(l.Tokens, func() tensor.Tensor { return s.tokens.tensor(0, n, size, 1) })
	b.add(l.LastRows, func() tensor.Tensor { return s.rows.tensor(0, n, size) })
	b.add(l.Lengths, func() tensor.Tensor { return s.lengths.tensor(0, n, size) })
	b.add(l.Total, func() tensor.Tensor { return s.total.tensor(0, 1, 1) })
	b.add(l.Positions, func() tensor.Tensor { return s.positions.tensor(0, n, size, 1) })
	b.add(l.Mask, func() tensor.Tensor { return s.mask.tensor(0, n*context, size, int64(context)) })
	b.add(l.Next, func() tensor.Tensor { return s.outNext.tensor(0, n, size) })
	b.add(l.Logits, func() tensor.Tensor { return l.lastScores(s.d.logits[:size*l.Rows], size) })
	return b.err
}

// addRead binds those of reading into a slot that do not depend on the number of tokens, beside the caches.
func (s *sharedSteps) addRead(values map[string]backend.Value, slot int) error {
	l, context := s.d.layout, s.d.limits.Context
	b := &binder{d: s.d, values: values}
	b.add(l.LastRows, func() tensor.Tensor { return s.promptRow.tensor(0, 1, 1) })
	b.add(l.Lengths, func() tensor.Tensor { return s.lengths.tensor(slot, 1, 1) })
	b.add(l.Total, func() tensor.Tensor { return s.total.tensor(0, 1, 1) })
	b.add(l.Mask, func() tensor.Tensor { return s.mask.tensor(slot*context, context, 1, int64(context)) })
	b.add(l.Next, func() tensor.Tensor { return s.outNext.tensor(slot, 1, 1) })
	if !l.AllRows {
		b.add(l.Logits, func() tensor.Tensor { return l.lastScores(s.d.Logits(slot), 1) })
	}
	return b.err
}

// chunkOf binds those of reading n tokens, once for each number.
func (s *sharedSteps) chunkOf(n int) (chunk, error) {
	if c, ok := s.chunks[n]; ok {
		return c, nil
	}
	l, size := s.d.layout, int64(n)
	b := &binder{d: s.d, values: map[string]backend.Value{}}
	b.add(l.Tokens, func() tensor.Tensor { return s.prompt.tensor(0, n, 1, size) })
	b.add(l.Positions, func() tensor.Tensor { return s.promptPositions.tensor(0, n, 1, size) })
	if l.AllRows {
		b.add(l.Logits, func() tensor.Tensor { return tensor.Of(s.chunkScore[:size*l.Rows], 1, size, l.Rows) })
	}
	c := chunk{b.values[l.Tokens], b.values[l.Positions], b.values[l.Logits]}
	if b.err == nil {
		s.chunks[n] = c
	}
	return c, b.err
}

// readCall are the arguments of reading n tokens into a slot.
func (s *sharedSteps) readCall(slot, n int) (call, error) {
	c, err := s.chunkOf(n)
	if err != nil {
		return call{}, err
	}
	r, l := &s.reading[slot], s.d.layout
	r.values[l.Tokens] = c.tokens
	if l.Positions != "" {
		r.values[l.Positions] = c.positions
	}
	if l.AllRows {
		r.values[l.Logits] = c.scores
	}
	info := s.d.session.Info()
	if r.inputs == nil {
		r.call, err = arrangedCall(info, r.values)
		return r.call, err
	}
	for i, p := range info.Inputs {
		r.inputs[i] = r.values[p.Name]
	}
	for i, p := range info.Outputs {
		r.outputs[i] = r.values[p.Name]
	}
	return r.call, nil
}
