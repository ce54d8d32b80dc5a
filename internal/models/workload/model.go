package workload

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Model is one benchmark.
type Model struct {
	Name    string   // in the catalogue
	Aliases []string // other names by which users know it, besides those of the rules
	Title   string
	Task    string // one line: what it does
	Dataset string // the catalogue name of its data set

	// Rules are its names in conf files and what the rounds ask of it.
	Rules config.Model
	// PerformanceSampleCount is how many samples the official runs keep in memory.
	PerformanceSampleCount int
	Quality                Quality

	// BuiltIn is what package builtin makes the built-in model and its data from: a value of
	// a type of the family's own.
	BuiltIn any
	// Source says where the official model file comes from.
	Source string

	// Options say how a model file and its data may be fed and read, ScoreOptions are those
	// of the official accuracy script, and ReaderOptions those of NewReader.
	Options, ScoreOptions, ReaderOptions []Option

	// Roles are those of the files of a model that has several, each of which can be run by itself,
	// wherever it is.
	Roles []string
	// Files finds the files of a model, by role, where they are not named by Roles. With Roles nil
	// only the predictors of the model can run them: a run takes what the one before it left in
	// memory. Nil, and no Roles: it is one file.
	Files func(path string) ([]File, error)
	// Attends says that the model is made of attention, whose activations have outliers that differ from
	// text to text: in 8-bit integers it has the ranges of each run, not those of a calibration.
	Attends bool
	// Open joins the model with a data set and model files.
	Open func(Setup) (*Workload, error)
	// Ask joins prompts with an engine that takes text: there is no model file then, and
	// AskOptions are the options; nil: the samples are no prompts.
	OpenRemote    func(Setup) (*Workload, error)
	RemoteOptions []Option
	// Score scores an accuracy log as the official script does.
	Score func(ctx context.Context, log accuracy.Input, s Scoring) (*accuracy.Score, error)
	// ScoresWithEngine says that Score runs networks.
	ScoresWithEngine bool
	// NewReader returns what makes the model's input of a file of a user; nil: its samples
	// are no files.
	NewReader func(Values) (*Reader, error)
}

// Several reports whether a model has other files than one that can be run by itself.
func (m Model) Several() bool { return m.Files != nil || m.Roles != nil }

// FilesRunTogether reports whether only the model's own predictors can run its files.
func (m Model) FilesRunTogether() bool { return m.Files != nil && m.Roles == nil }

// Remote is the benchmark with an engine that takes text instead of model files.
func (m Model) Remote() Model {
	m.Roles, m.Files, m.Open, m.Options = nil, nil, m.OpenRemote, m.RemoteOptions
	return m
}

// Setup is what a model is opened with.
type Setup struct {
	ModelPath  string // the model's file, or the folder of its files
	DatasetDir string
	Count      int // use the first samples only; 0: all

	Ports   map[string]Ports // of the model files, by role
	Options Values           // of Model.Options; what is not there is inferred from the ports

	Scored bool // the test is one of accuracy
	Logged bool // responses are kept: all, or some of a test of performance
}

// Ports are what a model file takes and gives.
type Ports struct{ Inputs, Outputs []backend.Port }

// Scoring is what an accuracy log is scored with: the ground truth, and the options of
// the official script.
type Scoring struct {
	DatasetDir string
	// Samples is how many samples the log is of, if not of the whole data set. Only some
	// scripts want every sample to be there.
	Samples int
	// Foreign says that the log is of an unknown model. The family may
	// then guess by the log what no option says.
	Foreign bool
	Options Values // of Model.ScoreOptions; what is not there is the script's default

	// Engine runs the networks that a score is computed with; nil: there is none. It is the caller's.
	Engine backend.Engine
	// Progress is told how much of what takes long is done; nil: no progress.
	Progress func(done, of int)
	// Keep is a folder for what the official script leaves beside the score; empty: it leaves
	// nothing.
	Keep string
}

// A Reader makes the input of a model from files. One goroutine uses it.
type Reader struct {
	Name string // of the pre-processing
	// Read returns the input of a file, without a batch axis.
	Read func(file []byte) (tensor.Tensor, error)
}
