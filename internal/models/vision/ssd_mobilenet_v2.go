package vision

import (
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// ssdMobileNetV2 is SSD-MobileNet-v2 (MLPerf Mobile v0.7). The official file is a TFLite
// model; one that was converted to ONNX is meant here. The app takes images in the order
// of their names, this program in that of the annotation file.
func ssdMobileNetV2() workload.Model {
	d := detector{
		openData:  dataset.OpenCOCO,
		readTruth: dataset.ReadCOCO,
		pipelines: []string{"mobile_detection_300_float32", "mobile_detection_300_uint8", "mobile_detection_300_int8"},
		// The app adds 1, so that labels are COCO's ids (flutter/cpp/datasets/coco.cc).
		counted: &boxRule{order: yxyx, offset: 1},
	}
	return workload.Model{
		Name:    "ssd-mobilenet-v2",
		Title:   "SSD-MobileNet-v2",
		Task:    "object detection, COCO, 300×300, mobile",
		Dataset: "coco",
		BuiltIn: BuiltIn{Network: arch.SSDMobileNetV2(), Samples: 256},
		Source:  "https://github.com/mlcommons/mobile_models/tree/main/v0_7/tflite",
		Papers: []string{
			"Sandler et al., MobileNetV2: Inverted Residuals and Linear Bottlenecks, CVPR 2018, arXiv:1801.04381",
			"Liu et al., SSD: Single Shot MultiBox Detector, ECCV 2016, arXiv:1512.02325",
		},

		Rules: config.Model{
			Name: "ssd-mobilenet-v2",
		},
		PerformanceSampleCount: 256,
		DatasetSamples:         cocoSamples,
		// mobile rules v0.7: 93 % of the FP32 model's 0.244.
		Quality: workload.Quality{Metric: "mAP", Reference: 24.4, Fraction: 0.93},
		Open:    opening(d.open),
		Score:   d.score,

		Options:       detectorOptions(),
		ScoreOptions:  boxScoreOptions(),
		ReaderOptions: readerOptions(),
		NewReader:     imageReader(d.pipelines),
	}
}
