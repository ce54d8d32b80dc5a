package serve

import (
	"context"
	"errors"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// rawModel is the workload of a server: samples are what clients send, answers are the outputs.
func rawModel(name string, t *table) workload.Model {
	return workload.Model{Name: name, Open: func(s workload.Setup) (workload.Workload, error) {
		ports := s.Ports[workload.Only]
		if err := checkPorts(ports); err != nil {
			return nil, err
		}
		t.ports, t.batched = ports, batchable(ports)
		return &raw{t}, nil
	}}
}

// checkPorts refuses what cannot be sent.
func checkPorts(p workload.Ports) error {
	for _, port := range slices.Concat(p.Inputs, p.Outputs) {
		if port.Other != "" {
			return errors.New("port " + port.Name + " is a " + port.Other + ", which the protocol does not have")
		}
	}
	return nil
}

// batchable reports whether samples may run side by side: all ports have the batch as their first
// axis, and nothing else is free.
func batchable(p workload.Ports) bool {
	if len(p.Inputs) == 0 {
		return false
	}
	for _, port := range slices.Concat(p.Inputs, p.Outputs) {
		if port.AnyShape || len(port.Shape) == 0 || port.Type == tensor.String || int(port.Shape[0]) != p.Inputs[0].Batch() || port.Shape[1:].Len() < 0 {
			return false
		}
	}
	return true
}

// raw is the workload of raw tensors.
type raw struct{ table *table }

// Len implements workload.Workload.
func (w *raw) Len() int { return w.table.room }

// Row implements workload.Workload: a sample's tensors, or a byte where they differ.
func (w *raw) Row(int) []workload.Slot { return w.table.slots() }

// CacheKey implements workload.Workload.
func (*raw) CacheKey() string { return "" }

// Prepare implements workload.Workload; clients do that.
func (*raw) Prepare(int, []tensor.Tensor) error { return nil }

// Outputs implements workload.Workload.
func (*raw) Outputs(string) []string { return nil }

// Batch implements workload.Workload.
func (w *raw) Batch() int {
	if !w.table.batched {
		return 1
	}
	return w.table.ports.Inputs[0].Batch()
}

// Notes implements workload.Workload.
func (*raw) Notes() []string { return nil }

// NewPredictor implements workload.Workload.
func (w *raw) NewPredictor(sessions workload.Sessions, batch int) (workload.Predictor, error) {
	p := &predictor{table: w.table, session: sessions[workload.Only], batch: batch, bound: map[rowRange][]backend.Value{}}
	if w.table.batched {
		for _, s := range w.table.slots() {
			p.buffer = append(p.buffer, tensor.New(s.Type, append(tensor.Shape{int64(batch)}, s.Shape...)...))
		}
	}
	return p, nil
}

// A predictor runs the model on what clients sent.
type predictor struct {
	table   *table
	session backend.Session
	batch   int
	store   *workload.Store
	bound   map[rowRange][]backend.Value // over rows of the store
	buffer  []tensor.Tensor              // for batches whose rows do not lie side by side
	group   []workload.Item
}

// A rowRange are rows that lie side by side.
type rowRange struct{ first, n int }

// Use implements workload.Predictor.
func (p *predictor) Use(store *workload.Store) error {
	err := p.unbind()
	p.store = store
	return err
}

func (p *predictor) unbind() error {
	var errs []error
	for _, values := range p.bound {
		errs = append(errs, backend.CloseAll(values))
	}
	clear(p.bound)
	return errors.Join(errs...)
}

// Close implements workload.Predictor.
func (p *predictor) Close() error { return p.unbind() }

// Predict implements workload.Predictor. A request that cannot be run harms no other.
func (p *predictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	p.group = p.group[:0]
	for _, item := range items {
		if r := p.table.request(item.Row); r.whole != nil {
			r.begin(true)
			r.outputs, r.err = p.runWhole(ctx, r.whole)
			reply.Done(item.Ticket, nil, 0)
		} else {
			p.group = append(p.group, item)
		}
	}
	if len(p.group) == 0 {
		return nil
	}
	slices.SortFunc(p.group, func(a, b workload.Item) int { return a.Row - b.Row }) // for rows side by side
	for group := range slices.Chunk(p.group, p.sideBySide()) {
		for k, item := range group {
			p.table.request(item.Row).begin(k == 0)
		}
		err := p.runGroup(ctx, group)
		for _, item := range group {
			if err != nil {
				p.table.request(item.Row).err = err
			}
			reply.Done(item.Ticket, nil, 0)
		}
	}
	return nil
}

// sideBySide is how many samples run at once. A model whose batch is fixed, and is not one, has none: it takes requests of
// that batch, as they are.
func (p *predictor) sideBySide() int {
	if p.table.ports.Inputs[0].Batch() > 0 {
		return 1
	}
	return len(p.group)
}

// runWhole runs a request as it is.
func (p *predictor) runWhole(ctx context.Context, inputs []tensor.Tensor) ([]tensor.Tensor, error) {
	values, err := backend.BindAll(p.session, inputs)
	if err != nil {
		return nil, err
	}
	outputs := make([]backend.Value, len(p.table.ports.Outputs))
	err = p.session.Run(ctx, values, outputs)
	list := p.taken(outputs, &err)
	return list, errors.Join(err, backend.CloseAll(values))
}

// taken copies outputs that the engine made into memory of their own, and closes them.
func (p *predictor) taken(outputs []backend.Value, err *error) []tensor.Tensor {
	var list []tensor.Tensor
	for _, v := range outputs {
		if v == nil {
			continue
		}
		if *err == nil {
			list = append(list, clone(v.Tensor()))
		}
		*err = errors.Join(*err, v.Close())
	}
	return list
}

// runGroup runs samples side by side, and gives each its part of the outputs.
func (p *predictor) runGroup(ctx context.Context, group []workload.Item) error {
	n := len(group)
	values, own, err := p.inputs(group)
	if err != nil {
		return err
	}
	outputs, rows := make([]backend.Value, len(p.table.ports.Outputs)), make([]tensor.Tensor, len(p.table.ports.Outputs))
	for i, port := range p.table.ports.Outputs {
		rows[i] = tensor.New(port.Type, append(tensor.Shape{int64(n)}, port.Shape[1:]...)...)
		if outputs[i], err = p.session.Bind(rows[i]); err != nil {
			return errors.Join(err, backend.CloseAll(outputs[:i]), backend.CloseAll(own))
		}
	}
	err = p.session.Run(ctx, values, outputs)
	if err = errors.Join(err, backend.CloseAll(outputs), backend.CloseAll(own)); err != nil {
		return err
	}
	for k, item := range group {
		r := p.table.request(item.Row)
		for _, t := range rows {
			r.outputs = append(r.outputs, t.Rows(k, 1)) // the answers of a batch share its memory, which nobody writes again
		}
	}
	return nil
}

// inputs are the rows of a group as a batch; own are values to close after the run.
func (p *predictor) inputs(group []workload.Item) (values, own []backend.Value, err error) {
	n := len(group)
	if p.store.Alike(group) {
		at := rowRange{group[0].Row, n}
		if p.bound[at] == nil {
			p.bound[at], err = backend.BindAll(p.session, p.store.Batch(at.first, n))
		}
		return p.bound[at], nil, err
	}
	batch := make([]tensor.Tensor, len(p.buffer))
	for k, t := range p.buffer {
		batch[k] = t.Rows(0, n)
		size := len(batch[k].Bytes()) / n
		for i, item := range group {
			copy(batch[k].Bytes()[i*size:(i+1)*size], p.store.RowBytes(k, item.Row))
		}
	}
	own, err = backend.BindAll(p.session, batch)
	return own, own, err
}
