package serve

import (
	"context"
	"errors"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
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
			r.outputs = append(r.outputs, t.Rows(k, 1)) // the answers of a batch share its memory, which is not written again
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

// Bounds of requests that do not follow from the model.
const (
	maxSamples  = 64       // of a request
	freeBytes   = 64 << 20 // of requests to models whose inputs have no fixed size, beyond a sample of the shortest
	leastBudget = 4        // times the largest request
)

// A tensors model offers the model file as it is.
type tensorsModel struct {
	table   *table
	name    string
	version string
	ready   func() bool
	about   *protocol.ModelMetadata
}

func newTensors(t *table, name, version, platform string, ready func() bool) *tensorsModel {
	m := &tensorsModel{table: t, name: name, version: version, ready: ready}
	m.about = &protocol.ModelMetadata{Name: name, Versions: []string{version}, Platform: platform, Inputs: portsOf(t.ports.Inputs), Outputs: portsOf(t.ports.Outputs)}
	t.budget = max(int64(t.room)*rowBytes(t), leastBudget*m.MaxBytes())
	return m
}

func rowBytes(t *table) (n int64) {
	for _, s := range t.slots() {
		n += s.Bytes()
	}
	return n
}

func portsOf(list []backend.Port) (ports []protocol.Port) {
	for _, p := range list {
		shape := slices.Clone(p.Shape)
		if p.AnyShape {
			shape = tensor.Shape{-1}
		}
		ports = append(ports, protocol.Port{Name: p.Name, Datatype: protocol.Datatype(p.Type), Shape: shape})
	}
	return ports
}

// Metadata implements oipserver.Model.
func (m *tensorsModel) Metadata() *protocol.ModelMetadata { return m.about }

// Ready implements oipserver.Model.
func (m *tensorsModel) Ready() bool { return m.ready() }

// Statistics implements oipserver.Model.
func (m *tensorsModel) Statistics() protocol.ModelStatistics {
	return m.table.count.read(m.name, m.version)
}

// MaxBytes implements oipserver.Model.
func (m *tensorsModel) MaxBytes() int64 {
	n, free := int64(0), false
	for _, p := range m.table.ports.Inputs {
		size, fixed := m.mostOf(p)
		n, free = n+size, free || !fixed
	}
	if free {
		n += freeBytes
	}
	return n
}

// mostOf is what an input takes of as many samples as a request may have. It is not fixed where that is up to the
// request: then it is that of the shortest.
func (m *tensorsModel) mostOf(p backend.Port) (size int64, fixed bool) {
	if p.AnyShape || p.Type == tensor.String {
		return 0, false
	}
	size, fixed = int64(p.Type.Size()), true
	for i, d := range p.Shape {
		switch {
		case d >= 0:
			size *= d
		case i == 0 && m.table.batched:
			size *= maxSamples
		default:
			fixed = false
		}
	}
	return size, fixed
}

// Begin implements oipserver.Model.
func (m *tensorsModel) Begin(h *protocol.Head) (oipserver.Job, error) {
	t := m.table
	bytes, err := m.check(h)
	if err != nil {
		return nil, err
	}
	row, ok := t.take()
	if !ok {
		return nil, protocol.Errorf(protocol.Unavailable, "the queue is full: %d requests are under way", t.room)
	}
	j := &tensorsJob{model: m, head: h, row: row, samples: 1}
	if t.batched {
		j.samples = int(h.Tensors[0].Shape[0])
	}
	if t.batched && j.samples == 1 {
		return j, nil
	}
	if !t.reserve(bytes) {
		t.give(row)
		return nil, protocol.Errorf(protocol.Unavailable, "requests under way take %d bytes: no room for %d more", t.used.Load(), bytes)
	}
	j.reserved = bytes
	t.request(row).whole = make([]tensor.Tensor, len(h.Tensors))
	return j, nil
}

// check compares a request with the ports of the model, and returns how many bytes its inputs take.
func (m *tensorsModel) check(h *protocol.Head) (bytes int64, err error) {
	if n := len(m.table.ports.Inputs); len(h.Tensors) != n {
		return 0, protocol.Errorf(protocol.InvalidArgument, "%d inputs, the model has %d", len(h.Tensors), n)
	}
	for _, s := range h.Tensors {
		if err := m.checkInput(s); err != nil {
			return 0, err
		}
		if first := h.Tensors[0].Shape; m.table.batched && first[0] != s.Shape[0] {
			return 0, protocol.Errorf(protocol.InvalidArgument, "inputs of %d and of %d samples", first[0], s.Shape[0])
		}
		bytes += bytesOf(s)
	}
	if bytes > m.MaxBytes() {
		return 0, protocol.Errorf(protocol.TooLarge, "the inputs take %d bytes, the model takes at most %d", bytes, m.MaxBytes())
	}
	return bytes, checkWanted(h, m.table.ports.Outputs)
}

// bytesOf is what an input takes.
func bytesOf(s protocol.Spec) int64 {
	if s.Type == tensor.String {
		return s.Shape.Len() * stringBytes
	}
	return s.Shape.Len() * int64(s.Type.Size())
}

// stringBytes is what a string takes beside its own bytes.
const stringBytes = 16

// checkInput compares an input with its port.
func (m *tensorsModel) checkInput(s protocol.Spec) error {
	p := portOf(m.table.ports.Inputs, s.Name)
	if p == nil {
		return protocol.Errorf(protocol.InvalidArgument, "the model has no input %q", s.Name)
	}
	if s.Type != p.Type || !p.AnyShape && !p.Fits(s.Type, s.Shape) {
		return protocol.Errorf(protocol.InvalidArgument, "input %v, the model has %s%v", s, protocol.Datatype(p.Type), p.Shape)
	}
	switch n := s.Shape.Len(); {
	case n == 0:
		return protocol.Errorf(protocol.InvalidArgument, "input %v has no elements", s)
	case n > m.MaxBytes():
		return protocol.Errorf(protocol.TooLarge, "input %v is larger than the %d bytes that the model takes", s, m.MaxBytes())
	}
	return nil
}

// checkWanted finds outputs that a model does not have, and those that are asked for twice.
func checkWanted(h *protocol.Head, outputs []backend.Port) error {
	for i, name := range h.Wanted {
		if portOf(outputs, name) == nil {
			return protocol.Errorf(protocol.InvalidArgument, "the model has no output %q", name)
		}
		if slices.Contains(h.Wanted[:i], name) {
			return protocol.Errorf(protocol.InvalidArgument, "the output %q is asked for twice", name)
		}
	}
	return nil
}

func portOf(list []backend.Port, name string) *backend.Port {
	i := slices.IndexFunc(list, func(p backend.Port) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// A tensorsJob is a request to the model file.
type tensorsJob struct {
	model    *tensorsModel
	head     *protocol.Head
	row      int
	samples  int
	reserved int64
}

// Place implements oipserver.Job.
func (j *tensorsJob) Place(_ int, s protocol.Spec) (tensor.Tensor, error) {
	t := j.model.table
	k := slices.IndexFunc(t.ports.Inputs, func(p backend.Port) bool { return p.Name == s.Name })
	r := t.request(j.row)
	if r.whole == nil {
		return t.store.Slot(k, j.row, 1), nil
	}
	r.whole[k] = tensor.New(s.Type, s.Shape...)
	return r.whole[k], nil
}

// Run implements oipserver.Job.
func (j *tensorsJob) Run(context.Context) ([]protocol.Spec, []tensor.Tensor, error) {
	outputs, err := j.model.table.answer(j.row, j.samples)
	if err != nil {
		return nil, nil, protocol.Errorf(protocol.Internal, "running the model: %w", err)
	}
	return chosen(j.model.table.ports.Outputs, outputs, j.head.Wanted)
}

// chosen are the outputs that were asked for.
func chosen(ports []backend.Port, outputs []tensor.Tensor, wanted []string) (specs []protocol.Spec, list []tensor.Tensor, err error) {
	if len(wanted) == 0 {
		for _, p := range ports {
			wanted = append(wanted, p.Name)
		}
	}
	for _, name := range wanted {
		k := slices.IndexFunc(ports, func(p backend.Port) bool { return p.Name == name })
		if k < 0 || k >= len(outputs) {
			return nil, nil, protocol.Errorf(protocol.Internal, "the model gave no output %q", name)
		}
		specs = append(specs, protocol.Spec{Name: name, Type: outputs[k].Type, Shape: outputs[k].Shape})
		list = append(list, outputs[k])
	}
	return specs, list, nil
}

// End implements oipserver.Job.
func (j *tensorsJob) End() {
	t := j.model.table
	t.used.Add(-j.reserved)
	t.give(j.row)
}
