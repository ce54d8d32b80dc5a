package backend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// writeModel writes a model that passes its input on.
func writeModel(t *testing.T, elem onnx.ElemType, shape onnx.Shape) string {
	t.Helper()
	b := arch.NewBuilder("identity", 1)
	x := b.Input("image", elem, shape)
	b.Output(b.Node("Identity", "copy", []*onnx.Value{x}, nil, onnx.Type{Elem: elem, Shape: shape})[0])
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "identity.onnx")
	if err := m.WriteFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadPorts(t *testing.T) {
	in, out, err := ReadPorts(writeModel(t, onnx.Float32, onnx.Batched(3, 224, 224)))
	if err != nil {
		t.Fatal(err)
	}
	want := []Port{{Name: "image", Type: tensor.Float32, Shape: tensor.Shape{-1, 3, 224, 224}, Axes: []string{"N", "", "", ""}}}
	if diff := cmp.Diff(want, in); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	want[0].Name = "copy:0"
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

func TestPortsThatAreNotTensors(t *testing.T) {
	tests := []struct {
		value onnx.Value
		want  Port
	}{
		{onnx.Value{Name: "s", Type: onnx.Type{Elem: onnx.Float32}}, Port{Name: "s", Type: tensor.Float32, AnyShape: true}},
		{onnx.Value{Name: "n", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{}}}, Port{Name: "n", Type: tensor.Int64}},
		{onnx.Value{Name: "c", Type: onnx.Type{Elem: onnx.Complex64, Shape: onnx.Batched(2)}},
			Port{Name: "c", Other: "tensor of complex64", Shape: tensor.Shape{-1, 2}, Axes: []string{"N", ""}}},
		{onnx.Value{Name: "q", Type: onnx.Type{Extra: "\x22\x00"}}, Port{Name: "q", Other: "sequence"}},
		{onnx.Value{Name: "m", Type: onnx.Type{Extra: "\x2a\x00"}}, Port{Name: "m", Other: "map"}},
		{onnx.Value{Name: "o", Type: onnx.Type{Extra: "\x4a\x00"}}, Port{Name: "o", Other: "optional"}},
		{onnx.Value{Name: "x"}, Port{Name: "x", Other: "value without a type"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff([]Port{test.want}, PortsOf([]*onnx.Value{&test.value})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.value.Name, diff)
		}
	}
}

func TestReadPortsFails(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(page, []byte("<html></html>"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		page:                                  "not an ONNX model",
		filepath.Join(t.TempDir(), "no.onnx"): "no such file",
		t.TempDir():                           "is a folder",
		os.DevNull:                            "not a regular file",
	} {
		if _, _, err := ReadPorts(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), filepath.Base(path)) {
			t.Errorf("ReadPorts(%s): %v, want %q", path, err, want)
		}
	}
}

func TestBatch(t *testing.T) {
	for _, c := range []struct {
		name string
		port Port
		want int
	}{
		{"a fixed batch", Port{Shape: tensor.Shape{8, 3}}, 8},
		{"a free batch", Port{Shape: tensor.Shape{-1, 3}}, -1},
		{"a port without axes", Port{}, 1},
		{"a port of any shape", Port{AnyShape: true}, -1},
	} {
		if got := c.port.Batch(); got != c.want {
			t.Errorf("%s takes batches of %d, want %d", c.name, got, c.want)
		}
	}
}

// TestFirstAxes: which outputs have a row for each sample of an input.
func TestFirstAxes(t *testing.T) {
	port := func(axis any) Port {
		switch axis := axis.(type) {
		case int:
			return Port{Shape: tensor.Shape{int64(axis), 3}}
		case string:
			return Port{Shape: tensor.Shape{-1, 3}, Axes: []string{axis, ""}}
		}
		return Port{}
	}
	const scalar = false
	for _, c := range []struct {
		in, out any
		want    Agreement
	}{
		{"N", "N", Agree}, {"N", "batch_size", Agree}, {"batch", "output_batch", Agree}, {"num_rows", "num_rows", Agree}, {"s0", "s0", Agree}, {8, 8, Agree}, {"bs", "B", Agree},
		{"N", "num_dets", Differ}, {"N", "M", Differ}, {"batch", "batch*100", Differ}, {"batch", "num_batch_boxes", Differ}, {"s0", "u0", Differ}, {"tokens", "N", Differ},
		{8, 4, Differ}, {1, "num_dets", Differ}, {1, "", Differ}, {"N", 100, Differ}, {"N", scalar, Differ}, {scalar, "N", Differ}, {scalar, scalar, Differ},
		{"", "", Unknown}, {"N", "", Unknown}, {"unk__616", "unk__617", Unknown}, {"N", "Reshapedet_dim_0", Unknown}, {"?", "?", Unknown}, {"None", "None", Unknown},
		{"p2o.DynamicDimension.0", "p2o.DynamicDimension.3", Unknown}, {"unk__6", "num_dets", Unknown},
	} {
		if got := FirstAxes(port(c.in), port(c.out)); got != c.want {
			t.Errorf("input %v, output %v: %d, want %d", c.in, c.out, got, c.want)
		}
	}
	if got := FirstAxes(port("N"), Port{AnyShape: true}); got != Unknown {
		t.Errorf("an output of any shape: %d", got)
	}
}
