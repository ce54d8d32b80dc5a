package oip

import (
	"context"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A task is a model of the servers that answers a sample with the bytes that LoadGen logs.
type task struct {
	remoteModel
	inputs  []string
	outputs int // the response, and the number of its tokens where the task counts them
}

// openTask asks the servers which tensors a sample of the task has.
func (e *Engine) openTask(ctx context.Context) (*task, error) {
	m, err := e.client.Model(ctx, e.config.Task, e.config.Version)
	if err != nil {
		return nil, err
	}
	want := []protocol.Port{{Name: protocol.TaskResponse, Datatype: "UINT8"}, {Name: protocol.TaskTokens, Datatype: "INT32"}}
	same := func(a, b protocol.Port) bool { return a.Name == b.Name && a.Datatype == b.Datatype }
	if n := len(m.Outputs); n == 0 || n > len(want) || !slices.EqualFunc(m.Outputs, want[:n], same) {
		return nil, fmt.Errorf("model %s has the outputs %v: must be one of bytes, %q", m.Name, m.Outputs, protocol.TaskResponse)
	}
	t := &task{remoteModel: remoteModel{name: e.config.Task}, outputs: len(m.Outputs)}
	for _, p := range m.Inputs {
		t.inputs = append(t.inputs, p.Name)
	}
	return t, nil
}

// Respond sends a sample to the task, alone, and appends the response to dst. Tokens are those that the task says it
// wrote; 0 where it does not count them.
func (e *Engine) Respond(ctx context.Context, sample []tensor.Tensor, dst []byte) (response []byte, tokens int, err error) {
	if len(sample) != len(e.task.inputs) {
		return dst, 0, fmt.Errorf("a sample has %d tensors, the task %s takes %d", len(sample), e.task.name, len(e.task.inputs))
	}
	r := &client.Request{Model: e.task.name, Version: e.config.Version, Tensors: sample}
	for i, t := range sample {
		r.Specs = append(r.Specs, protocol.Spec{Name: e.task.inputs[i], Type: t.Type, Shape: t.Shape})
	}
	response, count := dst, []int32{0}
	place := func(i int, s protocol.Spec) (tensor.Tensor, error) {
		if i == 1 {
			if s.Name != protocol.TaskTokens || s.Type != tensor.Int32 || !slices.Equal(s.Shape, tensor.Shape{1}) {
				return tensor.Tensor{}, fmt.Errorf("it is %v: must be %s INT32[1]", s, protocol.TaskTokens)
			}
			return tensor.Of(count, 1), nil
		}
		if s.Name != protocol.TaskResponse || s.Type != tensor.Uint8 || len(s.Shape) != 2 || s.Shape[0] != 1 {
			return tensor.Tensor{}, fmt.Errorf("it is %v: must be %s UINT8[1 ?]", s, protocol.TaskResponse)
		}
		response = append(dst, make([]byte, s.Shape.Len())...)
		return tensor.FromBytes(tensor.Uint8, response[len(dst):], s.Shape...)
	}
	r.Accept = func(h *protocol.Head) (protocol.Place, error) { return place, e.task.accept(h, e.task.outputs) }
	if err := e.infer(ctx, r); err != nil {
		return dst, 0, err
	}
	if count[0] < 0 {
		return dst, 0, fmt.Errorf("the answer says that it has %d tokens", count[0])
	}
	return response, int(count[0]), nil
}
