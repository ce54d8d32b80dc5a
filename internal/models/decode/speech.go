package decode

import (
	"context"
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/hostmem"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A SpeechDecoder transcribes several recordings at once, a row for each, token by token and in step: all rows begin with the
// same tokens. The keys and values of cross-attention are computed once for a recording; those of self-attention
// are a cache, which goes in and comes out longer. It is for one goroutine.
type SpeechDecoder struct {
	layout   SpeechLayout
	sessions workload.Sessions
	context  int

	encoded    tensor.Tensor      // hidden states of the encoder, recording by recording
	crossCache []tensor.Tensor    // keys and values of it
	selfCache  [2][]tensor.Tensor // of the tokens: one side is the input, the other the output
	side       int
	rows       int // active recordings
	length     int // tokens that each has in the cache
	next       []int
	logits     []float32
	all        []float32 // scores of all of the first tokens
	ids        integers
	positions  []int64
	free       []func() error
	tensors    map[string]tensor.Tensor // of a run, by port
	usual      map[string]string        // names of ports, by the model's own
	bound      []backend.Value
	in, outs   []backend.Value
}

// NewSpeechDecoder allocates the memory for slots recordings of context tokens each. It must be closed.
func NewSpeechDecoder(sessions workload.Sessions, l SpeechLayout, slots, context int) (*SpeechDecoder, error) {
	if slots < 1 || context < 2 {
		return nil, fmt.Errorf("a decoder of %d recordings with %d tokens: expected at least 1 with 2", slots, context)
	}
	d := &SpeechDecoder{layout: l, sessions: sessions, context: context, next: make([]int, slots), positions: make([]int64, context),
		tensors: map[string]tensor.Tensor{}, usual: swapped(l.names)}
	for i := range d.positions {
		d.positions[i] = int64(i)
	}
	d.logits = make([]float32, int64(slots)*l.Rows)
	if err := d.allocate(int64(slots)); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *SpeechDecoder) allocate(slots int64) error {
	l := d.layout
	memory := func(shape ...int64) (tensor.Tensor, error) {
		m, free, err := hostmem.New(tensor.Float32, shape...)
		if err == nil {
			d.free = append(d.free, free)
		}
		return m, err
	}
	var err error
	if d.encoded, err = memory(slots, l.Steps, l.Hidden); err != nil {
		return err
	}
	for range 2 * l.Layers {
		slab, err := memory(slots, l.Heads, l.Steps, l.HeadSize)
		if err != nil {
			return err
		}
		d.crossCache = append(d.crossCache, slab)
		for side := range d.selfCache {
			slab, err := memory(slots * l.Heads * int64(d.context) * l.HeadSize)
			if err != nil {
				return err
			}
			d.selfCache[side] = append(d.selfCache[side], slab)
		}
	}
	return nil
}

// Close frees the memory.
func (d *SpeechDecoder) Close() error {
	var errs []error
	for _, free := range d.free {
		errs = append(errs, free())
	}
	d.free = nil
	return errors.Join(errs...)
}

// Encode runs the encoder on the features of a recording, which becomes a row.
func (d *SpeechDecoder) Encode(ctx context.Context, row int, features []float32) error {
	l := d.layout
	clear(d.tensors)
	d.tensors[featuresPort] = tensor.Of(features, 1, l.Bands, l.Frames)
	d.tensors[encodedPort] = d.encoded.Rows(row, 1)
	return d.run(ctx, EncoderRole)
}

// Begin runs the decoder on the first tokens, the same for each of the first rows. Next then is the likeliest token after
// them.
func (d *SpeechDecoder) Begin(ctx context.Context, rows int, tokens []int32) error {
	if rows < 1 || rows > len(d.next) || len(tokens) < 1 || len(tokens) >= d.context {
		return fmt.Errorf("%d tokens of %d recordings do not fit: expected at most %d tokens of %d", len(tokens), rows, d.context, len(d.next))
	}
	d.rows, d.length, d.side = rows, 0, 0
	d.ids = newIntegers(d.tokenType(FirstRole), rows*len(tokens))
	for i := range rows * len(tokens) {
		d.ids.set(i, int(tokens[i%len(tokens)]))
	}
	size := int64(rows * len(tokens))
	if int64(len(d.all)) < size*d.layout.Rows {
		d.all = make([]float32, size*d.layout.Rows)
	}
	scores := d.all[:size*d.layout.Rows]
	if err := d.runDecoder(ctx, FirstRole, len(tokens), scores); err != nil {
		return err
	}
	return d.choose(scores, len(tokens))
}

// Step runs the decoder on the next token of each row.
func (d *SpeechDecoder) Step(ctx context.Context) error {
	if d.length >= d.context {
		return fmt.Errorf("each recording has %d tokens: the context is full", d.length)
	}
	d.ids = newIntegers(d.tokenType(NextRole), d.rows)
	for row := range d.rows {
		d.ids.set(row, d.next[row])
	}
	scores := d.logits[:int64(d.rows)*d.layout.Rows]
	if err := d.runDecoder(ctx, NextRole, 1, scores); err != nil {
		return err
	}
	return d.choose(scores, 1)
}

// Next is the likeliest token of a row.
func (d *SpeechDecoder) Next(row int) int { return d.next[row] }

// Drop removes a row. The last one takes its place.
func (d *SpeechDecoder) Drop(row int) {
	d.rows--
	if row == d.rows {
		return
	}
	d.next[row] = d.next[d.rows]
	for _, slab := range d.crossCache {
		copy(slab.Rows(row, 1).Bytes(), slab.Rows(d.rows, 1).Bytes())
	}
	for _, slab := range d.selfCache[d.side] {
		size := 4 * int(d.layout.Heads*d.layout.HeadSize) * d.length
		copy(slab.Bytes()[row*size:][:size], slab.Bytes()[d.rows*size:][:size])
	}
}

// runDecoder runs one of the decoders on n tokens of each row.
func (d *SpeechDecoder) runDecoder(ctx context.Context, role string, n int, scores []float32) error {
	l, rows := d.layout, int64(d.rows)
	clear(d.tensors)
	d.tensors[tokensPort] = d.ids.tensor(0, d.rows*n, rows, int64(n))
	d.tensors[positionPort] = tensor.Of(d.positions[d.length:][:n], int64(n))
	d.tensors[crossPort] = d.encoded.Rows(0, d.rows)
	d.tensors[scoresPort] = tensor.Of(scores, rows, int64(n), l.Rows)
	for layer := range l.Layers {
		for i, part := range cacheParts {
			kv := 2*layer + i%2
			if part.cross {
				crossed := d.crossCache[kv].Rows(0, d.rows)
				d.tensors[part.past(layer)], d.tensors[part.present(layer)] = crossed, crossed
				continue
			}
			d.tensors[part.past(layer)] = d.view(d.selfCache[d.side][kv], d.length)
			d.tensors[part.present(layer)] = d.view(d.selfCache[1-d.side][kv], d.length+n)
		}
	}
	if err := d.run(ctx, role); err != nil {
		return err
	}
	d.side = 1 - d.side
	d.length += n
	return nil
}

// view is the part of a slab that holds n tokens of each row.
func (d *SpeechDecoder) view(slab tensor.Tensor, n int) tensor.Tensor {
	shape := []int64{int64(d.rows), d.layout.Heads, int64(n), d.layout.HeadSize}
	return tensor.Of(tensor.Data[float32](slab)[:tensor.Shape(shape).Len()], shape...)
}

// choose takes the likeliest token of each row, from the last of n scores.
func (d *SpeechDecoder) choose(scores []float32, n int) error {
	size := int(d.layout.Rows)
	for row := range d.rows {
		last := scores[(row*n+n-1)*size:][:size]
		d.next[row] = likeliest(last)
		if !units.Finite(last[d.next[row]]) {
			return errNotNumbers
		}
	}
	return nil
}

func (d *SpeechDecoder) tokenType(role string) tensor.DType {
	for _, p := range d.sessions[role].Info().Inputs {
		if nameOf(d.usual, p.Name) == tokensPort {
			return p.Type
		}
	}
	return tensor.Int64
}

// run runs the file of a role with the tensors of its ports.
func (d *SpeechDecoder) run(ctx context.Context, role string) (err error) {
	session := d.sessions[role]
	defer func() {
		for _, v := range d.bound {
			err = errors.Join(err, v.Close())
		}
		d.bound = d.bound[:0]
	}()
	info := session.Info()
	if d.in, err = d.bind(session, info.Inputs, d.in[:0]); err != nil {
		return err
	}
	if d.outs, err = d.bind(session, info.Outputs, d.outs[:0]); err != nil {
		return err
	}
	return session.Run(ctx, d.in, d.outs)
}

func (d *SpeechDecoder) bind(session backend.Session, ports []backend.Port, values []backend.Value) ([]backend.Value, error) {
	for _, p := range ports {
		t, ok := d.tensors[nameOf(d.usual, p.Name)]
		if !ok {
			return values, fmt.Errorf("the model has an unknown port %s", p.Name)
		}
		v, err := session.Bind(t)
		if err != nil {
			return values, err
		}
		d.bound, values = append(d.bound, v), append(values, v)
	}
	return values, nil
}
