package ort

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	format "github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// headOf reads the head of a file with some content.
func headOf(t *testing.T, content []byte) (modelHead, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return readModelHead(path)
}

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
	head, err := headOf(t, g.encode())
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(head.opset, head.producer, head.complete())
	for _, p := range append(head.inputs, head.outputs...) {
		got += fmt.Sprintf("%s %v%v %q\n", p.Name, p.Type, p.Shape, p.axes)
	}
	want := `opset 17 test maker true
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

func TestPortsThatAreNoTensorsAreLeftAlone(t *testing.T) {
	sequence := message{}.text(1, "seq").bytes(2, message{}.bytes(4, nil))
	g := doubled("N")
	g.outputs = append(g.outputs, sequence)
	head, err := headOf(t, g.encode())
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{nil, {"y"}} {
		if _, out, err := head.choose(names); err != nil || len(out) != 1 || out[0].Name != "y" {
			t.Errorf("choosing %q: got %v, %v, want y", names, out, err)
		}
	}
	g.outputs = g.outputs[1:]
	only, err := headOf(t, g.encode())
	if err != nil {
		t.Fatal(err)
	}
	for _, refused := range []func() error{
		func() error { _, _, err := head.choose([]string{"seq"}); return err },
		func() error { _, _, err := only.choose(nil); return err },
	} {
		if err := refused(); err == nil || !strings.Contains(err.Error(), `"seq" is a sequence`) {
			t.Errorf("choosing the sequence: got %v, want an error", err)
		}
	}
}

func TestOutputsWithoutAShapeAreAskedOfONNXRuntime(t *testing.T) {
	g := doubled("N")
	g.outputs = []message{onnxPortOfType("shapeless", 1, nil)}
	if head, err := headOf(t, g.encode()); err != nil || head.complete() || !head.outputs[0].AnyShape {
		t.Errorf("got %+v, %v", head, err)
	}
}

func TestWhatIsNoModelIsRefused(t *testing.T) {
	whole := doubled("N").encode()
	for _, test := range []struct {
		name string
		file []byte
		want string
	}{
		{"text", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:"), "Git LFS"},
		{"nothing", nil, "it is empty"},
		{"zeros", make([]byte, 100), "zero bytes"},
		{"cut off", whole[:len(whole)-10], "not an ONNX model"},
		{"no graph", message{}.number(1, 8), "it has no graph"},
		{"no outputs", onnxGraph{inputs: []message{onnxPort("x", tensor.Float32)}}.encode(), "has no outputs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := headOf(t, test.file)
			var refused *modelError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
	if _, err := headOf(t, []byte("\x20\x00\x00\x00ORTM and more")); !errors.Is(err, format.ErrORTFormat) {
		t.Errorf("got %v, want the sign for ORT format", err)
	}
}

func TestWhatIsNoFileIsNotOpened(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	makePipe(t, pipe)
	for path, want := range map[string]string{
		pipe: "not a regular file", os.DevNull: "not a regular file", t.TempDir(): "is a folder",
		filepath.Join(t.TempDir(), "none.onnx"): "no such file",
	} {
		if _, err := readModelHead(path); err == nil || err.Error() != fmt.Sprintf("model %s: %s", path, want) && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

func TestFreeAxesGetTheExtentsOfTheirNames(t *testing.T) {
	g := onnxGraph{
		nodes:   []message{onnxNode("Identity", []string{"x"}, []string{"y"})},
		inputs:  []message{onnxPort("x", tensor.Float32, "N", 3, "side", "side"), onnxPort("length", tensor.Int64, "")},
		outputs: []message{onnxPort("y", tensor.Float32, "N", 3, "side", "")},
	}
	head, err := headOf(t, g.encode())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		extents map[string]int64
		want    string // the shapes, or the error
	}{
		{nil, "[? 3 ? ?] [?] [? 3 ? ?]"},
		{map[string]int64{"side": 1}, "[? 3 1 1] [?] [? 3 1 ?]"},
		{map[string]int64{"N": 8, "side": 224}, "[8 3 224 224] [?] [8 3 224 ?]"},
		{map[string]int64{"N": 0}, `free axis "N": the extent 0 must be 1 or more`},
		{map[string]int64{"side": -1}, `free axis "side": the extent -1 must be 1 or more`},
		{map[string]int64{"batch": 8}, `it has no free axis "batch"; it has N, side`},
		{map[string]int64{"": 8}, `it has no free axis ""; it has N, side`}, // axes without a name have no name in common
	} {
		in, out, err := fixed(head.inputs, head.outputs, c.extents)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(in[0].Shape, in[1].Shape, out[0].Shape)
		}
		if got != c.want {
			t.Errorf("%v: %s, want %s", c.extents, got, c.want)
		}
	}
	if got := fmt.Sprint(head.inputs[0].Shape); got != "[? 3 ? ?]" {
		t.Errorf("the head of the file is %s now", got)
	}
}

// ONNX Runtime 1.24 and all that follow read it.
func TestTheTinyModelIsAnOldOne(t *testing.T) {
	head, err := headOf(t, tinyModel())
	if err != nil {
		t.Fatal(err)
	}
	if head.opset != "opset 13" || len(head.inputs) != 1 || len(head.outputs) != 1 {
		t.Fatalf("%+v", head)
	}
	for i, p := range []modelPort{head.inputs[0], head.outputs[0]} {
		if p.Name != []string{"x", "y"}[i] || p.Type != tensor.Float32 || fmt.Sprint(p.Shape) != "[1]" {
			t.Errorf("port %d is %s %v%v, want one float", i, p.Name, p.Type, p.Shape)
		}
	}
}
