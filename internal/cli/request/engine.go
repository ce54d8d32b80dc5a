package request

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/run"
)

// DefineEngine defines the flags that choose an engine.
func DefineEngine(f *pflag.FlagSet, e *run.Engine) {
	f.StringVar(&e.Name, "backend", run.ONNXRuntime, "engine: onnxruntime; oip and openai, which ask servers; or simulated, which only takes its time")
	cli.DurationVar(f, &e.Latency, "sim-latency", 5*time.Millisecond, "time that the simulated engine takes for a run")
	cli.DurationVar(f, &e.Jitter, "sim-jitter", 0, "standard deviation of that time")
	defineRemote(f, &e.Remote)
	DefineLibrary(f, e)
}

// defineRemote defines the flags that choose servers.
func defineRemote(f *pflag.FlagSet, r *run.Remote) {
	f.StringArrayVar(&r.Endpoints, "endpoint", nil, "server to ask: URL with http, https, unix, grpc or grpcs; dns:///host:port is gRPC with all addresses of a name, as dns+http://host:port is for others (repeatable)")
	f.StringVar(&r.Model, "remote-model", "", "name of the model at the servers, or of several files role=name,… (default: that of the catalogue, and NAME-role)")
	f.StringVar(&r.Version, "remote-version", "", "version of the model at the servers")
	f.IntVar(&r.Concurrency, "concurrency", 0, "requests to servers under way at most; 0: 64, and 1 in SingleStream; servers of text: 256 in Offline, else no limit")
	cli.DurationVar(f, &r.Timeout, "request-timeout", 0, "how long a request to a server may take; 0: 2 minutes, of servers of text 10")
	f.IntVar(&r.Retry, "retry", 0, "how often a request to a server is sent once more, which the result says")
	f.StringVar(&r.TokenFile, "token-file", "", "file with the bearer token that servers want (servers of text: else MLPERF_API_KEY or OPENAI_API_KEY of the environment)")
	f.StringVar(&r.CA, "tls-ca", "", "PEM file of the authority that servers' certificates are from (default: those of the system)")
	f.StringVar(&r.Cert, "tls-cert", "", "PEM file of the certificate to show to servers")
	f.StringVar(&r.Key, "tls-key", "", "PEM file of its key")
}

// DefineLibrary defines the flag that chooses the library of ONNX Runtime.
func DefineLibrary(f *pflag.FlagSet, e *run.Engine) {
	f.StringVar(&e.Library, "ort-lib", "", "ONNX Runtime library to use (default: the installed one)")
}

// The ways to run the operators of a graph.
const (
	Sequential = "sequential"
	Parallel   = "parallel"
)

// DefineBackend defines the flags that say how the engine runs the model, and how its queries are issued.
func (q *Flags) DefineBackend(f *pflag.FlagSet) {
	o := &q.Backend
	f.StringVar(&o.Device, "device", "cpu", "execution provider: cpu, cuda, tensorrt, …; several, separated by commas, in order of preference")
	f.Var(&q.providerOptions, "provider-option", "option of the device in its own words, as key=value (repeatable)")
	f.BoolVar(&o.DeviceMemory, "device-memory", false, "inputs and outputs have buffers in the device's memory, whose addresses stay; CUDA graphs get them anyway")
	f.BoolVar(&o.AllowFallback, "allow-fallback", false, "go on if the device cannot be used")
	f.IntVar(&o.InterThreads, "inter-threads", 0, "operators at once, with --execution parallel")
	f.StringVar(&q.execution, "execution", Sequential, "order of independent operators: sequential or parallel")
	f.IntVar(&q.Engine.SharedThreads, "shared-threads", 0, "threads that all sessions compute with, instead of threads of their own (0: their own)")
	f.BoolVar(&q.spinning, "spinning", true, "threads that wait for work spin; false: they sleep, which is slower alone and faster beside others")
	f.BoolVar(&q.arena, "arena", true, "keep freed memory for the next run")
	f.BoolVar(&q.memoryPattern, "memory-pattern", true, "plan memory from earlier runs of the same shape")
	f.StringVar(&o.OptimizeLevel, "graph-optimization", "all", "how far the graph is optimised: none, basic, extended or all")
	f.StringVar(&o.EngineCacheDir, "engine-cache", "", "folder that keeps what devices compile (default: in the cache folder, one for each model and its options)")
	f.Var(&q.ortConfig, "ort-config", "entry of the session's configuration, as key=value (repeatable)")
	f.Var(&q.freeDimensions, "free-dimension", "extent of a free axis of the model by its name, as NAME=N (repeatable)")
	f.StringArrayVar(&o.CustomOps, "custom-ops", nil, "library of operators that ONNX Runtime lacks (repeatable)")
	f.IntVar(&o.LogSeverity, "ort-log", 0, "least severe message of ONNX Runtime to print: 1 info to 4 fatal, -1 everything")
	q.pace.Define(f)
}
