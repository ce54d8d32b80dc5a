package models

import "github.com/mlperf-go/mlperf/internal/dataset"

// ssdMobileNetV2 is SSD-MobileNet-v2 (MLPerf Mobile v0.7). The official file is a TFLite
// model; one that was converted to ONNX is meant here. The app takes images in the order
// of their names, this program in that of the annotation file.
func ssdMobileNetV2() Model {
	d := detector{
		openData:  dataset.OpenCOCO,
		readTruth: dataset.ReadCOCO,
		pipelines: []string{"mobile_detection_300_float32", "mobile_detection_300_uint8", "mobile_detection_300_int8"},
		// The app adds 1, so that labels are COCO's ids (flutter/cpp/datasets/coco.cc).
		counted: &boxRule{order: yxyx, offset: 1},
	}
	return Model{
		Name:      "ssd-mobilenet-v2",
		Title:     "SSD-MobileNet-v2",
		Task:      "object detection, COCO, 300×300, mobile",
		Dataset:   "coco",
		BuiltIn:   BuiltIn{Architecture: "ssd-mobilenet-v2", Samples: 256},
		Source:    "https://github.com/mlcommons/mobile_models/tree/main/v0_7/tflite",
		Pipelines: d.pipelines,

		PerformanceSampleCount: 256,
		// mobile rules v0.7: 93 % of the FP32 model's 0.244.
		Quality: Quality{Metric: "mAP", Reference: 24.4, Fraction: 0.93},
		Open:    d.open,
		Score:   d.score,
	}
}
