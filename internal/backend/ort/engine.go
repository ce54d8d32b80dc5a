//go:build cgo

package ort

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	onnx "github.com/yalue/onnxruntime_go"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// An Engine opens models with one ONNX Runtime library.
type Engine struct {
	library Library
	native  native
	pool    *Pool // threads that its sessions share; nil: each has its own
	turn    turn  // for devices that do one thing at a time

	mu       sync.Mutex
	busy     int // calls under way
	sessions map[*session]struct{}
	closed   bool
}

// New opens a library that Search.Find returned. Its sessions share a pool of threads; nil: each has
// threads of its own. A process has one pool: it is an error if an engine without one, or with
// another, is open.
func New(library Library, pool *Pool) (*Engine, error) {
	e := &Engine{library: library, pool: pool, turn: newTurn(), sessions: map[*session]struct{}{}}
	version, n, err := environment.acquire(e, library.Path, pool)
	if err != nil {
		return nil, err
	}
	e.library.Version, e.native = version, n
	return e, nil
}

// Name returns onnxruntime.
func (e *Engine) Name() string { return "onnxruntime" }

// Library returns the file that was opened, and its version as the library itself tells it.
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

// Ports reads the head of the model file. Only what a file does not tell, a shape or a type, is asked
// of ONNX Runtime, which loads the model for that.
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
	in, out, err := fixed(head.inputs, head.outputs, options.FreeDimensions)
	if err != nil {
		return nil, nil, &modelError{options.ModelPath, err.Error()}
	}
	return plainPorts(in), plainPorts(out), nil
}

// Open loads a model. The error names the model file; it is a *modelError if the file cannot be
// run, and a *DeviceError if a device cannot be used.
func (e *Engine) Open(ctx context.Context, options backend.Options) (backend.Session, error) {
	if err := e.enter(); err != nil {
		return nil, fmt.Errorf("opening model %s: %w", options.ModelPath, err)
	}
	defer e.leave()
	s, err := e.open(ctx, options)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sessions[s] = struct{}{}
	return s, nil
}

func (e *Engine) forget(s *session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sessions, s)
}

// opening looks at the options and the model file, and loads nothing yet.
func (e *Engine) opening(options backend.Options) (*opening, error) {
	p, err := planOf(options)
	if err != nil {
		return nil, fmt.Errorf("opening model %s: %w", options.ModelPath, err)
	}
	head, err := e.head(options.ModelPath)
	if err != nil {
		return nil, err
	}
	in, out, err := head.choose(options.Outputs)
	if err != nil {
		return nil, &modelError{options.ModelPath, err.Error()}
	}
	if in, out, err = fixed(in, out, options.FreeDimensions); err != nil {
		return nil, &modelError{options.ModelPath, err.Error()}
	}
	return &opening{engine: e, plan: p, head: head, inputs: in, outputs: out}, nil
}

func (e *Engine) open(ctx context.Context, options backend.Options) (*session, error) {
	start := time.Now()
	o, err := e.opening(options)
	if err != nil {
		return nil, err
	}
	turn := o.turn()
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
	s := o.session(inner, counts, time.Since(start))
	if s.memory, err = o.memory(s.pointer); err != nil {
		return nil, errors.Join(fmt.Errorf("opening model %s: %w", options.ModelPath, err), inner.Destroy())
	}
	return s, nil
}

// session wraps what was loaded.
func (o *opening) session(inner *onnx.DynamicAdvancedSession, counts map[string]int, took time.Duration) *session {
	facts := o.plan.facts()
	facts["model_opset"] = o.head.opset
	facts["model_producer"] = o.head.producer
	if pool := o.engine.pool; pool != nil {
		facts["intra_threads"], facts["shared_threads"] = "shared", strconv.Itoa(pool.IntraThreads)
	}
	maps.Copy(facts, o.facts)
	s := &session{
		engine: o.engine, path: o.plan.options.ModelPath, inner: inner, pointer: sessionPointer(inner), inputs: o.inputs, outputs: o.outputs,
		bindable: o.onlyCPU(), turn: o.turn(), runConfig: o.plan.runConfig,
		values:   map[*value]struct{}{},
		bindings: map[*binding]struct{}{}, kept: map[*keptMemory]struct{}{},
		info: backend.Info{
			Inputs: plainPorts(o.inputs), Outputs: plainPorts(o.outputs),
			Engine: "onnxruntime " + o.engine.library.Version, Library: o.engine.library.Path,
			Devices: deviceUse(o.plan.requests, counts), Warnings: o.warnings(), Facts: facts, LoadTime: took,
		},
	}
	if !s.bindable {
		s.guarded.Store(guardedRuns)
	}
	return s
}

func plainPorts(ports []modelPort) []backend.Port {
	plain := make([]backend.Port, len(ports))
	for i, p := range ports {
		plain[i] = p.Port
	}
	return plain
}
