package diffusion

import (
	"context"
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A call is a session with the tensors of its ports, by role.name.
type call struct {
	session         backend.Session
	tensors         map[string]tensor.Tensor
	inputs, outputs []backend.Value
}

// bind binds tensors to the ports of a role, in the session's own order.
func bind(s backend.Session, all ports, role string, tensors map[string]tensor.Tensor) (*call, error) {
	c := &call{session: s, tensors: tensors}
	info := s.Info()
	for _, side := range []struct {
		output bool
		ports  []backend.Port
		values *[]backend.Value
	}{{false, info.Inputs, &c.inputs}, {true, info.Outputs, &c.outputs}} {
		for _, port := range side.ports {
			t, ok := tensors[all.key(role, port.Name, side.output)]
			if !ok {
				return nil, errors.Join(fmt.Errorf("the model's %s has an unknown port %s", role, port.Name), c.close())
			}
			v, err := s.Bind(t)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("the model's %s, %s: %w", role, port.Name, err), c.close())
			}
			*side.values = append(*side.values, v)
		}
	}
	return c, nil
}

// key is role.name of a port; empty: unknown.
func (p ports) key(role, own string, output bool) string {
	for _, w := range portSpecs() {
		if usual := w.role + "." + w.name; w.role == role && w.output == output && p[usual].Name == own {
			return usual
		}
	}
	return ""
}

func (c *call) run(ctx context.Context) error { return c.session.Run(ctx, c.inputs, c.outputs) }

func (c *call) close() error {
	if c == nil {
		return nil
	}
	var errs []error
	for _, v := range append(c.inputs, c.outputs...) {
		errs = append(errs, v.Close())
	}
	return errors.Join(errs...)
}

// setIntegers writes integers into a tensor of int64 or int32.
func setIntegers(t tensor.Tensor, values []int64) {
	if t.Type == tensor.Int64 {
		copy(tensor.Data[int64](t), values)
		return
	}
	for i, v := range values {
		tensor.Data[int32](t)[i] = int32(v)
	}
}

// fill writes a number into all elements of a tensor.
func fill(t tensor.Tensor, v float32) {
	for i := range t.Len() {
		switch t.Type {
		case tensor.Int64:
			tensor.Data[int64](t)[i] = int64(v)
		case tensor.Int32:
			tensor.Data[int32](t)[i] = int32(v)
		default:
			tensor.Data[float32](t)[i] = v
		}
	}
}
