// Package engine opens the engine that a request names: ONNX Runtime or a simulation on this machine (engine.go),
// or one that asks servers (remote.go), also for all of a sample in the Network division (netdivision.go).
package engine

import (
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The engines.
const (
	ONNXRuntime = "onnxruntime"
	Simulated   = "simulated"
	OIP         = "oip"
	OpenAI      = openai.Name
)

// Names lists the engines.
func Names() []string { return []string{ONNXRuntime, Simulated, OIP, OpenAI} }

// A Config names an engine and its options.
type Config struct {
	Name    string        // empty: onnxruntime
	Library string        // file of ONNX Runtime; empty: the installed one
	Latency time.Duration // of the simulated engine
	Jitter  time.Duration // its standard deviation
	Remote  Remote        // servers, of an engine whose models run elsewhere

	// SharedThreads are threads of ONNX Runtime that all sessions of the process compute with; 0: each
	// session has its own.
	SharedThreads int
}

// spoken are the engines that ask servers, by the names of the servers.
var spoken = map[string]string{
	"triton": OIP, "tritonserver": OIP, "kserve": OIP, "mlserver": OIP, "seldon": OIP, "ovms": OIP, "openvino": OIP, "torchserve": OIP, "v2": OIP,
	"grpc": OIP,
	"vllm": OpenAI, "tgi": OpenAI, "sglang": OpenAI, "llama.cpp": OpenAI, "llamacpp": OpenAI, "ollama": OpenAI, "trtllm": OpenAI, "tensorrtllm": OpenAI,
	"lmdeploy": OpenAI, "nim": OpenAI, "litellm": OpenAI, "openaichat": OpenAI,
}

// IsRemote reports whether the models of the engine run on servers.
func (c Config) IsRemote() bool { return c.Name == OIP || c.Name == OpenAI }

// Check finds wrong options. It fills in the name.
func (c *Config) Check() error {
	if c.Name == "" {
		c.Name = ONNXRuntime
	}
	if !slices.Contains(Names(), c.Name) {
		choices := userinput.Or(Names())
		if protocol := spoken[userinput.Plain(c.Name)]; protocol != "" {
			return userinput.Errorf("backend", "unknown backend %q; servers of this kind are asked by %s. Want %s", c.Name, protocol, choices)
		}
		return userinput.Errorf("backend", "unknown backend %q: must be %s", c.Name, choices)
	}
	switch {
	case c.Latency < 0:
		return userinput.Invalid("sim_latency", c.Latency, "a time")
	case c.Jitter < 0:
		return userinput.Invalid("sim_jitter", c.Jitter, "a time")
	}
	if c.IsRemote() {
		return c.Remote.check(c.Name)
	}
	if name := c.Remote.given(); name != "" {
		return userinput.Errorf(name, "is about servers: the engine is %s and must be %s or %s", c.Name, OIP, OpenAI)
	}
	return nil
}

// OpenORT opens ONNX Runtime. Options say how threads that all sessions share wait and where they run.
func (c Config) OpenORT(o backend.Options) (backend.Engine, error) {
	var pool *ort.Pool
	if c.SharedThreads > 0 {
		pool = &ort.Pool{IntraThreads: c.SharedThreads, InterThreads: max(1, o.InterThreads), NoSpinning: o.NoSpinning, Affinity: o.Affinity}
	}
	e, err := ort.Open(c.Library, o.Device, pool)
	if err != nil {
		return nil, err // an interface that is nil
	}
	return e, nil
}

// Simulate returns an engine that takes its time and pretends to run model files.
func (c Config) Simulate() (backend.Engine, error) {
	return simulated.New(simulated.Config{Latency: c.Latency, Jitter: c.Jitter, Answer: pretend})
}

// pretend answers with a class that follows from the image. Detectors, which have several
// outputs, and models with large outputs find nothing: any other answer would have to
// make sense.
func pretend(inputs, outputs []tensor.Tensor) error {
	const classes = 4096 // no classifier has more
	// a class and its scores
	ranked := len(outputs) == 2 && outputs[0].Type == tensor.Int64 && len(outputs[0].Shape) == 1
	if len(outputs) > 1 && !ranked || len(outputs[0].Shape) > 0 && outputs[0].Len() > classes*int(outputs[0].Shape[0]) {
		return nil
	}
	return simulated.Echo(inputs, outputs)
}
