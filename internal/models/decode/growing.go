package decode

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// growingSteps runs a model whose cache is an input, and an output that is longer: slot by slot, since sequences of different
// lengths would need padding. Each slot has two pieces of memory, one for the input and one for the output.
type growingSteps struct {
	d       *Decoder
	slabs   [2][]slab // key and value of each layer, [slots, heads·context·size]
	current []int     // the side with the cache of a slot

	one [1]int32
}

func newGrowingSteps(d *Decoder) (*growingSteps, error) {
	l, room := d.layout, d.limits
	g := &growingSteps{d: d, current: make([]int, room.Slots)}
	d.logits = make([]float32, int64(room.Slots)*l.Rows)
	for side := range g.slabs {
		for range 2 * l.Layers {
			slab, err := d.slab(int64(room.Slots) * g.slotSize())
			if err != nil {
				return nil, err
			}
			g.slabs[side] = append(g.slabs[side], slab)
		}
	}
	return g, nil
}

// slotSize is the number of elements of a slot in a slab.
func (g *growingSteps) slotSize() int64 {
	l := g.d.layout
	return l.KVHeads * int64(g.d.limits.Context) * l.HeadSize
}

func (g *growingSteps) prefill(ctx context.Context, slot int, tokens []int32) error {
	return g.read(ctx, slot, tokens)
}

func (g *growingSteps) step(ctx context.Context, n int) error {
	for slot := range n {
		g.one[0] = int32(g.d.next[slot])
		if err := g.read(ctx, slot, g.one[:]); err != nil {
			return err
		}
	}
	return nil
}

// read runs the model on tokens of a slot.
func (g *growingSteps) read(ctx context.Context, slot int, tokens []int32) (err error) {
	d, n := g.d, len(tokens)
	kept := len(d.values)
	defer func() { err = d.drop(kept, err) }()
	scores := make([]float32, int64(n)*d.layout.Rows)
	values, err := g.bind(slot, tokens, scores)
	if err != nil {
		return err
	}
	c, err := arrangedCall(d.session.Info(), values)
	if err != nil {
		return err
	}
	if err := d.session.Run(ctx, c.inputs, c.outputs); err != nil {
		return err
	}
	g.current[slot] ^= 1
	last := scores[:d.layout.Rows]
	if d.layout.AllRows {
		last = scores[int64(n-1)*d.layout.Rows:]
	}
	copy(d.Logits(slot), last)
	d.next[slot] = likeliest(last)
	return d.checkNext(slot)
}

// drop closes the values after the first kept ones.
func (d *Decoder) drop(kept int, err error) error {
	for _, v := range d.values[kept:] {
		if closing := v.Close(); err == nil {
			err = closing
		}
	}
	d.values = d.values[:kept]
	return err
}

// bind binds the inputs and outputs of a run.
func (g *growingSteps) bind(slot int, tokens []int32, scores []float32) (map[string]backend.Value, error) {
	d, l, n := g.d, g.d.layout, len(tokens)
	at := d.lengths[slot]
	end := at + n
	b := &binder{d: d, values: map[string]backend.Value{}}
	list := func(name string, count int, value func(i int) int) {
		b.add(name, func() tensor.Tensor {
			m := newIntegers(d.portType(name), count)
			for i := range count {
				m.set(i, value(i))
			}
			if name == l.LastRows || name == l.Lengths || name == l.Total {
				return m.tensor(0, count, int64(count))
			}
			return m.tensor(0, count, 1, int64(count))
		})
	}
	list(l.Tokens, n, func(i int) int { return int(tokens[i]) })
	list(l.Positions, n, func(i int) int { return at + i })
	list(l.Mask, end, func(int) int { return 1 })
	list(l.LastRows, 1, func(int) int { return n - 1 })
	list(l.Lengths, 1, func(int) int { return end - 1 })
	list(l.Total, 1, func(int) int { return end })
	list(l.Next, 1, func(int) int { return 0 })
	b.add(l.Logits, func() tensor.Tensor {
		if l.AllRows {
			return tensor.Of(scores, 1, int64(n), l.Rows)
		}
		return l.lastScores(scores[:l.Rows], 1)
	})
	side := g.current[slot]
	for layer := range l.Layers {
		for kv, names := range [2][2]string{{l.PastKey, l.PresentKey}, {l.PastValue, l.PresentValue}} {
			g.cache(b, numbered(names[0], layer), side, 2*layer+kv, slot, at)
			g.cache(b, numbered(names[1], layer), side^1, 2*layer+kv, slot, end)
		}
	}
	return b.values, b.err
}

// cache binds n tokens of a slot in a slab.
func (g *growingSteps) cache(b *binder, name string, side, kv, slot, n int) {
	if l := g.d.layout; b.err == nil {
		b.values[name], b.err = g.slabs[side][kv].value(int64(slot)*g.slotSize(), 1, l.KVHeads, int64(n), l.HeadSize)
	}
}

// move copies whole slots: heads lie behind each other without gaps.
func (g *growingSteps) move(to, from, _ int) {
	l := g.d.layout
	g.current[to] = g.current[from]
	for _, slab := range g.slabs[g.current[from]] {
		slab.copy(int64(to)*g.slotSize(), int64(from)*g.slotSize(), l.KVHeads*int64(g.d.lengths[from])*l.HeadSize)
	}
}
