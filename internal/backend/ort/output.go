//go:build cgo

package ort

import (
	"fmt"
	"reflect"
	"unsafe"

	onnx "github.com/yalue/onnxruntime_go"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// allocatedByBinding reports whether the binding can allocate an output: neither a scalar, nor 16-bit
// floating point, of which it would copy only half the bytes.
func allocatedByBinding(port *modelPort) bool {
	half := port.Type == tensor.Float16 || port.Type == tensor.BFloat16
	return !half && (port.AnyShape || len(port.Shape) > 0 || port.Type == tensor.String)
}

// preallocate makes the value for an output that the binding cannot allocate. The shape must
// follow from the model and the inputs. nil means that the binding can do it.
func (s *session) preallocate(i int, inputs []backend.Value) (*value, error) {
	port := &s.outputs[i]
	if allocatedByBinding(port) {
		return nil, nil
	}
	shape := s.resolve(port, inputs)
	if port.AnyShape || shape.Len() < 0 {
		return nil, fmt.Errorf("output %s: the shape of %v%v is not known before the run, so a value must be given for it",
			port.Name, port.Type, port.Shape)
	}
	return newValue(tensor.New(port.Type, shape...))
}

// resolve fills in the free axes of an output that bear the same name as an axis of an input.
func (s *session) resolve(port *modelPort, inputs []backend.Value) tensor.Shape {
	extents := map[string]int64{}
	for i, in := range s.inputs {
		for k, axis := range in.axes {
			if axis != "" {
				extents[axis] = inputs[i].Tensor().Shape[k]
			}
		}
	}
	shape := make(tensor.Shape, len(port.Shape))
	for k, d := range port.Shape {
		if shape[k] = d; d < 0 {
			if extent, known := extents[port.axes[k]]; known {
				shape[k] = extent
			}
		}
	}
	return shape
}

// destroyOutput frees what the binding allocated for an output, if anything. Where it fails to
// convert an output, it leaves a nil pointer of a concrete type, whose Destroy would crash.
func destroyOutput(v onnx.Value) {
	if v != nil && !reflect.ValueOf(v).IsNil() {
		v.Destroy()
	}
}

// wrapOutput makes a value of what the binding allocated.
func wrapOutput(inner onnx.Value) (*value, error) {
	shape := tensor.Shape(inner.GetShape())
	v := &value{handle: newHandle(inner)}
	var err error
	switch t := inner.(type) {
	case *onnx.StringTensor:
		c := &stringCopier{inner: t, handle: v.handle}
		v.copied = c
		v.tensor = tensor.OfStrings(make([]string, shape.Len()), shape...)
		if err := c.out(v.tensor); err != nil {
			return nil, err
		}
		return v, nil
	case *onnx.Tensor[bool]:
		memory := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(t.GetData()))), len(t.GetData()))
		v.tensor, err = tensor.FromBytes(tensor.Bool, memory, shape...)
	default:
		v.tensor, err = wrapNumbers(inner, shape)
	}
	if err != nil {
		return nil, err
	}
	if memory := v.tensor.Bytes(); len(memory) > 0 {
		v.pinner.Pin(unsafe.SliceData(memory))
	}
	return v, nil
}

// numeric are the kinds of tensors of numbers that the binding makes.
var numeric = []func(onnx.Value, tensor.Shape) (tensor.Tensor, bool){
	numbersOf[float32],
	numbersOf[float64],
	numbersOf[int8],
	numbersOf[int16],
	numbersOf[int32],
	numbersOf[int64],
	numbersOf[uint8],
	numbersOf[uint16],
	numbersOf[uint32],
	numbersOf[uint64],
}

func wrapNumbers(inner onnx.Value, shape tensor.Shape) (tensor.Tensor, error) {
	for _, of := range numeric {
		if numbers, ok := of(inner, shape); ok {
			return numbers, nil
		}
	}
	return tensor.Tensor{}, fmt.Errorf("an output of the kind %T is not supported", inner)
}

// numbersOf returns the numbers of a tensor, and whether they are of type T.
func numbersOf[T float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](inner onnx.Value, shape tensor.Shape) (tensor.Tensor, bool) {
	t, ok := inner.(*onnx.Tensor[T])
	if !ok {
		return tensor.Tensor{}, false
	}
	return tensor.Of(t.GetData(), shape...), true
}
