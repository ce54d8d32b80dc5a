// Package convert makes models of lower precision for a benchmark: float16, or 8-bit
// integers calibrated on samples of the benchmark's data, if wanted with as many layers left
// in FP32 as a quality target takes.
//
//	c := convert.Converter{Model: model, Source: "resnet50.onnx", DatasetDir: dir, Engine: engine, Observer: o}
//	path, err := c.Cached(ctx, convert.Request{Precision: "int8"}, cacheDir)
//
// It also makes ONNX files of the checkpoints of GNMT and of TensorFlow Lite models (package tflite).
//
// How models are quantised is the matter of package quantize. This package brings its samples,
// which are those that a run prepares, and its scores, which are those of accuracy runs.
package convert
