package ort

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/longtest"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestTheHeadOfAModelIsRead(t *testing.T) {
	g := onnxGraph{
		nodes: []message{onnxNode("Conv", []string{"images", "w"}, []string{"h"}), onnxNode("ArgMax", []string{"h"}, []string{"classes"})},
		inputs: []message{
			onnxPort("images", tensor.Float32, "N", 3, 224, 224), onnxPort("w", tensor.Float32, 1),
			onnxPort("threshold", tensor.Float64), onnxPort("sparse", tensor.Float32, 1),
		},
		outputs: []message{onnxPort("classes", tensor.Int64, "N"), onnxPort("words", tensor.String, "", 2)},
		weights: []message{weight("w", make([]float32, 10000), 10000)},
	}
	file := g.encode()
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	head, err := readModelHead(path)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(head.irVersion, head.opset(), head.producer, head.nodes, head.complete())
	for _, p := range append(head.inputs, head.outputs...) {
		got += fmt.Sprintf("%s %v%v %q\n", p.Name, p.Type, p.Shape, p.axes)
	}
	want := `8 opset 17 test maker 2 true
images float32[? 3 224 224] ["N" "" "" ""]
threshold float64[] []
sparse float32[1] [""]
classes int64[?] ["N"]
words string[? 2] ["" ""]
`
	if got != want {
		t.Errorf("head is\n%swant\n%s", got, want)
	}
}

func TestEveryElementTypeOfAModelIsKnown(t *testing.T) {
	for number, want := range elementTypes {
		g := onnxGraph{outputs: []message{onnxPortOfType("y", uint64(number), message{})}}
		head, err := parseModelHead(bytes.NewReader(g.encode()), int64(len(g.encode())))
		if err != nil {
			t.Fatal(err)
		}
		if p := head.outputs[0]; p.Type != want || (p.other == "") != (want != tensor.Invalid) {
			t.Errorf("element type %d: got %v %q, want %v", number, p.Type, p.other, want)
		}
	}
}

func TestPortsThatAreNoTensorsAreRefusedWhenChosen(t *testing.T) {
	sequence := message{}.text(1, "seq").bytes(2, message{}.bytes(4, nil))
	g := doubled("N")
	g.outputs = append(g.outputs, sequence)
	file := g.encode()
	head, err := parseModelHead(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := head.choose(nil); err == nil || !strings.Contains(err.Error(), `"seq" is a sequence`) {
		t.Errorf("choosing all outputs: got %v, want an error about the sequence", err)
	}
	if _, out, err := head.choose([]string{"y"}); err != nil || len(out) != 1 {
		t.Errorf("choosing y: got %v, %v", out, err)
	}
}

func TestWhatIsNoModelIsRefused(t *testing.T) {
	whole := doubled("N").encode()
	for _, test := range []struct {
		name string
		file []byte
		want string
	}{
		{"text", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:"), "not in protobuf format"},
		{"zeros", make([]byte, 100), "not in protobuf format"},
		{"cut off", whole[:len(whole)-10], "not in protobuf format"},
		{"no graph", message{}.number(1, 8), "it has no graph"},
		{"no outputs", onnxGraph{inputs: []message{onnxPort("x", tensor.Float32)}}.encode(), "has no outputs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parseModelHead(bytes.NewReader(test.file), int64(len(test.file)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
	orttFile := []byte("\x20\x00\x00\x00ORTM and more")
	if _, err := parseModelHead(bytes.NewReader(orttFile), int64(len(orttFile))); !errors.Is(err, errORTFormat) {
		t.Errorf("got %v, want the sign for ORT format", err)
	}
}

// A reader that counts what is read of it.
type countingReader struct {
	*bytes.Reader
	read int
}

func (r *countingReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.Reader.ReadAt(p, at)
	r.read += n
	return n, err
}

func TestWeightsAreSteppedOver(t *testing.T) {
	longtest.Skip(t, "takes long")
	g := doubled("N")
	for i := range 10 {
		g.weights = append(g.weights, weight(fmt.Sprint("w", i), make([]float32, 1<<20), 1<<20))
	}
	file := &countingReader{Reader: bytes.NewReader(g.encode())}
	if _, err := parseModelHead(file, file.Size()); err != nil {
		t.Fatal(err)
	}
	if file.read > 200_000 {
		t.Errorf("read %d of %d bytes, want less than 200000", file.read, file.Size())
	}
}

func FuzzModelHead(f *testing.F) {
	f.Add(doubled("N").encode())
	f.Add(identity(tensor.String, "a", 2, "b").encode())
	f.Add(tinyModel())
	g := doubled(1)
	g.weights = []message{weight("w", []float32{1, 2}, 2)}
	f.Add(g.encode())
	f.Fuzz(func(t *testing.T, file []byte) {
		head, err := parseModelHead(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		if len(head.outputs) == 0 {
			t.Error("accepted a model without outputs")
		}
		for _, p := range append(head.inputs, head.outputs...) {
			if len(p.axes) != len(p.Shape) || (p.other == "") != (p.Type != tensor.Invalid) {
				t.Errorf("port %+v contradicts itself", p)
			}
			for _, d := range p.Shape {
				if d < -1 {
					t.Errorf("port %+v has an extent below -1", p)
				}
			}
		}
	})
}
