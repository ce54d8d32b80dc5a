package serve

import (
	"context"
	"errors"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// tensorsWorkload is the workload of a file of the model: samples are the tensors that clients send, answers are the outputs.
func tensorsWorkload(name string, t *table) workload.Model {
	return workload.Model{Name: name, Open: func(s workload.Setup) (*workload.Workload, error) {
		t.ports = s.Ports[workload.Only]
		for _, port := range slices.Concat(t.ports.Inputs, t.ports.Outputs) {
			if port.Other != "" {
				return nil, errors.New("port " + port.Name + " is a " + port.Other + ", which the protocol does not have")
			}
		}
		var unsure bool
		if t.batched, unsure = batchable(t.ports); unsure {
			m, err := onnx.ReadFile(s.ModelPath)
			t.batched = err == nil && m.Graph.SizedByData() == nil
		}
		batch := 1
		if t.batched {
			batch = max(t.ports.Inputs[0].Batch(), 0)
		}
		return &workload.Workload{
			Samples: t.room, Row: func(int) []workload.Slot { return t.slots() }, NewPredictor: t.newPredictor, Batch: batch,
		}, nil
	}}
}

// batchable reports whether samples may run side by side: all ports have the batch as their first
// axis, and nothing else is free. unsure: a first axis has no name that says so.
func batchable(p workload.Ports) (yes, unsure bool) {
	if len(p.Inputs) == 0 {
		return false, false
	}
	for _, port := range slices.Concat(p.Inputs, p.Outputs) {
		agreed := backend.FirstAxes(p.Inputs[0], port)
		if port.AnyShape || agreed == backend.Differ || port.Type == tensor.String || port.Shape[1:].Len() < 0 {
			return false, false
		}
		unsure = unsure || agreed == backend.Unknown
	}
	return true, unsure
}

func (t *table) newPredictor(sessions workload.Sessions, batch int) (workload.Predictor, error) {
	p := &predictor{table: t, session: sessions[workload.Only], bound: map[rowRange][]backend.Value{}}
	if t.batched {
		for _, s := range t.slots() {
			p.buffer = append(p.buffer, tensor.New(s.Type, append(tensor.Shape{int64(batch)}, s.Shape...)...))
		}
	}
	return p, nil
}

// A predictor runs the model on requests.
type predictor struct {
	table   *table
	session backend.Session
	store   *workload.Store
	bound   map[rowRange][]backend.Value // over rows of the store
	buffer  []tensor.Tensor              // for batches whose rows do not lie side by side
	apart   bool                         // samples ran alone and did not fail as they did together: an output has another first axis than the batch
	group   []workload.Item
}

var errApart = errors.New("samples do not run together")

// A rowRange has rows that lie side by side.
type rowRange struct{ first, n int }

// Use implements workload.Predictor.
func (p *predictor) Use(store *workload.Store) error {
	err := p.Close()
	p.store = store
	return err
}

// Close implements workload.Predictor.
func (p *predictor) Close() error {
	var errs []error
	for _, values := range p.bound {
		errs = append(errs, backend.CloseAll(values))
	}
	clear(p.bound)
	return errors.Join(errs...)
}

// Predict implements workload.Predictor. A request that fails does not fail the others.
func (p *predictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	p.group = p.group[:0]
	for _, item := range items {
		r := &p.table.requests[item.Row]
		if r.inputs == nil {
			p.group = append(p.group, item)
			continue
		}
		r.started, r.first = clock.Now(), true
		r.outputs, r.err = p.runAlone(ctx, r.inputs)
		reply.Done(item.Ticket, nil, 0)
	}
	if len(p.group) == 0 {
		return nil
	}
	slices.SortFunc(p.group, func(a, b workload.Item) int { return a.Row - b.Row }) // for rows side by side
	together := len(p.group)
	if p.table.ports.Inputs[0].Batch() > 0 { // a fixed batch of one: larger ones never come here
		together = 1
	}
	for group := range slices.Chunk(p.group, together) {
		for k, item := range group {
			r := &p.table.requests[item.Row]
			r.started, r.first = clock.Now(), k == 0
		}
		err := errApart
		if !p.apart {
			err = p.runGroup(ctx, group)
		}
		alone := err != nil && ctx.Err() == nil
		p.apart = alone
		for _, item := range group {
			r := &p.table.requests[item.Row]
			if r.err = err; alone {
				r.first = true
				r.outputs, r.err = p.runAlone(ctx, p.store.Batch(item.Row, 1))
				p.apart = p.apart && r.err == nil // else the request may be to blame
			}
			reply.Done(item.Ticket, nil, 0)
		}
	}
	return nil
}

// runAlone runs a request with its own tensors.
func (p *predictor) runAlone(ctx context.Context, inputs []tensor.Tensor) ([]tensor.Tensor, error) {
	values, err := backend.BindAll(p.session, inputs)
	if err != nil {
		return nil, err
	}
	outputs := make([]backend.Value, len(p.table.ports.Outputs))
	err = p.session.Run(ctx, values, outputs)
	var list []tensor.Tensor
	for _, v := range outputs {
		if v == nil {
			continue
		}
		if err == nil { // the engine made the value: the answer gets a copy
			t := v.Tensor()
			c := tensor.New(t.Type, t.Shape...)
			copy(c.Bytes(), t.Bytes())
			copy(c.Strings(), t.Strings())
			list = append(list, c)
		}
		err = errors.Join(err, v.Close())
	}
	return list, errors.Join(err, backend.CloseAll(values))
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
		r := &p.table.requests[item.Row]
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
	stringBytes = 16       // of a string, beside its own bytes
)

// A tensorsModel offers a file of the model as it is.
type tensorsModel struct {
	described
	table *table
}

func newTensors(t *table, name, version, platform string, ready func() bool) *tensorsModel {
	metadata := &protocol.ModelMetadata{Name: name, Versions: []string{version}, Platform: platform, Inputs: portsOf(t.ports.Inputs),
		Outputs: portsOf(t.ports.Outputs)}
	m := &tensorsModel{described{metadata, ready, &t.count}, t}
	t.budget = max(int64(t.room)*workload.Bytes(t.slots()), leastBudget*m.MaxBytes())
	if n, fixed := m.inputBytes(); fixed && (!t.batched || t.ports.Inputs[0].Batch() > 0) { // each request has so many
		t.budget = int64(t.room) * n
	}
	return m
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

// MaxBytes implements oipserver.Model: inputs of as many samples as a request may have. Where their size is up to the
// request, the shortest sample counts, and freeBytes more.
func (m *tensorsModel) MaxBytes() int64 {
	n, fixed := m.inputBytes()
	if !fixed {
		n += freeBytes
	}
	return n
}

// MaxSamples implements oipserver.BatchModel.
func (m *tensorsModel) MaxSamples() int64 {
	if !m.table.batched || m.table.ports.Inputs[0].Batch() > 0 { // a fixed batch is an axis as any other
		return 0
	}
	return maxSamples
}

// inputBytes is the size of the largest request, or if the model does not fix it of the shortest sample.
func (m *tensorsModel) inputBytes() (n int64, fixed bool) {
	fixed = true
	for _, p := range m.table.ports.Inputs {
		if p.AnyShape || p.Type == tensor.String {
			fixed = false
			continue
		}
		size := int64(p.Type.Size())
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
		n += size
	}
	return n, fixed
}

// Begin implements oipserver.Model.
func (m *tensorsModel) Begin(h *protocol.Head) (oipserver.Job, error) {
	t := m.table
	bytes, err := m.check(h)
	if err != nil {
		return nil, err
	}
	row, err := t.free.acquire()
	if err != nil {
		return nil, err
	}
	j := &tensorsJob{model: m, head: h, row: row, samples: 1}
	if t.batched {
		j.samples = int(h.Tensors[0].Shape[0])
	}
	if t.batched && j.samples == 1 {
		return j, nil
	}
	if !t.reserve(bytes) {
		t.release(row)
		return nil, protocol.Errorf(protocol.Unavailable, "requests under way take %d bytes: no room for %d more", t.used.Load(), bytes)
	}
	j.reserved = bytes
	t.requests[row].inputs = make([]tensor.Tensor, len(h.Tensors))
	return j, nil
}

// check compares a request with the ports of the model, and returns how many bytes its inputs take.
func (m *tensorsModel) check(h *protocol.Head) (bytes int64, err error) {
	ports, most := m.table.ports, m.MaxBytes()
	if n := len(ports.Inputs); len(h.Tensors) != n {
		return 0, protocol.Errorf(protocol.InvalidArgument, "%d inputs, the model has %d", len(h.Tensors), n)
	}
	for _, s := range h.Tensors {
		p := portOf(ports.Inputs, s.Name)
		if p == nil {
			return 0, protocol.Errorf(protocol.InvalidArgument, "the model has no input %q", s.Name)
		}
		if s.Type != p.Type || !p.AnyShape && !p.Fits(s.Type, s.Shape) {
			return 0, protocol.Errorf(protocol.InvalidArgument, "input %v, the model has %s%v", s, protocol.Datatype(p.Type), p.Shape)
		}
		n := s.Shape.Len()
		if n == 0 {
			return 0, protocol.Errorf(protocol.InvalidArgument, "input %v has no elements", s)
		}
		if n > most {
			return 0, protocol.Errorf(protocol.TooLarge, "input %v is larger than the %d bytes that the model takes", s, most)
		}
		if first := h.Tensors[0].Shape; m.table.batched && first[0] != s.Shape[0] {
			return 0, protocol.Errorf(protocol.InvalidArgument, "inputs of %d and of %d samples", first[0], s.Shape[0])
		}
		size := int64(s.Type.Size())
		if s.Type == tensor.String {
			size = stringBytes
		}
		bytes += n * size
	}
	if bytes > most {
		return 0, protocol.Errorf(protocol.TooLarge, "the inputs take %d bytes, the model takes at most %d", bytes, most)
	}
	return bytes, checkWanted(h, ports.Outputs)
}

// checkWanted refuses outputs that a model does not have, and repeated ones.
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

// A tensorsJob is a request to a file of the model.
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
	r := &t.requests[j.row]
	if r.inputs == nil {
		return t.store.Slot(k, j.row, 1), nil
	}
	r.inputs[k] = tensor.New(s.Type, s.Shape...)
	return r.inputs[k], nil
}

// Run implements oipserver.Job.
func (j *tensorsJob) Run(context.Context) ([]protocol.Spec, []tensor.Tensor, error) {
	outputs, err := j.model.table.answer(j.row, j.samples)
	if err != nil {
		return nil, nil, protocol.Errorf(protocol.Internal, "running the model: %w", err)
	}
	return wantedOf(j.model.table.ports.Outputs, outputs, j.head.Wanted)
}

// wantedOf are the outputs that a request asks for; without names all.
func wantedOf(ports []backend.Port, outputs []tensor.Tensor, wanted []string) (specs []protocol.Spec, list []tensor.Tensor, err error) {
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
	t.release(j.row)
}
