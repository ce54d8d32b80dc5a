package workload

import (
	"context"
	"errors"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Model is one benchmark.
type Model struct {
	Name    string   // in the catalogue
	Aliases []string // other names, besides those of the rules
	Title   string
	Task    string // one line: what it does
	Dataset string // the catalogue name of its data set

	// Rules are its names in conf files and the size of its samples.
	Rules config.Model
	// PerformanceSampleCount is the number of samples that official runs load.
	PerformanceSampleCount int
	// DatasetSamples is the size of the official validation set; 0: PerformanceSampleCount, as official runs load all of it.
	DatasetSamples int
	// Repeats is how often the official data set has a sample, at most; 0: once.
	Repeats int
	// Turns is the number of requests of the official recorded conversations, each of which a test of performance sends once at least; 0: the
	// samples are no turns.
	Turns   int
	Quality Quality

	// BuiltIn describes the built-in model and its data for package builtin: a type of the family's own.
	BuiltIn any
	// Source is the address of the official model file.
	Source string
	// Papers are the publications of the network.
	Papers []string
	// Notes are what people should know before they run it: lower case, no full stop.
	Notes []string

	// Options are those of Open, ScoreOptions those of the official accuracy script, and ReaderOptions those of NewReader.
	Options, ScoreOptions, ReaderOptions []Option

	// Roles are the files of a model of several files that can run one by one, on any machine.
	Roles []string
	// Files finds the files of a model, by role, if their names are not those of Roles. With Roles nil only the model's predictors
	// can run them, since a run uses the memory of the run before. Nil, and no Roles: one file.
	Files func(path string) ([]File, error)
	// Attends says that the model is a transformer whose activations have outliers that depend on the text: its INT8 form uses
	// the ranges of each run, not those of a calibration.
	Attends bool
	// Recorded is how many samples calibrate the INT8 form of a model of several files, by what its predictors give each file; 0: such
	// files use the ranges of each run.
	Recorded int
	// Open opens the data set and checks the ports of the model files.
	Open func(Setup) (*Workload, error)
	// OpenRemote opens the prompts for an engine that takes text instead of model files, with RemoteOptions; nil: the samples are
	// not prompts.
	OpenRemote    func(Setup) (*Workload, error)
	RemoteOptions []Option
	// BesideServers is the remote option that names a folder of networks that run here beside the servers; empty: none do. With built-in
	// data they are those of the built-in form.
	BesideServers string
	// WholeBefore is the round before which the reference asks servers for whole answers, also in Server; empty: none.
	WholeBefore string
	// Score scores an accuracy log as the official script does.
	Score func(ctx context.Context, log accuracy.Input, s Scoring) (*accuracy.Score, error)
	// ScoresLogAlone says that logs may have the ground truth in them, as the official script expects it: Score needs no data set.
	ScoresLogAlone bool
	// ScoresWithEngine says that Score runs networks.
	ScoresWithEngine bool
	// ScoresWithServers says that a model at servers judges the answers: Score needs Scoring.Servers, or an option that names a server.
	ScoresWithServers bool
	// ScoredElsewhere says that programs of others score the answers: without what they found, Score returns ErrScoredElsewhere, and
	// built-in data have no score of the FP32 model.
	ScoredElsewhere bool
	// NewReader returns a reader that makes the model's input from a file; nil: its samples are not files.
	NewReader func(Values) (*Reader, error)
}

// ErrScoredElsewhere says that there is no score, since networks that do not run here score the answers.
var ErrScoredElsewhere = errors.New("no accuracy is computed here")

// Several reports whether a model has several files.
func (m Model) Several() bool { return m.Files != nil || m.Roles != nil }

// FilesRunTogether reports whether only the model's own predictors can run its files.
func (m Model) FilesRunTogether() bool { return m.Files != nil && m.Roles == nil }

// Remote is the benchmark with an engine that takes text instead of model files.
func (m Model) Remote() Model {
	m.Roles, m.Files, m.Open, m.Options = nil, nil, m.OpenRemote, m.RemoteOptions
	return m
}

// Setup are the arguments of Open.
type Setup struct {
	ModelPath  string // the model's file, or the folder of its files
	DatasetDir string
	Count      int // use the first samples only; 0: all

	Rules       string // version of the rules; empty: the newest
	Interactive bool   // the scenario, which may have a data set of its own

	Ports   map[string]Ports // of the model files, by role
	Options Values           // of Model.Options; the others are inferred from the ports

	Scored bool // an accuracy test
	Ranked bool // and nothing is timed: classifiers keep the best classes of each sample
	Logged bool // all or some responses are logged

	OutputDir string         // for files that the test leaves beside its logs; empty: none
	Engine    backend.Engine // runs networks that belong to the data or to the score, on the processor; nil: none
}

// Ports are the inputs and outputs of a model file.
type Ports struct{ Inputs, Outputs []backend.Port }

// Scoring are the arguments of Score: the ground truth and the options of the official script.
type Scoring struct {
	DatasetDir string // empty: none, with ScoresLogAlone only
	// Samples is the number of samples of the log, if it is not of the whole data set. Some scripts require every sample.
	Samples int
	// Interactive is as in Setup.
	Interactive bool
	// Foreign says that the log is of an unknown model: the family may infer missing options from it.
	Foreign bool
	Options Values // of Model.ScoreOptions; the others are the script's defaults
	// Best is that of the workload whose log it is; nil: the log tells all.
	Best [][]int32

	// Engine runs the networks of a score; nil: none. The caller closes it.
	Engine backend.Engine
	// Servers are those of the test, which may have the judge, too; nil: none. The caller closes it.
	Servers backend.Engine
	// Progress reports the progress of long scores; nil: none.
	Progress func(done, of int)
	// Keep is a folder for the other files of the official script; empty: none.
	Keep string
}

// A Reader makes the input of a model from files. One goroutine uses it.
type Reader struct {
	Name string // of the pre-processing
	// Read returns the input of a file, without a batch axis.
	Read func(file []byte) (tensor.Tensor, error)
}
