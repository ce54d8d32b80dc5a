package backend

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Port is an input or output of a model.
type Port struct {
	Name  string
	Type  tensor.DType
	Shape tensor.Shape // -1 where an extent is free

	// AnyShape says that even the number of axes is unknown; Shape is then empty.
	AnyShape bool
	// Other names what this program cannot handle: sequence, or tensor of complex64. Type is then Invalid;
	// an output of this kind may be left out.
	Other string
}

// Batch is the number of samples that one run takes through the port: the extent of its first axis, -1 if
// that is free, and 1 without axes.
func (p Port) Batch() int {
	if p.AnyShape {
		return -1
	}
	if len(p.Shape) == 0 {
		return 1
	}
	return int(p.Shape[0])
}

// Fits reports whether the port takes a tensor of a type and shape.
func (p Port) Fits(t tensor.DType, shape tensor.Shape) bool {
	if t != p.Type || p.AnyShape {
		return t == p.Type
	}
	return slices.EqualFunc(shape, p.Shape, func(got, want int64) bool { return want < 0 || got == want })
}

// ReadPorts reads the inputs and outputs of an ONNX file, without its weights.
func ReadPorts(path string) (inputs, outputs []Port, err error) {
	head, err := onnx.ReadHead(path)
	if err != nil {
		return nil, nil, err
	}
	return PortsOf(head.Inputs), PortsOf(head.Outputs), nil
}

// Untyped is Port.Other where the file has no type.
const Untyped = "value without a type"

// PortsOf describes inputs or outputs of an ONNX file.
func PortsOf(values []*onnx.Value) []Port {
	var list []Port
	for _, v := range values {
		if kind := v.Type.Kind(); kind != "tensor" {
			list = append(list, Port{Name: v.Name, Other: cmp.Or(kind, Untyped)})
			continue
		}
		port := Port{Name: v.Name, Type: v.Type.Elem.DType(), AnyShape: v.Type.Shape == nil}
		if port.Type == tensor.Invalid {
			port.Other = fmt.Sprintf("tensor of %v", v.Type.Elem)
		}
		for _, dim := range v.Type.Shape {
			extent := int64(-1)
			if dim.Known() {
				extent = dim.Size
			}
			port.Shape = append(port.Shape, extent)
		}
		list = append(list, port)
	}
	return list
}
