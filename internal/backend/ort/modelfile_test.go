package ort

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	format "github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// headOf reads the head of a file with some content.
func headOf(t *testing.T, content []byte) (modelHead, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.onnx")
	testenv.Must(t, os.WriteFile(path, content, 0o644))
	return readModelHead(path)
}

func TestModelHead(t *testing.T) {
	g := graph{
		nodes: []*format.Node{node("Conv", []string{"images", "w"}, []string{"h"}), node("ArgMax", []string{"h"}, []string{"classes"})},
		inputs: []*format.Value{
			port("images", tensor.Float32, "N", 3, 224, 224), port("w", tensor.Float32, 1),
			port("threshold", tensor.Float64), port("sparse", tensor.Float32, 1),
		},
		outputs: []*format.Value{port("classes", tensor.Int64, "N"), port("words", tensor.String, "", 2)},
		weights: []*format.Tensor{format.TensorOf("w", make([]float32, 10000), 10000)},
	}
	head, err := headOf(t, g.encode())
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(head.opset, head.producer, head.complete())
	for _, p := range append(head.inputs, head.outputs...) {
		got += fmt.Sprintf("%s %v%v %q\n", p.Name, p.Type, p.Shape, p.Axes)
	}
	want := `opset 17 test maker true
images float32[? 3 224 224] ["N" "" "" ""]
threshold float64[] []
sparse float32[1] []
classes int64[?] ["N"]
words string[? 2] []
`
	if got != want {
		t.Errorf("head is\n%swant\n%s", got, want)
	}
}

func TestSequenceOutput(t *testing.T) {
	g := doubled("N")
	g.outputs = append(g.outputs, sequence())
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

func TestOutputWithoutShape(t *testing.T) {
	g := doubled("N")
	g.outputs = []*format.Value{shapeless()}
	if head, err := headOf(t, g.encode()); err != nil || head.complete() || !head.outputs[0].AnyShape {
		t.Errorf("got %+v, %v", head, err)
	}
}

func TestBadModelFile(t *testing.T) {
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
		{"no graph", []byte{8, 8}, "it has no graph"},
		{"no outputs", graph{inputs: []*format.Value{port("x", tensor.Float32)}}.encode(), "has no outputs"},
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

func TestBadModelPath(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Skip("mkfifo is not installed: ", err)
	}
	for path, want := range map[string]string{
		pipe: "not a regular file", os.DevNull: "not a regular file", t.TempDir(): "is a folder",
		filepath.Join(t.TempDir(), "none.onnx"): "no such file",
	} {
		if _, err := readModelHead(path); !testenv.Names(err, path+" … "+want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

func TestExtentsOfFreeAxes(t *testing.T) {
	g := graph{
		nodes:   []*format.Node{node("Identity", []string{"x"}, []string{"y"})},
		inputs:  []*format.Value{port("x", tensor.Float32, "N", 3, "side", "side"), port("length", tensor.Int64, "")},
		outputs: []*format.Value{port("y", tensor.Float32, "N", 3, "side", "")},
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
		{map[string]int64{"": 8}, `it has no free axis ""; it has N, side`}, // axes without a name differ
	} {
		in, out, err := withExtents(head.inputs, head.outputs, c.extents)
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

// namesFile reports whether an error says that a file is not a model, and which file.
func namesFile(err error) bool {
	var model *modelError
	return errors.Is(err, format.ErrORTFormat) || errors.As(err, &model) && strings.HasPrefix(err.Error(), "model "+model.path+": ") && model.reason != ""
}

// A file that was cut off while it was copied has the head of the whole, or is not a model: it never has other ports.
func TestModelFileCutOff(t *testing.T) {
	g := doubled("N")
	g.weights = []*format.Tensor{format.TensorOf("w", make([]float32, 20), 20)}
	whole := g.encode()
	want, err := headOf(t, whole)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		head, err := headOf(t, whole[:n])
		switch {
		case err != nil && !namesFile(err):
			t.Errorf("the first %d of %d bytes: %v", n, len(whole), err)
		case err == nil && fmt.Sprint(head.inputs, head.outputs) != fmt.Sprint(want.inputs, want.outputs):
			t.Errorf("the first %d of %d bytes have the ports %v and %v", n, len(whole), head.inputs, head.outputs)
		}
	}
}

func TestDamagedModelFile(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	whole := doubled("N").encode()
	for range 400 {
		damaged := slices.Clone(whole)
		for range 1 + random.IntN(4) {
			damaged[random.IntN(len(damaged))] ^= byte(1 << random.IntN(8))
		}
		head, err := headOf(t, damaged)
		if err != nil {
			if !namesFile(err) {
				t.Fatalf("%x: %v", damaged, err)
			}
			continue
		}
		if _, _, err := head.choose(nil); err == nil && len(head.outputs) == 0 {
			t.Fatalf("%x: a model without outputs", damaged)
		}
	}
}

func TestChooseOutputs(t *testing.T) {
	g := graph{
		inputs:  []*format.Value{port("x", tensor.Float32, "N")},
		outputs: []*format.Value{port("a", tensor.Float32, "N"), port("b", tensor.Int64, "N"), port("c", tensor.Bool, "N")},
	}
	head, err := headOf(t, g.encode())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		names []string
		want  string // of the outputs, or of the error
	}{
		{nil, "a, b, c"}, {[]string{"b"}, "b"}, {[]string{"c", "a"}, "c, a"}, {[]string{"a", "b", "c"}, "a, b, c"},
		{[]string{"d"}, `no output "d"; it has a, b, c`}, {[]string{"a", "A"}, `no output "A"; it has a, b, c`}, {[]string{""}, `no output ""; it has a, b, c`},
		{[]string{"a", "a"}, `the output "a" is asked for twice`}, {[]string{"c", "b", "c"}, `the output "c" is asked for twice`},
	} {
		_, out, err := head.choose(c.names)
		var names []string
		for _, p := range out {
			names = append(names, p.Name)
		}
		got := strings.Join(names, ", ")
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("of %q: %s, want %s", c.names, got, c.want)
		}
	}
}
