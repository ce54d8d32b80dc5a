package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// A taskJob is a sample under way.
type taskJob struct {
	model    *taskModel
	answerer *answerer
	file     []string // of the sample; nil: its tensors are sent
	bytes    int64    // of a sample whose shape varies
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
	return []oip.Spec{{Name: oip.TaskResponse, Type: out.Type, Shape: shape}}, []tensor.Tensor{out}, nil
}

// complete makes the sample of its file, if it came as one, and checks it.
func (j *taskJob) complete() error {
	row := j.answerer.store.Row(0)
	if j.file != nil {
		if err := j.model.portable.Decode([]byte(j.file[0]), row); err != nil {
			return oip.Errorf(oip.InvalidArgument, "the file of the sample: %w", err)
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
		return oip.Errorf(oip.Internal, "answering a sample: %w", err)
	}
	return nil
}

// End implements server.Job.
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
