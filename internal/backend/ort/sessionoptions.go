//go:build cgo

package ort

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unsafe"

	onnx "github.com/yalue/onnxruntime_go"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// apply sets everything but devices.
func (o *opening) apply(options *onnx.SessionOptions, level level, profile string) error {
	given := o.plan.options
	mode := onnx.ExecutionMode(onnx.ExecutionModeSequential)
	if given.Parallel {
		mode = onnx.ExecutionModeParallel
	}
	err := errors.Join(
		options.SetLogSeverityLevel(onnx.LoggingLevel(o.plan.severity)),
		options.SetGraphOptimizationLevel(onnx.GraphOptimizationLevel(level.code)),
		options.SetExecutionMode(mode),
		options.SetIntraOpNumThreads(given.IntraThreads),
		options.SetInterOpNumThreads(interThreads(given)),
		options.SetCpuMemArena(!given.NoArena),
		options.SetMemPattern(!given.NoMemoryPattern),
	)
	for key, value := range o.plan.config {
		if e := options.AddSessionConfigEntry(key, value); e != nil {
			err = errors.Join(err, fmt.Errorf("config entry %s=%s: %s", key, value, readable(e.Error())))
		}
	}
	if profile != "" {
		err = errors.Join(err, options.EnableProfiling(profile))
	}
	return errors.Join(err, o.applyNative(optionsPointer(options)))
}

// interThreads is how many operators run at once; 0: ONNX Runtime decides.
func interThreads(o backend.Options) int {
	if o.InterThreads == 0 && !o.Parallel {
		return 1
	}
	return o.InterThreads
}

// applyNative sets what the binding has no call for.
func (o *opening) applyNative(options unsafe.Pointer) error {
	n, given := o.engine.native, o.plan.options
	var err error
	for axis, extent := range given.FreeDimensions {
		err = errors.Join(err, n.setExtent(options, axis, extent))
	}
	for _, library := range given.CustomOps {
		if e := n.setText(fnRegisterCustomOps, options, library); e != nil {
			err = errors.Join(err, fmt.Errorf("operators of %s: %w", library, e))
		}
	}
	switch {
	case o.engine.pool != nil:
		err = errors.Join(err, n.call(fnDisablePerSessionThreads, options, nil))
	case o.plan.config[keyAffinity] == "": // threads that we start get none
		err = errors.Join(err, n.plainThreads(options))
	}
	if o.plan.config[keyEnvAllocators] == "1" {
		err = errors.Join(err, environment.shareAllocator())
	}
	return err
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
		case errors.As(err, new(*DeviceError)):
			return r.device, err
		default: // no fault of the device
			return nil, fmt.Errorf("opening model %s: %w", o.plan.options.ModelPath, err)
		}
	}
	return nil, nil
}

func (o *opening) addDevice(ctx context.Context, options *onnx.SessionOptions, r request) error {
	library := o.engine.library
	if err := r.checkVersion(library.Version); err != nil {
		return &DeviceError{r.name, err.Error()}
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
	if err := appendDevice(options, r.device, with(r.options, add)); err != nil {
		return deviceError(r.device, library.Path, err)
	}
	o.plan.tellCompiling(r.name, add)
	return nil
}

// appendDevice makes the binding's call for a device.
func appendDevice(options *onnx.SessionOptions, d *device, keys map[string]string) error {
	switch d.call {
	case callCUDA:
		return appendCUDA(options, keys)
	case callTensorRT:
		return appendTensorRT(options, keys)
	case callOpenVINO:
		return options.AppendExecutionProviderOpenVINO(keys)
	case callCoreML:
		return options.AppendExecutionProviderCoreMLV2(keys)
	case callDirectML:
		id, err := directMLDevice(keys)
		if err != nil {
			return err
		}
		return options.AppendExecutionProviderDirectML(id)
	}
	return options.AppendExecutionProvider(d.by, keys)
}

func appendCUDA(options *onnx.SessionOptions, keys map[string]string) error {
	cuda, err := onnx.NewCUDAProviderOptions()
	if err != nil {
		return err
	}
	defer cuda.Destroy()
	if err := cuda.Update(withDeviceID(keys)); err != nil {
		return err
	}
	return options.AppendExecutionProviderCUDA(cuda)
}

func appendTensorRT(options *onnx.SessionOptions, keys map[string]string) error {
	trt, err := onnx.NewTensorRTProviderOptions()
	if err != nil {
		return err
	}
	defer trt.Destroy()
	if err := trt.Update(withDeviceID(keys)); err != nil {
		return err
	}
	return options.AppendExecutionProviderTensorRT(trt)
}

// withDeviceID sees to it that there is at least one option: only Update tells which file is
// missing, Append does not, and the binding skips an update of nothing.
func withDeviceID(keys map[string]string) map[string]string {
	return with(maps.Clone(keys), map[string]string{"device_id": "0"})
}
