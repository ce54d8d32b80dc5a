package run

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine/power"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// An Observer is told how a job goes on.
type Observer = harness.Observer

// A Request is what somebody wants to run. Zero fields are chosen, unless the comment says
// otherwise.
type Request struct {
	Program string   // name and version, for the results
	Command []string // what was called, for the results

	Model    string // of the catalogue; needed, except for prompts that go to servers
	Scenario string // needed
	Mode     string // performance, accuracy, submission or find-peak; empty: performance
	Rules    string // version; empty: the newest
	Division string // closed, open or network; empty: closed
	Quick    bool   // about ten seconds of traffic
	Cores    int    // that a client of servers has; 0: as many as goroutines run at once

	MLPerfConf       string // file instead of the rule set's mlperf.conf
	UserConf         string // file; empty: ./user.conf if there is one
	AuditConf        string // file
	AllowUnknownKeys bool   // of these files
	// Settings override those of the files, in this order.
	Settings []config.Override
	// AutoLatency asks for a Server bound that this machine can keep, if the rules' is not.
	AutoLatency bool

	ModelPath   string // ONNX file; empty: the built-in model
	DatasetPath string // folder; empty: the built-in data
	Precision   string // fp32, fp16 or int8; empty: as the model is
	Count       int    // of samples that are used; 0: all
	FullSize    bool   // built-in models have all layers and rows of the real ones
	Rows        int64  // of the tables of a built-in model for recommendation, at most; 0: the default
	// Options say how the model is fed and read, by names of RunOptions.
	Options map[string]string

	Prompts     Prompts // for servers of text
	Engine      Engine
	Backend     backend.Options // ModelPath and Precision are filled in
	Instances   int
	MaxBatch    int
	MaxDelay    time.Duration
	ReserveCore bool
	Pin         bool // threads of workers have a processor each
	NewPacer    func() loadgen.Pacer
	// Profile has what a search found: a file, or auto for the one of this machine. It
	// gives what Given does not name.
	Profile string

	// Power is where energy is read during the traffic: auto, rapl, nvml, ptd:HOST:PORT or
	// file:CSV; empty: it is not.
	Power string
	// Ranging measures twice, as power is for submissions: a first run in which the analyser finds
	// its ranges, and the run itself. Below Output are the folders ranging, run_1 and power then.
	Ranging bool

	Output string // folder; empty: results/MODEL/SCENARIO/MODE/TIME
	Force  bool   // replace the results that are in Output
	Anyway bool   // run even if no rate can keep the latency bound
	Trace  bool   // also write mlperf_log_trace.json
	// NoReport leaves out the page beside the results.
	NoReport bool

	// Given are the fields that somebody gave, with where: "flag --instances".
	Given map[string]string
}

// An Engine says which one to use.
type Engine struct {
	Name    string        // onnxruntime, simulated, oip or openai; empty: onnxruntime
	Library string        // file of ONNX Runtime; empty: the installed one
	Latency time.Duration // of the simulated engine
	Jitter  time.Duration // its standard deviation
	Remote  Remote        // servers, of an engine whose models run elsewhere

	// SharedThreads are threads of ONNX Runtime that all sessions of the process compute with; 0: each
	// session has its own.
	SharedThreads int
}

// The engines.
const (
	ONNXRuntime = "onnxruntime"
	Simulated   = "simulated"
	OIP         = "oip"
	OpenAI      = openai.Name
)

// engines are all of them.
func engines() []string { return []string{ONNXRuntime, Simulated, OIP, OpenAI} }

// FindPeak is the mode that searches the highest load. It consists of tests in LoadGen's
// performance mode.
const FindPeak = "find-peak"

// Auto is the profile of this machine.
const Auto = "auto"

// origin says where a field was given.
func (q *Request) origin(name string) string {
	if origin, ok := q.Given[name]; ok {
		return origin
	}
	return config.Default
}

// loadgenMode is the mode of the tests.
func (q *Request) loadgenMode() string {
	if q.Mode == FindPeak || q.Mode == "" {
		return "performance"
	}
	return q.Mode
}

// check finds what cannot be right whatever the model and the rules are.
func (q *Request) check() error {
	for _, check := range []func() error{
		q.checkNumbers, q.checkThreads, q.Engine.check, q.checkRemote, q.checkPrompts, q.checkDevice, q.checkPower, q.checkRanging, q.checkNames,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (q *Request) checkPower() error {
	if q.Power == "" {
		return nil
	}
	_, err := power.Parse(q.Power)
	return userinput.Wrap("power", err)
}

// checkNames finds names that are not among the few that there are.
func (q *Request) checkNames() error {
	if q.Precision != "" {
		if err := oneOf("precision", q.Precision, convert.Precisions()...); err != nil {
			return err
		}
	}
	if level := q.Backend.OptimizeLevel; level != "" {
		return oneOf("graph_optimization", level, "none", "basic", "extended", "all")
	}
	return nil
}

// Bounds of what may be asked for. They are far beyond all machines, and only there to tell
// slips of the fingers from wishes.
const (
	mostThreads = 4096
	mostBatch   = 1 << 20
)

func (q *Request) checkNumbers() error {
	for _, n := range []struct {
		field       string
		value, most int
	}{
		{"instances", q.Instances, mostThreads}, {"max_batchsize", q.MaxBatch, mostBatch}, {"count", q.Count, 0},
		{"intra_threads", q.Backend.IntraThreads, mostThreads}, {"inter_threads", q.Backend.InterThreads, mostThreads},
		{"shared_threads", q.Engine.SharedThreads, mostThreads},
	} {
		if n.value < 0 {
			return userinput.Invalid(n.field, n.value, "a positive number, or 0 for the default")
		}
		if n.most > 0 && n.value > n.most {
			return userinput.Invalid(n.field, n.value, "at most "+strconv.Itoa(n.most))
		}
	}
	if q.MaxDelay < 0 {
		return userinput.Invalid("max_batch_delay", q.MaxDelay, "a time, or 0 for none")
	}
	return nil
}

// checkThreads finds ways to have threads that exclude each other.
func (q *Request) checkThreads() error {
	if q.Pin && q.Backend.Affinity != "" {
		return userinput.Errorf("pin", "processors are chosen for the threads, and thread_affinity chooses them too: want one of the two")
	}
	if q.Engine.SharedThreads > 0 && (q.Pin || q.Backend.IntraThreads > 0) {
		return userinput.Errorf("shared_threads", "all sessions share %d threads, so that no worker has threads of its own: want neither intra_threads nor pin beside it", q.Engine.SharedThreads)
	}
	return nil
}

func (e *Engine) check() error {
	if e.Name == "" {
		e.Name = ONNXRuntime
	}
	if !slices.Contains(engines(), e.Name) {
		return userinput.Errorf("backend", "unknown backend %q, want %s", e.Name, inWords(engines()))
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"sim_latency", e.Latency}, {"sim_jitter", e.Jitter}} {
		if d.value < 0 {
			return userinput.Invalid(d.field, d.value, "a time")
		}
	}
	return nil
}

// checkDevice finds names of devices that no library has.
func (q *Request) checkDevice() error {
	list := q.Backend.Device
	if _, given := q.Given["device"]; list == "" && !given {
		return nil // the processor
	}
	for name := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(name) == "" {
			return userinput.Invalid("device", list, "names of devices, separated by commas")
		}
		if !ort.Knows(name) {
			return userinput.Errorf("device", "unknown device %q; devices are %s", name, strings.Join(ort.Devices(), ", "))
		}
	}
	return nil
}

func oneOf(name, value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return userinput.Invalid(name, value, inWords(choices))
}
