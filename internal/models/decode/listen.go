package decode

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/hostmem"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Listener has a model write down what it hears in several recordings at once, token by token, all of them in
// step: row by row, each begins with the same tokens. What a decoder needs of a recording is
// worked out once; what it has written goes into its cache, which goes in and comes out longer. It is for one
// goroutine.
type Listener struct {
	layout   ListenLayout
	sessions workload.Sessions
	context  int

	heard    tensor.Tensor      // what the encoder gives out, recording by recording
	crossed  []tensor.Tensor    // keys and values of it
	written  [2][]tensor.Tensor // those of the tokens, of which one side is read and the other written
	side     int
	rows     int // recordings under way
	length   int // tokens that each has in the cache
	next     []int
	logits   []float32
	all      []float32 // scores of all of the first tokens
	ids      numbers
	place    []int64
	free     []func() error
	tensors  map[string]tensor.Tensor // of a run, by port
	usual    map[string]string        // names of ports, by the model's own
	bound    []backend.Value
	in, outs []backend.Value
}

// NewListener takes the memory, for so many recordings and tokens of each. It must be closed.
func NewListener(sessions workload.Sessions, l ListenLayout, slots, context int) (*Listener, error) {
	if slots < 1 || context < 2 {
		return nil, fmt.Errorf("a decoder of %d recordings with %d tokens has no room", slots, context)
	}
	d := &Listener{layout: l, sessions: sessions, context: context, next: make([]int, slots), place: make([]int64, context), tensors: map[string]tensor.Tensor{}, usual: swapped(l.names)}
	for i := range d.place {
		d.place[i] = int64(i)
	}
	d.logits = make([]float32, int64(slots)*l.Rows)
	if err := d.takeMemory(int64(slots)); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Listener) takeMemory(slots int64) error {
	l := d.layout
	memory := func(shape ...int64) (tensor.Tensor, error) {
		m, free, err := hostmem.New(tensor.Float32, shape...)
		if err == nil {
			d.free = append(d.free, free)
		}
		return m, err
	}
	var err error
	if d.heard, err = memory(slots, l.Steps, l.Hidden); err != nil {
		return err
	}
	for range 2 * l.Layers {
		slab, err := memory(slots, l.Heads, l.Steps, l.HeadSize)
		if err != nil {
			return err
		}
		d.crossed = append(d.crossed, slab)
		for side := range d.written {
			slab, err := memory(slots * l.Heads * int64(d.context) * l.HeadSize)
			if err != nil {
				return err
			}
			d.written[side] = append(d.written[side], slab)
		}
	}
	return nil
}

// Close frees the memory.
func (d *Listener) Close() error {
	var errs []error
	for _, free := range d.free {
		errs = append(errs, free())
	}
	d.free = nil
	return errors.Join(errs...)
}

// Listen has the encoder hear the features of a recording, which is to become a row.
func (d *Listener) Listen(ctx context.Context, row int, features []float32) error {
	l := d.layout
	clear(d.tensors)
	d.tensors[featuresPort] = tensor.Of(features, 1, l.Bands, l.Frames)
	d.tensors[heardPort] = d.heard.Rows(row, 1)
	return d.run(ctx, EncoderRole)
}

// Begin has the decoder read the first tokens, the same for the first so many rows. Next then is the likeliest token
// after them.
func (d *Listener) Begin(ctx context.Context, rows int, tokens []int32) error {
	if rows < 1 || rows > len(d.next) || len(tokens) < 1 || len(tokens) >= d.context {
		return fmt.Errorf("%d tokens of %d recordings do not fit: there is room for %d of %d", len(tokens), rows, d.context, len(d.next))
	}
	d.rows, d.length, d.side = rows, 0, 0
	d.ids = newNumbers(d.tokenType(FirstRole), rows*len(tokens))
	for i := range rows * len(tokens) {
		d.ids.set(i, int(tokens[i%len(tokens)]))
	}
	size := int64(rows * len(tokens))
	if int64(len(d.all)) < size*d.layout.Rows {
		d.all = make([]float32, size*d.layout.Rows)
	}
	scores := d.all[:size*d.layout.Rows]
	if err := d.read(ctx, FirstRole, len(tokens), scores); err != nil {
		return err
	}
	return d.choose(scores, len(tokens))
}

// Step has the decoder read the next token of each row.
func (d *Listener) Step(ctx context.Context) error {
	if d.length >= d.context {
		return fmt.Errorf("each recording has %d tokens, there is no room for more", d.length)
	}
	d.ids = newNumbers(d.tokenType(NextRole), d.rows)
	for row := range d.rows {
		d.ids.set(row, d.next[row])
	}
	scores := d.logits[:int64(d.rows)*d.layout.Rows]
	if err := d.read(ctx, NextRole, 1, scores); err != nil {
		return err
	}
	return d.choose(scores, 1)
}

// Next is the likeliest token of a row.
func (d *Listener) Next(row int) int { return d.next[row] }

// Drop forgets a row. The last one takes its place.
func (d *Listener) Drop(row int) {
	d.rows--
	if row == d.rows {
		return
	}
	d.next[row] = d.next[d.rows]
	for _, slab := range d.crossed {
		copy(slab.Rows(row, 1).Bytes(), slab.Rows(d.rows, 1).Bytes())
	}
	for _, slab := range d.written[d.side] {
		size := 4 * int(d.layout.Heads*d.layout.HeadSize) * d.length
		copy(slab.Bytes()[row*size:][:size], slab.Bytes()[d.rows*size:][:size])
	}
}

// read has one of the decoders read n tokens of each row.
func (d *Listener) read(ctx context.Context, role string, n int, scores []float32) error {
	l, rows := d.layout, int64(d.rows)
	clear(d.tensors)
	d.tensors[writtenPort] = d.ids.tensor(0, d.rows*n, rows, int64(n))
	d.tensors[placePort] = tensor.Of(d.place[d.length:][:n], int64(n))
	d.tensors[hearingPort] = d.heard.Rows(0, d.rows)
	d.tensors[scoresPort] = tensor.Of(scores, rows, int64(n), l.Rows)
	for layer := range l.Layers {
		for i, part := range cacheParts {
			kv := 2*layer + i%2
			if part.heard {
				crossed := d.crossed[kv].Rows(0, d.rows)
				d.tensors[part.past(layer)], d.tensors[part.present(layer)] = crossed, crossed
				continue
			}
			d.tensors[part.past(layer)] = d.view(d.written[d.side][kv], d.length)
			d.tensors[part.present(layer)] = d.view(d.written[1-d.side][kv], d.length+n)
		}
	}
	if err := d.run(ctx, role); err != nil {
		return err
	}
	d.side = 1 - d.side
	d.length += n
	return nil
}

// view is what all rows have in a slab after n tokens.
func (d *Listener) view(slab tensor.Tensor, n int) tensor.Tensor {
	shape := []int64{int64(d.rows), d.layout.Heads, int64(n), d.layout.HeadSize}
	return tensor.Of(tensor.Data[float32](slab)[:tensor.Shape(shape).Len()], shape...)
}

// choose takes the likeliest token of each row, of which n have scores.
func (d *Listener) choose(scores []float32, n int) error {
	size := int(d.layout.Rows)
	for row := range d.rows {
		last := scores[(row*n+n-1)*size:][:size]
		d.next[row] = likeliest(last)
		if v := float64(last[d.next[row]]); math.IsNaN(v) || math.IsInf(v, 0) {
			return errNotNumbers
		}
	}
	return nil
}

func (d *Listener) tokenType(role string) tensor.DType {
	for _, p := range d.sessions[role].Info().Inputs {
		if nameOf(d.usual, p.Name) == writtenPort {
			return p.Type
		}
	}
	return tensor.Int64
}
