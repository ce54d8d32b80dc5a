package simulated

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Config says what to simulate. Its zero value is a model that answers at once, with the ports of the ONNX file
// that is opened.
type Config struct {
	// Inputs and Outputs are the ports of every model; nil: those of the ONNX file that is
	// opened, without one "input" float32[? 1] and "output" int64[?].
	Inputs, Outputs []backend.Port

	Latency   time.Duration // of a run of one sample
	PerSample time.Duration // what each further sample of a batch adds; 0: batching is free
	Jitter    time.Duration // standard deviation of the noise on a run's time
	Parallel  int           // runs at once, others wait; 0: any number

	// Every n-th run takes SlowTime longer, fails with ErrInjected after its time, or has NaN in its floating point
	// outputs; 0: none.
	SlowEvery, FailEvery, NaNEvery int
	SlowTime                       time.Duration

	OpenTime  time.Duration // of Open
	OpenError error         // of Open, after its time; nil: success

	Seed uint64 // of the noise

	// Answer computes outputs from inputs; nil: Echo. It must be usable from several goroutines.
	Answer func(inputs, outputs []tensor.Tensor) error
}

// ErrInjected is the error of the runs that FailEvery selects.
var ErrInjected = errors.New("simulated failure")

// An Engine simulates. It may be used from several goroutines at once.
type Engine struct {
	config Config
	places chan struct{} // one for each run at once; nil: any number
	runs   atomic.Int64

	mu       sync.Mutex
	sessions int
	closed   bool
}

// New checks a configuration and returns an engine that follows it.
func New(config Config) (*Engine, error) {
	if err := config.check(); err != nil {
		return nil, fmt.Errorf("simulated engine: %w", err)
	}
	if config.Answer == nil {
		config.Answer = Echo
	}
	e := &Engine{config: config}
	if config.Parallel > 0 {
		e.places = make(chan struct{}, config.Parallel)
	}
	return e, nil
}

func (c Config) check() error {
	for name, d := range map[string]time.Duration{"Latency": c.Latency, "PerSample": c.PerSample, "Jitter": c.Jitter, "SlowTime": c.SlowTime,
		"OpenTime": c.OpenTime} {
		if d < 0 {
			return fmt.Errorf("%s is %v, must not be negative", name, d)
		}
	}
	for name, n := range map[string]int{"Parallel": c.Parallel, "SlowEvery": c.SlowEvery, "FailEvery": c.FailEvery, "NaNEvery": c.NaNEvery} {
		if n < 0 {
			return fmt.Errorf("%s is %d, must not be negative", name, n)
		}
	}
	for _, p := range slices.Concat(c.Inputs, c.Outputs) {
		if p.Type == tensor.Invalid || p.Name == "" {
			return fmt.Errorf("port %q of type %v: a port needs a name and a type", p.Name, p.Type)
		}
	}
	return nil
}

// Name returns simulated.
func (e *Engine) Name() string { return "simulated" }

// Runs is the number of runs that were begun, in all sessions.
func (e *Engine) Runs() int64 { return e.runs.Load() }

// Ports returns the configured ports, or those of the ONNX file.
func (e *Engine) Ports(ctx context.Context, options backend.Options) (inputs, outputs []backend.Port, err error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	inputs, outputs = e.config.Inputs, e.config.Outputs
	if inputs == nil && outputs == nil && options.ModelPath != "" {
		return backend.ReadPorts(options.ModelPath)
	}
	if inputs == nil {
		inputs = []backend.Port{{Name: "input", Type: tensor.Float32, Shape: tensor.Shape{-1, 1}}}
	}
	if outputs == nil {
		outputs = []backend.Port{{Name: "output", Type: tensor.Int64, Shape: tensor.Shape{-1}}}
	}
	return inputs, outputs, nil
}

// Open waits for OpenTime and returns a session. Of the options it uses ModelPath, for the ports, and Outputs; a device other
// than cpu is an error.
func (e *Engine) Open(ctx context.Context, options backend.Options) (backend.Session, error) {
	start := clock.Now()
	if options.Device != "" && options.Device != "cpu" {
		return nil, fmt.Errorf("device %s: a simulated engine has only cpu", options.Device)
	}
	inputs, outputs, err := e.Ports(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("opening a simulated model: %w", err)
	}
	if len(options.Outputs) > 0 {
		all := outputs
		outputs = nil
		for _, name := range options.Outputs {
			i := slices.IndexFunc(all, func(p backend.Port) bool { return p.Name == name })
			if i < 0 {
				return nil, fmt.Errorf("opening a simulated model: no output %q", name)
			}
			outputs = append(outputs, all[i])
		}
	}
	if err := sleep(ctx, e.config.OpenTime); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.config.OpenError != nil:
		return nil, fmt.Errorf("opening a simulated model: %w", e.config.OpenError)
	case e.closed:
		return nil, errors.New("opening a simulated model: the engine is closed")
	}
	e.sessions++
	c := e.config
	return &session{engine: e, info: backend.Info{
		Inputs: inputs, Outputs: outputs, Engine: "simulated", Simulated: true, LoadTime: clock.Since(start),
		Devices: []backend.DeviceUse{{Device: "cpu", Nodes: 1}},
		Facts: map[string]string{
			"sim_latency": c.Latency.String(), "sim_per_sample": c.PerSample.String(), "sim_jitter": c.Jitter.String(),
			"sim_parallel": fmt.Sprint(c.Parallel), "sim_seed": fmt.Sprint(c.Seed),
		},
	}}, nil
}

// Close fails if sessions are open.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sessions > 0 {
		return fmt.Errorf("closing the simulated engine: %d sessions are still open", e.sessions)
	}
	e.closed = true
	return nil
}

// sleep waits, or returns the cause of the end of the context.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// duration is the time of the k-th run (from 1), with so many samples.
func (c Config) duration(k int64, batch int) time.Duration {
	d := c.Latency + time.Duration(max(batch-1, 0))*c.PerSample
	if c.Jitter > 0 {
		noise := rand.New(rand.NewPCG(c.Seed, uint64(k))).NormFloat64()
		d += time.Duration(math.Round(noise * float64(c.Jitter)))
	}
	if every(k, c.SlowEvery) {
		d += c.SlowTime
	}
	return d // sleep takes what is negative for nothing
}

func every(k int64, n int) bool { return n > 0 && k%int64(n) == 0 }
