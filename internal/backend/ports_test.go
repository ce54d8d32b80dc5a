package backend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/networks"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// writeModel writes a model that passes its input on.
func writeModel(t *testing.T, elem onnx.ElemType, shape onnx.Shape) string {
	t.Helper()
	b := networks.NewBuilder("identity", 1)
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

func TestReadPortsReadsInputsAndOutputs(t *testing.T) {
	in, out, err := ReadPorts(writeModel(t, onnx.Float32, onnx.Batched(3, 224, 224)))
	if err != nil {
		t.Fatal(err)
	}
	want := []Port{{Name: "image", Type: tensor.Float32, Shape: tensor.Shape{-1, 3, 224, 224}}}
	if diff := cmp.Diff(want, in); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	want[0].Name = "copy:0"
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

func TestReadPortsKnowsEveryTypeThatTensorsHave(t *testing.T) {
	known := map[tensor.DType]bool{}
	for elem, d := range dtypes {
		if !strings.EqualFold(elem.String(), d.String()) {
			t.Errorf("%v is taken for %v", elem, d)
		}
		known[d] = true
	}
	for d := tensor.Float32; d <= tensor.String; d++ {
		if !known[d] {
			t.Errorf("no ONNX type is %v", d)
		}
	}
}

func TestReadPortsNamesTheFileAndWhatIsWrong(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(page, []byte("<html></html>"), 0o644); err != nil {
		t.Fatal(err)
	}
	complex64 := writeModel(t, onnx.Complex64, onnx.Batched(2))
	for path, want := range map[string]string{
		page:                                  "not an ONNX model",
		filepath.Join(t.TempDir(), "no.onnx"): "no such file",
		complex64:                             "inputs of " + complex64 + ": image has elements of type",
	} {
		if _, _, err := ReadPorts(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), filepath.Base(path)) {
			t.Errorf("ReadPorts(%s): %v, want %q", path, err, want)
		}
	}
}
