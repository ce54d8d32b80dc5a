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
	"strings"

	onnx "github.com/yalue/onnxruntime_go"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// count finds out which device runs how many nodes, if the options ask for it: it loads the
// model once more with profiling, runs it once on little (sampleOf), and reads the profile. The binding has no
// call that tells, and the profile of a session is complete only when that is destroyed.
//
// A device that was asked for and runs nothing is an error, as if it were missing. If the run
// fails, the nodes after the failure are missing from the profile; then nothing is counted, and a
// warning says so: what it is run on may be bad input for a model.
func (o *opening) count(ctx context.Context) (map[string]int, error) {
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
	failed := o.runOnLittle(ctx, inner)
	if err := inner.Destroy(); err != nil {
		return nil, err
	}
	counts, err := readProfile(folder)
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if err := cmp.Or(failed, err); err != nil {
		o.warn(fmt.Sprintf("which device runs which nodes could not be found out: %s", readable(err.Error())))
		return nil, nil
	}
	return counts, o.checkUse(counts)
}

// checkUse wants each device that was asked for to run something.
func (o *opening) checkUse(counts map[string]int) error {
	err := unused(o.plan.requests, counts)
	switch {
	case err == nil:
		return nil
	case o.plan.options.AllowFallback:
		o.warn(err.Error())
		return nil
	}
	return err
}

func (o *opening) runOnLittle(ctx context.Context, inner *onnx.DynamicAdvancedSession) error {
	if len(o.inputs) == 0 {
		return errors.New("the model has no inputs") // the binding cannot run it this way
	}
	inputs := make([]onnx.Value, len(o.inputs))
	for i, port := range o.inputs {
		v, err := newValue(sampleOf(port, o.plan.options.ProfileShapes[0]))
		if err != nil {
			return err
		}
		defer v.free()
		inputs[i] = v.handle
	}
	stopper, err := newStopper(o.engine.native, nil)
	if err != nil {
		return err
	}
	defer stopper.close()
	if err := stopper.watch(ctx); err != nil {
		return err
	}
	return runOnce(inner, inputs, make([]onnx.Value, len(o.outputs)), stopper.options)
}

// runOnce runs a model, and drops its outputs.
func runOnce(inner *onnx.DynamicAdvancedSession, inputs, outputs []onnx.Value, options *onnx.RunOptions) (err error) {
	keepSignals(func() { err = inner.RunWithOptions(inputs, outputs, options) })
	for _, v := range outputs {
		destroyOutput(v)
	}
	if err != nil && strings.Contains(err.Error(), "Error creating tensor from ort") {
		return nil // it ran; what the binding cannot make of the outputs does not matter here
	}
	return err
}

// sampleOf is an input that any model should take: zeros, but ones where zeros would say that there is nothing to do, which
// attention (GroupQueryAttention) cannot do. These are masks, and counts: whole numbers that stand alone, such as the length
// of the longest sequence. The lengths beside that are zeros: they are those of sequences of one token, without it.
func sampleOf(port modelPort, batch int) tensor.Tensor {
	t := tensor.New(port.Type, smallest(port, batch)...)
	isCount := len(port.Shape) < 2 && port.Shape.Len() == 1
	if isCount || strings.HasSuffix(strings.ToLower(port.Name), "mask") {
		fillOnes(t)
	}
	return t
}

// fillOnes fills a tensor of whole numbers with ones, whose first byte is 1 and the others 0. In others nothing changes.
func fillOnes(t tensor.Tensor) {
	if !slices.Contains([]tensor.DType{tensor.Bool, tensor.Int8, tensor.Uint8, tensor.Int32, tensor.Int64}, t.Type) {
		return
	}
	for b := t.Bytes(); len(b) > 0; b = b[t.Type.Size():] {
		b[0] = 1
	}
}

// smallest returns a port's shape with the smallest extents for its free axes.
func smallest(port modelPort, batch int) tensor.Shape {
	shape := make(tensor.Shape, len(port.Shape))
	for i, d := range port.Shape {
		switch {
		case d >= 0:
			shape[i] = d
		case i == 0:
			shape[i] = int64(max(batch, 1))
		default:
			shape[i] = 1
		}
	}
	return shape
}

func readProfile(dir string) (map[string]int, error) {
	files := fileio.Glob(dir, "*.json")
	if len(files) == 0 {
		return nil, errors.New("ONNX Runtime wrote no profile")
	}
	file, err := os.Open(files[0])
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return countNodes(file)
}

// guardedRuns is how many runs on a device other than the processor are watched for replaced signal
// handlers: CUDA's libraries set themselves up piece by piece in the first ones.
const guardedRuns = 32
