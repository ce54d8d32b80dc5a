//go:build cgo

package ort

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	onnx "github.com/yalue/onnxruntime_go"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	format "github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// An Engine opens models with one ONNX Runtime library.
type Engine struct {
	library Library
	native  native
	pool    *Pool // threads that its sessions share; nil: each has its own
	turn    turn  // of devices that run one session at a time

	mu       sync.Mutex
	busy     int // calls under way
	sessions map[*session]struct{}
	closed   bool
}

// New opens a library that Search.Find returned. The engine's sessions share a pool of threads; nil: each has its own threads. A
// process has one pool: New fails if an engine without one, or with another one, is open.
func New(library Library, pool *Pool) (*Engine, error) {
	e := &Engine{library: library, pool: pool, turn: make(turn, 1), sessions: map[*session]struct{}{}}
	version, n, err := environment.acquire(e, library.Path, pool)
	if err != nil {
		return nil, err
	}
	e.library.Version, e.native = version, n
	return e, nil
}

// Name returns onnxruntime.
func (e *Engine) Name() string { return "onnxruntime" }

// Library returns the file that was opened, with the version that it reports.
func (e *Engine) Library() Library { return e.library }

// Close gives the library back. It fails if sessions are open.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return nil
	case e.busy+len(e.sessions) > 0:
		return fmt.Errorf("closing ONNX Runtime: %d sessions are still open", e.busy+len(e.sessions))
	}
	e.closed = true
	return environment.release(e)
}

// enter keeps the engine from being closed until leave.
func (e *Engine) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errors.New("the engine is closed")
	}
	e.busy++
	return nil
}

func (e *Engine) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.busy--
}

// Ports describes the inputs and outputs of a model from the head of its file. ONNX Runtime loads the model only for a shape or
// a type that the file lacks.
func (e *Engine) Ports(ctx context.Context, options backend.Options) (inputs, outputs []backend.Port, err error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if err := e.enter(); err != nil {
		return nil, nil, fmt.Errorf("reading model %s: %w", options.ModelPath, err)
	}
	defer e.leave()
	head, err := e.head(options.ModelPath)
	if err != nil {
		return nil, nil, err
	}
	in, out, err := withExtents(head.inputs, head.outputs, options.FreeDimensions)
	if err != nil {
		return nil, nil, &modelError{options.ModelPath, err.Error()}
	}
	return in, out, nil
}

// Open loads a model. The error names the model file; it is a *modelError if the file cannot be run, and a *deviceError if a
// device cannot be used.
func (e *Engine) Open(ctx context.Context, options backend.Options) (backend.Session, error) {
	start := clock.Now()
	if err := e.enter(); err != nil {
		return nil, fmt.Errorf("opening model %s: %w", options.ModelPath, err)
	}
	defer e.leave()
	p, err := planOf(options)
	if err != nil {
		return nil, fmt.Errorf("opening model %s: %w", options.ModelPath, err)
	}
	p.forProcessor(machine.FastInt8())
	head, err := e.head(options.ModelPath)
	if err != nil {
		return nil, err
	}
	in, out, err := head.choose(options.Outputs)
	if err == nil {
		in, out, err = withExtents(in, out, options.FreeDimensions)
	}
	if err != nil {
		return nil, &modelError{options.ModelPath, err.Error()}
	}
	o := &opening{engine: e, plan: p, head: head, inputs: in, outputs: out}
	var turn turn // nil: the model's devices run several sessions at once
	if oneAtATime(options.Device) {
		turn = e.turn
	}
	if err := turn.take(ctx); err != nil {
		return nil, err
	}
	defer turn.leave()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	counts, err := o.count(ctx)
	if err != nil {
		return nil, err
	}
	inner, err := o.load(ctx, "")
	if err != nil {
		return nil, err
	}
	pointer := sessionPointer(inner)
	memory, err := o.memory(pointer)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening model %s: %w", options.ModelPath, err), inner.Destroy())
	}
	facts := o.plan.facts()
	facts["model_opset"], facts["model_producer"] = head.opset, head.producer
	if e.pool != nil {
		facts["intra_threads"], facts["shared_threads"] = "shared", strconv.Itoa(e.pool.IntraThreads)
	}
	maps.Copy(facts, o.facts)
	if first := o.plan.requests[0]; first.call != callNone && counts.of("cpu") > 0 {
		facts["operators on cpu"] = counts.operators("cpu")
	}
	s := &session{
		engine: e, path: options.ModelPath, inner: inner, pointer: pointer, inputs: in, outputs: out, memory: memory,
		inputNames: namesOf(in), outputNames: namesOf(out),
		bindable: !slices.ContainsFunc(o.plan.requests, func(r request) bool { return r.call != callNone }), turn: turn, runConfig: o.plan.runConfig,
		values: map[*value]struct{}{}, bindings: map[*binding]struct{}{}, kept: map[*keptMemory]struct{}{},
		info: backend.Info{
			Inputs: in, Outputs: out, Engine: "onnxruntime " + e.library.Version, Library: e.library.Path,
			Devices: deviceUse(o.plan.requests, counts), Warnings: slices.Concat(o.plan.warnings, o.warnings), Facts: facts, LoadTime: clock.Since(start),
		},
	}
	if !s.bindable {
		s.guarded.Store(guardedRuns)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sessions[s] = struct{}{}
	return s, nil
}

// Providers says of each device whether the library has it and whether it works now. The binding cannot list them, and a list
// would not say which work, so Providers tries each: it adds it to a session, which then loads a model of one node. If that
// succeeds, the device computes a small model, and its answer has to be the processor's. It does not try a device that is known to
// hang or to end the process.
func (e *Engine) Providers(ctx context.Context) ([]Provider, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.leave()
	folder, err := os.MkdirTemp("", "mlperf-devices-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for a small model: %w", err)
	}
	defer os.RemoveAll(folder)
	model := filepath.Join(folder, "small.onnx")
	if err := fileio.WriteFile(model, smallModel(), 0o644); err != nil {
		return nil, err
	}
	var right []float32 // the processor's answer
	var all []Provider
	for i := range devices {
		if err := ctx.Err(); err != nil {
			return all, err
		}
		d := &devices[i]
		p := Provider{Device: d.name, Provider: d.provider}
		if file := d.libraryFile(e.library.Path); file != "" {
			_, err := os.Stat(file)
			p.Compiled = err == nil
		}
		if err := d.checkVersion(e.library.Version); d.call == callNone {
			if right, _, err = e.compute(ctx, d, model); err != nil {
				return all, err
			}
			p.Compiled, p.Usable = true, true
		} else if err != nil {
			p.Reason, p.Remedy = "not tried: "+err.Error(), anotherBuild(d)
		} else if d.loads != "" && !(Search{}).loaderHas(d.loads) {
			p.Reason, p.Remedy = "not tried: "+d.loads+" is missing", "it needs "+d.needs
		} else {
			keepSignals(func() { err = e.tryDevice(d, nil) })
			if err != nil {
				x := explain(d, e.library.Path, err)
				p.Reason, p.Remedy = x.reason, x.remedy
				p.Compiled = p.Compiled || !x.absent
			} else {
				p.Compiled = true
				e.check(ctx, d, model, right, &p)
			}
		}
		all = append(all, p)
	}
	return all, nil
}

// check compares a device's answer to the small model with the right one.
func (e *Engine) check(ctx context.Context, d *device, model string, right []float32, p *Provider) {
	// Devices may compute products in TF32 or bfloat16, whose mantissas have 10 and 7 bits.
	const tolerance = 0.02
	got, nodes, err := e.compute(ctx, d, model)
	if err != nil {
		p.Reason = "loads, but fails to run a small model: " + strings.TrimPrefix(err.Error(), "device "+d.name+": ")
		return
	}
	p.Nodes = nodes
	var difference float64
	for i, v := range got {
		// Not below: a difference that is not a number is one, too.
		if x := math.Abs(float64(v - right[i])); !(x <= difference) {
			difference = x
		}
	}
	if p.Usable = difference <= tolerance; !p.Usable {
		p.Reason = fmt.Sprintf("computes wrong answers: an output of a small model is %.3g away from the CPU's", difference)
		return
	}
	p.Difference = &difference
}

// compute runs the small model on a device. It returns the answer, and how many nodes each device ran.
func (e *Engine) compute(ctx context.Context, d *device, model string) (answer []float32, nodes map[string]int, err error) {
	s, err := e.Open(ctx, backend.Options{ModelPath: model, Device: d.name, IntraThreads: 1, CountDeviceNode: d.call != callNone})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	x, y := tensor.New(tensor.Float32, 1, 3, 8, 8), tensor.New(tensor.Float32, 1, 5)
	for i := range tensor.Data[float32](x) {
		tensor.Data[float32](x)[i] = float32(math.Sin(float64(i)))
	}
	in, err := s.Bind(x)
	if err != nil {
		return nil, nil, err
	}
	out, err := s.Bind(y)
	if err != nil {
		return nil, nil, err
	}
	nodes = map[string]int{}
	for _, use := range s.Info().Devices {
		nodes[use.Device] = use.Nodes
	}
	return tensor.Data[float32](y), nodes, s.Run(ctx, []backend.Value{in}, []backend.Value{out})
}

// smallModel returns a convolution, ReLU and a matrix product, which devices are for. Outputs are between -2 and 2.
func smallModel() []byte {
	weights := func(name string, dims ...int64) *format.Tensor {
		n := 1
		for _, d := range dims {
			n *= int(d)
		}
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(math.Sin(float64(7*i+1))) / 8
		}
		return format.TensorOf(name, data, dims...)
	}
	value := func(name string, dims ...int64) *format.Value {
		return &format.Value{Name: name, Type: format.Type{Elem: format.Float32, Shape: format.FixedShape(dims)}}
	}
	return encode(&format.Graph{
		Name: "small",
		Nodes: []*format.Node{
			{Op: "Conv", Inputs: []string{"x", "kernel"}, Outputs: []string{"c"}},
			{Op: "Relu", Inputs: []string{"c"}, Outputs: []string{"r"}},
			{Op: "Flatten", Inputs: []string{"r"}, Outputs: []string{"f"}},
			{Op: "MatMul", Inputs: []string{"f", "matrix"}, Outputs: []string{"y"}},
		},
		Inputs: []*format.Value{value("x", 1, 3, 8, 8)}, Outputs: []*format.Value{value("y", 1, 5)},
		Initializers: []*format.Tensor{weights("kernel", 4, 3, 3, 3), weights("matrix", 4*6*6, 5)},
	})
}

// Try finds devices, options and libraries of operators with which no model could be opened. It opens a model of one node, so that
// this is known before models and data are made.
func (e *Engine) Try(ctx context.Context, options backend.Options) error {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	options.ModelPath = "a model of one node"
	p, err := planOf(options)
	if err != nil {
		return err
	}
	for _, r := range p.requests {
		if r.call == callNone || r.implied || options.AllowFallback {
			continue
		}
		if err := r.checkVersion(e.library.Version); err != nil {
			return err
		}
		keepSignals(func() { err = e.tryDevice(r.device, r.options) })
		if err != nil {
			return explain(r.device, e.library.Path, err).error(r.device)
		}
	}
	return e.trySession(ctx, options)
}

// trySession opens a model of one node on the processor, with the options of sessions.
func (e *Engine) trySession(ctx context.Context, options backend.Options) error {
	folder, err := os.MkdirTemp("", "mlperf-options-")
	if err != nil {
		return fmt.Errorf("making a folder for a small model: %w", err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "identity.onnx")
	if err := fileio.WriteFile(path, identityModel(), 0o644); err != nil {
		return err
	}
	s, err := e.Open(ctx, backend.Options{ModelPath: path, Config: options.Config, CustomOps: options.CustomOps, Affinity: options.Affinity,
		IntraThreads: options.IntraThreads})
	if err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), path, "of one node"))
	}
	return s.Close()
}

// tryDevice makes a session on a device, of a model with one node.
func (e *Engine) tryDevice(d *device, keys map[string]string) error {
	options, err := onnx.NewSessionOptions()
	if err != nil {
		return err
	}
	defer options.Destroy()
	options.SetLogSeverityLevel(onnx.LoggingLevelFatal)
	if err := appendDevice(options, d, e.library.Path, keys); err != nil {
		return err
	}
	environment.keepForever()
	session, err := onnx.NewDynamicAdvancedSessionWithONNXData(identityModel(), []string{"x"}, []string{"y"}, options)
	if err != nil {
		return err
	}
	return session.Destroy()
}

// identityModel returns a model of one node, y = Identity(x) for one float.
func identityModel() []byte {
	one := format.Type{Elem: format.Float32, Shape: format.FixedShape([]int64{1})}
	return encode(&format.Graph{
		Name:   "identity",
		Nodes:  []*format.Node{{Op: "Identity", Inputs: []string{"x"}, Outputs: []string{"y"}}},
		Inputs: []*format.Value{{Name: "x", Type: one}}, Outputs: []*format.Value{{Name: "y", Type: one}},
	})
}

// encode returns a model of a graph. It fits the oldest ONNX Runtime that can be loaded.
func encode(g *format.Graph) []byte {
	model := format.Model{IRVersion: 7, Opsets: []format.Opset{{Version: 13}}, Graph: g}
	var file bytes.Buffer
	model.WriteTo(&file)
	return file.Bytes()
}
