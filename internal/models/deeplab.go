package models

// deepLabV3Plus is DeepLab v3+ on MobileNet-v2 for 32 classes (MLPerf Mobile v0.7 to
// v1.1). The official file is a TFLite model; one that was converted to ONNX is meant here.
func deepLabV3Plus() Model {
	m := segmenter{
		pipelines: []string{"mobile_segmentation_512_float32", "mobile_segmentation_512_uint8", "mobile_segmentation_512_int8"},
		classes:   31,
	}
	return Model{
		Name:      "deeplab-v3plus",
		Title:     "DeepLab v3+ MobileNet-v2",
		Task:      "image segmentation, ADE20K, 32 classes, 512×512, mobile",
		Dataset:   "ade20k",
		BuiltIn:   BuiltIn{Architecture: "deeplab-v3plus", Samples: 64},
		Source:    "https://github.com/mlcommons/mobile_models/tree/main/v0_7/tflite",
		Pipelines: m.pipelines,

		PerformanceSampleCount: 256,
		// mobile rules: 97 % of 54.8 %.
		Quality: Quality{Metric: "mIoU", Reference: 0.548, Fraction: 0.97},
		Open:    m.open,
		Score:   m.score,
	}
}
