package vision

import (
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
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
		BuiltIn: BuiltIn{Network: arch.RetinaNet(), Samples: 24},
		Source:  "https://zenodo.org/record/6617879/files/resnext50_32x4d_fpn.onnx",
		Papers: []string{
			"Lin et al., Focal Loss for Dense Object Detection, ICCV 2017, arXiv:1708.02002",
			"Xie et al., Aggregated Residual Transformations for Deep Neural Networks, CVPR 2017, arXiv:1611.05431",
		},

		Rules: config.Model{
			Name:   "retinanet",
			Sample: &config.SampleSize{InValues: 3 * 800 * 800},
		},
		PerformanceSampleCount: 64,
		DatasetSamples:         24781,
		Quality:                workload.Quality{Metric: "mAP", Fraction: 0.99},
		Open:                   opening(d.open),
		Score:                  d.score,

		Options:       detectorOptions(),
		ScoreOptions:  boxScoreOptions(),
		ReaderOptions: readerOptions(),
		NewReader:     imageReader(d.pipelines),
	}
}
