package models

// mobilenetPipeline is the reference's pre-processing.
const mobilenetPipeline = "mobilenet_224"

// mobilenet is MobileNet-v1 1.0 224 (rules v0.5; later counted as "resnet").
func mobilenet() Model {
	c := classifier{pipelines: []string{mobilenetPipeline}}
	return Model{
		Name:      "mobilenet",
		Title:     "MobileNet-v1 1.0 224",
		Task:      "image classification, ImageNet, 224×224",
		Dataset:   "imagenet",
		BuiltIn:   BuiltIn{Architecture: "mobilenet", Pipeline: mobilenetPipeline},
		Source:    "https://zenodo.org/record/4735651/files/mobilenet_v1_1.0_224.onnx",
		Pipelines: c.pipelines,

		PerformanceSampleCount: 1024,
		// v0.5 rules: 98 % of 71.68 %.
		Quality: Quality{Metric: "accuracy", Reference: 71.68, Fraction: 0.98},
		Open:    c.open,
		Score:   c.score,
	}
}
