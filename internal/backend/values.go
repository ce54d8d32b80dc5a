package backend

import (
	"errors"

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
