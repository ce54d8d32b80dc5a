package serve

import (
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
	// mostTasks is how many samples of a task may be under way, and mostKept how many bytes their predictors
	// may keep together.
	mostTasks = 256
	mostKept  = 1 << 30
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
	varied        workload.Varied // says what a row consists of; nil: of what is sent
	free          bool            // samples differ in shape
	row           []workload.Slot // of a sample, where all are alike
	most          int64           // samples under way
	about         *oip.ModelMetadata
	count         counts

	busy atomic.Int64
	used atomic.Int64 // bytes of samples under way whose shapes vary
	mu   sync.Mutex
	idle []*answerer
}

// newTask joins a workload with a session. Portable is the same workload.
func newTask(w workload.Workload, p workload.Portable, sessions workload.Sessions, inputs []string, name, version string, ready func() bool) (*taskModel, error) {
	m := &taskModel{name: name, version: version, ready: ready, workload: w, portable: p, sessions: sessions, row: w.Row(0), most: mostTasks}
	if h, ok := w.(workload.Heavy); ok {
		m.most = min(m.most, max(1, mostKept/max(1, h.PredictorBytes(1))))
	}
	m.about = &oip.ModelMetadata{Name: name, Versions: []string{version}, Platform: "mlperf", Outputs: portsOf(taskOutputs())}
	if err := m.learn(inputs); err != nil {
		return nil, err
	}
	for _, s := range m.sent {
		m.about.Inputs = append(m.about.Inputs, oip.Port{Name: s.Name, Datatype: oip.Datatype(s.Type), Shape: append([]int64{1}, s.Shape...)})
	}
	return m, nil
}

// learn finds out what a sample consists of, and what is sent of it. Inputs are names for it.
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
	return []backend.Port{{Name: oip.TaskResponse, Type: tensor.Uint8, Shape: tensor.Shape{1, -1}}}
}

// TakesFiles implements server.FileModel: where samples are alike and of one tensor, they may be files.
func (m *taskModel) TakesFiles() bool { return m.varied == nil && len(m.sent) == 1 }

// Metadata implements server.Model.
func (m *taskModel) Metadata() *oip.ModelMetadata { return m.about }

// Ready implements server.Model.
func (m *taskModel) Ready() bool { return m.ready() }

// Statistics implements server.Model.
func (m *taskModel) Statistics() oip.ModelStatistics { return m.count.read(m.name, m.version) }

// MaxBytes implements server.Model.
func (m *taskModel) MaxBytes() int64 {
	switch {
	case m.free:
		return mostVaried
	case m.varied != nil: // which are no files
		return workload.Bytes(m.row)
	}
	return max(workload.Bytes(m.row), mostFile)
}

// Begin implements server.Model.
func (m *taskModel) Begin(h *oip.Head) (server.Job, error) {
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
		return oip.Errorf(oip.Unavailable, "the queue is full: %d samples are under way", m.most)
	case used > mostVaried && used > j.bytes:
		return oip.Errorf(oip.Unavailable, "samples under way take %d bytes: there is no room for %d more", used-j.bytes, j.bytes)
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
func (m *taskModel) check(h *oip.Head) (file bool, row []workload.Slot, err error) {
	if err := checkWanted(h, taskOutputs()); err != nil {
		return false, nil, err
	}
	if len(h.Tensors) == 1 && len(m.sent) == 1 && h.Tensors[0].Type == tensor.String {
		return true, m.row, m.checkFiles(h.Tensors[0].Shape.Len())
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

// checkFiles refuses what is no file of a sample.
func (m *taskModel) checkFiles(n int64) error {
	if n != 1 {
		return oip.Errorf(oip.InvalidArgument, "%d files, want one", n)
	}
	if !m.TakesFiles() {
		return invalid(workload.ErrNoFile)
	}
	return nil
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
