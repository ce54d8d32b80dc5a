package vision

import (
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// mobilenetPipeline is the reference's pre-processing.
const mobilenetPipeline = "mobilenet_224"

// mobilenet is MobileNet-v1 1.0 224 (rules v0.5; later counted as "resnet").
func mobilenet() workload.Model {
	c := classifier{pipelines: []string{mobilenetPipeline}}
	return workload.Model{
		Name:    "mobilenet",
		Title:   "MobileNet-v1 1.0 224",
		Task:    "image classification, ImageNet, 224×224",
		Dataset: "imagenet",
		BuiltIn: BuiltIn{Network: arch.MobileNet(), Pipeline: mobilenetPipeline},
		Source:  "https://zenodo.org/record/4735651/files/mobilenet_v1_1.0_224.onnx",
		Papers: []string{
			"Howard et al., MobileNets: Efficient Convolutional Neural Networks for Mobile Vision Applications, 2017, arXiv:1704.04861",
		},

		Rules: config.Model{
			Name:    "mobilenet",
			Aliases: []string{"mobilenet-v1"},
		},
		PerformanceSampleCount: 1024,
		DatasetSamples:         50000,
		// v0.5 rules: 98 % of 71.68 %.
		Quality: workload.Quality{Metric: "accuracy", Fraction: 0.98},
		Open:    opening(c.open),
		Score:   c.score,

		Options:       imageOptions(),
		ScoreOptions:  labelOptions(),
		ReaderOptions: readerOptions(),
		NewReader:     imageReader(c.pipelines),
	}
}
