//go:build cgo

package ort

import (
	"context"
	"errors"
	"fmt"
	"slices"

	onnx "github.com/yalue/onnxruntime_go"
)

// An opening is a model on its way to become a session.
type opening struct {
	engine          *Engine
	plan            plan
	head            modelHead
	inputs, outputs []modelPort

	softened []string          // warnings that would be errors without AllowFallback
	facts    map[string]string // found out on the way
}

func (o *opening) warnings() []string { return slices.Concat(o.plan.warnings, o.softened) }

// warn adds a warning, once however often the model is loaded.
func (o *opening) warn(text string) {
	if !slices.Contains(o.softened, text) {
		o.softened = append(o.softened, text)
	}
}

func (o *opening) onlyCPU() bool {
	return !slices.ContainsFunc(o.plan.requests, func(r request) bool { return r.call != callNone })
}

// turn is what the model's runs have to take; nil if its devices do several things at once.
func (o *opening) turn() turn {
	if slices.ContainsFunc(o.plan.requests, func(r request) bool { return r.alone }) {
		return o.engine.turn
	}
	return nil
}

// load makes a session of ONNX Runtime. With a profile prefix it writes a profile when it is
// destroyed.
func (o *opening) load(ctx context.Context, profile string) (*onnx.DynamicAdvancedSession, error) {
	for {
		inner, failed, err := o.attempt(ctx, profile)
		if err == nil {
			return inner, nil
		}
		var broken *brokenCopyError
		if errors.As(err, &broken) {
			o.warn(err.Error())
			if err := broken.remove(); err != nil {
				return nil, err
			}
			continue // without it
		}
		if failed == nil || !o.plan.options.AllowFallback {
			return nil, err
		}
		o.drop(failed, err)
	}
}

// drop goes on without a device.
func (o *opening) drop(d *device, err error) {
	o.warn("running without what was asked for: " + err.Error())
	o.plan.requests = slices.DeleteFunc(o.plan.requests, func(r request) bool { return r.device == d })
	if len(o.plan.requests) == 0 {
		o.plan.requests = []request{{device: &devices[0]}}
	}
}

// attempt loads the model with the devices as they are now. failed is the device that
// cannot be used, if that is why it failed.
func (o *opening) attempt(ctx context.Context, profile string) (inner *onnx.DynamicAdvancedSession, failed *device, err error) {
	options, err := onnx.NewSessionOptions()
	if err != nil {
		return nil, nil, err
	}
	defer options.Destroy()
	saved := optimized{}
	if profile == "" {
		if saved, err = o.plan.optimized(ctx, o.engine.library.Version); err != nil {
			return nil, nil, err
		}
	}
	path, level := o.source(saved)
	if err := o.apply(options, level, profile); err != nil {
		return nil, nil, fmt.Errorf("opening model %s: %w", path, err)
	}
	keepSignals(func() {
		if failed, err = o.addDevices(ctx, options); err == nil {
			inner, failed, err = o.loadFrom(ctx, options, saved)
		}
	})
	if err != nil {
		saved.discard()
		return nil, failed, err
	}
	if err := saved.commit(); err != nil {
		o.warn(err.Error())
	}
	return inner, nil, nil
}

// source is the file to load, and how far it is still to be optimised.
func (o *opening) source(saved optimized) (string, level) {
	if saved.ready {
		return saved.path, levels[0]
	}
	return o.plan.options.ModelPath, o.plan.level
}

// loadFrom loads the model, or what was saved of it before.
func (o *opening) loadFrom(ctx context.Context, options *onnx.SessionOptions, saved optimized) (inner *onnx.DynamicAdvancedSession, failed *device, err error) {
	if saved.temporary != "" {
		err = options.SetOptimizedModelFilePath(saved.temporary)
	}
	if err == nil {
		path, _ := o.source(saved)
		inner, err = o.create(ctx, path, options)
	}
	switch {
	case err == nil:
		return inner, nil, nil
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	}
	failed, err = o.loadError(err)
	if saved.ready && failed == nil {
		err = &brokenCopyError{saved, err}
	}
	return nil, failed, err
}

// create makes a session of ONNX Runtime. It gives up when the context is done.
func (o *opening) create(ctx context.Context, path string, options *onnx.SessionOptions) (*onnx.DynamicAdvancedSession, error) {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		o.engine.native.setNumber(fnSetLoadCancellation, optionsPointer(options), 1)
	})
	inner, err := onnx.NewDynamicAdvancedSession(path, portNamesOf(o.inputs), portNamesOf(o.outputs), options)
	if !stop() {
		<-ended // it uses the options
	}
	return inner, err
}

func portNamesOf(ports []modelPort) []string {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = p.Name
	}
	return names
}

// loadError tells a failure of the model from one of a device: CUDA's and the drivers' come up only
// when the session is made.
func (o *opening) loadError(err error) (*device, error) {
	text := err.Error()
	if d := blamed(o.plan.requests, text); d != nil {
		return d, deviceError(d, o.engine.library.Path, err)
	}
	return nil, &modelError{o.plan.options.ModelPath, withOpset(readable(text), o.head)}
}
