// Package orttest opens ONNX Runtime for the tests of other packages.
package orttest

import (
	"os"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend/ort"
)

// Engine opens the library that MLPERF_ORT_LIB names, until the test ends.
func Engine(t testing.TB) *ort.Engine {
	t.Helper()
	if os.Getenv(ort.LibraryVariable) == "" {
		t.Fatalf("%s is not set: run scripts/install_onnxruntime.sh and set it to what --print-path says", ort.LibraryVariable)
	}
	library, _, err := ort.Search{}.Find()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := ort.New(library, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}
