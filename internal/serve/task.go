package serve

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mlperf-go/mlperf/internal/backend"
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
	// mostVaried is how many bytes samples may take together whose shapes vary, and how many one.
	mostVaried = 1 << 30
)

// A taskModel offers the benchmark: a sample goes in, the response comes out.
type taskModel struct {
	name, version string
	ready         func() bool
	workload      workload.Workload
	portable      workload.Portable
	sessions      workload.Sessions
	sent          []workload.Sent // tensors of a sample
	varied        workload.Varied // nil: all samples are alike
	about         *oip.ModelMetadata
	count         counts

	busy atomic.Int64
	used atomic.Int64 // bytes of samples under way whose shapes vary
	mu   sync.Mutex
	idle []*answerer
}

// An answerer answers one sample at a time with a predictor of its own.
type answerer struct {
	predictor workload.Predictor
	store     *workload.Store // of one sample; where samples vary: of this one
	response  []byte
}

// newTask joins a workload with a session. Portable is the same workload.
func newTask(w workload.Workload, p workload.Portable, sessions workload.Sessions, inputs []string, name, version string, ready func() bool) *taskModel {
	m := &taskModel{name: name, version: version, ready: ready, workload: w, portable: p, sessions: sessions}
	m.about = &oip.ModelMetadata{Name: name, Versions: []string{version}, Platform: "mlperf",
		Outputs: []oip.Port{{Name: oip.TaskResponse, Datatype: "UINT8", Shape: []int64{1, -1}}}}
	if v, ok := p.(workload.Varied); ok {
		m.sent = v.Sent()
		if slices.ContainsFunc(m.sent, func(s workload.Sent) bool { return slices.Contains(s.Shape, -1) }) {
			m.varied = v
		}
	} else {
		for i, slot := range w.Row(0) {
			m.sent = append(m.sent, workload.Sent{Name: inputs[i], Slot: slot})
		}
	}
	for _, s := range m.sent {
		m.about.Inputs = append(m.about.Inputs, oip.Port{Name: s.Name, Datatype: oip.Datatype(s.Type), Shape: append([]int64{1}, s.Shape...)})
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
func (m *taskModel) MaxBytes() int64 {
	if m.varied != nil {
		return mostVaried
	}
	return max(workload.Bytes(m.workload.Row(0)), mostFile)
}

// Begin implements server.Model.
func (m *taskModel) Begin(h *oip.Head) (server.Job, error) {
	file, row, err := m.check(h)
	if err != nil {
		return nil, err
	}
	j := &taskJob{model: m}
	if m.varied != nil {
		j.bytes = workload.Bytes(row)
	}
	busy, used := m.busy.Add(1), m.used.Add(j.bytes)
	switch {
	case busy > mostTasks:
		err = oip.Errorf(oip.Unavailable, "the queue is full: %d samples are under way", mostTasks)
	case used > mostVaried && used > j.bytes:
		err = oip.Errorf(oip.Unavailable, "samples under way take %d bytes: there is no room for %d more", used-j.bytes, j.bytes)
	default:
		if j.answerer, err = m.take(row); err != nil {
			err = oip.Errorf(oip.Internal, "a sample more: %w", err)
		}
	}
	if err != nil {
		m.leave(j)
		return nil, err
	}
	if file {
		j.file = make([]string, 1)
	}
	return j, nil
}

// leave gives the room of a sample back.
func (m *taskModel) leave(j *taskJob) {
	m.busy.Add(-1)
	m.used.Add(-j.bytes)
}

// check compares a request with what a sample consists of. File says that it is the sample's file;
// row is that of the sample.
func (m *taskModel) check(h *oip.Head) (file bool, row []workload.Slot, err error) {
	if len(h.Wanted) > 1 || len(h.Wanted) == 1 && h.Wanted[0] != oip.TaskResponse {
		return false, nil, oip.Errorf(oip.InvalidArgument, "the outputs %v are asked for, the task has only %q", h.Wanted, oip.TaskResponse)
	}
	if len(h.Tensors) == 1 && len(m.sent) == 1 && h.Tensors[0].Type == tensor.String {
		if n := h.Tensors[0].Shape.Len(); n != 1 {
			return false, nil, oip.Errorf(oip.InvalidArgument, "%d files, want one", n)
		}
		if m.varied != nil {
			return false, nil, oip.Errorf(oip.InvalidArgument, "%w", workload.ErrNoFile)
		}
		return true, m.workload.Row(0), nil
	}
	shapes, err := m.shapes(h)
	if err != nil || m.varied == nil {
		return false, m.workload.Row(0), err
	}
	if row, err = m.varied.Complete(shapes); err != nil {
		return false, nil, &oip.Error{Code: oip.InvalidArgument, Err: err}
	}
	return false, row, nil
}

// shapes are those of the tensors of a sample, without the batch, in the order of sent.
func (m *taskModel) shapes(h *oip.Head) ([]tensor.Shape, error) {
	if len(h.Tensors) != len(m.sent) {
		return nil, oip.Errorf(oip.InvalidArgument, "%d inputs, a sample has %d", len(h.Tensors), len(m.sent))
	}
	list := make([]tensor.Shape, len(m.sent))
	for _, s := range h.Tensors {
		i := m.input(s.Name)
		if i < 0 {
			return nil, oip.Errorf(oip.InvalidArgument, "a sample has no input %q", s.Name)
		}
		port := backend.Port{Type: m.sent[i].Type, Shape: m.about.Inputs[i].Shape}
		if !port.Fits(s.Type, s.Shape) {
			return nil, oip.Errorf(oip.InvalidArgument, "input %v, a sample has %s%v", s, oip.Datatype(port.Type), port.Shape)
		}
		list[i] = s.Shape[1:]
	}
	return list, nil
}

func (m *taskModel) input(name string) int {
	return slices.IndexFunc(m.about.Inputs, func(p oip.Port) bool { return p.Name == name })
}

// take returns an answerer that has nothing to do, or a new one, with room for a sample.
func (m *taskModel) take(row []workload.Slot) (*answerer, error) {
	a, err := m.unoccupied()
	if err == nil && a.store == nil {
		if a.store, err = workload.NewStore(1, func(int) []workload.Slot { return row }); err == nil {
			err = a.predictor.Use(a.store)
		}
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}
	return a, err
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
	if m.varied != nil {
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
