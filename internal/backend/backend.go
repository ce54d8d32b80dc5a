package backend

import (
	"context"
	"io"
	"time"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// An Engine opens models.
type Engine interface {
	// Name is how users and results call the engine, e.g. onnxruntime.
	Name() string
	// Ports returns all inputs and outputs of a model in its order, without loading it where possible.
	Ports(ctx context.Context, opts Options) (inputs, outputs []Port, err error)
	// Open loads a model. Its error names the file, and what is missing for a device that cannot be used.
	Open(ctx context.Context, opts Options) (Session, error)
	// Close frees what the engine holds. All sessions must be closed before.
	io.Closer
}

// A Session is an opened model. Its methods may be called from several goroutines at
// once, as long as no two runs share an output value.
type Session interface {
	Info() Info
	// Bind makes a Value over t's memory, which must stay valid until it is closed.
	Bind(t tensor.Tensor) (Value, error)
	// Run computes the outputs from the inputs, both in the order of Info. The engine allocates an output
	// that is nil and stores it in outputs for the caller; this is for outputs whose shape only the run
	// knows. The memory of such an output is valid until it is closed. When the context is done, a run ends soon with the context's cause. The
	// contents of the outputs are undefined then, and they may be used again.
	Run(ctx context.Context, inputs, outputs []Value) error
	// Close must not be called during a run.
	io.Closer
}

// A Keeper is a Session that may have memory of the device, for what a run leaves to later ones: a
// key/value cache.
type Keeper interface {
	// Keep allocates zeroed memory for so many elements. It returns nil if the model computes in the
	// processor's memory.
	Keep(t tensor.DType, elements int64) (Memory, error)
}

// Memory is memory of a device, for one run at a time of the session that allocated it.
type Memory interface {
	// Value makes a Value over the elements from one on, which runs use without a copy. Its tensor has a
	// shape and no contents.
	Value(from int64, shape ...int64) (Value, error)
	// Copy copies elements inside the memory.
	Copy(to, from, elements int64) error
	// Close frees the memory. Its values must be closed before.
	io.Closer
}

// A Value is a tensor as an engine sees it. Close does not free the memory that was bound.
type Value interface {
	Tensor() tensor.Tensor
	io.Closer
}

// Options say what to open, and where and how to run it. The zero value of every
// field but ModelPath is useful.
type Options struct {
	ModelPath string
	Outputs   []string // outputs to compute, in this order; nil: all

	// Device is the execution provider: cpu, cuda, tensorrt or another of the engine. Of several,
	// separated by commas, each operator runs on the first that can. Empty: cpu.
	Device          string
	DeviceOptions   map[string]string // of the first device, by the provider's own keys
	AllowFallback   bool              // run on the processor if the device cannot be used
	DeviceMemory    bool              // inputs and outputs have buffers at fixed addresses of the device's memory
	EngineCacheDir  string            // where devices that compile models keep the result
	Precision       string            // fp32, fp16 or int8, where the device converts by itself
	ProfileShapes   [2]int            // smallest and largest batch a device should compile for
	OptimizedModel  string            // file that keeps the optimised model between sessions
	LogSeverity     int               // least severity printed: 1 info … 4 fatal; 0: 4, -1: everything
	CountDeviceNode bool              // count the nodes that each device runs (Info.Devices)

	IntraThreads    int    // threads inside an operator; 0: the engine decides
	InterThreads    int    // operators at once; 0: one, or if Parallel the engine decides
	Parallel        bool   // run independent operators at once
	NoSpinning      bool   // idle threads sleep at once
	NoMemoryPattern bool   // do not plan memory from earlier runs
	NoArena         bool   // allocate every time
	Affinity        string // of the threads, in the engine's own notation
	Cores           []int  // processors of the threads, one each: that of the caller first; nil: any
	OptimizeLevel   string // none, basic, extended or all; empty: all
	Config          map[string]string

	// FreeDimensions are extents for free axes by name, which lets an engine plan for them.
	FreeDimensions map[string]int64
	CustomOps      []string // libraries with operators that the engine lacks

	// Note takes notes for the user, as before work that takes minutes; nil: none.
	Note func(text string) `json:"-"`

	// Texts describes the prompts for an engine that takes text.
	Texts Texts `json:"-"`
}

// Info describes an opened model.
type Info struct {
	Inputs, Outputs []Port

	Engine    string // with version, e.g. onnxruntime 1.24.3
	Simulated bool   // the engine computes nothing
	Library   string // file of the engine's library
	// Devices are the providers that run at least one node, in the engine's order of preference.
	// Nodes is -1 where the engine does not count them.
	Devices  []DeviceUse
	Warnings []string
	// Facts are settings that are needed to repeat the run, by name.
	Facts map[string]string

	LoadTime time.Duration // of Open
}

// DeviceUse is the number of nodes of the model that a provider runs.
type DeviceUse struct {
	Device string
	Nodes  int
}
