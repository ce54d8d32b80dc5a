package onnx

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withTensors is a model with tensors of so many floats.
func withTensors(sizes ...int) *Model {
	g := &Graph{Name: "large"}
	for i, n := range sizes {
		data := make([]float32, n)
		for k := range data {
			data[k] = float32(i + k)
		}
		g.Initializers = append(g.Initializers, TensorOf(string(rune('a'+i)), data, int64(n)))
		g.Outputs = append(g.Outputs, &Value{Name: string(rune('a' + i)), Type: Type{Elem: Float32, Shape: FixedShape([]int64{int64(n)})}})
	}
	return &Model{IRVersion: 8, Opsets: []Opset{{Version: 17}}, Graph: g}
}

func TestLargeTensorsLieBesideTheModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := withTensors(10, 2000, 5000, 1024).WriteFileBeside(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path + DataSuffix)
	if err != nil || info.Size() != 8192+20480+4096 {
		t.Errorf("the data file: %v, %v", info, err)
	}
	names, err := dataFiles(path)
	if err != nil || cmp.Diff([]string{"model.onnx.data"}, names) != "" {
		t.Errorf("data files %v, %v", names, err)
	}
	whole, err := ReadWhole(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range withTensors(10, 2000, 5000, 1024).Graph.Initializers {
		a, err := Elements[float32](want)
		b, err2 := Elements[float32](whole.Graph.Initializers[i])
		if errors.Join(err, err2) != nil || cmp.Diff(a, b) != "" {
			t.Errorf("tensor %s differs: %v", want.Name, errors.Join(err, err2))
		}
	}
}

func TestAnInterruptionLeavesNoDataFile(t *testing.T) {
	stopped := errors.New("stopped by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	dir := t.TempDir()
	if err := withTensors(5000).WriteFileBeside(ctx, filepath.Join(dir, "model.onnx")); !errors.Is(err, stopped) {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// The data file of the first writing must not become that of a model whose elements are gone.
func TestAModelCanBeWrittenBesideItsDataTwice(t *testing.T) {
	m := withTensors(10, 2000)
	want := mustEncode(t, m)
	path := filepath.Join(t.TempDir(), "model.onnx")
	for range 2 {
		if err := m.WriteFileBeside(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(mustEncode(t, m), want) {
			t.Fatal("writing changed the model")
		}
		read, err := ReadWhole(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := mustEncode(t, read); !bytes.Equal(got, want) {
			t.Error("the files hold another model")
		}
	}
}

func TestAFailureLeavesTheModelItsElements(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct {
		name, want string
		source     Source
	}{
		{"a source that fails", "creating model.onnx.data: unexpected EOF", failing{}},
		{"a source that breaks its promise", `tensor "b": its source wrote 3 bytes, not 5000`, sizedSource{Raw("abc"), 5000}},
	} {
		m := withTensors(2000)
		before := *m.Graph.Initializers[0]
		m.Graph.Initializers = append(m.Graph.Initializers, &Tensor{Name: "b", Type: Uint8, Dims: []int64{5000}, Data: c.source})
		err := m.WriteFileBeside(t.Context(), filepath.Join(folder, "model.onnx"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if diff := cmp.Diff(&before, m.Graph.Initializers[0]); diff != "" {
			t.Errorf("%s: the tensor before it is another one:\n%s", c.name, diff)
		}
		if names := filesIn(t, folder); len(names) != 0 {
			t.Errorf("%s: %q is left", c.name, names)
		}
	}
}

// failing is a source of many bytes of which none can be had.
type failing struct{ brokenSource }

func (failing) Size() int64 { return 5000 }

// A model whose file cannot be written must not leave its data to the model that was there.
func TestAModelThatCannotBeWrittenLeavesNoDataBehind(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "model.onnx")
	if err := withTensors(2000).WriteFileBeside(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path + DataSuffix)
	if err != nil {
		t.Fatal(err)
	}
	broken := withTensors(10, 2000)
	broken.Graph.Nodes = []*Node{{Attributes: []Attribute{Attr("a", 1)}}}
	want := `creating model.onnx.data: encoding ONNX model: attribute "a": a value of type int has no encoding`
	if err := broken.WriteFileBeside(t.Context(), path); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if now, err := os.ReadFile(path + DataSuffix); err != nil || !bytes.Equal(now, before) {
		t.Errorf("a model without an encoding replaced the data of another: %v", err)
	}

	// The source of a small tensor is read when the model itself is written, behind the data.
	late := withTensors(3000)
	late.Graph.Initializers = append(late.Graph.Initializers, &Tensor{Name: "late", Type: Uint8, Dims: []int64{4}, Data: brokenSource{}})
	err = late.WriteFileBeside(t.Context(), path)
	if err == nil || !strings.Contains(err.Error(), "creating model.onnx: writing ONNX model: unexpected EOF") {
		t.Errorf("got %v", err)
	}
	if names := filesIn(t, folder); len(names) != 1 {
		t.Errorf("%q are there, want the old model alone", names)
	}
	if _, err := ReadWhole(path); err == nil || !strings.Contains(err.Error(), `tensor "a": its data file: `) {
		t.Errorf("the old model is read with %v, want that its data are gone", err)
	}
}
