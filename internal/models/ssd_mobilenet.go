package models

import "github.com/mlperf-go/mlperf/internal/dataset"

// ssdMobileNetPipeline is the reference's pre-processing.
const ssdMobileNetPipeline = "coco_mobilenet_300"

// ssdMobileNet is SSD-MobileNet-v1 (rules v0.5 to v2.0, "ssd-small").
func ssdMobileNet() Model {
	d := detector{
		openData:  dataset.OpenCOCO,
		readTruth: dataset.ReadCOCO,
		pipelines: []string{ssdMobileNetPipeline, "coco_pt_mobilenet_300"},
		// Profiles ssd-mobilenet-onnxruntime and ssd-mobilenet-pytorch (python/main.py).
		counted: &boxRule{order: yxyx},
		listed:  &boxRule{order: xyxy, threshold: 0.3},
	}
	return Model{
		Name:      "ssd-mobilenet",
		Title:     "SSD-MobileNet-v1",
		Task:      "object detection, COCO, 300×300",
		Dataset:   "coco",
		BuiltIn:   BuiltIn{Architecture: "ssd-mobilenet", Samples: 256},
		Source:    "https://zenodo.org/record/4735652/files/ssd_mobilenet_v1_coco_2018_01_28.onnx",
		Pipelines: d.pipelines,

		PerformanceSampleCount: 256,
		// tools/submission, constants.py: mAP 22 × 0.99.
		Quality: Quality{Metric: "mAP", Reference: 22, Fraction: 0.99},
		Open:    d.open,
		Score:   d.score,
	}
}
