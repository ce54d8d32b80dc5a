package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

const (
	// maxTasks is how many samples of a task may be under way, and maxKept how many bytes their predictors
	// may keep together.
	maxTasks = 256
	maxKept  = 1 << 30
	// maxFile is how long the file of a sample may be.
	maxFile = 32 << 20
	// maxVaried is how many bytes samples of varying shapes may take, each and together.
	maxVaried = 1 << 30
)

// A taskModel offers the benchmark: a sample goes in, the response comes out.
type taskModel struct {
	described
	workload *workload.Workload
	exchange *workload.Exchange
	sessions workload.Sessions
	sent     []workload.Input // tensors of a sample
	free     bool             // samples differ in shape
	row      []workload.Slot  // of a sample, where all are alike
	most     int64            // samples under way

	busy atomic.Int64
	used atomic.Int64 // bytes of samples of varying shapes
	mu   sync.Mutex
	idle []*answerer
}

// newTask joins a workload, which has an Exchange, with the sessions that run it. Inputs are the ports of the model.
func newTask(w *workload.Workload, sessions workload.Sessions, inputs []backend.Port, name, version string, ready func() bool) (m *taskModel,
	err error) {
	m = &taskModel{workload: w, exchange: w.Exchange, sessions: sessions, row: w.Row(0), most: maxTasks}
	if w.PredictorBytes != nil {
		m.most = min(m.most, max(1, maxKept/max(1, w.PredictorBytes(1))))
	}
	if m.sent = m.exchange.Inputs; m.sent == nil {
		for i, slot := range m.row {
			name := fmt.Sprintf("sample_%d", i)
			if len(inputs) == len(m.row) { // the model's own name
				name = inputs[i].Name
			}
			m.sent = append(m.sent, workload.Input{Name: name, Slot: slot})
		}
	} else {
		var shapes []tensor.Shape
		for _, s := range m.sent {
			m.free = m.free || slices.Contains(s.Shape, -1)
			shapes = append(shapes, s.Shape)
		}
		if !m.free {
			if m.row, err = m.exchange.Complete(shapes); err != nil {
				return nil, err
			}
		}
	}
	m.described = describeTask(name, version, m.sent, taskOutputs(), ready)
	return m, nil
}

// describeTask describes the task of a model.
func describeTask(model, version string, sent []workload.Input, outputs []backend.Port, ready func() bool) described {
	metadata := &protocol.ModelMetadata{Name: model + protocol.TaskSuffix, Versions: []string{version}, Platform: "mlperf", Outputs: portsOf(outputs)}
	for _, s := range sent {
		metadata.Inputs = append(metadata.Inputs, protocol.Port{Name: s.Name, Datatype: protocol.Datatype(s.Type), Shape: append([]int64{1}, s.Shape...)})
	}
	return described{metadata, ready, &counts{}}
}

// taskOutputs are the outputs of every task.
func taskOutputs() []backend.Port {
	return []backend.Port{{Name: protocol.TaskResponse, Type: tensor.Uint8, Shape: tensor.Shape{1, -1}}}
}

// TakesFiles implements oipserver.FileModel.
func (m *taskModel) TakesFiles() bool { return m.exchange.Decode != nil && len(m.sent) == 1 }

// MaxBytes implements oipserver.Model.
func (m *taskModel) MaxBytes() int64 {
	switch {
	case m.free:
		return maxVaried
	case m.exchange.Decode == nil:
		return workload.Bytes(m.row)
	}
	return max(workload.Bytes(m.row), maxFile)
}

// Begin implements oipserver.Model.
func (m *taskModel) Begin(h *protocol.Head) (oipserver.Job, error) {
	file, row, err := m.check(h)
	if err != nil {
		return nil, err
	}
	j := &taskJob{model: m}
	if m.free {
		j.bytes = workload.Bytes(row)
	}
	if file {
		j.file = make([]string, 1)
	}
	if j, err = m.enter(j, row); err != nil {
		return nil, err // an interface that is nil
	}
	return j, nil
}

// enter makes room for a sample.
func (m *taskModel) enter(j *taskJob, row []workload.Slot) (_ *taskJob, err error) {
	busy, used := m.busy.Add(1), m.used.Add(j.bytes)
	switch {
	case busy > m.most:
		err = protocol.Errorf(protocol.Unavailable, "the queue is full: %d samples are under way", m.most)
	case used > maxVaried && used > j.bytes:
		err = protocol.Errorf(protocol.Unavailable, "samples under way take %d bytes: no room for %d more", used-j.bytes, j.bytes)
	default:
		j.answerer, err = m.acquire(row)
	}
	if err != nil {
		j.leave()
		return nil, err
	}
	return j, nil
}

// check compares a request with the tensors of a sample. File says that the request is the sample's file;
// row is that of the sample.
func (m *taskModel) check(h *protocol.Head) (file bool, row []workload.Slot, err error) {
	if err := checkWanted(h, taskOutputs()); err != nil {
		return false, nil, err
	}
	if len(h.Tensors) == 1 && len(m.sent) == 1 && h.Tensors[0].Type == tensor.String {
		switch n := h.Tensors[0].Shape.Len(); {
		case n != 1:
			err = protocol.Errorf(protocol.InvalidArgument, "%d files, expected one", n)
		case !m.TakesFiles():
			err = invalid(workload.ErrNoFile)
		}
		return true, m.row, err
	}
	if len(h.Tensors) != len(m.sent) {
		return false, nil, protocol.Errorf(protocol.InvalidArgument, "%d inputs, a sample has %d", len(h.Tensors), len(m.sent))
	}
	shapes := make([]tensor.Shape, len(m.sent)) // without the batch
	for _, s := range h.Tensors {
		i := m.input(s.Name)
		if i < 0 {
			return false, nil, protocol.Errorf(protocol.InvalidArgument, "a sample has no input %q", s.Name)
		}
		port := backend.Port{Type: m.sent[i].Type, Shape: m.metadata.Inputs[i].Shape}
		if !port.Fits(s.Type, s.Shape) {
			return false, nil, protocol.Errorf(protocol.InvalidArgument, "input %v, a sample has %s%v", s, protocol.Datatype(port.Type), port.Shape)
		}
		shapes[i] = s.Shape[1:]
	}
	if !m.free {
		return false, m.row, nil
	}
	if row, err = m.exchange.Complete(shapes); err != nil {
		return false, nil, invalid(err)
	}
	return false, row, nil
}

func (m *taskModel) input(name string) int {
	return slices.IndexFunc(m.metadata.Inputs, func(p protocol.Port) bool { return p.Name == name })
}

// A taskJob is a sample under way.
type taskJob struct {
	model    *taskModel
	answerer *answerer
	file     []string // of the sample; nil: its tensors are sent
	bytes    int64    // of a sample whose shape varies
}

// Place implements oipserver.Job.
func (j *taskJob) Place(_ int, s protocol.Spec) (tensor.Tensor, error) {
	if j.file != nil {
		return tensor.OfStrings(j.file, s.Shape...), nil
	}
	return j.answerer.store.Slot(j.model.input(s.Name), 0, 1), nil
}

// Run implements oipserver.Job.
func (j *taskJob) Run(ctx context.Context) ([]protocol.Spec, []tensor.Tensor, error) {
	now := clock.Now()
	r := &request{submitted: now, started: now, samples: 1, first: true}
	r.err = j.answer(ctx)
	j.model.count.add(r, clock.Now())
	if r.err != nil {
		return nil, nil, r.err
	}
	response := slices.Clone(j.answerer.response)
	out := tensor.Of(response, 1, int64(len(response)))
	return []protocol.Spec{{Name: protocol.TaskResponse, Type: out.Type, Shape: out.Shape}}, []tensor.Tensor{out}, nil
}

// answer makes the sample of its file, if it came as one, checks it, and predicts.
func (j *taskJob) answer(ctx context.Context) error {
	a := j.answerer
	row := a.store.Row(0)
	if j.file != nil {
		if err := j.model.exchange.Decode([]byte(j.file[0]), row); err != nil {
			return protocol.Errorf(protocol.InvalidArgument, "the file of the sample: %w", err)
		}
	}
	if check := j.model.exchange.Check; check != nil {
		if err := check(row); err != nil {
			return invalid(err)
		}
	}
	a.response, a.done = a.response[:0], false
	err := a.predictor.Predict(ctx, []workload.Item{{}}, a)
	if err == nil && !a.done {
		err = workload.ErrNoAnswer
	}
	if err != nil {
		return protocol.Errorf(protocol.Internal, "answering a sample: %w", err)
	}
	return nil
}

// End implements oipserver.Job.
func (j *taskJob) End() {
	j.model.release(j.answerer)
	j.leave()
}

// leave gives the room of a sample back.
func (j *taskJob) leave() {
	j.model.busy.Add(-1)
	j.model.used.Add(-j.bytes)
}

// An answerer answers one sample at a time with a predictor of its own. It implements workload.Reply.
type answerer struct {
	predictor workload.Predictor
	store     *workload.Store // of one sample; where samples vary: of this one
	response  []byte
	done      bool
}

// FirstToken implements workload.Reply.
func (*answerer) FirstToken(int, []byte) {}

// Done implements workload.Reply.
func (a *answerer) Done(_ int, response []byte, _ int) {
	a.response, a.done = append(a.response, response...), true
}

// acquire returns an idle answerer, or a new one, with room for a sample.
func (m *taskModel) acquire(row []workload.Slot) (a *answerer, err error) {
	m.mu.Lock()
	if n := len(m.idle); n > 0 {
		a, m.idle = m.idle[n-1], m.idle[:n-1]
	} else {
		a = &answerer{}
		a.predictor, err = m.workload.NewPredictor(m.sessions, 1)
	}
	m.mu.Unlock()
	if err == nil && a.store == nil {
		if a.store, err = workload.NewStore(1, func(int) []workload.Slot { return row }); err == nil {
			err = a.predictor.Use(a.store)
		}
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}
	if err != nil {
		return nil, protocol.Errorf(protocol.Internal, "room for another sample: %w", err)
	}
	return a, nil
}

// release keeps an answerer for the next sample. Where samples vary, the memory of this one is freed.
func (m *taskModel) release(a *answerer) {
	if m.free {
		err := a.predictor.Use(nil)
		if err = errors.Join(err, a.store.Close()); err != nil {
			_ = a.predictor.Close() // it is not used again
			return
		}
		a.store = nil
	}
	m.mu.Lock()
	m.idle = append(m.idle, a)
	m.mu.Unlock()
}

func (a *answerer) close() error {
	err := a.predictor.Close()
	if a.store != nil {
		err = errors.Join(err, a.store.Close())
	}
	return err
}

// close frees all answerers. All are idle.
func (m *taskModel) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, a := range m.idle {
		errs = append(errs, a.close())
	}
	m.idle = nil
	return errors.Join(errs...)
}

// A sharedSession runs a file of the model for the predictors of tasks: each run waits in the queue of the table, beside
// requests for this file.
type sharedSession struct {
	table *table
	info  backend.Info
}

// shareSession makes a session with some of the outputs; nil: all.
func shareSession(t *table, info backend.Info, outputs []string) (*sharedSession, error) {
	if outputs != nil {
		var list []backend.Port
		for _, name := range outputs {
			p := portOf(info.Outputs, name)
			if p == nil {
				return nil, fmt.Errorf("the model has no output %q", name)
			}
			list = append(list, *p)
		}
		info.Outputs = list
	}
	return &sharedSession{t, info}, nil
}

// A sharedValue is a value of a shared session.
type sharedValue struct{ tensor tensor.Tensor }

func (v *sharedValue) Tensor() tensor.Tensor { return v.tensor }
func (*sharedValue) Close() error            { return nil }

func (s *sharedSession) Info() backend.Info                        { return s.info }
func (*sharedSession) Bind(t tensor.Tensor) (backend.Value, error) { return &sharedValue{t}, nil }
func (*sharedSession) Close() error                                { return nil }

// Run implements backend.Session. A run of one sample goes into the row, others beside it.
func (s *sharedSession) Run(ctx context.Context, inputs, outputs []backend.Value) error {
	t := s.table
	row, err := t.free.wait(ctx)
	if err != nil {
		return err
	}
	defer t.release(row)
	samples, r := 1, &t.requests[row]
	if shape := inputs[0].Tensor().Shape; len(shape) > 0 && t.batched {
		samples = int(shape[0])
	}
	for k, in := range inputs {
		if t.batched && samples == 1 {
			copy(t.store.RowBytes(k, row), in.Tensor().Bytes())
		} else {
			r.inputs = append(r.inputs, in.Tensor())
		}
	}
	list, err := t.answer(row, samples)
	if err != nil {
		return err
	}
	for i, p := range s.info.Outputs {
		got := list[slices.IndexFunc(t.ports.Outputs, func(q backend.Port) bool { return q.Name == p.Name })]
		if outputs[i] == nil {
			outputs[i] = &sharedValue{got}
			continue
		}
		room := outputs[i].Tensor()
		if room.Type != got.Type || !slices.Equal(room.Shape, got.Shape) {
			return fmt.Errorf("output %s: got %v, the caller has room for %v", p.Name, got, room)
		}
		copy(room.Bytes(), got.Bytes())
		copy(room.Strings(), got.Strings())
	}
	return nil
}
