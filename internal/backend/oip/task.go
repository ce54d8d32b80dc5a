package oip

import (
	"context"
	"errors"
	"fmt"
	"time"

	protocol "github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/oip/client"
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
	if len(m.Outputs) != 1 || m.Outputs[0].Name != protocol.TaskResponse || m.Outputs[0].Datatype != "UINT8" {
		return fmt.Errorf("model %s has the outputs %v, want one of bytes, %q", m.Name, m.Outputs, protocol.TaskResponse)
	}
	e.task = &remote{name: e.config.Task}
	for _, p := range m.Inputs {
		e.inputs = append(e.inputs, p.Name)
	}
	return nil
}

// Respond sends a sample to the task, alone, and appends the response to dst.
func (e *Engine) Respond(ctx context.Context, sample []tensor.Tensor, dst []byte) ([]byte, error) {
	if len(sample) != len(e.inputs) {
		return dst, fmt.Errorf("a sample has %d tensors, the task %s takes %d", len(sample), e.config.Task, len(e.inputs))
	}
	r := &client.Request{Model: e.config.Task, Version: e.config.Version, Tensors: sample}
	for i, t := range sample {
		r.Specs = append(r.Specs, protocol.Spec{Name: e.inputs[i], Type: t.Type, Shape: t.Shape})
	}
	start := len(dst)
	r.Accept = func(h *protocol.Head) (protocol.Place, error) {
		if h.Model != "" && h.Model != e.config.Task {
			return nil, fmt.Errorf("the answer is of the model %q, asked was %q", h.Model, e.config.Task)
		}
		if len(h.Tensors) != 1 {
			return nil, fmt.Errorf("the answer has %d outputs, want one", len(h.Tensors))
		}
		return func(_ int, s protocol.Spec) (tensor.Tensor, error) {
			if s.Name != protocol.TaskResponse || s.Type != tensor.Uint8 || len(s.Shape) != 2 || s.Shape[0] != 1 {
				return tensor.Tensor{}, fmt.Errorf("it is %v, want %s UINT8[1 ?]", s, protocol.TaskResponse)
			}
			dst = append(dst[:start], make([]byte, s.Size)...)
			return tensor.FromBytes(tensor.Uint8, dst[start:], s.Shape...)
		}, e.task.sameVersion(h.Version)
	}
	begin := time.Now()
	if _, err := e.client.Infer(ctx, r); err != nil {
		return dst[:start], err
	}
	e.took.Add(int64(time.Since(begin)))
	e.answered.Add(1)
	return dst, nil
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
