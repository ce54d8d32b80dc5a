package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/oip/server"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/workload"
)

const (
	// mostTasks is how many samples of a task may be under way.
	mostTasks = 256
	// mostFile is how long the file of a sample may be.
	mostFile = 32 << 20
)

// A taskModel offers the benchmark: a sample goes in, the response comes out.
type taskModel struct {
	name, version string
	ready         func() bool
	workload      workload.Workload
	portable      workload.Portable
	sessions      workload.Sessions
	about         *oip.ModelMetadata
	count         counts

	busy atomic.Int64
	mu   sync.Mutex
	idle []*answerer
}

// An answerer answers one sample at a time with a predictor of its own.
type answerer struct {
	predictor workload.Predictor
	store     *workload.Store
	response  []byte
}

// newTask joins a workload with a session. Portable is the same workload.
func newTask(w workload.Workload, p workload.Portable, sessions workload.Sessions, inputs []string, name, version string, ready func() bool) *taskModel {
	m := &taskModel{name: name, version: version, ready: ready, workload: w, portable: p, sessions: sessions}
	m.about = &oip.ModelMetadata{Name: name, Versions: []string{version}, Platform: "mlperf",
		Outputs: []oip.Port{{Name: oip.TaskResponse, Datatype: "UINT8", Shape: []int64{1, -1}}}}
	for i, s := range w.Row(0) {
		m.about.Inputs = append(m.about.Inputs, oip.Port{Name: inputs[i], Datatype: oip.Datatype(s.Type), Shape: append([]int64{1}, s.Shape...)})
	}
	return m
}

// Metadata implements server.Model.
func (m *taskModel) Metadata() *oip.ModelMetadata { return m.about }

// Ready implements server.Model.
func (m *taskModel) Ready() bool { return m.ready() }

// Statistics implements server.Model.
func (m *taskModel) Statistics() oip.ModelStatistics { return m.count.read(m.name, m.version) }

// MaxBytes implements server.Model.
func (m *taskModel) MaxBytes() int64 { return max(workload.Bytes(m.workload.Row(0)), mostFile) }

// Begin implements server.Model.
func (m *taskModel) Begin(h *oip.Head) (server.Job, error) {
	file, err := m.check(h)
	if err != nil {
		return nil, err
	}
	if m.busy.Add(1) > mostTasks {
		m.busy.Add(-1)
		return nil, oip.Errorf(oip.Unavailable, "the queue is full: %d samples are under way", mostTasks)
	}
	a, err := m.take()
	if err != nil {
		m.busy.Add(-1)
		return nil, oip.Errorf(oip.Internal, "a sample more: %w", err)
	}
	j := &taskJob{model: m, answerer: a}
	if file {
		j.file = make([]string, 1)
	}
	return j, nil
}

// check compares a request with what a sample consists of. File says that it is the sample's file.
func (m *taskModel) check(h *oip.Head) (file bool, err error) {
	if len(h.Wanted) > 1 || len(h.Wanted) == 1 && h.Wanted[0] != oip.TaskResponse {
		return false, oip.Errorf(oip.InvalidArgument, "the outputs %v are asked for, the task has only %q", h.Wanted, oip.TaskResponse)
	}
	row := m.workload.Row(0)
	if len(h.Tensors) == 1 && len(row) == 1 && h.Tensors[0].Type == tensor.String {
		if n := h.Tensors[0].Shape.Len(); n != 1 {
			return false, oip.Errorf(oip.InvalidArgument, "%d files, want one", n)
		}
		return true, nil
	}
	if len(h.Tensors) != len(row) {
		return false, oip.Errorf(oip.InvalidArgument, "%d inputs, a sample has %d", len(h.Tensors), len(row))
	}
	for _, s := range h.Tensors {
		i := m.input(s.Name)
		if i < 0 {
			return false, oip.Errorf(oip.InvalidArgument, "a sample has no input %q", s.Name)
		}
		if want := m.about.Inputs[i].Shape; s.Type != row[i].Type || !slices.Equal(s.Shape, want) {
			return false, oip.Errorf(oip.InvalidArgument, "input %v, a sample has %s%v", s, oip.Datatype(row[i].Type), tensor.Shape(want))
		}
	}
	return false, nil
}

func (m *taskModel) input(name string) int {
	return slices.IndexFunc(m.about.Inputs, func(p oip.Port) bool { return p.Name == name })
}

// take returns an answerer that has nothing to do, or a new one.
func (m *taskModel) take() (*answerer, error) {
	m.mu.Lock()
	if n := len(m.idle); n > 0 {
		a := m.idle[n-1]
		m.idle = m.idle[:n-1]
		m.mu.Unlock()
		return a, nil
	}
	m.mu.Unlock()
	store, err := workload.NewStore(1, m.workload.Row)
	if err != nil {
		return nil, err
	}
	p, err := m.workload.NewPredictor(m.sessions, 1)
	if err == nil {
		err = p.Use(store)
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &answerer{predictor: p, store: store}, nil
}

// close frees all answerers, which have nothing to do.
func (m *taskModel) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, a := range m.idle {
		errs = append(errs, a.predictor.Close(), a.store.Close())
	}
	m.idle = nil
	return errors.Join(errs...)
}

// A taskJob is a sample under way.
type taskJob struct {
	model    *taskModel
	answerer *answerer
	file     []string // of the sample; nil: its tensors are sent
}

// Place implements server.Job.
func (j *taskJob) Place(_ int, s oip.Spec) (tensor.Tensor, error) {
	if j.file != nil {
		return tensor.OfStrings(j.file, s.Shape...), nil
	}
	return j.answerer.store.Slot(j.model.input(s.Name), 0, 1), nil
}

// Run implements server.Job.
func (j *taskJob) Run(ctx context.Context) (specs []oip.Spec, outputs []tensor.Tensor, err error) {
	r := &request{submitted: time.Now(), samples: 1, first: true}
	r.begin(true)
	r.err = j.predict(ctx)
	j.model.count.add(r, time.Now())
	if r.err != nil {
		return nil, nil, r.err
	}
	response := slices.Clone(j.answerer.response)
	shape := tensor.Shape{1, int64(len(response))}
	out := tensor.Of(response, shape...)
	return []oip.Spec{{Name: oip.TaskResponse, Type: out.Type, Shape: shape}}, []tensor.Tensor{out}, nil
}

func (j *taskJob) predict(ctx context.Context) error {
	a := j.answerer
	if j.file != nil {
		if err := j.model.portable.Decode([]byte(j.file[0]), a.store.Row(0)); err != nil {
			return oip.Errorf(oip.InvalidArgument, "the file of the sample: %w", err)
		}
	}
	a.response = a.response[:0]
	replied := reply{answerer: a}
	err := a.predictor.Predict(ctx, []workload.Item{{}}, &replied)
	if err == nil && !replied.done {
		err = errors.New("the model gave no answer")
	}
	if err != nil {
		return oip.Errorf(oip.Internal, "answering a sample: %w", err)
	}
	return nil
}

// End implements server.Job.
func (j *taskJob) End() {
	j.model.mu.Lock()
	j.model.idle = append(j.model.idle, j.answerer)
	j.model.mu.Unlock()
	j.model.busy.Add(-1)
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
