package text

import (
	"context"
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A beamMemory has the memory of the active sentences, a slot for each, and the values over it, which are bound once. The
// states of all beams are in two buffers, one the input and one the output of a step: the decoder picks the rows that go
// on, and nothing is copied here. Behind the rows of beams each buffer has a row for each slot, the first state of its
// sentence.
type beamMemory struct {
	sizes   translationSizes
	slots   int
	decoder backend.Session

	length       int       // of each slot, in pieces
	memory, keys []float32 // [slots, length, hidden]
	mask         []float32 // [slots, length]

	states  [2]tensor.Tensor // [slots·beamWidth + slots, state]
	current int              // the state that the next step reads

	active          []int64 // slots of the sentences
	parents, tokens []int64 // of the rows
	found           []int64 // candidates of the rows
	logits, sums    []float32

	encoding encodingMemory
	values   map[string]backend.Value // by what they are and how long
	steps    map[stepShape]*bound
}

func newBeamMemory(sizes translationSizes, slots, candidates int, decoder backend.Session) *beamMemory {
	rows := slots * beamWidth
	m := &beamMemory{
		sizes: sizes, slots: slots, decoder: decoder,
		active: make([]int64, slots), parents: make([]int64, rows), tokens: make([]int64, rows),
		found: make([]int64, rows*candidates), logits: make([]float32, rows*candidates), sums: make([]float32, rows),
		values: make(map[string]backend.Value), steps: make(map[stepShape]*bound),
	}
	for i := range m.states {
		m.states[i] = tensor.New(tensor.Float32, int64(rows+slots), int64(sizes.state))
	}
	return m
}

// padded is the padded length of a sentence: one of a few, for devices that compile for each length, and at most a quarter
// or 7 pieces more than the sentence.
func padded(pieces int) int {
	step := 8
	for 8*step < pieces {
		step *= 2
	}
	return (pieces + step - 1) / step * step
}

// fit makes the slots as long as the longest sentence needs. Their content stays.
func (m *beamMemory) fit(live []*beamedSentence) error {
	longest := 0
	for _, s := range live {
		longest = max(longest, len(s.pieces))
	}
	length := padded(longest)
	if length == m.length {
		return nil
	}
	clear(m.steps)
	errs := []error{m.free("memory"), m.free("keys"), m.free("mask")}
	before := *m
	m.length = length
	m.memory, m.keys = make([]float32, m.slots*length*m.sizes.hidden), make([]float32, m.slots*length*m.sizes.hidden)
	m.mask = make([]float32, m.slots*length)
	for _, s := range live {
		if s.steps > 0 {
			n := len(s.pieces)
			m.put(s.slot, n, before.slot(before.memory, s.slot), before.slot(before.keys, s.slot))
		}
	}
	return errors.Join(errs...)
}

// slot is the part of a slot in a memory.
func (m *beamMemory) slot(memory []float32, slot int) []float32 {
	size := m.length * m.sizes.hidden
	return memory[slot*size:][:size]
}

// put fills a slot with the memory and the keys of pieces pieces.
func (m *beamMemory) put(slot, pieces int, memory, keys []float32) {
	n := pieces * m.sizes.hidden
	for _, part := range []struct{ to, from []float32 }{{m.slot(m.memory, slot), memory}, {m.slot(m.keys, slot), keys}} {
		clear(part.to[copy(part.to, part.from[:n]):])
	}
	mask := m.mask[slot*m.length:][:m.length]
	for i := range mask {
		mask[i] = 0
		if i >= pieces {
			mask[i] = masked
		}
	}
}

// masked is the score of places after a sentence's end.
const masked = -3.4e38

// start is the row of a slot's first state.
func (m *beamMemory) start(slot int) int { return m.slots*beamWidth + slot }

// begin sets the rows of beams to the first state of a slot.
func (m *beamMemory) begin(row, beams, slot int) {
	for k := range beams {
		m.tokens[row+k], m.parents[row+k] = startPiece, int64(m.start(slot))
	}
}

// goOn sets the rows of a search's next beams, which follow beams from a first row on.
func (m *beamMemory) goOn(row, first int, search *decode.BeamSearch) {
	parents := search.Parents()
	for k, token := range search.Tokens() {
		m.tokens[row+k], m.parents[row+k] = int64(token), int64(first)+int64(parents[k])
	}
}

// A stepShape has the sizes that the values of a step depend on.
type stepShape struct{ active, beams, current int }

// bound are the values of a run, in the order of the ports.
type bound struct{ inputs, outputs []backend.Value }

// step returns the values for a step of active sentences with beams beams each.
func (m *beamMemory) step(active, beams int) (*bound, error) {
	at := stepShape{active, beams, m.current}
	if b := m.steps[at]; b != nil {
		return b, nil
	}
	tensors := m.tensors(active, beams)
	b := &bound{}
	info := m.decoder.Info()
	for _, side := range []struct {
		ports  []backend.Port
		values *[]backend.Value
	}{{info.Inputs, &b.inputs}, {info.Outputs, &b.outputs}} {
		for _, port := range side.ports {
			v, err := m.value(port.Name, tensors[port.Name])
			if err != nil {
				return nil, err
			}
			*side.values = append(*side.values, v)
		}
	}
	m.steps[at] = b
	return b, nil
}

// tensors are the inputs and outputs of a step.
func (m *beamMemory) tensors(active, beams int) map[string]tensor.Tensor {
	slots, length, hidden, rows := int64(m.slots), int64(m.length), int64(m.sizes.hidden), active*beams
	candidates := len(m.found) / len(m.tokens)
	best := []int64{int64(rows), int64(candidates)}
	return map[string]tensor.Tensor{
		"memory": tensor.Of(m.memory, slots, length, hidden), "keys": tensor.Of(m.keys, slots, length, hidden), "mask": tensor.Of(m.mask, slots, length),
		"active": tensor.Of(m.active[:active], int64(active)), "parents": tensor.Of(m.parents[:rows], int64(rows)),
		"pieces": tensor.Of(m.tokens[:rows], int64(rows)),
		"state":  m.states[m.current], "next_state": m.states[1-m.current].Rows(0, rows),
		"logits": tensor.Of(m.logits[:rows*candidates], best...), "candidates": tensor.Of(m.found[:rows*candidates], best...),
		"log_sum": tensor.Of(m.sums[:rows], int64(rows)),
	}
}

// value binds a tensor of a port once for each length.
func (m *beamMemory) value(port string, t tensor.Tensor) (backend.Value, error) {
	name := port
	switch port {
	case "memory", "keys", "mask":
	case "state", "next_state":
		name = fmt.Sprint(port, t.Shape[0], m.current)
	default:
		name = fmt.Sprint(port, t.Shape[0])
	}
	if v := m.values[name]; v != nil {
		return v, nil
	}
	v, err := m.decoder.Bind(t)
	if err != nil {
		return nil, err
	}
	m.values[name] = v
	return v, nil
}

// free closes a value.
func (m *beamMemory) free(name string) error {
	v := m.values[name]
	if v == nil {
		return nil
	}
	delete(m.values, name)
	return v.Close()
}

// close frees the values.
func (m *beamMemory) close() error {
	var errs []error
	for name := range m.values {
		errs = append(errs, m.free(name))
	}
	clear(m.steps)
	return errors.Join(errs...)
}

// encodingMemory has the inputs and outputs of the encoder.
type encodingMemory struct {
	pieces              []int64
	lengths             []int32
	memory, keys, state []float32
}

// encode runs the encoder and fills the slots of sentences with its outputs.
func (m *beamMemory) encode(ctx context.Context, encoder backend.Session, fresh []*beamedSentence) (err error) {
	n, length := len(fresh), 0
	for _, s := range fresh {
		length = max(length, padded(len(s.pieces)))
	}
	e := &m.encoding
	e.fill(fresh, length)
	size := length * m.sizes.hidden
	e.memory, e.keys, e.state = tensor.Grown(e.memory, n*size), tensor.Grown(e.keys, n*size), tensor.Grown(e.state, n*m.sizes.state)
	b, err := e.bind(encoder, n, length, m.sizes)
	defer func() { err = errors.Join(err, backend.CloseAll(b.inputs, b.outputs)) }()
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

// fill writes the encoder's inputs.
func (e *encodingMemory) fill(fresh []*beamedSentence, length int) {
	e.pieces, e.lengths = tensor.Grown(e.pieces, len(fresh)*length), tensor.Grown(e.lengths, len(fresh))
	for k, s := range fresh {
		row := e.pieces[k*length:][:length]
		for i := copy(row, s.pieces); i < length; i++ {
			row[i] = endPiece
		}
		e.lengths[k] = int32(len(s.pieces))
	}
}

// bind makes the values of a run of the encoder, which are not kept: it runs once for a sentence.
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
