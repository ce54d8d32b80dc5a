package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
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
	// maxVaried is how many bytes samples may take together whose shapes vary, and how many one.
	maxVaried = 1 << 30
)

// A taskModel offers the benchmark: a sample goes in, the response comes out.
type taskModel struct {
	name, version string
	ready         func() bool
	workload      workload.Workload
	portable      workload.Portable
	sessions      workload.Sessions
	sent          []workload.Sent // tensors of a sample
	varied        workload.Varied // says what a row consists of; nil: of what is sent
	free          bool            // samples differ in shape
	row           []workload.Slot // of a sample, where all are alike
	most          int64           // samples under way
	about         *protocol.ModelMetadata
	count         counts

	busy atomic.Int64
	used atomic.Int64 // bytes of samples under way whose shapes vary
	mu   sync.Mutex
	idle []*answerer
}

// newTask joins a workload with a session. Portable is the same workload.
func newTask(w workload.Workload, p workload.Portable, sessions workload.Sessions, inputs []string, name, version string, ready func() bool) (*taskModel, error) {
	m := &taskModel{name: name, version: version, ready: ready, workload: w, portable: p, sessions: sessions, row: w.Row(0), most: maxTasks}
	if h, ok := w.(workload.Heavy); ok {
		m.most = min(m.most, max(1, maxKept/max(1, h.PredictorBytes(1))))
	}
	m.about = &protocol.ModelMetadata{Name: name, Versions: []string{version}, Platform: "mlperf", Outputs: portsOf(taskOutputs())}
	if err := m.learn(inputs); err != nil {
		return nil, err
	}
	for _, s := range m.sent {
		m.about.Inputs = append(m.about.Inputs, protocol.Port{Name: s.Name, Datatype: protocol.Datatype(s.Type), Shape: append([]int64{1}, s.Shape...)})
	}
	return m, nil
}

// learn finds out which tensors a sample has and which are sent; inputs are their names.
func (m *taskModel) learn(inputs []string) (err error) {
	v, ok := m.portable.(workload.Varied)
	if !ok {
		for i, slot := range m.row {
			m.sent = append(m.sent, workload.Sent{Name: inputs[i], Slot: slot})
		}
		return nil
	}
	m.varied, m.sent = v, v.Sent()
	var shapes []tensor.Shape
	for _, s := range m.sent {
		m.free = m.free || slices.Contains(s.Shape, -1)
		shapes = append(shapes, s.Shape)
	}
	if !m.free {
		m.row, err = v.Complete(shapes)
	}
	return err
}

// taskOutputs are the outputs of every task.
func taskOutputs() []backend.Port {
	return []backend.Port{{Name: protocol.TaskResponse, Type: tensor.Uint8, Shape: tensor.Shape{1, -1}}}
}

// TakesFiles implements oipserver.FileModel: where samples are alike and of one tensor, they may be files.
func (m *taskModel) TakesFiles() bool { return m.varied == nil && len(m.sent) == 1 }

// Metadata implements oipserver.Model.
func (m *taskModel) Metadata() *protocol.ModelMetadata { return m.about }

// Ready implements oipserver.Model.
func (m *taskModel) Ready() bool { return m.ready() }

// Statistics implements oipserver.Model.
func (m *taskModel) Statistics() protocol.ModelStatistics { return m.count.read(m.name, m.version) }

// MaxBytes implements oipserver.Model.
func (m *taskModel) MaxBytes() int64 {
	switch {
	case m.free:
		return maxVaried
	case m.varied != nil: // which are no files
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
	if err = m.enter(j); err == nil {
		j.answerer, err = m.take(row)
	}
	if err != nil {
		m.leave(j)
		return nil, err
	}
	return j, nil
}

// enter takes the room of a sample, and refuses one for which there is none: it has to leave, too.
func (m *taskModel) enter(j *taskJob) error {
	busy, used := m.busy.Add(1), m.used.Add(j.bytes)
	switch {
	case busy > m.most:
		return protocol.Errorf(protocol.Unavailable, "the queue is full: %d samples are under way", m.most)
	case used > maxVaried && used > j.bytes:
		return protocol.Errorf(protocol.Unavailable, "samples under way take %d bytes: no room for %d more", used-j.bytes, j.bytes)
	}
	return nil
}

// leave gives the room of a sample back.
func (m *taskModel) leave(j *taskJob) {
	m.busy.Add(-1)
	m.used.Add(-j.bytes)
}

// check compares a request with what a sample consists of. File says that it is the sample's file;
// row is that of the sample.
func (m *taskModel) check(h *protocol.Head) (file bool, row []workload.Slot, err error) {
	if err := checkWanted(h, taskOutputs()); err != nil {
		return false, nil, err
	}
	if len(h.Tensors) == 1 && len(m.sent) == 1 && h.Tensors[0].Type == tensor.String {
		switch n := h.Tensors[0].Shape.Len(); {
		case n != 1:
			err = protocol.Errorf(protocol.InvalidArgument, "%d files, want one", n)
		case !m.TakesFiles():
			err = invalid(workload.ErrNoFile)
		}
		return true, m.row, err
	}
	shapes, err := m.shapes(h)
	if err != nil || !m.free {
		return false, m.row, err
	}
	if row, err = m.varied.Complete(shapes); err != nil {
		return false, nil, invalid(err)
	}
	return false, row, nil
}

// shapes are those of the tensors of a sample, without the batch, in the order of sent.
func (m *taskModel) shapes(h *protocol.Head) ([]tensor.Shape, error) {
	if len(h.Tensors) != len(m.sent) {
		return nil, protocol.Errorf(protocol.InvalidArgument, "%d inputs, a sample has %d", len(h.Tensors), len(m.sent))
	}
	list := make([]tensor.Shape, len(m.sent))
	for _, s := range h.Tensors {
		i := m.input(s.Name)
		if i < 0 {
			return nil, protocol.Errorf(protocol.InvalidArgument, "a sample has no input %q", s.Name)
		}
		port := backend.Port{Type: m.sent[i].Type, Shape: m.about.Inputs[i].Shape}
		if !port.Fits(s.Type, s.Shape) {
			return nil, protocol.Errorf(protocol.InvalidArgument, "input %v, a sample has %s%v", s, protocol.Datatype(port.Type), port.Shape)
		}
		list[i] = s.Shape[1:]
	}
	return list, nil
}

func (m *taskModel) input(name string) int {
	return slices.IndexFunc(m.about.Inputs, func(p protocol.Port) bool { return p.Name == name })
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
func (j *taskJob) Run(ctx context.Context) (specs []protocol.Spec, outputs []tensor.Tensor, err error) {
	r := &request{submitted: time.Now(), samples: 1, first: true}
	r.begin(true)
	if r.err = j.complete(); r.err == nil {
		r.err = j.predict(ctx)
	}
	j.model.count.add(r, time.Now())
	if r.err != nil {
		return nil, nil, r.err
	}
	response := slices.Clone(j.answerer.response)
	shape := tensor.Shape{1, int64(len(response))}
	out := tensor.Of(response, shape...)
	return []protocol.Spec{{Name: protocol.TaskResponse, Type: out.Type, Shape: shape}}, []tensor.Tensor{out}, nil
}

// complete makes the sample of its file, if it came as one, and checks it.
func (j *taskJob) complete() error {
	row := j.answerer.store.Row(0)
	if j.file != nil {
		if err := j.model.portable.Decode([]byte(j.file[0]), row); err != nil {
			return protocol.Errorf(protocol.InvalidArgument, "the file of the sample: %w", err)
		}
	}
	if c, ok := j.model.portable.(workload.Checking); ok {
		if err := c.Check(row); err != nil {
			return invalid(err)
		}
	}
	return nil
}

// predict answers the sample.
func (j *taskJob) predict(ctx context.Context) error {
	a := j.answerer
	a.response = a.response[:0]
	replied := reply{answerer: a}
	err := a.predictor.Predict(ctx, []workload.Item{{}}, &replied)
	if err == nil && !replied.done {
		err = errors.New("the model gave no answer")
	}
	if err != nil {
		return protocol.Errorf(protocol.Internal, "answering a sample: %w", err)
	}
	return nil
}

// End implements oipserver.Job.
func (j *taskJob) End() {
	j.model.giveBack(j.answerer)
	j.model.leave(j)
}

// A reply keeps the response of a sample.
type reply struct {
	answerer *answerer
	done     bool
}

// FirstToken implements workload.Reply.
func (*reply) FirstToken(int, []byte) {}

// Done implements workload.Reply.
func (r *reply) Done(_ int, response []byte, _ int) {
	r.answerer.response, r.done = append(r.answerer.response, response...), true
}

// names are those of the inputs of a sample: the model's own where there are as many.
func names(ports workload.Ports, row []workload.Slot) (list []string) {
	for i := range row {
		if len(ports.Inputs) == len(row) {
			list = append(list, ports.Inputs[i].Name)
		} else {
			list = append(list, fmt.Sprintf("sample_%d", i))
		}
	}
	return list
}

// An answerer answers one sample at a time with a predictor of its own.
type answerer struct {
	predictor workload.Predictor
	store     *workload.Store // of one sample; where samples vary: of this one
	response  []byte
}

// take returns an answerer that has nothing to do, or a new one, with room for a sample.
func (m *taskModel) take(row []workload.Slot) (*answerer, error) {
	a, err := m.unoccupied()
	if err == nil && a.store == nil {
		err = a.use(row)
	}
	if err != nil {
		return nil, protocol.Errorf(protocol.Internal, "a sample more: %w", err)
	}
	return a, nil
}

// use gives an answerer memory for a sample, or closes it.
func (a *answerer) use(row []workload.Slot) (err error) {
	if a.store, err = workload.NewStore(1, func(int) []workload.Slot { return row }); err == nil {
		err = a.predictor.Use(a.store)
	}
	if err != nil {
		err = errors.Join(err, a.close())
	}
	return err
}

func (m *taskModel) unoccupied() (*answerer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.idle); n > 0 {
		a := m.idle[n-1]
		m.idle = m.idle[:n-1]
		return a, nil
	}
	p, err := m.workload.NewPredictor(m.sessions, 1)
	return &answerer{predictor: p}, err
}

// giveBack keeps an answerer for the next sample. Where samples vary, the memory of this one is freed.
func (m *taskModel) giveBack(a *answerer) {
	if m.free {
		err := a.predictor.Use(nil)
		if err = errors.Join(err, a.store.Close()); err != nil {
			_ = a.predictor.Close() // which makes no sense any more
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

// close frees all answerers, which have nothing to do.
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

// A shared session is what predictors of tasks run the model with: each run waits in the queue, beside
// those of others.
type shared struct {
	table *table
	info  backend.Info
}

// newShared makes a session with some of the outputs; nil: all.
func newShared(t *table, info backend.Info, outputs []string) (*shared, error) {
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
	return &shared{t, info}, nil
}

// A view is a value of a shared session.
type view struct{ tensor tensor.Tensor }

func (v *view) Tensor() tensor.Tensor { return v.tensor }

func (*view) Close() error { return nil }

// Info implements backend.Session.
func (s *shared) Info() backend.Info { return s.info }

// Bind implements backend.Session.
func (*shared) Bind(t tensor.Tensor) (backend.Value, error) { return &view{t}, nil }

// Close implements backend.Session.
func (*shared) Close() error { return nil }

// Run implements backend.Session.
func (s *shared) Run(ctx context.Context, inputs, outputs []backend.Value) error {
	t := s.table
	row, err := t.wait(ctx)
	if err != nil {
		return err
	}
	defer t.give(row)
	list, err := t.answer(row, t.put(row, inputs))
	if err != nil {
		return err
	}
	return s.give(list, outputs)
}

// put puts the inputs of a run into a row, or beside it where they are more than a sample. It returns how many they are.
func (t *table) put(row int, inputs []backend.Value) (samples int) {
	samples = 1
	if shape := inputs[0].Tensor().Shape; len(shape) > 0 && t.batched {
		samples = int(shape[0])
	}
	r := t.request(row)
	for k, in := range inputs {
		if t.batched && samples == 1 {
			copy(t.store.RowBytes(k, row), in.Tensor().Bytes())
		} else {
			r.whole = append(r.whole, in.Tensor())
		}
	}
	return samples
}

// give hands over those of all outputs that the session has.
func (s *shared) give(list []tensor.Tensor, outputs []backend.Value) error {
	t := s.table
	for i, p := range s.info.Outputs {
		k := slices.IndexFunc(t.ports.Outputs, func(q backend.Port) bool { return q.Name == p.Name })
		if outputs[i] == nil {
			outputs[i] = &view{list[k]}
			continue
		}
		if err := fill(outputs[i].Tensor(), list[k], p.Name); err != nil {
			return err
		}
	}
	return nil
}

// fill copies an output to where it belongs.
func fill(dst, src tensor.Tensor, name string) error {
	if dst.Type != src.Type || !slices.Equal(dst.Shape, src.Shape) {
		return fmt.Errorf("output %s: got %v, there is room for %v", name, src, dst)
	}
	copy(dst.Bytes(), src.Bytes())
	copy(dst.Strings(), src.Strings())
	return nil
}

func clone(t tensor.Tensor) tensor.Tensor {
	c := tensor.New(t.Type, t.Shape...)
	copy(c.Bytes(), t.Bytes())
	copy(c.Strings(), t.Strings())
	return c
}
