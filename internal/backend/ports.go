package backend

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// ReadPorts reads the inputs and outputs of an ONNX file, without its weights.
func ReadPorts(path string) (inputs, outputs []Port, err error) {
	head, err := onnx.ReadHead(path)
	if err != nil {
		return nil, nil, err
	}
	return PortsOf(head.Inputs), PortsOf(head.Outputs), nil
}

// PortsOf describes inputs or outputs of an ONNX file.
func PortsOf(values []*onnx.Value) []Port {
	var list []Port
	for _, v := range values {
		list = append(list, portOf(v))
	}
	return list
}

// Untyped is what Port.Other says of a port of which the file tells nothing.
const Untyped = "value without a type"

func portOf(v *onnx.Value) Port {
	kind := v.Type.Kind()
	if kind != "tensor" {
		if kind == "" {
			kind = Untyped
		}
		return Port{Name: v.Name, Other: kind}
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
	return port
}
