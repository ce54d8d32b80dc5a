package vision

import (
	"slices"
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

	dtypeOption      = "dtype"
	inverseMapOption = "use-inv-map"
	onlyFullOption   = "remove-48-empty-images"
	verboseOption    = "verbose"
	truthOption      = "annotations"
)

func readerOptions() []workload.Option {
	return []workload.Option{
		{Name: layoutOption, Help: "order of the image axes, NCHW or NHWC (default: the model's own)", Choices: []string{nchw, nhwc}},
		{Name: pipelineOption, Help: "name of the pre-processing (default: the model's own)"},
		{Name: pixelsOption, Kind: workload.Integer, Help: "largest image that is decoded, in pixels: what a file claims is taken from memory (default 67108864)"},
	}
}

func imageOptions(more ...workload.Option) []workload.Option {
	return append(append(readerOptions(),
		workload.Option{Name: preprocessedOption, Kind: workload.Path, Help: "folder with images that are pre-processed already, NAME.npy for each, " +
			"as the reference keeps them in preprocessed/<data set>/<layout>"},
		workload.ChooseOutput(),
		workload.Option{Name: offsetOption, Kind: workload.Integer, Help: "what to add to the model's class to get the label (default: inferred)"},
	), more...)
}

func classifierOptions() []workload.Option { return imageOptions() }

func segmenterOptions() []workload.Option { return imageOptions() }

func detectorOptions() []workload.Option {
	return imageOptions(
		workload.Option{Name: boxOrderOption, Choices: boxOrders(), Help: "of a detector's boxes, one of " + strings.Join(boxOrders(), ", ") + " (default: inferred)"},
		workload.Option{Name: boxPixelsOption, Kind: workload.Integer, Help: "size of the image in whose pixels a detector's boxes are; 0: they are parts of the image (default: the model's own)"},
		workload.Option{Name: labelMapOption, Help: "label of each class of a detector: a file with a class and its label per line, coco80to91, coco91to80 or none (default none)"},
		workload.Option{Name: dropEmptyOption, Kind: workload.Bool, Help: "leave out images in which nothing is annotated, as the reference does for the PyTorch SSD-ResNet34"},
	)
}

func volumeOptions() []workload.Option {
	return []workload.Option{workload.ChooseOutput()}
}

func labelOptions() []workload.Option {
	return []workload.Option{dtype("float32", "int32", "int64"), verbose()}
}

func volumeScoreOptions() []workload.Option {
	return []workload.Option{dtype("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")}
}

func dtype(choices ...string) workload.Option {
	return workload.Option{Name: dtypeOption, Aliases: []string{"output_dtype"}, Choices: choices, Help: "type of the numbers in the log (default: the official script's)"}
}

func verbose() workload.Option {
	return workload.Option{Name: verboseOption, Kind: workload.Bool, Help: "also print every wrong sample, where the official script can"}
}

func boxScoreOptions() []workload.Option {
	return []workload.Option{
		{Name: inverseMapOption, Kind: workload.Bool, Help: "labels of a detector are numbers of categories, not their ids (default: as the model's are, unless the log has labels that only ids can be)"},
		{Name: onlyFullOption, Kind: workload.Bool, Help: "samples of a detector are the images in which something is annotated"},
		{Name: truthOption, Kind: workload.Path, Help: "file with what is in the images of a detector (default: the data set's)"},
		verbose(),
	}
}

// A binding says how a model file is fed and read where it differs from the official
// one. Zero fields are inferred from the ports.
type binding struct {
	layout      string // NCHW or NHWC
	pipeline    string // name of the pre-processing
	maxPixels   int    // of an image; 0: jpeg.DefaultMaxPixels
	output      string // name of the output to read; of detectors three or four, separated by commas
	labelOffset *int   // added to the model's class to get the label

	// Of detectors: how boxes are given, the size of the image in whose pixels they are (0:
	// parts of the image), and what becomes of classes (a file, coco80to91 or coco91to80).
	boxOrder  string
	boxPixels *int
	labelMap  string
	// dropEmpty leaves images out in which nothing is annotated (dataset.Options).
	dropEmpty bool

	// preprocessed is a folder with images that are pre-processed already
	// (dataset.Options). They have to fit the model.
	preprocessed string
}

func parseBinding(v workload.Values) (b binding, err error) {
	b = binding{
		layout: strings.ToUpper(v[layoutOption]), pipeline: v[pipelineOption], output: v[outputOption],
		boxOrder: strings.ToLower(v[boxOrderOption]), labelMap: v[labelMapOption], preprocessed: v[preprocessedOption],
	}
	if b.maxPixels, err = mostPixels(v); err != nil {
		return b, err
	}
	if b.labelOffset, err = v.Integer(offsetOption); err != nil {
		return b, err
	}
	if b.boxPixels, err = v.Integer(boxPixelsOption); err != nil {
		return b, err
	}
	b.dropEmpty, err = v.On(dropEmptyOption)
	return b, err
}

// mostPixels is the largest image that is decoded; 0 if nobody says.
func mostPixels(v workload.Values) (int, error) {
	n, err := v.Integer(pixelsOption)
	if n == nil || err != nil {
		return 0, err
	}
	if *n < 1 {
		return 0, userinput.Errorf(pixelsOption, "%d pixels, want at least 1", *n)
	}
	return *n, nil
}

// A setup is what a workload of the family is opened with: one model file, and images or
// volumes.
type setup struct {
	datasetDir      string
	count           int
	inputs, outputs []backend.Port
	binding         binding
}

// opening returns what opens a model, of what opens it with the family's own options.
func opening(open func(setup) (*workload.Workload, error)) func(workload.Setup) (*workload.Workload, error) {
	return func(s workload.Setup) (*workload.Workload, error) {
		b, err := parseBinding(s.Options)
		if err != nil {
			return nil, err
		}
		ports := s.Ports[workload.Only]
		return open(setup{datasetDir: s.DatasetDir, count: s.Count, inputs: ports.Inputs, outputs: ports.Outputs, binding: b})
	}
}

// data are the options that the data set is opened with.
func (s setup) data() dataset.Options {
	return dataset.Options{Count: s.count, DropEmpty: s.binding.dropEmpty, Preprocessed: s.binding.preprocessed}
}

// A scoring has the options of the official scripts. Zero fields are their defaults.
type scoring struct {
	dtype      accuracy.DType // of the payload's numbers
	verbose    bool
	inverseMap *bool // labels are numbers of categories; nil: as the model's are
	dropEmpty  bool  // samples are the images in which something is annotated
}

func parseScoring(v workload.Values) (s scoring, err error) {
	s.dtype = accuracy.DType(strings.ToLower(v[dtypeOption]))
	if s.verbose, err = v.On(verboseOption); err != nil {
		return s, err
	}
	if s.inverseMap, err = v.Bool(inverseMapOption); err != nil {
		return s, err
	}
	s.dropEmpty, err = v.On(onlyFullOption)
	return s, err
}

// boxOrders lists the orders of boxes.
func boxOrders() []string {
	return []string{string(yxyx), string(xyxy), string(yxhw), string(xywh), string(cyxhw), string(cxcywh)}
}

func parseBoxOrder(name string) (boxOrder, error) {
	if !slices.Contains(boxOrders(), name) {
		return "", userinput.Errorf(boxOrderOption, "unknown order of boxes %q, want one of %s", name, strings.Join(boxOrders(), ", "))
	}
	return boxOrder(name), nil
}
