package vision

import (
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// deepLabV3Plus is DeepLab v3+ on MobileNet-v2 for 32 classes (MLPerf Mobile v0.7 to
// v1.1). The official file is a TFLite model; one that was converted to ONNX is meant here.
func deepLabV3Plus() workload.Model {
	m := segmenter{
		pipelines: []string{"mobile_segmentation_512_float32", "mobile_segmentation_512_uint8", "mobile_segmentation_512_int8"},
		classes:   31,
	}
	return workload.Model{
		Name:    "deeplab-v3plus",
		Aliases: []string{"deeplab", "deeplab-v3+"},
		Title:   "DeepLab v3+ MobileNet-v2",
		Task:    "image segmentation, ADE20K, 32 classes, 512×512, mobile",
		Dataset: "ade20k",
		BuiltIn: BuiltIn{Network: arch.DeepLabV3Plus(), Samples: 64},
		Source:  "https://github.com/mlcommons/mobile_models/tree/main/v0_7/tflite",
		Papers: []string{
			"Chen et al., Encoder-Decoder with Atrous Separable Convolution for Semantic Image Segmentation, ECCV 2018, arXiv:1802.02611",
		},

		Rules: config.Model{
			Name:    "deeplab-v3plus",
			Aliases: []string{"deeplab", "deeplab-v3+"},
		},
		PerformanceSampleCount: 256,
		DatasetSamples:         2000,
		// mobile rules: 97 % of 54.8 %.
		Quality: workload.Quality{Metric: "mIoU", Reference: 0.548, Fraction: 0.97},
		Open:    opening(m.open),
		Score:   m.score,

		Options:       imageOptions(),
		ReaderOptions: readerOptions(),
		NewReader:     imageReader(m.pipelines),
	}
}
