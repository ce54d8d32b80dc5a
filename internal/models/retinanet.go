package models

import "github.com/mlperf-go/mlperf/internal/dataset"

// retinaNetPipeline is the reference's pre-processing.
const retinaNetPipeline = "openimages_retinanet_800"

// retinaNet is RetinaNet ResNeXt50 32x4d FPN (rules v2.1 to v6.0).
func retinaNet() Model {
	d := detector{
		openData:  dataset.OpenOpenImages,
		readTruth: dataset.ReadOpenImages,
		pipelines: []string{retinaNetPipeline},
		// Profile retinanet-onnxruntime (python/main.py).
		listed: &boxRule{order: xyxy, pixels: 800, threshold: 0.05},
	}
	return Model{
		Name:      "retinanet",
		Title:     "RetinaNet ResNeXt50-32x4d-FPN",
		Task:      "object detection, OpenImages, 800×800",
		Dataset:   "openimages",
		BuiltIn:   BuiltIn{Architecture: "retinanet", Samples: 24},
		Source:    "https://zenodo.org/record/6617879/files/resnext50_32x4d_fpn.onnx",
		Pipelines: d.pipelines,

		PerformanceSampleCount: 64,
		// tools/submission, constants.py: mAP 37.55 × 0.99.
		Quality: Quality{Metric: "mAP", Reference: 37.55, Fraction: 0.99},
		Open:    d.open,
		Score:   d.score,
	}
}
