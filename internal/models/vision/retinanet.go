package vision

import (
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// retinaNetPipeline is the reference's pre-processing.
const retinaNetPipeline = "openimages_retinanet_800"

// retinaNet is RetinaNet ResNeXt50 32x4d FPN (rules v2.1 to v6.0).
func retinaNet() workload.Model {
	d := detector{
		openData:  dataset.OpenOpenImages,
		readTruth: dataset.ReadOpenImages,
		pipelines: []string{retinaNetPipeline},
		// Profile retinanet-onnxruntime (python/main.py).
		listed: &boxRule{order: xyxy, pixels: 800, threshold: 0.05},
	}
	return workload.Model{
		Name:    "retinanet",
		Title:   "RetinaNet ResNeXt50-32x4d-FPN",
		Task:    "object detection, OpenImages, 800×800",
		Dataset: "openimages",
		BuiltIn: BuiltIn{Architecture: "retinanet", Samples: 24},
		Source:  "https://zenodo.org/record/6617879/files/resnext50_32x4d_fpn.onnx",

		Rules: config.Model{
			Name: "retinanet",
			Minima: []config.RoundMinima{
				{First: "v2.1", Last: "v4.1", Minima: config.Minima{PerformanceSamples: 64, OfflineSamples: 24576, ServerLatency: 100 * time.Millisecond}},
				{First: "v5.0", Last: "v6.0", Minima: config.Minima{PerformanceSamples: 64, AccuracySamples: 24781, OfflineSamples: 24576, ServerLatency: 100 * time.Millisecond}},
			},
			Sample: &config.SampleSize{InValues: 3 * 800 * 800},
		},
		PerformanceSampleCount: 64,
		// tools/submission, constants.py: mAP 37.55 × 0.99.
		Quality: workload.Quality{Metric: "mAP", Reference: 37.55, Fraction: 0.99},
		Open:    opening(d.open),
		Score:   d.score,

		Options:       detectorOptions(),
		ScoreOptions:  boxScoreOptions(),
		ReaderOptions: readerOptions(),
		NewReader:     imageReader(d.pipelines),
	}
}
