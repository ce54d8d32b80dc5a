package text

import (
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// A translationBatch has the memory for sentences that are translated together, and the
// values over it. It is used again for batches of the same size.
type translationBatch struct {
	sentences, longest int

	pieces  []int64   // [sentences, longest]
	lengths []int32   // of the sentences
	mask    []float32 // [sentences, longest]

	encoderIn, encoderOut []backend.Value

	active          []int64 // sentences that are not finished
	memory          []int64 // for active
	parents, tokens []int64 // of the rows
	found           []int64 // candidates of the rows
	logits, sums    []float32
	states          [2]tensor.Tensor

	current int                      // the state that the next step reads; −1: that of the encoder
	rows    int                      // that it has
	values  map[string]backend.Value // by what they are and how long
	steps   map[stepShape]*decoderStep
	err     error
}

// A stepShape is what the values of a step depend on.
type stepShape struct{ active, beams, before, current int }

type decoderStep struct{ inputs, outputs []backend.Value }

// batchOf returns a batch for so many sentences of so many pieces.
func (t *translator) batchOf(sentences, longest int) (*translationBatch, error) {
	if b := t.batch; b != nil && b.sentences == sentences && b.longest == longest {
		return b, nil
	}
	err := t.batch.close()
	t.batch = nil
	if err != nil {
		return nil, err
	}
	b, err := newTranslationBatch(t, sentences, longest)
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	t.batch = b
	return b, nil
}

func newTranslationBatch(t *translator, sentences, longest int) (*translationBatch, error) {
	n, length, rows := int64(sentences), int64(longest), sentences*beamWidth
	hidden, state, err := widths(t.encoder.Info().Outputs)
	if err != nil {
		return nil, err
	}
	b := &translationBatch{
		sentences: sentences, longest: longest, pieces: make([]int64, sentences*longest), lengths: make([]int32, sentences),
		mask: make([]float32, sentences*longest), memory: make([]int64, sentences), parents: make([]int64, rows), tokens: make([]int64, rows),
		found: make([]int64, rows*t.candidates), logits: make([]float32, rows*t.candidates), sums: make([]float32, rows),
		steps: make(map[stepShape]*decoderStep), values: make(map[string]backend.Value),
	}
	for i := range b.states {
		b.states[i] = tensor.New(tensor.Float32, int64(rows), state)
	}
	memory, keys := tensor.New(tensor.Float32, n, length, hidden), tensor.New(tensor.Float32, n, length, hidden)
	start := tensor.New(tensor.Float32, n, state)
	enc := map[string]tensor.Tensor{
		"pieces": tensor.Of(b.pieces, n, length), "lengths": tensor.Of(b.lengths, n),
		"memory": memory, "keys": keys, "state": start,
	}
	for _, port := range t.encoder.Info().Inputs {
		b.encoderIn = append(b.encoderIn, b.value(t.encoder, "encoder/"+port.Name, enc[port.Name]))
	}
	for _, port := range t.encoder.Info().Outputs {
		b.encoderOut = append(b.encoderOut, b.value(t.encoder, "encoder/"+port.Name, enc[port.Name]))
	}
	b.value(t.decoder, "memory", memory)
	b.value(t.decoder, "keys", keys)
	b.value(t.decoder, "mask", tensor.Of(b.mask, n, length))
	b.value(t.decoder, "start", start)
	return b, b.err
}

// widths are those of the memory and of the state.
func widths(outputs []backend.Port) (hidden, state int64, err error) {
	for _, port := range outputs {
		switch {
		case port.Name == "memory" && len(port.Shape) == 3:
			hidden = port.Shape[2]
		case port.Name == "state" && len(port.Shape) == 2:
			state = port.Shape[1]
		}
	}
	if hidden < 1 || state < 1 {
		err = fmt.Errorf("the encoder's outputs are %s, want memory [N T H] and state [N S] of known H and S", workload.DescribePorts(outputs))
	}
	return hidden, state, err
}

// value binds a tensor once, under a name.
func (b *translationBatch) value(s backend.Session, name string, t tensor.Tensor) backend.Value {
	if v := b.values[name]; v != nil || b.err != nil {
		return v
	}
	v, err := s.Bind(t)
	if err != nil {
		b.err = err
		return nil
	}
	b.values[name] = v
	return v
}

// begin starts with one beam of each sentence.
func (b *translationBatch) begin(sentences int) {
	b.active = b.active[:0]
	for s := range sentences {
		b.active = append(b.active, int64(s))
		b.parents[s], b.tokens[s] = int64(s), startPiece
	}
	b.current, b.rows = -1, sentences
}

// next leaves the sentences that are finished out. The step before wrote so many rows.
func (b *translationBatch) next(active, rows int) {
	b.active = b.active[:active]
	b.current = (b.current + 1) % 2
	b.rows = rows
}

// step returns the values for a step: of the active sentences, each with so many beams. What
// the decoder writes is the state that the next step reads.
func (b *translationBatch) step(s backend.Session, beams int) (*decoderStep, error) {
	copy(b.memory, b.active)
	at := stepShape{len(b.active), beams, b.rows, b.current}
	if step := b.steps[at]; step != nil {
		return step, nil
	}
	n, rows := int64(len(b.active)), int64(len(b.active)*beams)
	written := (b.current + 1) % 2
	width := int64(b.states[0].Len()) / b.states[0].Shape[0]
	candidates := int64(len(b.found) / len(b.tokens))
	name := func(what string, n int64) string { return fmt.Sprintf("%s/%d", what, n) }
	list := func(what string, v []int64) backend.Value {
		return b.value(s, name(what, int64(len(v))), tensor.Of(v, int64(len(v))))
	}
	read := b.values["start"]
	if b.current >= 0 {
		read = b.value(s, name(fmt.Sprint("state", b.current), int64(b.rows)), b.states[b.current].Rows(0, b.rows))
	}
	values := map[string]backend.Value{
		"memory": b.values["memory"], "keys": b.values["keys"], "mask": b.values["mask"],
		"active": list("active", b.memory[:n]), "parents": list("parents", b.parents[:rows]), "pieces": list("pieces", b.tokens[:rows]), "state": read,
		"logits":     b.value(s, name("logits", rows), tensor.Of(b.logits[:rows*candidates], rows, candidates)),
		"candidates": b.value(s, name("candidates", rows), tensor.Of(b.found[:rows*candidates], rows, candidates)),
		"log_sum":    b.value(s, name("log_sum", rows), tensor.Of(b.sums[:rows], rows)),
		"next_state": b.value(s, name(fmt.Sprint("state", written), rows), tensor.Of(tensor.Data[float32](b.states[written])[:rows*width], rows, width)),
	}
	step := &decoderStep{}
	for _, port := range s.Info().Inputs {
		step.inputs = append(step.inputs, values[port.Name])
	}
	for _, port := range s.Info().Outputs {
		step.outputs = append(step.outputs, values[port.Name])
	}
	if b.err != nil {
		return nil, b.err
	}
	b.steps[at] = step
	return step, nil
}

// close frees the values. A batch that was never made has none.
func (b *translationBatch) close() error {
	if b == nil {
		return nil
	}
	var errs []error
	for name, v := range b.values {
		errs = append(errs, v.Close())
		delete(b.values, name)
	}
	return errors.Join(errs...)
}
