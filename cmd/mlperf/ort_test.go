//go:build ort

package main

import (
	"os"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// TestORTScripts runs the scripts that need the real ONNX Runtime.
func TestORTScripts(t *testing.T) {
	if os.Getenv("MLPERF_ORT_LIB") == "" {
		t.Fatal("MLPERF_ORT_LIB is not set: run scripts/install_onnxruntime.sh and set it to what --print-path says")
	}
	runScripts(t, "testdata/ort/*.txtar")
}

// TestORTForgedLines is TestForgedLines of what a model file tells ONNX Runtime.
func TestORTForgedLines(t *testing.T) {
	library := os.Getenv("MLPERF_ORT_LIB")
	inMaterial(t)
	t.Setenv("MLPERF_ORT_LIB", library)
	s := shell{t, "texts in a model"}
	b := arch.NewBuilder(forged, 1)
	tinyClassifier(b, onnx.Batched(3, 224, 224), 1001, true)
	writeForged(t, b, "made.onnx")
	s.run(-1, "run", "resnet50", "--model-path", "made.onnx", "--data", "imagenet", "--quick", "--min-duration", "50ms", "--scenario", "offline", "--output", "resnet")
	s.planted("resnet/results.json") // of what it was made, and its producer
	s.outputs("resnet")

	b = arch.NewBuilder(forged, 1)
	b.Output(b.Relu(forged, b.Input(forged, onnx.Float32, onnx.Batched(3, 8, 8))))
	writeForged(t, b, "names.onnx")
	s.run(-1, "run", "names.onnx", "--quick", "--min-duration", "50ms", "--scenario", "offline", "--output", "names")
	s.outputs("names")
	s.run(-1, "quantize", "made.onnx", "--precision", "fp16", "--output", "half.onnx")
	s.run(-1, "quantize", "made.onnx", "--precision", "int8", "--data", "imagenet", "--output", "int8.onnx")
	s.run(-1, "quantize", "names.onnx", "--precision", "fp16", "--output", "names-half.onnx")
}
