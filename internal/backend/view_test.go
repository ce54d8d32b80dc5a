package backend_test

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestAViewFitsPortsOfItsTypeAndShape(t *testing.T) {
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

func TestAViewThatIsClosedOrNoneIsNotTaken(t *testing.T) {
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
