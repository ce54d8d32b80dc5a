package onnx

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A file that ReadFile accepts has the same head, survives a round trip, can be counted and edited.
func FuzzReadFile(f *testing.F) {
	paths, err := filepath.Glob("testdata/foreign/*.onnx")
	testenv.Must(f, err)
	for _, path := range paths {
		f.Add(testenv.Read(f, path))
	}
	f.Add(mustEncode(f, everything()))
	f.Add(mustEncode(f, modelWith(diamond())))
	f.Add(append(mustEncode(f, modelWith(diamond())), mustEncode(f, everything())...)) // merged
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := (&fileReader{file: bytes.NewReader(data), size: int64(len(data))}).model()
		if err != nil {
			return
		}
		for _, t := range m.Graph.Initializers {
			if s, ok := t.Data.(*section); ok { // no file to read it from
				t.Data = Raw(data[s.at.begin:s.at.end])
			}
		}
		head, err := (&fileReader{file: bytes.NewReader(data), size: int64(len(data)), head: true}).model()
		if err != nil {
			t.Fatalf("ReadHead() = %v, but ReadFile accepts the file", err)
		}
		if diff := cmp.Diff(m.Graph.FreeInputs(), head.Graph.FreeInputs()) + cmp.Diff(m.Graph.Outputs, head.Graph.Outputs) + cmp.Diff(m.Opsets, head.Opsets); diff != "" {
			t.Errorf("the head differs (-ReadFile +ReadHead):\n%s", diff)
		}
		once := mustEncode(t, m)
		again, err := (&fileReader{file: bytes.NewReader(once), size: int64(len(once))}).model()
		if err != nil {
			t.Fatalf("the written model cannot be read: %v", err)
		}
		if diff := cmp.Diff(len(m.Graph.Nodes), len(again.Graph.Nodes)); diff != "" {
			t.Errorf("a round trip changes the nodes: %s", diff)
		}

		if o := m.Operations(nil); o.MACs < 0 || o.Parameters < 0 || o.WeightBytes < 0 {
			t.Errorf("counts of %+v", o)
		}
		valid := m.Check() == nil
		g := m.Graph
		for tensor := range m.Tensors() {
			_, _ = tensor.Bytes()
		}
		if len(g.Nodes) > 0 && len(g.Nodes[0].Outputs) > 0 && g.Nodes[0].Outputs[0] != "" {
			g.RenameValue(g.Nodes[0].Outputs[0], g.Index().Unique("renamed"))
		}
		if err := g.Sort(); err != nil && valid {
			t.Errorf("Sort() = %v for a valid graph", err)
		}
		g.Prune()
		if err := m.Check(); err != nil && valid {
			t.Errorf("Check() = %v after edits of a valid graph", err)
		}
	})
}
