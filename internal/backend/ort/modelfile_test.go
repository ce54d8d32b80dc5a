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
