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
	// Ports tells the inputs and outputs of a model, all of them and in the model's order, if
	// possible without loading it.
	Ports(ctx context.Context, opts Options) (inputs, outputs []Port, err error)
	// Open loads a model. It fails with an error that names the file, and says what is
	// missing if the device cannot be used.
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
	// Run computes the outputs from the inputs, both in the order of Info. An output
	// that is nil is allocated by the engine, stored in outputs, and belongs to
	// the caller; this is for outputs whose shape only the run knows. When the context is
	// done, a run that is under way ends soon, with the context's cause. What it has
	// written to the outputs is undefined then, and they may be used again.
	Run(ctx context.Context, inputs, outputs []Value) error
	// Close waits for no run: the caller sees to it that none is under way.
	io.Closer
}

// A Keeper is a Session that may have memory where the model computes, for what its runs leave to later
// ones, such as a cache.
type Keeper interface {
	// Keep takes zeroed memory for so many elements. It returns nil if the model computes in the
	// processor's memory, where any will do.
	Keep(t tensor.DType, elements int64) (Memory, error)
}

// Memory is memory of a device. It is for one run at a time, and for the session that it is of.
type Memory interface {
	// Value makes a Value over the elements from one on, which goes in and comes out without being
	// copied. Its tensor has a shape, and no contents.
	Value(from int64, shape ...int64) (Value, error)
	// Copy copies elements to another place in it.
	Copy(to, from, elements int64) error
	// Close frees the memory. Its values must be closed before.
	io.Closer
}

// A Value is a tensor as an engine sees it. Closing it does not free memory that was
// bound to it.
type Value interface {
	Tensor() tensor.Tensor
	io.Closer
}

// A Port is an input or output of a model.
type Port struct {
	Name  string
	Type  tensor.DType
	Shape tensor.Shape // -1 where an extent is free

	// AnyShape says that not even the number of axes is known; Shape is then empty.
	AnyShape bool
	// Other says what the port is if not a tensor that this program can handle, e.g. sequence, or
	// tensor of complex64; its Type is then Invalid. It may be left alone, not asked for.
	Other string
}

// Batch says how many samples one run may take through the port: the extent of its
// first axis, or -1 if that is free. A port without axes takes one.
func (p Port) Batch() int {
	if p.AnyShape {
		return -1
	}
	if len(p.Shape) == 0 {
		return 1
	}
	return int(p.Shape[0])
}

// Options say what to open, and where and how to run it. The zero value of every
// field but ModelPath is useful.
type Options struct {
	ModelPath string
	Outputs   []string // outputs to compute, in this order; nil: all

	// Device is the execution provider: cpu, cuda, tensorrt, or the name of any other
	// that the engine has. Several, separated by commas, are tried per operator in
	// order of preference. Empty: cpu.
	Device          string
	DeviceOptions   map[string]string // of the first device, by the provider's own keys
	AllowFallback   bool              // run elsewhere if the device cannot be used
	DeviceMemory    bool              // inputs and outputs have buffers in the device's memory, whose addresses stay
	EngineCacheDir  string            // where devices that compile models keep the result
	Precision       string            // fp32, fp16 or int8, where the device converts by itself
	ProfileShapes   [2]int            // smallest and largest batch a device should compile for
	OptimizedModel  string            // file that keeps the optimised model between sessions
	LogSeverity     int               // least severity printed: 1 info … 4 fatal; 0: 4, -1: everything
	CountDeviceNode bool              // find out which device runs how many nodes (Info.Devices)

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

	// Note is told of work that takes minutes, before it begins; nil: nobody is.
	Note func(text string) `json:"-"`

	// Texts say what an engine that takes text should know of the prompts.
	Texts Texts `json:"-"`
}

// Info describes an opened model.
type Info struct {
	Inputs, Outputs []Port

	Engine  string // with version, e.g. onnxruntime 1.24.3
	Library string // file of the engine's library
	// Devices are the providers that run at least one node, with the number of nodes;
	// in the engine's order of preference. Nodes is -1 where the engine does not tell.
	Devices  []DeviceUse
	Warnings []string // e.g. that a device was replaced by another
	// Facts are settings that somebody needs to repeat the run, by name.
	Facts map[string]string

	LoadTime time.Duration // of Open
}

// DeviceUse says how many nodes of the model a provider runs.
type DeviceUse struct {
	Device string
	Nodes  int
}
