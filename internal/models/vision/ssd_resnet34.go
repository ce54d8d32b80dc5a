package vision

import (
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// ssdResNet34Pipeline is the reference's pre-processing.
const ssdResNet34Pipeline = "coco_resnet34_1200"

// ssdResNet34 is SSD-ResNet34 (rules v0.5 to v2.0, "ssd-large").
func ssdResNet34() workload.Model {
	d := detector{
		openData:  dataset.OpenCOCO,
		readTruth: dataset.ReadCOCO,
		pipelines: []string{ssdResNet34Pipeline},
		// Profiles ssd-resnet34-tf, ssd-resnet34-onnxruntime and
		// ssd-resnet34-onnxruntime-tf (python/main.py).
		counted: &boxRule{order: yxyx},
		listed:  &boxRule{order: xyxy, threshold: 0.5},
		swapped: &boxRule{order: yxyx, threshold: 0.05},

		inverseMap: true,
	}
	return workload.Model{
		Name:    "ssd-resnet34",
		Title:   "SSD-ResNet34",
		Task:    "object detection, COCO, 1200×1200",
		Dataset: "coco",
		BuiltIn: BuiltIn{Network: arch.SSDResNet34(), Samples: 24, NumberedLabels: true},
		Source:  "https://zenodo.org/record/3228411/files/resnet34-ssd1200.onnx",
		Papers: []string{
			"Liu et al., SSD: Single Shot MultiBox Detector, ECCV 2016, arXiv:1512.02325",
			"He et al., Deep Residual Learning for Image Recognition, CVPR 2016, arXiv:1512.03385",
		},

		Rules: config.Model{
			Name:    "ssd-resnet34",
			Aliases: []string{"ssd-large"},
			Sample:  &config.SampleSize{InValues: 3 * 1200 * 1200},
		},
		PerformanceSampleCount: 64,
		DatasetSamples:         cocoSamples,
		Quality:                workload.Quality{Metric: "mAP", Fraction: 0.99},
		Open:                   opening(d.open),
		Score:                  d.score,

		Options:       detectorOptions(),
		ScoreOptions:  boxScoreOptions(),
		ReaderOptions: readerOptions(),
		NewReader:     imageReader(d.pipelines),
	}
}
