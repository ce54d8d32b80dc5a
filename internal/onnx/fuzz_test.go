package onnx

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// addSeeds gives a fuzzer all kinds of models to start from.
func addSeeds(f *testing.F) {
	paths, err := filepath.Glob("testdata/foreign/*.onnx")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	full := everything()
	addExtras(full)
	f.Add(mustEncode(f, full))
	f.Add(mustEncode(f, modelOf(diamond())))
	f.Add([]byte("version https://git-lfs"))
	f.Add(append(mustEncode(f, modelOf(diamond())), mustEncode(f, everything())...)) // merged
}

// Whatever Decode accepts is the same model after a round trip, read from a file too.
func FuzzDecode(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode(data)
		fromFile, errFile := readBytes(data)
		if (err == nil) != (errFile == nil) {
			t.Fatalf("Decode fails with %v, ReadFile with %v", err, errFile)
		}
		if err != nil {
			return
		}
		once := mustEncode(t, m)
		if !bytes.Equal(once, mustEncode(t, mustDecode(t, once))) {
			t.Error("a second round trip gives other bytes")
		}
		if !bytes.Equal(once, mustEncode(t, fromFile)) {
			t.Error("ReadFile gives another model than Decode")
		}
		if size, err := m.EncodedSize(); err != nil || size != int64(len(once)) {
			t.Errorf("EncodedSize() = %d, %v, want %d", size, err, len(once))
		}
	})
}

// No edit of an accepted model panics, and none makes a sound graph unsound.
func FuzzEdit(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode(data)
		if err != nil {
			return
		}
		sound := m.Check() == nil
		g := m.Graph
		g.FreeInputs()
		for tensor := range m.Tensors() {
			_, _ = tensor.Bytes()
			_, _, _ = tensor.ExternalData()
		}
		if len(g.Nodes) > 0 && len(g.Nodes[0].Outputs) > 0 && g.Nodes[0].Outputs[0] != "" {
			g.RenameValue(g.Nodes[0].Outputs[0], g.Index().Unique("renamed"))
		}
		if err := g.Sort(); err != nil && sound {
			t.Errorf("Sort() = %v for a sound graph", err)
		}
		g.Prune()
		if err := m.Check(); err != nil && sound {
			t.Errorf("Check() = %v after edits of a sound graph", err)
		}
		mustEncode(t, m)
	})
}
