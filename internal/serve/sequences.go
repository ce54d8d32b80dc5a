package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A sequences offers a model that answers rows of tokens with the benchmark's own predictors: as a
// task, and in OpenAI's protocol.
type sequences struct {
	name, version string
	ready         func() bool
	service       *harness.Service
	prompted      workload.Prompted
	writer        workload.Writer
	store         *workload.Store
	outputs       []backend.Port
	about         *protocol.ModelMetadata
	count         counts

	calls []call
	free  chan int // rows
}

// A call is a row that waits for its answer.
type call struct {
	request
	sent     int // bytes of the row; what is behind them is room
	response []byte
	counted  int         // tokens of the response
	tokens   chan []byte // as they come; nil: not wanted
}

// openSequences opens the model of a source.
func openSequences(ctx context.Context, s Source, o Options, ready func() bool) (q *sequences, err error) {
	q = &sequences{name: o.Name, version: s.Version(), ready: ready, calls: make([]call, o.Room), free: make(chan int, o.Room)}
	for row := range o.Room {
		q.calls[row].done = make(chan struct{}, 1)
		q.free <- row
	}
	if q.service, q.writer, err = s.OpenSequences(ctx, o.Room, q.done); err != nil {
		return nil, err
	}
	q.service.Tokens(q.token)
	q.prompted = q.service.Workload().(workload.Prompted)
	if q.store, err = workload.NewStore(o.Room, q.prompted.Row); err == nil {
		err = q.service.Start(q.store)
	}
	if err != nil {
		return nil, errors.Join(err, q.close())
	}
	q.outputs = taskOutputs()
	if _, shows := q.writer.(workload.TextWriter); !shows {
		q.outputs = append(q.outputs, backend.Port{Name: protocol.TaskTokens, Type: tensor.Int32, Shape: tensor.Shape{1}})
	}
	q.about = &protocol.ModelMetadata{Name: o.Name + protocol.TaskSuffix, Versions: []string{q.version}, Platform: "mlperf", Outputs: portsOf(q.outputs)}
	for _, t := range q.writer.Sent() {
		q.about.Inputs = append(q.about.Inputs, protocol.Port{Name: t.Name, Datatype: protocol.Datatype(t.Type), Shape: append([]int64{1}, t.Shape...)})
	}
	return q, nil
}

func (q *sequences) close() error {
	if err := q.service.Close(); err != nil {
		return err // a worker may use the rows
	}
	if q.store == nil {
		return nil
	}
	return q.store.Close()
}

// done is told by a worker that a row has been answered.
func (q *sequences) done(row int, response []byte, tokens int, err error) {
	c := &q.calls[row]
	c.response, c.counted, c.err = append(c.response[:0], response...), tokens, err
	if c.tokens != nil {
		close(c.tokens)
	}
	c.done <- struct{}{}
}

// token is told of each token. There is room for all of them: the worker never waits.
func (q *sequences) token(row int, token []byte) {
	if c := &q.calls[row]; c.tokens != nil {
		c.tokens <- slices.Clone(token)
	}
}

// take finds a row.
func (q *sequences) take() (int, error) {
	select {
	case row := <-q.free:
		return row, nil
	default:
		return 0, protocol.Errorf(protocol.Unavailable, "the queue is full: %d requests are under way", len(q.calls))
	}
}

// submit has a row answered with at most limit tokens; 0: as many as the benchmark allows.
func (q *sequences) submit(row, limit int) error {
	c := &q.calls[row]
	port := q.prompted.Row(0)[0]
	sent, err := tensor.FromBytes(port.Type, q.store.RowBytes(0, row)[:c.sent], int64(c.sent/port.Type.Size()))
	if err == nil {
		err = q.prompted.Check([]tensor.Tensor{sent})
	}
	if err != nil {
		return &protocol.Error{Code: protocol.InvalidArgument, Err: err}
	}
	q.prompted.Limit(row, limit)
	c.submitted, c.started, c.samples, c.first, c.err = time.Now(), time.Now(), 1, true, nil
	q.service.Submit(row)
	return nil
}

// wait waits for the answer to a row.
func (q *sequences) wait(row int) ([]byte, error) {
	c := &q.calls[row]
	<-c.done
	q.count.add(&c.request, time.Now())
	if c.err != nil {
		return nil, protocol.Errorf(protocol.Internal, "running the model: %w", c.err)
	}
	return c.response, nil
}

// load brings the file of a sample into a row.
func (q *sequences) load(row int, file []byte) error {
	files := q.writer.(workload.Filed)
	if n := int64(len(file)); n > files.FileBytes() {
		return protocol.Errorf(protocol.TooLarge, "the file of the sample has %d bytes, want at most %d", n, files.FileBytes())
	}
	samples, err := files.ReadFile(file)
	if err != nil {
		return protocol.Errorf(protocol.InvalidArgument, "the file of the sample: %w", err)
	}
	q.fill(row, copy(q.store.RowBytes(0, row), samples.Bytes()))
	return nil
}

// give lets others have a row.
func (q *sequences) give(row int) {
	q.calls[row].tokens = nil
	q.free <- row
}

// fill ends a row after its first bytes: what follows is -1 in any type of whole numbers, and no number in others.
func (q *sequences) fill(row int, used int) {
	q.calls[row].sent = used
	rest := q.store.RowBytes(0, row)[used:]
	for i := range rest {
		rest[i] = 0xff
	}
}

// Metadata implements oipserver.Model.
func (q *sequences) Metadata() *protocol.ModelMetadata { return q.about }

// Ready implements oipserver.Model.
func (q *sequences) Ready() bool { return q.ready() }

// Statistics implements oipserver.Model.
func (q *sequences) Statistics() protocol.ModelStatistics {
	return q.count.read(q.about.Name, q.version)
}

// MaxBytes implements oipserver.Model.
func (q *sequences) MaxBytes() int64 {
	most := workload.Bytes(q.prompted.Row(0))
	if f, ok := q.writer.(workload.Filed); ok {
		most = max(most, f.FileBytes())
	}
	return most
}

// TakesFiles implements oipserver.FileModel.
func (q *sequences) TakesFiles() bool {
	_, ok := q.writer.(workload.Filed)
	return ok
}

// Begin implements oipserver.Model.
func (q *sequences) Begin(h *protocol.Head) (oipserver.Job, error) {
	if err := checkWanted(h, q.outputs); err != nil {
		return nil, err
	}
	file, err := q.check(h)
	if err != nil {
		return nil, err
	}
	row, err := q.take()
	if err != nil {
		return nil, err
	}
	j := &sequenceJob{model: q, row: row, wanted: h.Wanted}
	if file {
		j.file = make([]string, 1)
	}
	return j, nil
}

// check compares a request with the input of the model. File says that it is the sample's file.
func (q *sequences) check(h *protocol.Head) (file bool, err error) {
	in := q.about.Inputs[0]
	port := backend.Port{Type: q.writer.Sent()[0].Type, Shape: in.Shape}
	if len(h.Tensors) == 1 && h.Tensors[0].Name == in.Name {
		s := h.Tensors[0]
		switch {
		case s.Type == tensor.String && s.Shape.Len() == 1 && q.TakesFiles():
			return true, nil
		case port.Fits(s.Type, s.Shape):
			if _, err = q.writer.Complete([]tensor.Shape{s.Shape[1:]}); err != nil {
				err = &protocol.Error{Code: protocol.InvalidArgument, Err: err}
			}
			return false, err
		}
	}
	return false, protocol.Errorf(protocol.InvalidArgument, "want one input, %s %s%v", in.Name, in.Datatype, tensor.Shape(in.Shape))
}

// A sequenceJob is a row under way.
type sequenceJob struct {
	model  *sequences
	row    int
	file   []string // of the sample; nil: its tensor is sent
	wanted []string
}

// Place implements oipserver.Job: the beginning of the row.
func (j *sequenceJob) Place(_ int, s protocol.Spec) (tensor.Tensor, error) {
	if j.file != nil {
		return tensor.OfStrings(j.file, s.Shape...), nil
	}
	n := int(s.Shape.Len()) * s.Type.Size()
	memory := j.model.store.RowBytes(0, j.row)
	if n > len(memory) {
		return tensor.Tensor{}, fmt.Errorf("%d bytes, there is room for %d", n, len(memory))
	}
	j.model.fill(j.row, n)
	return tensor.FromBytes(s.Type, memory[:n], s.Shape...)
}

// Run implements oipserver.Job. What a worker has begun it ends, also for a client that has gone: it uses the row.
func (j *sequenceJob) Run(ctx context.Context) ([]protocol.Spec, []tensor.Tensor, error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if j.file != nil {
		if err := j.model.load(j.row, []byte(j.file[0])); err != nil {
			return nil, nil, err
		}
	}
	if err := j.model.submit(j.row, 0); err != nil {
		return nil, nil, err
	}
	response, err := j.model.wait(j.row)
	if err != nil {
		return nil, nil, err
	}
	outputs := []tensor.Tensor{tensor.Of(slices.Clone(response), 1, int64(len(response)))}
	if len(j.model.outputs) > 1 {
		outputs = append(outputs, tensor.Of([]int32{int32(j.model.calls[j.row].counted)}, 1))
	}
	return chosen(j.model.outputs, outputs, j.wanted)
}

// End implements oipserver.Job.
func (j *sequenceJob) End() { j.model.give(j.row) }

// A described model says what a file takes and gives that only the task runs: a decoder, whose memory of
// all tokens would have to be sent for every token. Clients open their side of the task by it.
type described struct {
	about *protocol.ModelMetadata
	ready func() bool
}

func describe(name, version string, p workload.Ports, ready func() bool) *described {
	return &described{&protocol.ModelMetadata{Name: name, Versions: []string{version}, Platform: "mlperf", Inputs: portsOf(p.Inputs), Outputs: portsOf(p.Outputs)}, ready}
}

// Metadata implements oipserver.Model.
func (d *described) Metadata() *protocol.ModelMetadata { return d.about }

// Ready implements oipserver.Model.
func (d *described) Ready() bool { return d.ready() }

// Statistics implements oipserver.Model.
func (d *described) Statistics() protocol.ModelStatistics {
	return protocol.ModelStatistics{Name: d.about.Name, Version: d.about.Versions[0]}
}

// MaxBytes implements oipserver.Model: enough for Begin to name the task.
func (*described) MaxBytes() int64 { return maxRefused }

const maxRefused = 1 << 20

// Begin implements oipserver.Model.
func (d *described) Begin(*protocol.Head) (oipserver.Job, error) {
	return nil, protocol.Errorf(protocol.Unsupported, "%s keeps its memory of all tokens here and runs as %s%s only", d.about.Name, d.about.Name, protocol.TaskSuffix)
}
