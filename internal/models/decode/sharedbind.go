package decode

import (
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// addCalls binds what a step of slot+1 slots, and reading into the slot, need.
func (s *sharedSteps) addCalls(slot int) error {
	step, err := s.caches(0, slot+1)
	if err == nil {
		err = s.addStep(step, slot+1)
	}
	if err != nil {
		return err
	}
	c, err := arrangedCall(s.d.session.Info(), step)
	if err != nil {
		return err
	}
	s.stepping = append(s.stepping, c)
	read, err := s.caches(slot, 1)
	if err == nil {
		err = s.addRead(read, slot)
	}
	s.reading = append(s.reading, reader{values: read})
	return err
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

// caches binds the slots from one on, as what goes in and what comes out.
func (s *sharedSteps) caches(first, n int) (map[string]backend.Value, error) {
	l := s.d.layout
	values := map[string]backend.Value{}
	for layer := range l.Layers {
		for kv, names := range [2][2]string{{l.PastKey, l.PresentKey}, {l.PastValue, l.PresentValue}} {
			v, err := s.slabs[2*layer+kv].value(int64(first)*s.slotSize(), int64(n), l.KVHeads, int64(s.d.room.Context), l.HeadSize)
			if err != nil {
				return nil, err
			}
			values[numbered(names[0], layer)], values[numbered(names[1], layer)] = v, v
		}
	}
	return values, nil
}

// addStep binds what a step of n slots reads and writes beside the caches.
func (s *sharedSteps) addStep(values map[string]backend.Value, n int) error {
	l, size, context := s.d.layout, int64(n), s.d.room.Context
	b := &binder{d: s.d, values: values}
	b.add(l.Tokens, func() tensor.Tensor { return s.fed.tensor(0, n, size, 1) })
	b.add(l.LastRows, func() tensor.Tensor { return s.rows.tensor(0, n, size) })
	b.add(l.Lengths, func() tensor.Tensor { return s.lens.tensor(0, n, size) })
	b.add(l.Total, func() tensor.Tensor { return s.total.tensor(0, 1, 1) })
	b.add(l.Positions, func() tensor.Tensor { return s.places.tensor(0, n, size, 1) })
	b.add(l.Mask, func() tensor.Tensor { return s.mask.tensor(0, n*context, size, int64(context)) })
	b.add(l.Next, func() tensor.Tensor { return s.outNext.tensor(0, n, size) })
	b.add(l.Logits, func() tensor.Tensor {
		scores := s.d.logits[:size*l.Rows]
		if l.AllRows {
			return tensor.Of(scores, size, 1, l.Rows)
		}
		return tensor.Of(scores, size, l.Rows)
	})
	return b.err
}

// addRead binds what reading into a slot needs beside the caches, and does not depend on the number
// of tokens.
func (s *sharedSteps) addRead(values map[string]backend.Value, slot int) error {
	l, context := s.d.layout, s.d.room.Context
	b := &binder{d: s.d, values: values}
	b.add(l.LastRows, func() tensor.Tensor { return s.promptRow.tensor(0, 1, 1) })
	b.add(l.Lengths, func() tensor.Tensor { return s.lens.tensor(slot, 1, 1) })
	b.add(l.Total, func() tensor.Tensor { return s.total.tensor(0, 1, 1) })
	b.add(l.Mask, func() tensor.Tensor { return s.mask.tensor(slot*context, context, 1, int64(context)) })
	b.add(l.Next, func() tensor.Tensor { return s.outNext.tensor(slot, 1, 1) })
	if !l.AllRows {
		b.add(l.Logits, func() tensor.Tensor { return tensor.Of(s.d.Logits(slot), 1, l.Rows) })
	}
	return b.err
}

// chunkOf binds what reading n tokens needs. It is done once for each number.
func (s *sharedSteps) chunkOf(n int) (chunk, error) {
	if c, ok := s.chunks[n]; ok {
		return c, nil
	}
	l, size := s.d.layout, int64(n)
	b := &binder{d: s.d, values: map[string]backend.Value{}}
	b.add(l.Tokens, func() tensor.Tensor { return s.prompt.tensor(0, n, 1, size) })
	b.add(l.Positions, func() tensor.Tensor { return s.promptAt.tensor(0, n, 1, size) })
	if l.AllRows {
		b.add(l.Logits, func() tensor.Tensor { return tensor.Of(s.chunkScore[:size*l.Rows], 1, size, l.Rows) })
	}
	c := chunk{b.values[l.Tokens], b.values[l.Positions], b.values[l.Logits]}
	if b.err == nil {
		s.chunks[n] = c
	}
	return c, b.err
}

// readCall are the arguments for reading n tokens into a slot.
func (s *sharedSteps) readCall(slot, n int) (call, error) {
	c, err := s.chunkOf(n)
	if err != nil {
		return call{}, err
	}
	r, l := &s.reading[slot], s.d.layout
	r.values[l.Tokens] = c.tokens
	if l.Positions != "" {
		r.values[l.Positions] = c.places
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
