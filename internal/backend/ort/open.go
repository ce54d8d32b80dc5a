//go:build cgo

package ort

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	onnx "github.com/yalue/onnxruntime_go"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio"
	format "github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// An opening turns a model into a session.
type opening struct {
	engine          *Engine
	plan            plan
	head            modelHead
	inputs, outputs []backend.Port

	warnings []string          // beside those of the plan
	facts    map[string]string // beside those of the plan
}

// warn adds a warning, once if the model is loaded several times.
func (o *opening) warn(text string) {
	if !slices.Contains(o.warnings, text) {
		o.warnings = append(o.warnings, text)
	}
}

// load makes a session of ONNX Runtime. With a profile prefix the session writes a profile when it is destroyed.
func (o *opening) load(ctx context.Context, profile string) (*onnx.DynamicAdvancedSession, error) {
	for {
		inner, failed, err := o.attempt(ctx, profile)
		if err == nil {
			return inner, nil
		}
		var broken *brokenModelError
		if errors.As(err, &broken) {
			o.warn(err.Error())
			for _, path := range []string{broken.key, broken.path} { // the file fits its key: this program wrote it
				if err := fileio.RemoveIn(filepath.Dir(path), filepath.Base(path)); err != nil {
					return nil, err
				}
			}
			continue
		}
		if failed == nil || !o.plan.options.AllowFallback {
			return nil, err
		}
		o.drop(failed, err)
	}
}

// drop removes a device from the plan.
func (o *opening) drop(d *device, err error) {
	o.warn("running without what was asked for: " + err.Error())
	o.plan.requests = slices.DeleteFunc(o.plan.requests, func(r request) bool { return r.device == d })
	if len(o.plan.requests) == 0 {
		o.plan.requests = []request{{device: &devices[0]}}
	}
}

// attempt loads the model with the devices of the plan. If a device cannot be used, failed is that device.
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
	path, level := o.plan.options.ModelPath, o.plan.level
	if saved.ready {
		path, level = saved.path, levels[0]
	}
	if err := o.apply(options, level, profile); err != nil {
		return nil, nil, fmt.Errorf("opening model %s: %w", path, err)
	}
	keepSignals(func() {
		if failed, err = o.addDevices(ctx, options); err != nil {
			return
		}
		if saved.temporary != "" {
			err = options.SetOptimizedModelFilePath(saved.temporary)
		}
		if err == nil {
			inner, err = o.create(ctx, path, options)
		}
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
			return
		}
		// CUDA and the drivers fail only when the session is made.
		if failed = blamed(o.plan.requests, err.Error()); failed != nil {
			err = explain(failed, o.engine.library.Path, err).error(failed)
			return
		}
		err = &modelError{o.plan.options.ModelPath, withOpset(readable(err.Error()), o.head)}
		if saved.ready {
			err = &brokenModelError{saved, err}
		}
	})
	if err != nil {
		saved.discard()
		return nil, failed, err
	}
	trimHeap()
	if err := saved.commit(); err != nil {
		o.warn(err.Error())
	}
	return inner, nil, nil
}

// create makes a session of ONNX Runtime. It gives up when the context is done.
func (o *opening) create(ctx context.Context, path string, options *onnx.SessionOptions) (*onnx.DynamicAdvancedSession, error) {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		o.engine.native.setNumber(fnSetLoadCancellation, optionsPointer(options), 1)
	})
	names := func(ports []backend.Port) []string {
		var list []string
		for _, p := range ports {
			list = append(list, p.Name)
		}
		return list
	}
	inner, err := onnx.NewDynamicAdvancedSession(path, names(o.inputs), names(o.outputs), options)
	if !stop() {
		<-ended // it uses the options
	}
	return inner, err
}

// apply sets all options but devices.
func (o *opening) apply(options *onnx.SessionOptions, level level, profile string) error {
	n, given := o.engine.native, o.plan.options
	mode, inter := onnx.ExecutionMode(onnx.ExecutionModeSequential), given.InterThreads
	if given.Parallel {
		mode = onnx.ExecutionModeParallel
	} else if inter == 0 {
		inter = 1 // operator at once; 0: ONNX Runtime decides
	}
	errs := []error{
		options.SetLogSeverityLevel(onnx.LoggingLevel(o.plan.severity)),
		options.SetGraphOptimizationLevel(onnx.GraphOptimizationLevel(level.code)),
		options.SetExecutionMode(mode),
		options.SetIntraOpNumThreads(given.IntraThreads),
		options.SetInterOpNumThreads(inter),
		options.SetCpuMemArena(!given.NoArena),
		options.SetMemPattern(!given.NoMemoryPattern),
	}
	for key, value := range o.plan.config {
		if err := options.AddSessionConfigEntry(key, value); err != nil {
			errs = append(errs, fmt.Errorf("config entry %s=%s: %s", key, value, readable(err.Error())))
		}
	}
	if profile != "" {
		errs = append(errs, options.EnableProfiling(profile))
	}
	// The binding has no calls for what follows.
	pointer := optionsPointer(options)
	for axis, extent := range given.FreeDimensions {
		errs = append(errs, n.setExtent(pointer, axis, extent))
	}
	for _, library := range given.CustomOps {
		if err := n.setText(fnRegisterCustomOps, pointer, library); err != nil {
			errs = append(errs, fmt.Errorf("operators of %s: %w", library, err))
		}
	}
	switch {
	case o.engine.pool != nil:
		errs = append(errs, n.call(fnDisablePerSessionThreads, pointer, nil))
	case o.plan.config[keyAffinity] == "": // ONNX Runtime gives affinities only to threads that it starts
		errs = append(errs, n.ordinaryThreads(pointer))
	}
	if o.plan.config[keyEnvAllocators] == "1" {
		errs = append(errs, environment.shareAllocator())
	}
	return errors.Join(errs...)
}

// addDevices adds the devices in order. A device that only stands behind another may be missing.
func (o *opening) addDevices(ctx context.Context, options *onnx.SessionOptions) (failed *device, err error) {
	for _, r := range slices.Clone(o.plan.requests) {
		if r.call == callNone {
			continue
		}
		err := o.addDevice(ctx, options, r)
		switch {
		case err == nil:
			environment.keepForever()
		case r.implied:
			o.drop(r.device, err)
		case errors.As(err, new(*deviceError)):
			return r.device, err
		default: // the device is not to blame
			return nil, fmt.Errorf("opening model %s: %w", o.plan.options.ModelPath, err)
		}
	}
	return nil, nil
}

func (o *opening) addDevice(ctx context.Context, options *onnx.SessionOptions, r request) error {
	library := o.engine.library
	if err := r.checkVersion(library.Version); err != nil {
		return explanation{reason: err.Error(), remedy: anotherBuild(r.device)}.error(r.device)
	}
	if r.call == callOpenVINO {
		if node, err := lengthsOfSequences(o.plan.options.ModelPath, o.inputs); err != nil {
			return err
		} else if node != "" {
			return &deviceError{r.name,
				"node " + node + " takes sequence_lens, which OpenVINO ignores where axes of the model are free: the answers to shorter " +
					"sequences would be those of their padding; run it on the CPU, or fix all axes with free dimensions"}
		}
	}
	add, warnings, err := o.plan.compileOptions(ctx, r, o.inputs, library.Version, "/")
	if err != nil {
		return err
	}
	for _, w := range warnings {
		o.warn(w)
	}
	if o.facts == nil {
		o.facts = map[string]string{}
	}
	addFacts(o.facts, "option "+r.name+" ", add)
	if err := appendDevice(options, r.device, library.Path, with(r.options, add)); err != nil {
		return explain(r.device, library.Path, err).error(r.device)
	}
	o.plan.noteCompiling(r, add)
	return nil
}

// appendDevice makes the binding's call for a device.
func appendDevice(options *onnx.SessionOptions, d *device, mainLibrary string, keys map[string]string) error {
	// For CUDA and TensorRT there is at least one option: only Update says which file is missing, and the binding skips an
	// update of nothing.
	withID := with(keys, map[string]string{"device_id": "0"})
	switch d.call {
	case callCUDA:
		loadNeeded(d.libraryFile(mainLibrary))
		cuda, err := onnx.NewCUDAProviderOptions()
		if err != nil {
			return err
		}
		defer cuda.Destroy()
		if err := cuda.Update(withID); err != nil {
			return err
		}
		return options.AppendExecutionProviderCUDA(cuda)
	case callTensorRT:
		loadNeeded(d.libraryFile(mainLibrary))
		trt, err := onnx.NewTensorRTProviderOptions()
		if err != nil {
			return err
		}
		defer trt.Destroy()
		if err := trt.Update(withID); err != nil {
			return err
		}
		return options.AppendExecutionProviderTensorRT(trt)
	case callOpenVINO:
		return options.AppendExecutionProviderOpenVINO(keys)
	case callCoreML:
		return options.AppendExecutionProviderCoreMLV2(keys)
	case callDirectML:
		id := 0 // the only option that the binding can pass on
		for key, value := range keys {
			var err error
			if id, err = strconv.Atoi(value); key != "device_id" || err != nil || id < 0 {
				return fmt.Errorf("option %s=%s: only device_id=N is possible", key, value)
			}
		}
		return options.AppendExecutionProviderDirectML(id)
	}
	return options.AppendExecutionProvider(d.by, keys)
}

// head describes the model. ONNX Runtime infers the shapes and types that the file lacks, for which it loads the model.
func (e *Engine) head(path string) (modelHead, error) {
	head, err := readModelHead(path)
	if err != nil && !errors.Is(err, format.ErrORTFormat) {
		return modelHead{}, err
	}
	if err == nil && head.complete() {
		return head, nil
	}
	options, err := onnx.NewSessionOptions()
	if err != nil {
		return modelHead{}, err
	}
	defer options.Destroy()
	err = errors.Join(options.SetGraphOptimizationLevel(onnx.GraphOptimizationLevelDisableAll),
		options.SetIntraOpNumThreads(1), options.SetLogSeverityLevel(onnx.LoggingLevelFatal))
	if err != nil {
		return modelHead{}, err
	}
	in, out, err := onnx.GetInputOutputInfoWithOptions(path, options)
	if err != nil {
		return modelHead{}, &modelError{path, withOpset(readable(err.Error()), head)}
	}
	head.inputs, head.outputs = inferred(head.inputs, in), inferred(head.outputs, out)
	return head, nil
}

// inferred describes ports as ONNX Runtime does, which calls an unknown shape empty. known are those of the file; none: it could
// not be read.
func inferred(known []backend.Port, info []onnx.InputOutputInfo) []backend.Port {
	ports := make([]backend.Port, len(info))
	for i, v := range info {
		p := &ports[i]
		p.Name = v.Name
		if v.OrtValueType != onnx.ONNXTypeTensor {
			p.Other = strings.ToLower(strings.TrimPrefix(v.OrtValueType.String(), "ONNX_TYPE_"))
			continue
		}
		elem := format.ElemType(v.DataType) // the C interface numbers types as ONNX does
		if p.Type = elem.DType(); p.Type == tensor.Invalid {
			p.Other = fmt.Sprintf("tensor of %v", elem)
		}
		for _, extent := range v.Dimensions {
			p.Shape = append(p.Shape, max(extent, -1))
		}
		if i < len(known) {
			p.AnyShape = len(v.Dimensions) == 0 && known[i].AnyShape
			if len(known[i].Axes) == len(p.Shape) {
				p.Axes = known[i].Axes
			}
		}
	}
	return ports
}

// withOpset adds the model's opset to a message about operators or versions.
func withOpset(text string, head modelHead) string {
	if opset := head.opset; opset != "" {
		return fmt.Sprintf("%s (the model uses %s)", text, opset)
	}
	return text
}

// count counts the nodes that each device runs, if the options ask for it: it loads the model with profiling, runs it once on
// small inputs, and reads the profile. The binding cannot tell, and a profile is complete only when its session is destroyed.
//
// A device that was asked for and runs nothing is an error, as if it were missing. If the run fails, the profile lacks the nodes
// after the failure: then nothing is counted, with a warning, as the inputs may be bad for the model.
func (o *opening) count(ctx context.Context) (nodeCounts, error) {
	if !o.plan.options.CountDeviceNode {
		return nil, nil
	}
	folder, err := os.MkdirTemp("", "mlperf-profile-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for a profile: %w", err)
	}
	defer os.RemoveAll(folder)
	inner, err := o.load(ctx, filepath.Join(folder, "profile"))
	if err != nil {
		return nil, err
	}
	failed := o.runOnce(ctx, inner)
	keepSignals(func() { err = inner.Destroy() })
	if err != nil {
		return nil, err
	}
	counts, err := readProfile(folder)
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if err := cmp.Or(failed, err); err != nil {
		o.warn(fmt.Sprintf("nodes could not be counted by device: %s", readable(err.Error())))
		return nil, nil
	}
	if err := checkUsed(o.plan.requests, counts); err != nil {
		if !o.plan.options.AllowFallback {
			return nil, err
		}
		o.warn(err.Error())
	}
	return counts, nil
}

// runOnce runs the model on small inputs, and drops its outputs.
func (o *opening) runOnce(ctx context.Context, inner *onnx.DynamicAdvancedSession) error {
	n := o.engine.native
	inputs, outputs := make([]unsafe.Pointer, len(o.inputs)), make([]unsafe.Pointer, len(o.outputs))
	for i, port := range o.inputs {
		v, err := newValue(n, smallInput(port, o.plan.options.ProfileShapes[0]))
		if err != nil {
			return err
		}
		defer v.free()
		inputs[i] = v.pointer
	}
	stopper, err := newStopper(n, nil)
	if err != nil {
		return err
	}
	defer stopper.close()
	if err := stopper.watch(ctx); err != nil {
		return err
	}
	in, out := namesOf(o.inputs), namesOf(o.outputs)
	defer in.free()
	defer out.free()
	keepSignals(func() { err = n.run(sessionPointer(inner), stopper.pointer, in, inputs, out, outputs) })
	for _, v := range outputs {
		if v != nil {
			n.release(fnReleaseValue, v)
		}
	}
	return err
}
