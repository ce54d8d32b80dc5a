package singlepass

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Respond appends the response of the k-th sample of a batch to dst. outputs are
// the model's outputs for the whole batch.
type Respond func(dst []byte, outputs []tensor.Tensor, k int, item workload.Item) ([]byte, error)

// A Predictor answers a batch with one run of the model: the predictor of all models that are a function of one sample.
//
// A batch whose rows lie side by side in the store is the input as it is; other batches are copied into a buffer. Values are
// bound once and kept, so that later runs allocate nothing.
//
// If the slots have as many axes as the inputs, they are the whole inputs: the model has no batch axis, and a run answers one sample.
type Predictor struct {
	session backend.Session
	respond Respond
	batch   int  // largest
	fixed   bool // the model takes exactly that many
	whole   bool // a row is all of the inputs: they have no batch axis

	store   *workload.Store
	windows map[window][]backend.Value // over rows of the store
	buffer  []tensor.Tensor            // for each input, batch rows
	copied  [][]backend.Value          // over the first n rows of the buffer

	fresh      []backend.Value // outputs of a run that allocates them
	freshViews []tensor.Tensor

	outputs []tensor.Tensor   // for each output, batch rows; nil if only a run knows the shape
	results [][]backend.Value // over the first n rows of the outputs
	views   [][]tensor.Tensor // the same as tensors
	scratch []byte

	floats  [][]float32     // of outputs of other float types
	readers []tensor.Tensor // the outputs as float32, if some are of other float types
}

// A window is a range of rows of the store.
type window struct{ first, n int }

// New returns a predictor for up to maxBatch samples, whose rows have these slots: one for each input, in the order of the model.
func New(session backend.Session, row []workload.Slot, maxBatch int, respond Respond) (*Predictor, error) {
	info := session.Info()
	p := &Predictor{session: session, respond: respond, batch: maxBatch, windows: map[window][]backend.Value{}}
	n := 1
	p.whole = len(info.Inputs) == 0 || !info.Inputs[0].AnyShape && len(info.Inputs[0].Shape) == len(row[0].Shape)
	if !p.whole {
		n = info.Inputs[0].Batch()
	}
	if n > 0 {
		if maxBatch > n {
			return nil, fmt.Errorf("the model takes batches of %d, expected %d", n, maxBatch)
		}
		p.batch, p.fixed = n, true
	}
	for i, slot := range row {
		shape := append(tensor.Shape{int64(p.batch)}, slot.Shape...)
		if shape.Len() < 0 {
			return nil, fmt.Errorf("input %d of the model has too many values: %v", i, shape)
		}
		p.buffer = append(p.buffer, tensor.New(slot.Type, shape...))
	}
	p.outputs = make([]tensor.Tensor, len(info.Outputs))
	for i, port := range info.Outputs {
		var ok bool
		if p.outputs[i], ok = p.output(port); !ok {
			p.outputs = nil
			break
		}
	}
	if slices.ContainsFunc(info.Outputs, func(port backend.Port) bool { return IsOtherFloat(port.Type) }) {
		p.floats, p.readers = make([][]float32, len(info.Outputs)), make([]tensor.Tensor, len(info.Outputs))
	}
	p.copied = make([][]backend.Value, p.batch+1)
	p.results = make([][]backend.Value, p.batch+1)
	p.views = make([][]tensor.Tensor, p.batch+1)
	return p, nil
}

// mostOutput is the largest output, in bytes, that is allocated here. The engine allocates larger ones: where memory is
// short, it reports that, while Go would end the program.
const mostOutput = 1 << 32

// output allocates a batch of a port's values, if its first axis is the batch and the others are known. A first axis with another
// extent or name than that of the first input is something else, perhaps the number of boxes. Without a batch axis all axes have to
// be known.
func (p *Predictor) output(port backend.Port) (tensor.Tensor, bool) {
	if len(port.Shape) == 0 || port.Type == tensor.String {
		return tensor.Tensor{}, false
	}
	shape := port.Shape
	if !p.whole {
		if backend.FirstAxes(p.session.Info().Inputs[0], port) == backend.Differ {
			return tensor.Tensor{}, false
		}
		shape = append(tensor.Shape{int64(p.batch)}, port.Shape[1:]...)
	}
	if n := shape.Len(); n < 0 || n > mostOutput/int64(port.Type.Size()) {
		return tensor.Tensor{}, false
	}
	return tensor.New(port.Type, shape...), true
}

// Use implements workload.Predictor.
func (p *Predictor) Use(store *workload.Store) error {
	err := p.closeWindows()
	p.store = store
	return err
}

// Predict implements workload.Predictor.
func (p *Predictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	if len(items) == 0 {
		return nil
	}
	if p.store == nil {
		return errors.New("no samples are loaded")
	}
	n := len(items)
	if p.fixed {
		n = p.batch
	}
	inputs, err := p.inputs(items, n)
	if err != nil {
		return err
	}
	if p.outputs == nil {
		return p.predictFresh(ctx, inputs, items, reply)
	}
	if p.results[n] == nil {
		values, err := p.bindRows(p.outputs, n)
		if err != nil {
			return err
		}
		views := make([]tensor.Tensor, len(values))
		for i, v := range values {
			views[i] = v.Tensor()
		}
		p.results[n], p.views[n] = values, views
	}
	err = p.session.Run(ctx, inputs, p.results[n])
	if err != nil && ctx.Err() == nil { // perhaps because an output has another first axis than its name says, or it has no name
		if err = p.predictFresh(ctx, inputs, items, reply); err == nil {
			p.outputs = nil
		}
		return err
	}
	if err != nil {
		return err
	}
	return p.answer(items, p.views[n], reply)
}

// predictFresh lets the engine allocate the outputs, because only the run knows their shapes.
func (p *Predictor) predictFresh(ctx context.Context, inputs []backend.Value, items []workload.Item, reply workload.Reply) error {
	if p.fresh == nil {
		n := len(p.session.Info().Outputs)
		p.fresh, p.freshViews = make([]backend.Value, n), make([]tensor.Tensor, n)
	}
	err := p.session.Run(ctx, inputs, p.fresh)
	if err == nil {
		for i, v := range p.fresh {
			p.freshViews[i] = v.Tensor()
		}
		err = p.answer(items, p.freshViews, reply)
	}
	clear(p.freshViews)
	for i, v := range p.fresh {
		if v == nil {
			continue
		}
		p.fresh[i] = nil
		if closed := v.Close(); closed != nil {
			err = errors.Join(err, closed)
		}
	}
	return err
}

// answer turns the outputs of a batch into responses.
func (p *Predictor) answer(items []workload.Item, outputs []tensor.Tensor, reply workload.Reply) (err error) {
	outputs = p.readable(outputs)
	for k, item := range items {
		if p.scratch, err = p.respond(p.scratch[:0], outputs, k, item); err != nil {
			return fmt.Errorf("sample %d: %w", item.Index, err)
		}
		reply.Done(k, p.scratch, 0)
	}
	return nil
}

// readable converts outputs of other float types to float32.
func (p *Predictor) readable(outputs []tensor.Tensor) []tensor.Tensor {
	if p.readers == nil {
		return outputs
	}
	for i, t := range outputs {
		if IsOtherFloat(t.Type) {
			t = AsFloat32(t, &p.floats[i])
		}
		p.readers[i] = t
	}
	return p.readers
}

// Close implements workload.Predictor.
func (p *Predictor) Close() error {
	errs := []error{p.closeWindows()}
	for n := range p.copied {
		errs = append(errs, backend.CloseAll(p.copied[n]), backend.CloseAll(p.results[n]))
		p.copied[n], p.results[n], p.views[n] = nil, nil, nil
	}
	return errors.Join(errs...)
}

// inputs returns values over n rows: the store's own if they are there side by side.
func (p *Predictor) inputs(items []workload.Item, n int) ([]backend.Value, error) {
	if len(items) == n && p.store.Alike(items) {
		return p.window(window{items[0].Row, n})
	}
	p.gather(items, n)
	if p.copied[n] == nil {
		values, err := p.bindRows(p.buffer, n)
		if err != nil {
			return nil, err
		}
		p.copied[n] = values
	}
	return p.copied[n], nil
}

// window returns values over the store's own memory.
func (p *Predictor) window(w window) ([]backend.Value, error) {
	if values, ok := p.windows[w]; ok {
		return values, nil
	}
	slots := make([]tensor.Tensor, len(p.buffer))
	for k := range slots {
		slots[k] = p.store.Slot(k, w.first, w.n)
		if p.whole {
			slots[k] = slots[k].Reshape(slots[k].Shape[1:]...)
		}
	}
	values, err := backend.BindAll(p.session, slots)
	if err == nil {
		p.windows[w] = values
	}
	return values, err
}

// gather copies the rows of the items to the first n rows of the buffer. A short batch
// is filled up with its last row.
func (p *Predictor) gather(items []workload.Item, n int) {
	for k := range p.buffer {
		if p.buffer[k].Type == tensor.String {
			for i := range n {
				copy(p.buffer[k].Rows(i, 1).Strings(), p.store.Slot(k, items[min(i, len(items)-1)].Row, 1).Strings())
			}
			continue
		}
		mem := p.buffer[k].Bytes()
		size := len(mem) / p.batch
		for i := range n {
			row := items[min(i, len(items)-1)].Row
			copy(mem[i*size:(i+1)*size], p.store.RowBytes(k, row))
		}
	}
}

func (p *Predictor) bindRows(of []tensor.Tensor, n int) ([]backend.Value, error) {
	rows := make([]tensor.Tensor, len(of))
	for i, t := range of {
		rows[i] = t
		if !p.whole {
			rows[i] = t.Rows(0, n)
		}
	}
	return backend.BindAll(p.session, rows)
}

func (p *Predictor) closeWindows() error {
	var errs []error
	for _, values := range p.windows {
		errs = append(errs, backend.CloseAll(values))
	}
	clear(p.windows)
	return errors.Join(errs...)
}
