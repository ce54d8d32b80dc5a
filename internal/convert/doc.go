// Package convert makes models of lower precision for a benchmark: float16, or 8-bit
// integers calibrated on samples of the benchmark's data, if wanted with as many layers left
// in FP32 as a quality target takes.
//
//	c := convert.Converter{Model: model, Source: "resnet50.onnx", DatasetDir: dir, Engine: engine, Observer: o}
//	path, err := c.Cached(ctx, convert.Request{Precision: "int8"}, cacheDir)
//
// How models are converted is the matter of package quantize. This package brings its samples,
// which are those that a run prepares, and its scores, which are those of accuracy runs.
package convert
