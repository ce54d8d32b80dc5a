package vision

import (
	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// mobileNetEdgeTPUPipeline is the pre-processing of the mobile app.
const mobileNetEdgeTPUPipeline = "mobile_classification_224_float32"

// mobileNetEdgeTPU is MobileNetEdgeTPU (MLPerf Mobile v0.7 to v3.1). The official file is
// a TFLite model; one that was converted to ONNX is meant here.
func mobileNetEdgeTPU() workload.Model {
	c := classifier{
		pipelines: []string{mobileNetEdgeTPUPipeline, "mobile_classification_224_uint8", "mobile_classification_224_int8"},
		payload:   accuracy.Int32,
	}
	return workload.Model{
		Name:    "mobilenet-edgetpu",
		Title:   "MobileNetEdgeTPU 1.0 224",
		Task:    "image classification, ImageNet, 224×224, mobile",
		Dataset: "imagenet",
		BuiltIn: BuiltIn{Network: arch.MobileNetEdgeTPU(), Pipeline: mobileNetEdgeTPUPipeline},
		Source:  "https://mobile.mlcommons-storage.org/app-resources/models/v1_1/mobilenet_edgetpu_224_1.0_float.tflite",
		Papers: []string{
			"Howard and Gupta, Introducing the Next Generation of On-Device Vision Models: MobileNetV3 and MobileNetEdgeTPU, Google AI Blog, November 2019",
		},

		Rules: config.Model{
			Name: "mobilenet-edgetpu",
		},
		PerformanceSampleCount: 1024,
		DatasetSamples:         50000,
		// mobile rules: 98 % of the FP32 model's 76.19 %.
		Quality: workload.Quality{Metric: "accuracy", Reference: 76.19, Fraction: 0.98},
		Open:    opening(c.open),
		Score:   c.score,

		Options:       imageOptions(),
		ScoreOptions:  labelOptions(),
		ReaderOptions: readerOptions(),
		NewReader:     imageReader(c.pipelines),
	}
}
