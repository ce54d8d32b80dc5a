package vision

import (
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// ssdMobileNetPipeline is the reference's pre-processing.
const ssdMobileNetPipeline = "coco_mobilenet_300"

// cocoSamples is the size of the validation set of COCO 2017 without its 48 images that have no objects. Runs may leave them out
// (--remove-48-empty-images), and no checker of these rounds asks for a number.
const cocoSamples = 4952

// ssdMobileNet is SSD-MobileNet-v1 (rules v0.5 to v2.0, "ssd-small").
func ssdMobileNet() workload.Model {
	d := detector{
		openData:  dataset.OpenCOCO,
		readTruth: dataset.ReadCOCO,
		pipelines: []string{ssdMobileNetPipeline, "coco_pt_mobilenet_300"},
		// Profiles ssd-mobilenet-onnxruntime and ssd-mobilenet-pytorch (python/main.py).
		counted: &boxRule{order: yxyx},
		listed:  &boxRule{order: xyxy, threshold: 0.3},
	}
	return workload.Model{
		Name:    "ssd-mobilenet",
		Title:   "SSD-MobileNet-v1",
		Task:    "object detection, COCO, 300×300",
		Dataset: "coco",
		BuiltIn: BuiltIn{Network: arch.SSDMobileNet(), Samples: 256},
		Source:  "https://zenodo.org/record/4735652/files/ssd_mobilenet_v1_coco_2018_01_28.onnx",
		Papers: []string{
			"Liu et al., SSD: Single Shot MultiBox Detector, ECCV 2016, arXiv:1512.02325",
			"Howard et al., MobileNets, 2017, arXiv:1704.04861",
		},

		Rules: config.Model{
			Name:    "ssd-mobilenet",
			Aliases: []string{"ssd-small", "ssd-mobilenet-v1"},
		},
		PerformanceSampleCount: 256,
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
