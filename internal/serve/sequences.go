package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A sequenceModel offers a model that answers sequences with the benchmark's own predictors: as a
// task, and in OpenAI's protocol.
type sequenceModel struct {
	described
	name     string // of the model, without the suffix of the task
	service  *harness.Service
	row      []workload.Slot // with room for the longest sample
	exchange *workload.Exchange
	ends     []int32 // tokens that end an answer
	limits   []int   // most tokens of the answer to a row; 0: as many as the benchmark allows
	store    *workload.Store
	outputs  []backend.Port

	calls []call
	free  *freeRows
}

// A call is a row that waits for its answer.
type call struct {
	request
	used     int // bytes of the row; behind them is room
	response []byte
	written  int         // tokens of the response
	tokens   chan []byte // as they come; nil: not wanted
}

// openSequences opens the model of a source.
func openSequences(ctx context.Context, s Source, o Options, ready func() bool) (q *sequenceModel, err error) {
	q = &sequenceModel{name: o.Name, calls: make([]call, o.Room), limits: make([]int, o.Room), free: newFreeRows(o.Room), outputs: taskOutputs()}
	for row := range q.calls {
		q.calls[row].done = make(chan struct{}, 1)
	}
	var w *workload.Workload
	if q.service, w, err = s.OpenSequences(ctx, q.limits, q.done); err != nil {
		return nil, err
	}
	q.exchange, q.ends = w.Exchange, w.EndTokens
	q.service.Tokens(q.token)
	forRows := q.service.Workload()
	q.row = forRows.Row(0)
	if q.store, err = workload.NewStore(o.Room, forRows.Row); err == nil {
		err = q.service.Start(q.store)
	}
	if err != nil {
		return nil, errors.Join(err, q.close())
	}
	if q.exchange.Sequences.Text == nil { // clients cannot count the tokens of the response
		q.outputs = append(q.outputs, backend.Port{Name: protocol.TaskTokens, Type: tensor.Int32, Shape: tensor.Shape{1}})
	}
	q.described = describeTask(o.Name, s.Version(), q.exchange.Inputs, q.outputs, ready)
	return q, nil
}

func (q *sequenceModel) close() error { return closeService(q.service, q.store) }

// done is called by a worker that has answered a row.
func (q *sequenceModel) done(row int, response []byte, tokens int, err error) {
	c := &q.calls[row]
	c.response, c.written, c.err = append(c.response[:0], response...), tokens, err
	if c.tokens != nil {
		close(c.tokens)
	}
	c.done <- struct{}{}
}

// token passes a token on. The channel has room for all of them: the worker never waits.
func (q *sequenceModel) token(row int, token []byte) {
	if c := &q.calls[row]; c.tokens != nil {
		c.tokens <- slices.Clone(token)
	}
}

// submit has a row answered with at most limit tokens; 0: as many as the benchmark allows.
func (q *sequenceModel) submit(row, limit int) error {
	c := &q.calls[row]
	dtype := q.row[0].Type
	sent, err := tensor.FromBytes(dtype, q.store.RowBytes(0, row)[:c.used], int64(c.used/dtype.Size()))
	if err == nil {
		err = q.exchange.Check([]tensor.Tensor{sent})
	}
	if err != nil {
		return invalid(err)
	}
	q.limits[row] = limit
	now := clock.Now()
	c.submitted, c.started, c.samples, c.first, c.err = now, now, 1, true, nil
	q.service.Submit(row)
	return nil
}

// wait waits for the answer to a row.
func (q *sequenceModel) wait(row int) ([]byte, error) {
	c := &q.calls[row]
	<-c.done
	q.count.add(&c.request, clock.Now())
	if c.err != nil {
		return nil, protocol.Errorf(protocol.Internal, "running the model: %w", c.err)
	}
	return c.response, nil
}

// release frees a row.
func (q *sequenceModel) release(row int) {
	q.calls[row].tokens = nil
	q.free.release(row)
}

// fill ends a row after its first bytes: -1 follows in types of whole numbers, and NaN in others.
func (q *sequenceModel) fill(row int, used int) {
	q.calls[row].used = used
	rest := q.store.RowBytes(0, row)[used:]
	for i := range rest {
		rest[i] = 0xff
	}
}

// MaxBytes implements oipserver.Model.
func (q *sequenceModel) MaxBytes() int64 {
	return max(workload.Bytes(q.row), q.exchange.Sequences.FileBytes)
}

// TakesFiles implements oipserver.FileModel.
func (q *sequenceModel) TakesFiles() bool { return q.exchange.Sequences.ReadFile != nil }

// Begin implements oipserver.Model.
func (q *sequenceModel) Begin(h *protocol.Head) (oipserver.Job, error) {
	if err := checkWanted(h, q.outputs); err != nil {
		return nil, err
	}
	j := &sequenceJob{model: q, wanted: h.Wanted}
	in := q.metadata.Inputs[0]
	port := backend.Port{Type: q.exchange.Inputs[0].Type, Shape: in.Shape}
	switch {
	case len(h.Tensors) != 1 || h.Tensors[0].Name != in.Name:
		return nil, wantOneInput(in)
	case h.Tensors[0].Type == tensor.String && h.Tensors[0].Shape.Len() == 1 && q.TakesFiles():
		j.file = make([]string, 1)
	case !port.Fits(h.Tensors[0].Type, h.Tensors[0].Shape):
		return nil, wantOneInput(in)
	default:
		if _, err := q.exchange.Complete([]tensor.Shape{h.Tensors[0].Shape[1:]}); err != nil {
			return nil, invalid(err)
		}
	}
	var err error
	j.row, err = q.free.acquire()
	if err != nil {
		return nil, err
	}
	return j, nil
}

func wantOneInput(p protocol.Port) error {
	return protocol.Errorf(protocol.InvalidArgument, "expected one input, %s %s%v", p.Name, p.Datatype, tensor.Shape(p.Shape))
}

// A sequenceJob is a row under way.
type sequenceJob struct {
	model  *sequenceModel
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
		return tensor.Tensor{}, fmt.Errorf("%d bytes, the row has room for %d", n, len(memory))
	}
	j.model.fill(j.row, n)
	return tensor.FromBytes(s.Type, memory[:n], s.Shape...)
}

// Run implements oipserver.Job. A row that a worker has begun is answered also for a client that has gone: the worker uses it.
func (j *sequenceJob) Run(ctx context.Context) ([]protocol.Spec, []tensor.Tensor, error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	q := j.model
	if j.file != nil {
		file, most := []byte(j.file[0]), q.exchange.Sequences.FileBytes
		if int64(len(file)) > most {
			return nil, nil, protocol.Errorf(protocol.TooLarge, "the file of the sample has %d bytes, expected at most %d", len(file), most)
		}
		samples, err := q.exchange.Sequences.ReadFile(file)
		if err != nil {
			return nil, nil, protocol.Errorf(protocol.InvalidArgument, "the file of the sample: %w", err)
		}
		q.fill(j.row, copy(q.store.RowBytes(0, j.row), samples.Bytes()))
	}
	if err := q.submit(j.row, 0); err != nil {
		return nil, nil, err
	}
	response, err := q.wait(j.row)
	if err != nil {
		return nil, nil, err
	}
	outputs := []tensor.Tensor{tensor.Of(slices.Clone(response), 1, int64(len(response)))}
	if len(q.outputs) > 1 {
		outputs = append(outputs, tensor.Of([]int32{int32(q.calls[j.row].written)}, 1))
	}
	return wantedOf(q.outputs, outputs, j.wanted)
}

// End implements oipserver.Job.
func (j *sequenceJob) End() { j.model.release(j.row) }
