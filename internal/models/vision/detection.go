package vision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
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
func (d detector) open(s setup) (*workload.Workload, error) {
	data, err := d.openData(s.datasetDir, s.data())
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
	w := samples.workload(b.ports.names(), b.respond, b.notes()...)
	w.Exchange.Stamp = stampBoxes
	if s.binding.dropEmpty {
		w.ScoreOptions = workload.Values{onlyFullOption: "true"}
	}
	return w, nil
}

// stampBoxes writes the index of an image into the boxes of a response: each begins with it.
func stampBoxes(response []byte, index int, _ []tensor.Tensor) {
	const box = 7 * 4
	for ; len(response) >= box; response = response[box:] {
		appendFloat(response[:0], float32(index))
	}
}

// bind finds out how the model's outputs are read.
func (d detector) bind(s setup) (boxes, error) {
	ports, err := bindBoxes(s.outputs, s.binding)
	if err != nil {
		return boxes{}, err
	}
	rule, err := d.rule(ports)
	if err != nil {
		return boxes{}, err
	}
	b := boxes{boxRule: rule, ports: ports}
	if err := b.override(s.binding); err != nil {
		return b, err
	}
	b.labels, err = openLabelMap(s.binding.labelMap)
	return b, err
}

// override has options decide how boxes are read.
func (r *boxRule) override(o binding) (err error) {
	if o.boxOrder != "" {
		if r.order, err = parseBoxOrder(o.boxOrder); err != nil {
			return err
		}
	}
	if o.boxPixels != nil {
		if r.pixels = *o.boxPixels; r.pixels < 0 {
			return userinput.Errorf(boxPixelsOption, "boxes in pixels of an image of size %d: want the size, or 0 if they are parts of the image", r.pixels)
		}
	}
	if o.labelOffset != nil {
		r.offset = *o.labelOffset
	}
	return nil
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
	if rule != nil && strings.Contains(ports[0].Name, tensorFlowBoxes) {
		first := *rule
		first.order = yxyx
		return first, nil
	}
	if rule == nil {
		return boxRule{}, fmt.Errorf("the reference has no way to read a model with %s", want)
	}
	return *rule, nil
}

// score scores a log of boxes.
func (d detector) score(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	truth, err := d.truth(s)
	if err != nil {
		return nil, err
	}
	options, err := parseScoring(s.Options)
	if err != nil {
		return nil, err
	}
	o := accuracy.DetectionOptions{InverseMap: d.inverseMap, RemoveEmptyImages: options.dropEmpty, Verbose: options.verbose}
	mayGuess := s.Foreign
	if options.inverseMap != nil {
		o.InverseMap, mayGuess = *options.inverseMap, false
	}
	score, err := accuracy.ScoreDetections(log, truth, o)
	if err == nil {
		return score, nil
	}
	again, canRepeat := log.(io.Seeker)
	var beyond *accuracy.NoCategoryError
	if mayGuess && canRepeat && errors.As(err, &beyond) {
		return scoreByIDs(log, again, truth, o, beyond)
	}
	return nil, err
}

// truth reads what is in the images.
func (d detector) truth(s workload.Scoring) (*accuracy.GroundTruth, error) {
	if file := s.Options[truthOption]; file != "" {
		return dataset.ReadAnnotations(file)
	}
	return d.readTruth(s.DatasetDir)
}

// scoreByIDs reads a log once more, of which a label can only be a category's id.
func scoreByIDs(log accuracy.Input, again io.Seeker, truth *accuracy.GroundTruth, o accuracy.DetectionOptions, beyond *accuracy.NoCategoryError) (*accuracy.Score, error) {
	if _, err := again.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	o.InverseMap = false
	score, err := accuracy.ScoreDetections(log, truth, o)
	if err != nil {
		return nil, err
	}
	score.Warnings = append(score.Warnings, fmt.Sprintf("label %d is beyond the %d categories: labels are taken for categories' ids", beyond.Label, beyond.Categories))
	return score, nil
}
