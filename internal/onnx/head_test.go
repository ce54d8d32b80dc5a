package onnx

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

func TestReadHeadTellsWhatReadFileTells(t *testing.T) {
	for _, m := range []*Model{everything(), modelOf(diamond())} {
		path := writeModel(t, m)
		head, err := ReadHead(path)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := &Head{Opsets: whole.Opsets, Producer: whole.Producer, Inputs: whole.Graph.FreeInputs(), Outputs: whole.Graph.Outputs, Metadata: whole.Metadata}
		if diff := cmp.Diff(want, head); diff != "" {
			t.Errorf("the head (-ReadFile +ReadHead):\n%s", diff)
		}
	}
}

func TestAHeadNamesItsOperatorSets(t *testing.T) {
	h := Head{Opsets: []Opset{{Domain: "com.microsoft", Version: 1}, {Domain: "ai.onnx.ml", Version: 3}, {Version: 17}}}
	if got, want := h.Opset(), "opset 17, ai.onnx.ml 3, com.microsoft 1"; got != want {
		t.Errorf("Opset() = %q, want %q", got, want)
	}
}

// Of an old model the initializers are among the inputs, sparse ones too.
func TestAHeadListsOnlyTheInputsThatACallerFeeds(t *testing.T) {
	m := modelOf(diamond())
	m.Graph.SparseInitializers = []*SparseTensor{{Values: TensorOf("s", []float32{1}, 1)}}
	m.Graph.Inputs = append(m.Graph.Inputs, &Value{Name: "w"}, &Value{Name: "s"})
	head, err := ReadHead(writeModel(t, m))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range head.Inputs {
		names = append(names, v.Name)
	}
	if got := strings.Join(names, " "); got != "x flag" {
		t.Errorf("the inputs are %q, want x flag", got)
	}
}

func TestReadHeadRefusesWhatIsNoModel(t *testing.T) {
	for want, content := range map[string]string{
		"reading m.onnx: not an ONNX model: it is empty":                                  "",
		"reading m.onnx: not an ONNX model: it is text, perhaps JSON":                     "{}",
		"reading m.onnx: not an ONNX model: it names no version of the format":            string(mustEncode(t, &Model{Graph: &Graph{}})),
		"reading m.onnx: not an ONNX model: it has no graph":                              string(mustEncode(t, &Model{IRVersion: 8})),
		"reading m.onnx: not an ONNX model: it imports no operator set":                   string(mustEncode(t, &Model{IRVersion: 8, Graph: &Graph{}})),
		"reading m.onnx: not an ONNX model: value \"x\": field 3 has wire type 0, want 2": "\x3a\x07\x5a\x05\x0a\x01x\x18\x07",
	} {
		path := filepath.Join(t.TempDir(), "m.onnx")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadHead(path); err == nil || err.Error() != want {
			t.Errorf("ReadHead() = %v, want %s", err, want)
		}
	}
}

func TestReadFileSaysThatItDoesNotReadORTFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.ort")
	if err := os.WriteFile(path, []byte("\x20\x00\x00\x00ORTM and more"), 0o644); err != nil {
		t.Fatal(err)
	}
	want := "reading model.ort: not an ONNX model: it is a model in ORT format; convert the ONNX file from which it was made"
	if _, err := ReadFile(path); err == nil || err.Error() != want {
		t.Errorf("ReadFile() = %v, want %s", err, want)
	}
}

func TestReadHeadKnowsTheFormatThatItDoesNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.ort")
	if err := os.WriteFile(path, []byte("\x20\x00\x00\x00ORTM and more"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadHead(path); !errors.Is(err, ErrORTFormat) {
		t.Errorf("got %v, want %v", err, ErrORTFormat)
	}
}

// A hollow file has some bytes, and zeros for the rest. It counts what is read of it.
type hollow struct {
	head []byte
	read int
}

func (h *hollow) ReadAt(p []byte, at int64) (int, error) {
	h.read += len(p)
	clear(p)
	if at < int64(len(h.head)) {
		copy(p, h.head[at:])
	}
	return len(p), nil
}

var _ io.ReaderAt = (*hollow)(nil)

func TestReadHeadStepsOverWeights(t *testing.T) {
	const weight = 1 << 30
	// The initializer comes last, so that its elements are what the file ends with.
	model := mustEncode(t, modelOf(diamond()))
	tensor := protowire.AppendString(protowire.AppendTag(nil, tensorName, protowire.BytesType), "w")
	tensor = protowire.AppendVarint(protowire.AppendTag(tensor, tensorRawData, protowire.BytesType), weight)
	graph := protowire.AppendVarint(protowire.AppendTag(nil, graphInitializer, protowire.BytesType), uint64(len(tensor)+weight))
	graph = append(graph, tensor...)
	model = protowire.AppendVarint(protowire.AppendTag(model, modelGraph, protowire.BytesType), uint64(len(graph)+weight))
	model = append(model, graph...)

	file := &hollow{head: model}
	h, err := (&fileReader{file: file, size: int64(len(model) + weight)}).head()
	if err != nil || len(h.Outputs) == 0 {
		t.Fatalf("got %+v, %v", h, err)
	}
	if file.read > 64<<10 {
		t.Errorf("%d bytes were read of %d", file.read, len(model)+weight)
	}
}

// What ReadFile accepts ReadHead accepts too, and they tell the same.
func FuzzReadHead(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := (&fileReader{file: bytes.NewReader(data), size: int64(len(data))}).head()
		m, errWhole := Decode(data)
		if errWhole != nil || errors.Is(err, ErrORTFormat) {
			return // weights and nodes may be broken that the head does not look into
		}
		if err != nil {
			t.Fatalf("ReadHead fails with %v, Decode does not", err)
		}
		want := &Head{Opsets: m.Opsets, Producer: m.Producer, Inputs: m.Graph.FreeInputs(), Outputs: m.Graph.Outputs, Metadata: m.Metadata}
		if diff := cmp.Diff(want, h); diff != "" {
			t.Errorf("the head (-Decode +ReadHead):\n%s", diff)
		}
		for _, v := range append(h.Inputs, h.Outputs...) {
			v.Type.Kind()
		}
	})
}
