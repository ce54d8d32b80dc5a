package oip

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// findTask asks the servers what a sample of the task consists of.
func (e *Engine) findTask(ctx context.Context) error {
	if e.config.Task == "" {
		return nil
	}
	m, err := e.client.Model(ctx, e.config.Task, e.config.Version)
	if err != nil {
		return err
	}
	if !isTask(m.Outputs) {
		return fmt.Errorf("model %s has the outputs %v, want one of bytes, %q", m.Name, m.Outputs, protocol.TaskResponse)
	}
	e.task, e.told = &remote{name: e.config.Task}, len(m.Outputs)
	for _, p := range m.Inputs {
		e.inputs = append(e.inputs, p.Name)
	}
	return nil
}

// isTask reports whether outputs are those of a task: the response, and the number of its tokens where it counts them.
func isTask(outputs []protocol.Port) bool {
	want := []protocol.Port{{Name: protocol.TaskResponse, Datatype: "UINT8"}, {Name: protocol.TaskTokens, Datatype: "INT32"}}
	same := func(a, b protocol.Port) bool { return a.Name == b.Name && a.Datatype == b.Datatype }
	return len(outputs) > 0 && len(outputs) <= len(want) && slices.EqualFunc(outputs, want[:len(outputs)], same)
}

// Respond sends a sample to the task, alone, and appends the response to dst. Tokens are those that the task says it
// wrote for it, 0 where it does not count them.
func (e *Engine) Respond(ctx context.Context, sample []tensor.Tensor, dst []byte) (response []byte, tokens int, err error) {
	if len(sample) != len(e.inputs) {
		return dst, 0, fmt.Errorf("a sample has %d tensors, the task %s takes %d", len(sample), e.config.Task, len(e.inputs))
	}
	r := &client.Request{Model: e.config.Task, Version: e.config.Version, Tensors: sample}
	for i, t := range sample {
		r.Specs = append(r.Specs, protocol.Spec{Name: e.inputs[i], Type: t.Type, Shape: t.Shape})
	}
	a := &taskAnswer{engine: e, start: len(dst), dst: dst, count: []int32{0}}
	r.Accept = a.accept
	begin := time.Now()
	if _, err := e.client.Infer(ctx, r); err != nil {
		return dst, 0, err
	}
	if a.count[0] < 0 {
		return dst, 0, fmt.Errorf("the answer says that it has %d tokens", a.count[0])
	}
	e.took.Add(int64(time.Since(begin)))
	e.answered.Add(1)
	return a.dst, int(a.count[0]), nil
}

// A taskAnswer is where the answer of a task goes.
type taskAnswer struct {
	engine *Engine
	dst    []byte
	start  int
	count  []int32
}

// accept looks at the head of an answer.
func (a *taskAnswer) accept(h *protocol.Head) (protocol.Place, error) {
	e := a.engine
	if h.Model != "" && h.Model != e.config.Task {
		return nil, fmt.Errorf("the answer is of the model %q, asked was %q", h.Model, e.config.Task)
	}
	if len(h.Tensors) != e.told {
		return nil, fmt.Errorf("the answer has %d outputs, want %d", len(h.Tensors), e.told)
	}
	return a.place, e.task.sameVersion(h.Version)
}

// place finds the memory of an output: the response first, then its tokens.
func (a *taskAnswer) place(i int, s protocol.Spec) (tensor.Tensor, error) {
	if i == 1 {
		return a.placeTokens(s)
	}
	if s.Name != protocol.TaskResponse || s.Type != tensor.Uint8 || len(s.Shape) != 2 || s.Shape[0] != 1 {
		return tensor.Tensor{}, fmt.Errorf("it is %v, want %s UINT8[1 ?]", s, protocol.TaskResponse)
	}
	a.dst = append(a.dst[:a.start], make([]byte, s.Shape.Len())...)
	return tensor.FromBytes(tensor.Uint8, a.dst[a.start:], s.Shape...)
}

// placeTokens finds the memory of the number of tokens.
func (a *taskAnswer) placeTokens(s protocol.Spec) (tensor.Tensor, error) {
	if s.Name != protocol.TaskTokens || s.Type != tensor.Int32 || !slices.Equal(s.Shape, tensor.Shape{1}) {
		return tensor.Tensor{}, fmt.Errorf("it is %v, want %s INT32[1]", s, protocol.TaskTokens)
	}
	return tensor.Of(a.count, 1), nil
}

// Nodes asks every server for its name, which the endpoint makes the only one.
func (e *Engine) Nodes(ctx context.Context) ([]string, error) {
	servers, err := e.client.Servers(ctx)
	if err != nil {
		return nil, err
	}
	var list []string
	for i, name := range e.client.Endpoints() {
		if servers[i].Name == "" {
			return nil, errors.New("server " + name + " has no name")
		}
		list = append(list, servers[i].Name+" at "+name)
	}
	return list, nil
}

// Local names the servers that are on this machine for certain.
func (e *Engine) Local() []string { return e.client.Local() }
