package harness

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
)

// Config says what to run and how.
type Config struct {
	Program string // name and version, for the logs
	Model   workload.Model
	Rules   string // version of the rule set

	// Settings are those of the test, and Made those of them that differ from the defaults, with their origin.
	Settings loadgen.TestSettings
	Made     []report.Setting
	// Calibrate measures the rate, or the expected latency: none was given. AutoLatency chooses a Server
	// latency bound, or an interval of MultiStream, that this machine can meet, if the one in Settings is
	// out of its reach.
	Calibrate   bool
	AutoLatency bool
	Own         bool // the model is of the user, and no division has it
	// FitStreams lets queries of MultiStream at fixed intervals have fewer samples than the settings
	// say, if so many cannot be answered within one.
	FitStreams bool
	// FewQueries lets a slow model be judged by the median of as few queries as that takes,
	// instead of the settings' percentile and number.
	FewQueries bool
	// Longest is how long the queries of such a model may take, and each measurement before them: fewer queries than the median
	// takes are made, and the load of a large batch is estimated. 0: 20 s for the queries, and neither.
	Longest time.Duration

	// Runs is how many runs make the result: the lowest counts. 0: one.
	Runs int
	// FindPeak asks for the highest load that keeps the bound of the scenario, Server or
	// MultiStream at fixed intervals. The settings' load is where the search begins.
	FindPeak bool

	Engine backend.Engine
	// ScoreEngine runs the networks that a score is computed with; nil: Engine does, unless it asks servers.
	ScoreEngine backend.Engine
	Backend     backend.Options // ModelPath names the model file
	Accelerator bool            // Backend.Device has processors of its own
	Instances   int             // workers; 0: chosen for the scenario and the device
	// ReserveCore leaves a core to the load generator in Server, if there are two or more
	// and the number of workers is open.
	ReserveCore bool
	// Processors are those that threads of workers are pinned to, one each; nil: they are not.
	Processors []int
	MaxBatch   int           // samples in a run of the model; 0: chosen for the scenario and the device
	MaxDelay   time.Duration // how long a sample may wait for a batch to fill

	DatasetDir             string
	Count                  int             // use the first samples only; 0: all
	PerformanceSampleCount int             // how many to keep in memory; 0: the model's
	TimedPreprocessing     bool            // workers make samples of files and texts, inside the latency
	Options                workload.Values // how the model file and the data are fed and read
	// Blank leaves samples that are pre-processed one like the other empty in a test of performance: the engine looks at none.
	Blank bool

	Precision   string // of the model, for the logs; empty: not known
	BuiltInData bool
	// Reference is the score of the FP32 model on this data; 0: the official one.
	Reference float64
	// SystemNote follows the name of the system in the logs, which have no other place for it; empty: none.
	SystemNote string
	// Anyway runs a test even if no rate can keep the latency bound.
	Anyway bool
	// Brief shortens a test of performance for which no rate can keep the latency bound to ten seconds, instead of refusing it.
	Brief bool
	// Fingerprint names everything that can change a result. A search goes on with what one
	// of the same fingerprint has found.
	Fingerprint string

	OutputDir string // where the logs and results go; made if need be
	CacheDir  string // for pre-processed samples; empty: they are not kept
	// EachRequest has what became of each request written beside the logs (requests.FileName).
	EachRequest bool
	// Cancels says that the engine gives up answers on purpose: they are left out of the figures.
	Cancels bool
	Files   map[string][]byte // further files for OutputDir, by name: the conf files used
	Gauges  []machine.Gauge   // to be read while a test runs

	FreeMemory  func() uint64           // bytes; nil: not known
	FreeDisk    func(dir string) uint64 // bytes where a folder is or would be; nil: not known
	FreeThreads func() (int, bool)      // that may be started, and whether the system limits them; nil: no limit
	CPUTime     func() time.Duration    // of this process; nil: not known
	// Keep writes the record of a test beside its logs: of one that is under way, one of several, or one that confirmed a load in a
	// search. It may be nil. What Run returns is up to the caller.
	Keep        func(*Test) error
	ClientCores int // that a client of servers has, for the results
	// Ready is called when the traffic may begin, and returns when it shall; nil: at once.
	Ready    func() error
	NewPacer func() loadgen.Pacer
	Observer Observer
}

// An Observer follows a run. Its methods are not called at the same time.
type Observer interface {
	// Phase is called when a part of the run begins.
	Phase(name string)
	// Loading counts the samples that are in memory.
	Loading(done, of int)
	// Items counts what else a part of the run goes through one by one.
	Items(done, of int)
	// Traffic reports the progress of the test.
	Traffic(loadgen.Progress)
	// Note has a message for the user, before the run continues.
	Note(text string)
}

// Silent is an Observer that shows nothing.
type Silent struct{}

// Phase does nothing.
func (Silent) Phase(string) {}

// Loading does nothing.
func (Silent) Loading(int, int) {}

// Items does nothing.
func (Silent) Items(int, int) {}

// Traffic does nothing.
func (Silent) Traffic(loadgen.Progress) {}

// Note does nothing.
func (Silent) Note(string) {}

// check finds wrong values before anything is opened.
func (c Config) check() error {
	for _, n := range []struct {
		what  string
		value int
	}{
		{"number of instances", c.Instances}, {"largest batch", c.MaxBatch}, {"number of samples", c.Count},
		{"performance sample count", c.PerformanceSampleCount}, {"number of runs", c.Runs},
	} {
		if n.value < 0 {
			return fmt.Errorf("the %s is %d: must be a positive number, or 0 for the default", n.what, n.value)
		}
	}
	if err := c.Settings.Validate(); err != nil {
		return fmt.Errorf("test settings: %w", err)
	}
	return c.checkThreads(runtime.GOMAXPROCS(0))
}

// makeOutputDir makes sure that results can be written, before anything is measured.
func makeOutputDir(cfg Config) error {
	if err := os.MkdirAll(cfg.OutputDir, 0o755); err != nil {
		return fmt.Errorf("making the output folder: %w", err)
	}
	for name, content := range cfg.Files {
		if err := fileio.WriteFileIn(cfg.OutputDir, name, content); err != nil {
			return fmt.Errorf("writing to the output folder: %w", err)
		}
	}
	if err := fileio.Writable(cfg.OutputDir); err != nil {
		return fmt.Errorf("writing to the output folder: %w", err)
	}
	return nil
}
