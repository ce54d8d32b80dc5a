package convert

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/models/own"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A file of another format is converted once for its content, tells where it comes from, and is known as a model file.
func TestCachedFile(t *testing.T) {
	cache := t.TempDir()
	for _, file := range []string{"tflite/testdata/float32.tflite", "tfgraph/testdata/network.pb"} {
		if !own.IsFileName(file) {
			t.Errorf("%s is not a model file", file)
		}
		source := filepath.Join(t.TempDir(), strings.ToUpper(filepath.Base(file)))
		testenv.Must(t, os.WriteFile(source, testenv.Read(t, file), 0o644))
		path, err := CachedFile(t.Context(), source, cache)
		testenv.Must(t, err)
		m, err := onnx.ReadFile(path)
		testenv.Must(t, err)
		if steps := Origins(m.Metadata); len(steps) != 1 || steps[0].File != filepath.Base(source) || len(steps[0].SHA256) != 64 || len(steps[0].MD5) != 32 {
			t.Errorf("%s says that it was made of %+v", path, steps)
		}
		before, err := os.Stat(path)
		testenv.Must(t, err)
		again, err := CachedFile(t.Context(), source, cache)
		testenv.Must(t, err)
		if after, err := os.Stat(again); again != path || err != nil || !os.SameFile(before, after) {
			t.Errorf("the second time: %s, %v, want the file of the first, %s", again, err, path)
		}
		testenv.Must(t, os.WriteFile(source, append(testenv.Read(t, file), 0, 0), 0o644)) // another model
		if changed, err := CachedFile(t.Context(), source, cache); changed == path {
			t.Errorf("after a change of %s: %s, %v, want another file", source, changed, err)
		}
	}
	if path, err := CachedFile(t.Context(), "my.onnx", cache); path != "my.onnx" || err != nil {
		t.Errorf("CachedFile(my.onnx) = %s, %v, want it as it is", path, err)
	}
}
