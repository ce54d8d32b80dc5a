package vision

import (
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The options of the family.
const (
	layoutOption       = "layout"
	pipelineOption     = "preprocess"
	pixelsOption       = "max-image-pixels"
	preprocessedOption = "preprocessed-dir"
	outputOption       = workload.OutputOption
	offsetOption       = "label-offset"
	boxOrderOption     = "box-order"
	boxPixelsOption    = "box-pixels"
	labelMapOption     = "label-map"
	dropEmptyOption    = "drop-empty-images"
	minScoreOption     = "min-score"

	dtypeOption      = "dtype"
	inverseMapOption = "use-inv-map"
	onlyFullOption   = "remove-48-empty-images"
	verboseOption    = "verbose"
	truthOption      = "annotations"
)

func readerOptions() []workload.Option {
	return []workload.Option{
		{Name: layoutOption, Help: "order of the image axes, NCHW or NHWC (default: the model's own)", Choices: []string{nchw, nhwc}},
		{Name: pipelineOption, Help: "name of the pre-processing, perhaps with changes: NAME,KEY=VALUE,… (default: the model's own)"},
		{Name: pixelsOption, Kind: workload.Integer, Help: "largest image that is decoded, in pixels (default 67108864)"},
	}
}

func imageOptions(more ...workload.Option) []workload.Option {
	return append(append(readerOptions(),
		workload.Option{Name: preprocessedOption, Kind: workload.Path, Help: "folder of pre-processed images, NAME.npy for each, " +
			"as the reference keeps them in preprocessed/<data set>/<layout>"},
		workload.ChooseOutput(),
		workload.Option{Name: offsetOption, Kind: workload.Integer, Help: "what to add to the model's class to get the label (default: inferred)"},
	), more...)
}

func detectorOptions() []workload.Option {
	return imageOptions(
		workload.Option{Name: boxOrderOption, Choices: boxOrders(), Help: "order of the numbers of a box, one of " + strings.Join(boxOrders(),
			", ") + " (default: inferred)"},
		workload.Option{Name: boxPixelsOption, Kind: workload.Integer,
			Help: "size of the image in whose pixels boxes are; 0: boxes are fractions of the image (default: the model's own)"},
		workload.Option{Name: labelMapOption,
			Help: "label of each class of a detector: a file with a class and its label per line, coco80to91, coco91to80 or none (default none)"},
		workload.Option{Name: dropEmptyOption, Kind: workload.Bool,
			Help: "leave out images without annotations, as the reference does for the PyTorch SSD-ResNet34"},
		minScore(),
	)
}

func minScore() workload.Option {
	return workload.Option{Name: minScoreOption, Scoring: true,
		Help: "least score, from 0 to 1, of the boxes that count for the mAP; MLMark's is 0.3 (default: all count)"}
}

func labelOptions() []workload.Option {
	return []workload.Option{dtype("float32", "int32", "int64"), verbose()}
}

func dtype(choices ...string) workload.Option {
	return workload.Option{Name: dtypeOption, Aliases: []string{"output_dtype"}, Choices: choices,
		Help: "type of the numbers in the log (default: the official script's)"}
}

func verbose() workload.Option {
	return workload.Option{Name: verboseOption, Kind: workload.Bool, Help: "also print every wrong sample, where the official script can"}
}

func boxScoreOptions() []workload.Option {
	return []workload.Option{
		{Name: inverseMapOption, Kind: workload.Bool, Help: "labels are positions of categories, not ids (default: as the model's are, unless the log has labels that only ids can be)"},
		{Name: onlyFullOption, Kind: workload.Bool, Help: "samples are the images with annotations"},
		{Name: truthOption, Kind: workload.Path, Help: "file with the annotations of the images (default: the data set's)"},
		minScore(),
		verbose(),
	}
}

// A binding has the options that say how a model's inputs and outputs are used. Zero fields are inferred from the ports.
type binding struct {
	layout      string // NCHW or NHWC
	pipeline    string // name of the pre-processing
	maxPixels   int    // of an image; 0: jpeg.DefaultMaxPixels
	output      string // name of the output to read; of detectors three or four, separated by commas
	labelOffset *int   // added to the model's class to get the label

	// Of detectors: the order of a box's numbers, the size of the image in whose pixels they are (0: fractions of the
	// image), and the label map (a file, coco80to91 or coco91to80).
	boxOrder  string
	boxPixels *int
	labelMap  string
	// dropEmpty leaves out images without annotations (dataset.Options).
	dropEmpty bool

	// preprocessed is a folder of pre-processed images (dataset.Options). They have to fit the model.
	preprocessed string
}

func parseBinding(v workload.Values) (b binding, err error) {
	b = binding{
		layout: strings.ToUpper(v[layoutOption]), pipeline: v[pipelineOption], output: v[outputOption],
		boxOrder: strings.ToLower(v[boxOrderOption]), labelMap: v[labelMapOption], preprocessed: v[preprocessedOption],
	}
	pixels, err := v.Integer(pixelsOption)
	if err != nil {
		return b, err
	}
	if pixels != nil {
		if b.maxPixels = *pixels; b.maxPixels < 1 {
			return b, userinput.Errorf(pixelsOption, "%d pixels: must be at least 1", *pixels)
		}
	}
	if b.labelOffset, err = v.Integer(offsetOption); err != nil {
		return b, err
	}
	if b.boxPixels, err = v.Integer(boxPixelsOption); err != nil {
		return b, err
	}
	if b.dropEmpty, err = v.On(dropEmptyOption); err != nil {
		return b, err
	}
	_, err = parseScoring(v) // before the run
	return b, err
}

// A setup has what opens a workload of the family: the ports of one model file, and images or volumes.
type setup struct {
	datasetDir      string
	count           int
	inputs, outputs []backend.Port
	binding         binding
	ranked          bool // workload.Setup
}

// opening returns the Open of a model from a function that takes the family's parsed options.
func opening(open func(setup) (*workload.Workload, error)) func(workload.Setup) (*workload.Workload, error) {
	return func(s workload.Setup) (*workload.Workload, error) {
		b, err := parseBinding(s.Options)
		if err != nil {
			return nil, err
		}
		ports := s.Ports[workload.Only]
		return open(setup{datasetDir: s.DatasetDir, count: s.Count, inputs: ports.Inputs, outputs: ports.Outputs, binding: b, ranked: s.Ranked})
	}
}

// data are the options of the data set.
func (s setup) data() dataset.Options {
	return dataset.Options{Count: s.count, DropEmpty: s.binding.dropEmpty, Preprocessed: s.binding.preprocessed}
}

// A scoring has the options of the official scripts. Zero fields are their defaults.
type scoring struct {
	dtype      accuracy.DType // of the payload's numbers
	verbose    bool
	inverseMap *bool // labels are positions of categories; nil: as the model's are
	dropEmpty  bool  // samples are the images with annotations
	minScore   float64
}

func parseScoring(v workload.Values) (s scoring, err error) {
	s.dtype = accuracy.DType(strings.ToLower(v[dtypeOption]))
	if s.verbose, err = v.On(verboseOption); err != nil {
		return s, err
	}
	if s.inverseMap, err = v.Bool(inverseMapOption); err != nil {
		return s, err
	}
	if text, given := v[minScoreOption]; given {
		if s.minScore, err = strconv.ParseFloat(text, 64); err != nil || !(s.minScore >= 0 && s.minScore <= 1) {
			return s, userinput.Errorf(minScoreOption, "%q is not a score, expected a number from 0 to 1", text)
		}
	}
	s.dropEmpty, err = v.On(onlyFullOption)
	return s, err
}

// boxOrders lists the orders of boxes.
func boxOrders() []string {
	return []string{string(yxyx), string(xyxy), string(yxhw), string(xywh), string(cyxhw), string(cxcywh)}
}
