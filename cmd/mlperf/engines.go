package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// engineOptions choose an engine.
type engineOptions struct {
	name    string
	library string
	latency time.Duration // of the simulated engine
	jitter  time.Duration
}

func (o *engineOptions) define(f *pflag.FlagSet) {
	f.StringVar(&o.name, "backend", onnxRuntime, "engine: onnxruntime, or simulated, which only takes its time")
	durationVar(f, &o.latency, "sim-latency", 5*time.Millisecond, "time that the simulated engine takes for a run")
	durationVar(f, &o.jitter, "sim-jitter", 0, "standard deviation of that time")
	o.defineLibrary(f)
}

func (o *engineOptions) defineLibrary(f *pflag.FlagSet) {
	f.StringVar(&o.library, "ort-lib", "", "ONNX Runtime library to use (default: the installed one)")
}

// The names of the engines.
const (
	onnxRuntime     = "onnxruntime"
	simulatedEngine = "simulated"
)

func (o *engineOptions) check() error {
	if o.name != onnxRuntime && o.name != simulatedEngine {
		return usage("unknown backend %q, want %s or %s", o.name, onnxRuntime, simulatedEngine)
	}
	return nil
}

// openORT opens ONNX Runtime.
func (o *engineOptions) openORT() (backend.Engine, error) {
	library, _, err := ort.Search{Explicit: o.library}.Find()
	var none *ort.NotFoundError
	if err != nil && !errors.As(err, &none) {
		return nil, fmt.Errorf("%w\n%s", err, ort.Remedy)
	}
	if err != nil {
		return nil, err // it says what to do
	}
	return ort.New(library)
}

// simulate returns an engine that takes its time and pretends to run model files.
func (o *engineOptions) simulate() (backend.Engine, error) {
	return simulated.New(simulated.Config{Latency: o.latency, Jitter: o.jitter, Answer: pretend})
}

// pretend answers with a class that follows from the image. Detectors, which have several
// outputs, and models with large outputs find nothing: any other answer would have to
// make sense.
func pretend(inputs, outputs []tensor.Tensor) error {
	const classes = 4096 // more than a classifier has
	if len(outputs) > 1 || len(outputs[0].Shape) > 0 && outputs[0].Len() > classes*int(outputs[0].Shape[0]) {
		return nil
	}
	return simulated.Echo(inputs, outputs)
}
