package vision

import (
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// resnet50Pipeline is the reference's pre-processing.
const resnet50Pipeline = "resnet50_vgg_224"

// resnet50 is ResNet-50 v1.5 (rules v0.5 to v6.1, "resnet").
func resnet50() workload.Model {
	c := classifier{pipelines: []string{resnet50Pipeline}}
	return workload.Model{
		Name:    "resnet50",
		Title:   "ResNet-50 v1.5",
		Task:    "image classification, ImageNet, 224×224",
		Dataset: "imagenet",
		BuiltIn: BuiltIn{Network: arch.ResNet50(), Pipeline: resnet50Pipeline},
		Source:  "https://zenodo.org/record/4735647/files/resnet50_v1.onnx",
		Papers: []string{
			"He et al., Deep Residual Learning for Image Recognition, CVPR 2016, arXiv:1512.03385 (v1.5: the stride is in the 3×3 convolutions)",
		},

		Rules: config.Model{
			Name:    "resnet50",
			Aliases: []string{"resnet", "resnet50-v1.5", "resnet50_v1.5"},
			Sample:  &config.SampleSize{InValues: 3 * 224 * 224},
		},
		PerformanceSampleCount: 1024,
		DatasetSamples:         50000,
		Quality:                workload.Quality{Metric: "accuracy", Fraction: 0.99},
		Open:                   opening(c.open),
		Score:                  c.score,

		Options:       imageOptions(),
		ScoreOptions:  labelOptions(),
		ReaderOptions: readerOptions(),
		NewReader:     imageReader(c.pipelines),
	}
}
