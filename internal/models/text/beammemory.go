package text

import (
	"errors"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A beamMemory has the memory of the sentences that are translated, a slot for each, and the
// values over it, which are bound once. The states of all beams go from one of two buffers to
// the other: the decoder itself picks the rows that go on, and nothing is copied here. Behind
// the rows of beams each buffer has a row for each slot, with the state that its sentence begins with.
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

// padded is the length to which a sentence is filled up: one of a few, so that a device which compiles
// for each has few to compile for, and at most a quarter more than the sentence, or 7 pieces.
func padded(pieces int) int {
	step := 8
	for 8*step < pieces {
		step *= 2
	}
	return (pieces + step - 1) / step * step
}

// fit makes the slots as long as the longest of the sentences asks for. What is in them stays.
func (m *beamMemory) fit(live []*underWay) error {
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
		if !s.fresh() {
			n := len(s.pieces)
			m.put(s.slot, n, before.slot(before.memory, s.slot), before.slot(before.keys, s.slot))
		}
	}
	return errors.Join(errs...)
}

// slot is the part of a memory that a slot has.
func (m *beamMemory) slot(memory []float32, slot int) []float32 {
	size := m.length * m.sizes.hidden
	return memory[slot*size:][:size]
}

// put fills a slot with the memory and the keys of so many pieces.
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

// masked is the score of places behind a sentence's end.
const masked = -3.4e38

// start is the row of the state that the sentence of a slot begins with.
func (m *beamMemory) start(slot int) int { return m.slots*beamWidth + slot }

// begin has beams begin with the sentence of a slot.
func (m *beamMemory) begin(row, beams, slot int) {
	for k := range beams {
		m.tokens[row+k], m.parents[row+k] = startPiece, int64(m.start(slot))
	}
}

// goOn has the beams of a search, which were those from a first row on, go on in other rows.
func (m *beamMemory) goOn(row, first int, search *decode.BeamSearch) {
	parents := search.Parents()
	for k, token := range search.Tokens() {
		m.tokens[row+k], m.parents[row+k] = int64(token), int64(first)+int64(parents[k])
	}
}

// turn has the next step read what the last one wrote.
func (m *beamMemory) turn() { m.current = 1 - m.current }
