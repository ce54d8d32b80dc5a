package models

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
)

// A detector describes the object detectors: they differ in data set, pre-processing,
// and in how their outputs are read.
type detector struct {
	openData  func(dir string, o dataset.Options) (*dataset.Detection, error)
	readTruth func(dir string) (*accuracy.GroundTruth, error)
	pipelines []string // of the official model, and for inputs of other types

	// counted is for models that say how many boxes there are, listed for those whose
	// outputs are as long as the list of boxes, and swapped for those among them that put
	// y first, which their names tell.
	counted, listed, swapped *boxRule

	// inverseMap says that labels are numbers of categories, not their ids: the script's
	// --use-inv-map.
	inverseMap bool
}

// swappedBoxes is in the name of the boxes of SSD-ResNet34 where it was exported from
// TensorFlow: "detection_bboxes:0".
const swappedBoxes = "detection_bboxes"

// open joins a detector with its data set and a model file.
func (d detector) open(s Setup) (Workload, error) {
	data, err := d.openData(s.DatasetDir, s.options())
	if err != nil {
		return nil, err
	}
	b, err := d.bind(s)
	if err != nil {
		return nil, err
	}
	samples, err := newImageSamples("detection", data, s, d.pipelines...)
	if err != nil {
		return nil, err
	}
	if b.ports.single() {
		if samples.batch > 1 {
			return nil, fmt.Errorf("the model takes %d images at once, and its output %s is for one", samples.batch, b.ports[0].Name)
		}
		samples.batch = 1
	}
	return &detection{imageSamples: samples, boxes: b}, nil
}

// bind finds out how the model's outputs are read.
func (d detector) bind(s Setup) (boxes, error) {
	ports, err := bindBoxes(s.Outputs, s.Binding)
	if err != nil {
		return boxes{}, err
	}
	rule, err := d.rule(ports)
	if err != nil {
		return boxes{}, err
	}
	b := boxes{boxRule: rule, ports: ports}
	if s.Binding.BoxOrder != "" {
		if b.order, err = parseBoxOrder(s.Binding.BoxOrder); err != nil {
			return b, err
		}
	}
	if s.Binding.BoxPixels != nil {
		if b.pixels = *s.Binding.BoxPixels; b.pixels < 0 {
			return b, fmt.Errorf("boxes in pixels of an image of size %d: want the size, or 0 if they are parts of the image", b.pixels)
		}
	}
	if s.Binding.LabelOffset != nil {
		b.offset = *s.Binding.LabelOffset
	}
	b.labels, err = openLabelMap(s.Binding.LabelMap)
	return b, err
}

// rule chooses among the reference's ways to read a model's outputs.
func (d detector) rule(ports boxPorts) (boxRule, error) {
	rule, want := d.listed, "three outputs: boxes, scores and labels"
	switch {
	case ports.counted():
		rule, want = d.counted, "four outputs: boxes, scores, labels and their number"
	case d.swapped != nil && isSwapped(ports):
		rule = d.swapped
	}
	if rule == nil {
		return boxRule{}, fmt.Errorf("the reference has no way to read a model with %s", want)
	}
	return *rule, nil
}

// A detection is a detector joined with its data.
type detection struct {
	*imageSamples
	boxes boxes
}

// Outputs implements Workload.
func (d *detection) Outputs() []string { return d.boxes.ports.names() }

// NewPredictor implements Workload.
func (d *detection) NewPredictor(session backend.Session, maxBatch int) (Predictor, error) {
	return newSinglePass(session, d.Row(), maxBatch, d.boxes.respond)
}

// Notes implements Workload.
func (d *detection) Notes() []string { return append([]string{d.note()}, d.boxes.notes()...) }

// score scores a log of boxes.
func (d detector) score(log accuracy.Input, s Scoring) (*accuracy.Score, error) {
	truth, err := d.readTruth(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	o := accuracy.DetectionOptions{InverseMap: d.inverseMap, RemoveEmptyImages: s.DropEmpty, Verbose: s.Verbose}
	if s.InverseMap != nil {
		o.InverseMap = *s.InverseMap
	}
	score, err := accuracy.ScoreDetections(log, truth, o)
	if err != nil {
		return nil, err
	}
	return &score.Score, nil
}
