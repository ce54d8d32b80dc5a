package backend_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
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

func TestBindAll(t *testing.T) {
	b := &binder{left: 2}
	values, err := backend.BindAll(b, make([]tensor.Tensor, 2))
	if err != nil || len(values) != 2 || b.open != 2 {
		t.Fatalf("%d values, %d open, %v", len(values), b.open, err)
	}
	if err := backend.CloseAll(values[:1], []backend.Value{nil}, values[1:]); !testenv.Names(err, "closed\nclosed") || b.open != 0 {
		t.Errorf("%d stay open, %v; want none, and both errors", b.open, err)
	}
	b.left = 2
	if values, err := backend.BindAll(b, make([]tensor.Tensor, 3)); values != nil || err == nil || b.open != 0 {
		t.Errorf("%d values, %d open, %v; want none, and an error", len(values), b.open, err)
	}
}

func TestBindPorts(t *testing.T) {
	b := &order{}
	ports := []backend.Port{{Name: "mask"}, {Name: "ids"}}
	tensors := map[string]tensor.Tensor{"ids": tensor.Of([]int64{1, 2}, 2), "mask": tensor.Of([]float32{3}, 1), "more": {}}
	if values, err := backend.BindPorts(b, ports, tensors); err != nil || len(values) != 2 || strings.Join(b.bound, " ") != "float32[1] int64[2]" {
		t.Errorf("bound are %v, %v", b.bound, err)
	}
	b = &order{}
	ports = append(ports, backend.Port{Name: "kind"})
	if values, err := backend.BindPorts(b, ports, tensors); !testenv.Names(err, "kind") || values != nil || b.bound != nil {
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

func TestViewFitsPort(t *testing.T) {
	v, err := backend.NewView(tensor.New(tensor.Float32, 2, 3))
	if err != nil {
		t.Fatal(err)
	}
	port := func(of tensor.DType, shape ...int64) backend.Port {
		return backend.Port{Name: "x", Type: of, Shape: shape}
	}
	for name, c := range map[string]struct {
		port backend.Port
		want string
	}{
		"the same":               {port(tensor.Float32, 2, 3), ""},
		"a free batch":           {port(tensor.Float32, -1, 3), ""},
		"another extent":         {port(tensor.Float32, 2, 4), "input x: got float32[2 3], the model has float32[2 4]"},
		"another type":           {port(tensor.Int64, 2, 3), "the model has int64"},
		"another number of axes": {port(tensor.Float32, 6), "the model has float32[6]"},
		"an extent of nothing":   {port(tensor.Float32, 0, 3), "the model has float32[0 3]"},
		"any shape":              {backend.Port{Name: "x", Type: tensor.Float32, AnyShape: true}, ""},
		"any shape of integers":  {backend.Port{Name: "x", Type: tensor.Int64, AnyShape: true}, "the model has int64"},
		"no axes":                {port(tensor.Float32), "got float32[2 3]"},
	} {
		got, err := backend.Viewed(v, c.port, "input")
		if c.want == "" && (err != nil || got.Len() != 6) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, %v, want %q", name, got, err, c.want)
		}
	}
}

func TestClosedViewIsRefused(t *testing.T) {
	v, err := backend.NewView(tensor.New(tensor.Float32, 1))
	if err != nil {
		t.Fatal(err)
	}
	port := backend.Port{Name: "y", Type: tensor.Float32, Shape: tensor.Shape{1}}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	for name, given := range map[string]backend.Value{"closed": v, "nil": (*backend.View)(nil), "none": nil} {
		if _, err := backend.Viewed(given, port, "output"); err == nil || !strings.Contains(err.Error(), "output y: not an open value") {
			t.Errorf("%s: %v, want an error that names the port", name, err)
		}
	}
	if _, err := backend.NewView(tensor.Tensor{}); err == nil || !strings.Contains(err.Error(), "cannot be bound") {
		t.Errorf("a tensor of no type was bound: %v", err)
	}
	if err := v.Close(); err != nil || v.Tensor().Len() != 1 {
		t.Errorf("a second call, or what is left to see: %v, %v", err, v.Tensor())
	}
}
