package vision

import (
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// Models returns the benchmarks of the family, in the order in which they are shown. To
// add one, add a file and a row.
func Models() []workload.Model {
	return []workload.Model{
		resnet50(),
		mobilenet(),
		ssdMobileNet(),
		ssdResNet34(),
		retinaNet(),
		unet3D(),
		unet3DHighAccuracy(),
		unet3DBraTS19(),
		unet3DBraTS19HighAccuracy(),
		mobileNetEdgeTPU(),
		ssdMobileNetV2(),
		deepLabV3Plus(),
		yolo(),
		yoloHighAccuracy(),
	}
}

// BuiltIn describes the built-in form of a model and its data.
type BuiltIn struct {
	Network  arch.Architecture
	Pipeline string // pre-processing of a classifier's anchors

	// Samples is the size of a data set made for this model alone.
	Samples int
	// NumberedLabels: labels in responses are positions of categories from 1, not ids.
	NumberedLabels bool
	// Least is the score that a box must have to become an object; 0: it is not among the lowest.
	Least float64
}
