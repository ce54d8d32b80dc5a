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
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Config says what to simulate. Its zero value is a model that answers at once, with the ports of
// the ONNX file that is opened.
type Config struct {
	// Inputs and Outputs are the ports of every model; nil: those of the ONNX file that is
	// opened, without one "input" float32[? 1] and "output" int64[?].
	Inputs, Outputs []backend.Port

	Latency   time.Duration // of a run of one sample
	PerSample time.Duration // what each further sample of a batch adds; 0: batching is free
	Jitter    time.Duration // standard deviation of the noise on a run's time
	Parallel  int           // runs that are served at once, others wait; 0: any number

	// SlowEvery makes each n-th run take SlowTime longer; 0: none. The same for the following.
	SlowEvery int
	SlowTime  time.Duration
	FailEvery int // the run returns ErrInjected, after its time
	NaNEvery  int // the run's floating point outputs are NaN

	OpenTime  time.Duration // what opening takes
	OpenError error         // what opening ends with, after its time; nil: success

	Seed uint64 // of the noise

	// Answer computes outputs from inputs; nil: Echo. It must be usable from several goroutines.
	Answer func(inputs, outputs []tensor.Tensor) error
}

// ErrInjected is what a run returns that was asked to fail.
var ErrInjected = errors.New("simulated failure")

// An Engine simulates. It may be used from several goroutines at once.
type Engine struct {
	config Config
	places chan struct{} // taken by a run while it is served; nil: any number
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
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"Latency", c.Latency}, {"PerSample", c.PerSample}, {"Jitter", c.Jitter},
		{"SlowTime", c.SlowTime}, {"OpenTime", c.OpenTime},
	} {
		if d.d < 0 {
			return fmt.Errorf("%s is %v, must not be negative", d.name, d.d)
		}
	}
	for _, n := range []struct {
		name string
		n    int
	}{{"Parallel", c.Parallel}, {"SlowEvery", c.SlowEvery}, {"FailEvery", c.FailEvery}, {"NaNEvery", c.NaNEvery}} {
		if n.n < 0 {
			return fmt.Errorf("%s is %d, must not be negative", n.name, n.n)
		}
	}
	return c.checkPorts()
}

func (c Config) checkPorts() error {
	for _, p := range slices.Concat(c.Inputs, c.Outputs) {
		if p.Type == tensor.Invalid || p.Name == "" {
			return fmt.Errorf("port %q of type %v: a port needs a name and a type", p.Name, p.Type)
		}
	}
	return nil
}

// Name returns simulated.
func (e *Engine) Name() string { return "simulated" }

// Runs returns how many runs were begun, in all sessions.
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

// Open waits for OpenTime and returns a session. Of the options it heeds ModelPath, for the ports, and
// Outputs; a device other than cpu is an error.
func (e *Engine) Open(ctx context.Context, options backend.Options) (backend.Session, error) {
	start := time.Now()
	if options.Device != "" && options.Device != "cpu" {
		return nil, fmt.Errorf("device %s: a simulated engine has only cpu", options.Device)
	}
	inputs, outputs, err := e.Ports(ctx, options)
	if err == nil {
		outputs, err = choose(outputs, options.Outputs)
	}
	if err != nil {
		return nil, fmt.Errorf("opening a simulated model: %w", err)
	}
	if err := sleep(ctx, e.config.OpenTime); err != nil {
		return nil, err
	}
	if err := e.begin(); err != nil {
		return nil, fmt.Errorf("opening a simulated model: %w", err)
	}
	return &session{engine: e, info: backend.Info{
		Inputs: inputs, Outputs: outputs, Engine: "simulated", LoadTime: time.Since(start),
		Devices: []backend.DeviceUse{{Device: "cpu", Nodes: 1}}, Facts: e.config.facts(),
	}}, nil
}

// begin counts a session, unless none can be opened.
func (e *Engine) begin() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.config.OpenError != nil:
		return e.config.OpenError
	case e.closed:
		return errors.New("the engine is closed")
	}
	e.sessions++
	return nil
}

func choose(outputs []backend.Port, names []string) ([]backend.Port, error) {
	if len(names) == 0 {
		return outputs, nil
	}
	var ports []backend.Port
	for _, name := range names {
		i := slices.IndexFunc(outputs, func(p backend.Port) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no output %q", name)
		}
		ports = append(ports, outputs[i])
	}
	return ports, nil
}

func (c Config) facts() map[string]string {
	return map[string]string{
		"sim_latency": c.Latency.String(), "sim_per_sample": c.PerSample.String(), "sim_jitter": c.Jitter.String(),
		"sim_parallel": fmt.Sprint(c.Parallel), "sim_seed": fmt.Sprint(c.Seed),
	}
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

// sleep waits, or ends with the context's error.
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

// duration is what the k-th run (from 1) of a batch takes, never less than nothing.
func (c Config) duration(k int64, batch int) time.Duration {
	d := c.Latency + time.Duration(max(batch-1, 0))*c.PerSample
	if c.Jitter > 0 {
		noise := rand.New(rand.NewPCG(c.Seed, uint64(k))).NormFloat64()
		d += time.Duration(math.Round(noise * float64(c.Jitter)))
	}
	if every(k, c.SlowEvery) {
		d += c.SlowTime
	}
	return max(d, 0)
}

func every(k int64, n int) bool { return n > 0 && k%int64(n) == 0 }
