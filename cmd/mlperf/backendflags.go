package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/home"
)

// backendFlags say where and how the model is run.
type backendFlags struct {
	options backend.Options

	providerOptions, config []string // key=value
	execution               string
	spinning, arena         bool
	memoryPattern           bool
}

// The ways to run the operators of a graph.
const (
	sequential = "sequential"
	parallel   = "parallel"
)

func (b *backendFlags) define(f *pflag.FlagSet) {
	o := &b.options
	f.StringVar(&o.Device, "device", "cpu", "execution provider: cpu, cuda, tensorrt, …; several, separated by commas, in order of preference")
	f.StringArrayVar(&b.providerOptions, "provider-option", nil, "option of the device in its own words, as key=value (repeatable)")
	f.BoolVar(&o.AllowFallback, "allow-fallback", false, "go on if the device cannot be used")
	f.IntVar(&o.IntraThreads, "intra-threads", 0, "threads inside an operator; 0: chosen for the scenario")
	f.IntVar(&o.InterThreads, "inter-threads", 0, "operators at once, with --execution parallel")
	f.StringVar(&b.execution, "execution", sequential, "order of independent operators: sequential or parallel")
	f.BoolVar(&b.spinning, "spinning", true, "threads that wait for work spin; false: they sleep, which is slower alone and faster beside others")
	f.BoolVar(&b.arena, "arena", true, "keep freed memory for the next run")
	f.BoolVar(&b.memoryPattern, "memory-pattern", true, "plan memory from earlier runs of the same shape")
	f.StringVar(&o.Affinity, "thread-affinity", "", "processors of the threads, in ONNX Runtime's notation, e.g. 1;2")
	f.StringVar(&o.OptimizeLevel, "graph-optimization", "all", "how far the graph is optimised: none, basic, extended or all")
	f.StringVar(&o.OptimizedModel, "optimized-model", "", "file that keeps the optimised graph for later runs")
	f.StringVar(&o.EngineCacheDir, "engine-cache", "", "folder that keeps what devices compile (default: in the cache folder)")
	f.StringArrayVar(&b.config, "ort-config", nil, "entry of the session's configuration, as key=value (repeatable)")
	f.IntVar(&o.LogSeverity, "ort-log", 0, "least severe message of ONNX Runtime to print: 1 info to 4 fatal, -1 everything")
}

// parse checks the flags and returns what they mean.
func (b *backendFlags) parse() (backend.Options, error) {
	o := b.options
	var err error
	if o.DeviceOptions, err = keyValues("provider-option", b.providerOptions); err != nil {
		return o, err
	}
	if o.Config, err = keyValues("ort-config", b.config); err != nil {
		return o, err
	}
	if b.execution != sequential && b.execution != parallel {
		return o, usage("--execution is %q, want %s or %s", b.execution, sequential, parallel)
	}
	o.Parallel, o.NoSpinning, o.NoArena, o.NoMemoryPattern = b.execution == parallel, !b.spinning, !b.arena, !b.memoryPattern
	if o.EngineCacheDir == "" {
		cache, err := home.CacheDir()
		if err != nil {
			return o, err
		}
		o.EngineCacheDir = filepath.Join(cache, "engines")
	}
	return o, nil
}

// keyValues reads the values of a repeatable flag.
func keyValues(flag string, list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	values := map[string]string{}
	for _, text := range list {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, usage("--%s %s: want key=value", flag, text)
		}
		if _, twice := values[key]; twice {
			return nil, usage("--%s %s: %s was given before", flag, text, key)
		}
		values[key] = value
	}
	return values, nil
}
