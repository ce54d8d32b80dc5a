//go:build ort

package main

import (
	"os"
	"testing"
)

// TestORTScripts runs the scripts that need the real ONNX Runtime.
func TestORTScripts(t *testing.T) {
	if os.Getenv("MLPERF_ORT_LIB") == "" {
		t.Fatal("MLPERF_ORT_LIB is not set: run scripts/install_onnxruntime.sh and set it to what --print-path says")
	}
	runScripts(t, "testdata/ort/*.txtar")
}
