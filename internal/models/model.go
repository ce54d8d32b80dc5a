package models

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Model is one benchmark.
type Model struct {
	Name    string // in the catalogue, and in conf files
	Title   string
	Task    string // one line: what it does
	Dataset string // the catalogue name of its data set

	// BuiltIn is how the built-in model is made.
	BuiltIn BuiltIn
	// Source says where the official model file comes from.
	Source string

	// Pipelines are the ways to pre-process an image, of package preprocess: the reference's
	// first, then those for inputs of other types. Models of volumes have none.
	Pipelines []string

	// PerformanceSampleCount is how many samples the official runs keep in memory.
	PerformanceSampleCount int
	// Quality is what the official scripts measure with the official model and data.
	Quality Quality

	// Open joins the model with a data set and a model file.
	Open func(Setup) (Workload, error)
	// Score scores an accuracy log as the official script does.
	Score func(log accuracy.Input, s Scoring) (*accuracy.Score, error)
}

// Scoring is what an accuracy log is scored with: the ground truth, and the options of
// the official script. Zero fields are the script's defaults.
type Scoring struct {
	DatasetDir string
	DType      accuracy.DType // of the payload's numbers
	Verbose    bool

	// Samples is how many samples the log is of, if not of the whole data set. Only some
	// scripts want every sample to be there.
	Samples int

	InverseMap *bool // labels are numbers of categories; nil: as the model's are
	DropEmpty  bool  // samples are the images in which something is annotated
}

// BuiltIn names what a built-in model and its data are made of.
type BuiltIn struct {
	Architecture string // of package onnx
	Pipeline     string // of a classifier: how its anchors are pre-processed

	// Samples is how many there are in a data set that is made for this model alone.
	Samples int
	// NumberedLabels: the labels in responses are numbers of categories from 1, not their ids.
	NumberedLabels bool
}

// Quality is an accuracy target of the rules.
type Quality struct {
	Metric    string  // a value of the accuracy score, e.g. "accuracy"
	Reference float64 // of the official FP32 model, in the metric's unit
	Fraction  float64 // of the reference that the closed division asks for, e.g. 0.99
}

// Setup is what a model is opened with.
type Setup struct {
	DatasetDir string
	Count      int // use the first samples only; 0: all

	// Inputs and Outputs are the ports of the model file.
	Inputs, Outputs []backend.Port

	// Binding overrides what is inferred from the ports.
	Binding Binding
}

// options are those that the data set is opened with.
func (s Setup) options() dataset.Options {
	return dataset.Options{Count: s.Count, DropEmpty: s.Binding.DropEmpty, Preprocessed: s.Binding.Preprocessed}
}

// A Workload is a model joined with its data: everything that is specific to a
// benchmark while it runs. Its methods may be called from several goroutines.
type Workload interface {
	// Len is the number of samples.
	Len() int
	// Row says what a sample consists of, one slot for each input of the model.
	Row() []Slot
	// CacheKey names everything that decides the content of the rows: the files, the
	// steps, and the version of the code. It is empty if rows are not worth keeping.
	CacheKey() string
	// Prepare fills the row of a sample.
	Prepare(index int, row []tensor.Tensor) error
	// Outputs names the outputs of the model that predictors read, in order.
	Outputs() []string
	// Batch is how many samples the model takes in one run; -1: any number.
	Batch() int
	// NewPredictor returns a predictor for one worker, for up to maxBatch samples at once.
	NewPredictor(session backend.Session, maxBatch int) (Predictor, error)
	// Notes says in words how the model file was understood.
	Notes() []string
}

// A Sizer is a workload whose samples differ in size. They have the same rows all the
// same, large enough for each, with one slot: the first SampleBytes of it count.
type Sizer interface {
	SampleBytes(index int) int64
}

// A Slot is one tensor of a sample, without a batch axis.
type Slot struct {
	Type  tensor.DType
	Shape tensor.Shape
}

// Bytes is the memory that the slot takes.
func (s Slot) Bytes() int64 { return s.Shape.Len() * int64(s.Type.Size()) }

// A Predictor answers samples on behalf of one worker: it is used by one goroutine.
type Predictor interface {
	// Use says that the samples of a store will be asked for from now on, and no longer
	// those of the one before. The store may be nil: then none will.
	Use(store *Store) error
	// Predict answers all items, at most as many as the predictor was made for.
	// An error means that those without a reply could not be answered.
	Predict(ctx context.Context, items []Item, reply Reply) error
	Close() error
}

// An Item is a sample to answer.
type Item struct {
	Row   int // in the store
	Index int // in the data set
}

// A Reply takes the answers of a batch. Bytes are copied before the method returns.
type Reply interface {
	// FirstToken says that the first output token of an item is there.
	FirstToken(item int, token []byte)
	// Done answers an item. Tokens counts its output tokens, where there are such.
	Done(item int, response []byte, tokens int)
}
