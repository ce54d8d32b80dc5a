//go:build ort && cgo

package ort

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestORTPortsOfAModelAreTold(t *testing.T) {
	engine := openEngine(t)
	in, out, err := engine.Ports(t.Context(), backend.Options{ModelPath: doubled("N").write(t)})
	if err != nil || len(in) != 1 || in[0].Name != "x" || len(out) != 1 || out[0].Name != "y" || engine.Name() != "onnxruntime" {
		t.Errorf("the ports are %v and %v, %v", in, out, err)
	}
	stopped, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	stop(enough)
	if _, _, err := engine.Ports(stopped, backend.Options{ModelPath: "x.onnx"}); !errors.Is(err, enough) {
		t.Errorf("got %v, want the context's cause", err)
	}
	closed, err := New(engine.Library(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*Engine{engine, closed} {
		if _, _, err := e.Ports(t.Context(), backend.Options{ModelPath: "x.onnx"}); err == nil || !strings.Contains(err.Error(), "x.onnx") {
			t.Errorf("got %v, want an error that names the file", err)
		}
	}
}

func TestORTShapesThatAFileLeavesOutAreInferred(t *testing.T) {
	engine := openEngine(t)
	g := doubled("N")
	g.nodes[1] = onnxNode("Add", []string{"h", "x"}, []string{"shapeless"})
	g.outputs = []message{onnxPortOfType("shapeless", 1, nil)}
	path := g.write(t)
	_, out, err := engine.Ports(t.Context(), backend.Options{ModelPath: path})
	if err != nil || out[0].AnyShape || len(out[0].Shape) != 2 || out[0].Shape[1] != 4 {
		t.Errorf("the outputs are %+v, %v, want [? 4]", out, err)
	}
}

// reshaped gives its input a shape that is another input: nobody knows how many axes it has.
func reshaped() onnxGraph {
	return onnxGraph{
		nodes:   []message{onnxNode("Reshape", []string{"x", "shape"}, []string{"shapeless"})},
		inputs:  []message{onnxPort("x", tensor.Float32, 4), onnxPort("shape", tensor.Int64, "rank")},
		outputs: []message{onnxPortOfType("shapeless", 1, nil)},
	}
}

func TestORTOutputsOfAnyShapeAreGivenOrAllocated(t *testing.T) {
	s := openModel(t, reshaped(), backend.Options{})
	if out := s.Info().Outputs[0]; !out.AnyShape || out.Batch() != -1 {
		t.Errorf("the output is %+v, want one of any shape", out)
	}
	x := bind(t, s, tensor.Of([]float32{1, 2, 3, 4}, 4))
	for _, shape := range [][]int64{{2, 2}, {1, 4, 1}} {
		to := bind(t, s, tensor.Of(shape, int64(len(shape))))
		y := tensor.New(tensor.Float32, shape...)
		run(t, s, values(x, to), values(bind(t, s, y)))
		made := make([]backend.Value, 1)
		run(t, s, values(x, to), made)
		for _, got := range []tensor.Tensor{y, made[0].Tensor()} {
			if len(got.Shape) != len(shape) || tensor.Data[float32](got)[3] != 4 {
				t.Errorf("shape %v: got %v", shape, got)
			}
		}
	}
}

func TestORTModelsInORTFormatAreOpened(t *testing.T) {
	engine := openEngine(t)
	kept := filepath.Join(t.TempDir(), "model.ort")
	s, err := engine.Open(t.Context(), backend.Options{ModelPath: doubled("N").write(t), OptimizedModel: kept, OptimizeLevel: "basic",
		Config: map[string]string{"session.save_model_format": "ORT"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	in, out, err := engine.Ports(t.Context(), backend.Options{ModelPath: kept})
	if err != nil || in[0].Name != "x" || out[0].Name != "y" || out[0].Shape[1] != 4 {
		t.Fatalf("the ports are %v and %v, %v", in, out, err)
	}
	if s, err = engine.Open(t.Context(), backend.Options{ModelPath: kept}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	y := tensor.New(tensor.Float32, 1, 4)
	run(t, s, values(bind(t, s, tensor.Of([]float32{1, 2, 3, 4}, 1, 4))), values(bind(t, s, y)))
	if got := tensor.Data[float32](y)[3]; got != 8 {
		t.Errorf("y[3] = %v, want 8", got)
	}
}

func TestORTSequencesBesideTensorsAreLeftAlone(t *testing.T) {
	g := doubled("N")
	g.nodes = append(g.nodes, onnxNode("SequenceConstruct", []string{"y"}, []string{"seq"}))
	float := message{}.number(1, 1)
	sequence := message{}.bytes(1, message{}.bytes(1, float)) // of tensors
	g.outputs = append(g.outputs, message{}.text(1, "seq").bytes(2, message{}.bytes(4, sequence)))
	engine, path := openEngine(t), g.write(t)
	if _, out, err := engine.Ports(t.Context(), backend.Options{ModelPath: path}); err != nil || len(out) != 2 || out[1].Other != "sequence" {
		t.Errorf("the outputs are %+v, %v", out, err)
	}
	s, err := engine.Open(t.Context(), backend.Options{ModelPath: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	y := tensor.New(tensor.Float32, 1, 4)
	run(t, s, values(bind(t, s, tensor.Of([]float32{1, 2, 3, 4}, 1, 4))), values(bind(t, s, y)))
	if got := tensor.Data[float32](y)[3]; got != 8 {
		t.Errorf("y[3] = %v, want 8", got)
	}
	if _, err := engine.Open(t.Context(), backend.Options{ModelPath: path, Outputs: []string{"seq"}}); err == nil || !strings.Contains(err.Error(), `"seq" is a sequence`) {
		t.Errorf("asking for the sequence: %v, want an error", err)
	}
}

func TestORTDataFilesBelongToTheKeyOfAnOptimisedModel(t *testing.T) {
	engine, dir := openEngine(t), t.TempDir()
	g := doubled("N")
	g.nodes[1] = onnxNode("Add", []string{"h", "w"}, []string{"y"})
	w := message{}.number(1, 4).number(2, 1).text(8, "w").
		bytes(13, message{}.text(1, "location").text(2, "w.data")).number(14, 1)
	g.weights = []message{w}
	path, kept := filepath.Join(dir, "model.onnx"), filepath.Join(dir, "kept.onnx")
	put(t, path, g.encode())
	for _, want := range []float32{1, 5} {
		put(t, filepath.Join(dir, "w.data"), tensor.Of([]float32{want, want, want, want}, 4).Bytes())
		s, err := engine.Open(t.Context(), backend.Options{ModelPath: path, OptimizedModel: kept})
		if err != nil {
			t.Fatal(err)
		}
		y := tensor.New(tensor.Float32, 1, 4)
		run(t, s, values(bind(t, s, tensor.New(tensor.Float32, 1, 4))), values(bind(t, s, y)))
		if got := tensor.Data[float32](y)[0]; got != want {
			t.Errorf("with %v in the data file the model adds %v", want, got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestORTPrecisionsOfDevicesAreKnown(t *testing.T) {
	for list, want := range map[string]bool{"tensorrt,cuda": true, "cuda": false, "cpu": false, "moon": false} {
		if got := Converts(list, "fp16"); got != want {
			t.Errorf("Converts(%q, fp16) = %v, want %v", list, got, want)
		}
	}
}

func put(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
