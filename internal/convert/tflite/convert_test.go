package tflite

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// converted is the ONNX form of a file of testdata (made by make_models.py).
func converted(t *testing.T, name string) *onnx.Model {
	t.Helper()
	m, err := Convert(name, testenv.Read(t, filepath.Join("testdata", name+".tflite")))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Inputs and outputs are those of the file, and a chain of convolutions has no transposes inside.
func TestConvertKeepsInterface(t *testing.T) {
	for name, elem := range map[string]onnx.ElemType{"float32": onnx.Float32, "float16": onnx.Float32, "hybrid": onnx.Float32, "uint8": onnx.Uint8, "int8": onnx.Int8, "int16": onnx.Int16} {
		g := converted(t, name).Graph
		in, out := g.Inputs[0].Type, g.Outputs[0].Type
		if in.Elem != elem || out.Elem != elem || !slices.Equal(in.Shape, onnx.FixedShape([]int64{1, 17, 18, 3})) {
			t.Errorf("%s: input %v, output %v, want %v and 1×17×18×3", name, in, out, elem)
		}
		transposes := 0
		for _, n := range g.Nodes {
			if n.Op == "Transpose" {
				transposes++
			}
		}
		if transposes > 2 {
			t.Errorf("%s: %d transposes, want one at the input", name, transposes)
		}
	}
}

func TestConvertRefuses(t *testing.T) {
	whole := testenv.Read(t, "testdata/float32.tflite")
	unknown := bytes.Clone(testenv.Read(t, "testdata/detections.tflite"))
	copy(unknown[bytes.Index(unknown, []byte("TFLite_Detection_PostProcess")):], "Flex")
	for _, test := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"an ONNX file", []byte("\x08\x08\x12\x06mlperf"), "expected the mark TFL3"},
		{"cut off", whole[:len(whole)/2], "an offset points outside the file"},
		{"a custom operator", unknown, "Flexte_Detection_PostProcess version 1"},
	} {
		if _, err := Convert("my.tflite", test.content); err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "my.tflite: ") {
			t.Errorf("Convert(%s) = %v, want an error with %q", test.name, err, test.want)
		}
	}
}

// The converters of 2019 and 2020 wrote no shapes of what operators make: MobileNetEdgeTPU's official file has none.
func TestConvertFindsShapes(t *testing.T) {
	for _, name := range []string{"float32", "uint8", "detections"} {
		content := testenv.Read(t, filepath.Join("testdata", name+".tflite"))
		whole := converted(t, name).Graph
		graph := root(content).tables(2)[0]
		inputs := graph.ints(1)
		for i, tensor := range graph.tables(0) {
			n := tensor.int(2, 0)
			if at := tensor.field(0); at != 0 && !slices.Contains(inputs, i) && len(root(content).tables(4)[n].vector(0, 1)) == 0 {
				binary.LittleEndian.PutUint32(content[at+u32(content, at):], 0)
			}
		}
		m, err := Convert(name, content)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for o, v := range m.Graph.Outputs {
			if want := whole.Outputs[o].Type; !slices.Equal(v.Type.Shape, want.Shape) {
				t.Errorf("%s: output %v, want %v", name, v, want)
			}
		}
		if len(m.Graph.Nodes) != len(whole.Nodes) {
			t.Errorf("%s: %d nodes, want %d", name, len(m.Graph.Nodes), len(whole.Nodes))
		}
	}
}

// Sparse constants, which are short in the file, can ask for any amount of memory.
func TestConvertBoundsSparseConstants(t *testing.T) {
	content := testenv.Read(t, "testdata/sparse.tflite")
	for _, tensor := range root(content).tables(2)[0].tables(0) {
		if tensor.table(6).file != nil {
			at := tensor.field(0)
			at += u32(content, at) + 4
			binary.LittleEndian.PutUint32(content[at+4:], 1<<11)
			binary.LittleEndian.PutUint32(content[at+8:], 1<<11)
		}
	}
	if _, err := Convert("sparse", content); err == nil || !strings.Contains(err.Error(), "times the size of the file") {
		t.Errorf("a constant of 4 GB in %d bytes: %v, want an error", len(content), err)
	}
}

// What is accepted can be written, however the file was changed.
func FuzzConvert(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.tflite")
	testenv.Must(f, err)
	for _, path := range paths {
		f.Add(testenv.Read(f, path))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := Convert("fuzz", content)
		if err != nil {
			return
		}
		var size countWriter
		if _, err := m.WriteTo(&size); err == nil && int(size) > 64*len(content)+4<<20 {
			t.Errorf("%d bytes became %d", len(content), size)
		}
	})
}

type countWriter int

func (c *countWriter) Write(p []byte) (int, error) {
	*c += countWriter(len(p))
	return len(p), nil
}
