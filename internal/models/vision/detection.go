package vision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
	readFile  func(path string) (*accuracy.GroundTruth, error) // annotations elsewhere; nil: dataset.ReadAnnotations
	pipelines []string                                         // of the official model, and for inputs of other types

	// counted is the rule for models with an output for the number of boxes, listed for models without, swapped for those of
	// them that put y first, as their names show.
	counted, listed, swapped *boxRule

	// inverseMap says that labels are positions of categories, not ids: the script's --use-inv-map.
	inverseMap bool
}

// swappedBoxes is in the name of the boxes of SSD-ResNet34 where it was exported from
// TensorFlow: "detection_bboxes:0".
const swappedBoxes = "detection_bboxes"

// open opens the data set and reads the ports of the model file.
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
	if len(b.ports[0].Shape) == 2 { // no batch axis
		if samples.batch > 1 {
			return nil, fmt.Errorf("the model takes batches of %d, and its output %s has no batch axis", samples.batch, b.ports[0].Name)
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

// bind finds the outputs and the rule by which they are read.
func (d detector) bind(s setup) (boxes, error) {
	ports, err := bindBoxes(s.outputs, s.binding)
	if err != nil {
		return boxes{}, err
	}
	rule, err := d.rule(ports)
	if err != nil {
		return boxes{}, err
	}
	b, o := boxes{boxRule: rule, ports: ports}, s.binding
	if o.boxOrder != "" {
		if b.order = boxOrder(o.boxOrder); !slices.Contains(boxOrders(), o.boxOrder) {
			return b, userinput.Errorf(boxOrderOption, "unknown order of boxes %q: must be one of %s", o.boxOrder, strings.Join(boxOrders(), ", "))
		}
	}
	if o.boxPixels != nil {
		if b.pixels = *o.boxPixels; b.pixels < 0 {
			return b, userinput.Errorf(boxPixelsOption, "%d: must be the size of an image, or 0 for fractions of the image", b.pixels)
		}
	}
	if o.labelOffset != nil {
		b.offset = *o.labelOffset
	}
	b.labels, err = openLabelMap(s.binding.labelMap)
	return b, err
}

// rule chooses among the reference's ways to read a model's outputs.
func (d detector) rule(ports boxPorts) (boxRule, error) {
	rule, want := d.listed, "three outputs: boxes, scores and labels"
	switch {
	case ports.counted():
		rule, want = d.counted, "four outputs: boxes, scores, labels and their number"
	case d.swapped != nil && strings.Contains(ports[0].Name, swappedBoxes):
		rule = d.swapped
	}
	if rule != nil && strings.Contains(ports[0].Name, tensorFlowBoxes) {
		first := *rule
		first.order = yxyx
		return first, nil
	}
	if rule == nil {
		return boxRule{}, fmt.Errorf("the reference has no rule for a model with %s", want)
	}
	return *rule, nil
}

// score scores a log of boxes.
func (d detector) score(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	var truth *accuracy.GroundTruth
	var err error
	if file := s.Options[truthOption]; file != "" {
		read := d.readFile
		if read == nil {
			read = dataset.ReadAnnotations
		}
		truth, err = read(file)
	} else {
		truth, err = d.readTruth(s.DatasetDir)
	}
	if err != nil {
		return nil, err
	}
	options, err := parseScoring(s.Options)
	if err != nil {
		return nil, err
	}
	o := accuracy.DetectionOptions{InverseMap: d.inverseMap, RemoveEmptyImages: options.dropEmpty, MinScore: options.minScore, Verbose: options.verbose}
	if options.inverseMap != nil {
		o.InverseMap = *options.inverseMap
	}
	score, err := accuracy.ScoreDetections(log, truth, o)
	again, canRepeat := log.(io.Seeker)
	var beyond *accuracy.NoCategoryError
	if !s.Foreign || options.inverseMap != nil || !canRepeat || !errors.As(err, &beyond) {
		return score, err
	}
	// A label of the log can only be a category's id: score the log again with ids.
	if _, err := again.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	o.InverseMap = false
	if score, err = accuracy.ScoreDetections(log, truth, o); err != nil {
		return nil, err
	}
	score.Warnings = append(score.Warnings, fmt.Sprintf("label %d is beyond the %d categories: labels count as categories' ids", beyond.Label,
		beyond.Categories))
	return score, nil
}
