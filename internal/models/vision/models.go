package vision

import "github.com/mlperf-go/mlperf/internal/models/workload"

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
		mobileNetEdgeTPU(),
		ssdMobileNetV2(),
		deepLabV3Plus(),
	}
}

// BuiltIn says what the built-in form of a model and its data are made of.
type BuiltIn struct {
	Architecture string // of package arch
	Pipeline     string // of a classifier: how its anchors are pre-processed

	// Samples is how many there are in a data set that is made for this model alone.
	Samples int
	// NumberedLabels: the labels in responses are numbers of categories from 1, not their ids.
	NumberedLabels bool
}
