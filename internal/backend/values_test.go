package backend_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// binder makes values until it has made so many, and counts those that are open.
type binder struct {
	backend.Session
	left, open int
}

type counted struct {
	backend.Value
	of *binder
}

func (b *binder) Bind(tensor.Tensor) (backend.Value, error) {
	if b.left == 0 {
		return nil, errors.New("no room")
	}
	b.left--
	b.open++
	return counted{of: b}, nil
}

func (c counted) Close() error {
	c.of.open--
	return errors.New("closed")
}

func TestTensorsAreBoundTogetherOrNotAtAll(t *testing.T) {
	b := &binder{left: 2}
	values, err := backend.BindAll(b, make([]tensor.Tensor, 2))
	if err != nil || len(values) != 2 || b.open != 2 {
		t.Fatalf("%d values, %d open, %v", len(values), b.open, err)
	}
	if err := backend.CloseAll(values[:1], []backend.Value{nil}, values[1:]); err == nil || err.Error() != "closed\nclosed" || b.open != 0 {
		t.Errorf("%d stay open, %v; want none, and both errors", b.open, err)
	}
	b.left = 2
	if values, err := backend.BindAll(b, make([]tensor.Tensor, 3)); values != nil || err == nil || b.open != 0 {
		t.Errorf("%d values, %d open, %v; want none, and an error", len(values), b.open, err)
	}
}

func TestTensorsAreBoundInTheOrderOfTheirPorts(t *testing.T) {
	b := &order{}
	ports := []backend.Port{{Name: "mask"}, {Name: "ids"}}
	tensors := map[string]tensor.Tensor{"ids": tensor.Of([]int64{1, 2}, 2), "mask": tensor.Of([]float32{3}, 1), "more": {}}
	if values, err := backend.BindPorts(b, ports, tensors); err != nil || len(values) != 2 || strings.Join(b.bound, " ") != "float32[1] int64[2]" {
		t.Errorf("bound are %v, %v", b.bound, err)
	}
	b = &order{}
	ports = append(ports, backend.Port{Name: "kind"})
	if values, err := backend.BindPorts(b, ports, tensors); err == nil || err.Error() != "the model has a port kind, for which there is nothing" || values != nil || b.bound != nil {
		t.Errorf("a port without a tensor: %v, %v, bound are %v", values, err, b.bound)
	}
}

// order notes which tensors are bound.
type order struct {
	backend.Session
	bound []string
}

func (o *order) Bind(t tensor.Tensor) (backend.Value, error) {
	o.bound = append(o.bound, t.String())
	return nil, nil
}
