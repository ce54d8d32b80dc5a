package backend

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// BindAll makes a value of each tensor. If one fails, none stays bound.
func BindAll(s Session, tensors []tensor.Tensor) ([]Value, error) {
	var values []Value
	for _, t := range tensors {
		v, err := s.Bind(t)
		if err != nil {
			return nil, errors.Join(err, CloseAll(values))
		}
		values = append(values, v)
	}
	return values, nil
}

// BindPorts makes a value for each port of the tensor of its name. If one fails, none stays bound.
func BindPorts(s Session, ports []Port, tensors map[string]tensor.Tensor) ([]Value, error) {
	list := make([]tensor.Tensor, len(ports))
	for i, port := range ports {
		t, ok := tensors[port.Name]
		if !ok {
			return nil, fmt.Errorf("the model needs %s, which is not given", port.Name)
		}
		list[i] = t
	}
	return BindAll(s, list)
}

// CloseAll closes all values that are not nil.
func CloseAll(lists ...[]Value) error {
	var errs []error
	for _, list := range lists {
		for _, v := range list {
			if v != nil {
				errs = append(errs, v.Close())
			}
		}
	}
	return errors.Join(errs...)
}

// A View is the Value of an engine that reads and writes tensors in place.
type View struct {
	tensor tensor.Tensor
	closed atomic.Bool
}

// NewView returns a View of t.
func NewView(t tensor.Tensor) (Value, error) {
	if t.Type == tensor.Invalid {
		return nil, fmt.Errorf("a tensor of type %v cannot be bound", t.Type)
	}
	return &View{tensor: t}, nil
}

// Tensor implements Value.
func (v *View) Tensor() tensor.Tensor { return v.tensor }

// Close implements Value: runs refuse it from now on.
func (v *View) Close() error {
	v.closed.Store(true)
	return nil
}

// Viewed returns the tensor of a View that is open and fits a port. Errors call it by its role, input or output.
func Viewed(given Value, port Port, role string) (tensor.Tensor, error) {
	v, ok := given.(*View)
	if !ok || v == nil || v.closed.Load() {
		return tensor.Tensor{}, fmt.Errorf("%s %s: not an open value of this engine", role, port.Name)
	}
	if t := v.tensor; !port.Fits(t.Type, t.Shape) {
		return tensor.Tensor{}, fmt.Errorf("%s %s: got %v, the model has %v%v", role, port.Name, t, port.Type, port.Shape)
	}
	return v.tensor, nil
}
