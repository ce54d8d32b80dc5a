package models

// resnet50Pipeline is the reference's pre-processing.
const resnet50Pipeline = "resnet50_vgg_224"

// resnet50 is ResNet-50 v1.5 (rules v0.5 to v6.1, "resnet").
func resnet50() Model {
	c := classifier{pipelines: []string{resnet50Pipeline}}
	return Model{
		Name:      "resnet50",
		Title:     "ResNet-50 v1.5",
		Task:      "image classification, ImageNet, 224×224",
		Dataset:   "imagenet",
		BuiltIn:   BuiltIn{Architecture: "resnet50", Pipeline: resnet50Pipeline},
		Source:    "https://zenodo.org/record/4735647/files/resnet50_v1.onnx",
		Pipelines: c.pipelines,

		PerformanceSampleCount: 1024,
		// tools/submission, constants.py: acc 76.46 × 0.99.
		Quality: Quality{Metric: "accuracy", Reference: 76.46, Fraction: 0.99},
		Open:    c.open,
		Score:   c.score,
	}
}
