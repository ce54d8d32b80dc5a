package backend

import (
	"errors"
	"fmt"

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

// BindPorts makes a value of the tensor of each port, which has its name. If one fails, none
// stays bound.
func BindPorts(s Session, ports []Port, tensors map[string]tensor.Tensor) ([]Value, error) {
	list := make([]tensor.Tensor, len(ports))
	for i, port := range ports {
		t, ok := tensors[port.Name]
		if !ok {
			return nil, fmt.Errorf("the model has a port %s, for which there is nothing", port.Name)
		}
		list[i] = t
	}
	return BindAll(s, list)
}

// CloseAll closes values; those that are nil are passed over.
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
