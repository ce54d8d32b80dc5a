package text

import (
	"context"
	"errors"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// encodingMemory is what the encoder reads and writes.
type encodingMemory struct {
	pieces              []int64
	lengths             []int32
	memory, keys, state []float32
}

// encode runs the encoder and fills the slots of sentences with what it says.
func (m *beamMemory) encode(ctx context.Context, encoder backend.Session, fresh []*underWay) (err error) {
	n, length := len(fresh), 0
	for _, s := range fresh {
		length = max(length, padded(len(s.pieces)))
	}
	e := &m.encoding
	e.fill(fresh, length)
	size := length * m.sizes.hidden
	e.memory, e.keys, e.state = tensor.Grown(e.memory, n*size), tensor.Grown(e.keys, n*size), tensor.Grown(e.state, n*m.sizes.state)
	b, err := e.bind(encoder, n, length, m.sizes)
	defer func() { err = errors.Join(err, b.close()) }()
	if err != nil {
		return err
	}
	if err := encoder.Run(ctx, b.inputs, b.outputs); err != nil {
		return err
	}
	states := tensor.Data[float32](m.states[m.current])
	for k, s := range fresh {
		m.put(s.slot, len(s.pieces), e.memory[k*size:], e.keys[k*size:])
		copy(states[m.start(s.slot)*m.sizes.state:][:m.sizes.state], e.state[k*m.sizes.state:])
	}
	return nil
}

// fill writes what the encoder reads.
func (e *encodingMemory) fill(fresh []*underWay, length int) {
	e.pieces, e.lengths = tensor.Grown(e.pieces, len(fresh)*length), tensor.Grown(e.lengths, len(fresh))
	for k, s := range fresh {
		row := e.pieces[k*length:][:length]
		for i := copy(row, s.pieces); i < length; i++ {
			row[i] = endPiece
		}
		e.lengths[k] = int32(len(s.pieces))
	}
}

// bind makes the values of a run of the encoder: there is one for each sentence, and many steps.
func (e *encodingMemory) bind(encoder backend.Session, sentences, length int, sizes translationSizes) (*bound, error) {
	n, l, h := int64(sentences), int64(length), int64(sizes.hidden)
	tensors := map[string]tensor.Tensor{
		"pieces": tensor.Of(e.pieces, n, l), "lengths": tensor.Of(e.lengths, n),
		"memory": tensor.Of(e.memory, n, l, h), "keys": tensor.Of(e.keys, n, l, h), "state": tensor.Of(e.state, n, int64(sizes.state)),
	}
	b := &bound{}
	var err error
	if b.inputs, err = backend.BindPorts(encoder, encoder.Info().Inputs, tensors); err == nil {
		b.outputs, err = backend.BindPorts(encoder, encoder.Info().Outputs, tensors)
	}
	return b, err
}
