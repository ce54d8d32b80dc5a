package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
)

// engineOptions choose an engine.
type engineOptions struct {
	name    string
	library string
	latency time.Duration // of the simulated engine
	jitter  time.Duration
}

func (o *engineOptions) define(f *pflag.FlagSet) {
	f.StringVar(&o.name, "backend", "onnxruntime", "engine: onnxruntime or simulated")
	f.StringVar(&o.library, "ort-lib", "", "ONNX Runtime library to use (default: the installed one)")
	durationVar(f, &o.latency, "sim-latency", 5*time.Millisecond, "time that the simulated engine takes for a sample")
	durationVar(f, &o.jitter, "sim-jitter", 0, "how much that varies")
}

// engines are the constructors by name.
func (o *engineOptions) engines() map[string]func() (backend.Engine, error) {
	return map[string]func() (backend.Engine, error){
		"onnxruntime": o.openORT,
		"simulated": func() (backend.Engine, error) {
			return simulated.New(simulated.Config{Latency: o.latency, Jitter: o.jitter}), nil
		},
	}
}

func (o *engineOptions) open() (backend.Engine, error) {
	open, ok := o.engines()[strings.ToLower(o.name)]
	if !ok {
		return nil, usage("unknown backend %q, want onnxruntime or simulated", o.name)
	}
	return open()
}

func (o *engineOptions) openORT() (backend.Engine, error) {
	library, _, err := ort.Search{Explicit: o.library}.Find()
	if err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	engine, err := ort.New(library)
	if err != nil {
		return nil, err
	}
	return engine, nil
}
