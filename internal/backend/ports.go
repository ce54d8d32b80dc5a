package backend

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// ReadPorts reads the inputs and outputs of an ONNX file, without its weights.
func ReadPorts(path string) (inputs, outputs []Port, err error) {
	m, err := onnx.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	if inputs, err = PortsOf(m.Graph.FreeInputs()); err != nil {
		return nil, nil, fmt.Errorf("inputs of %s: %w", path, err)
	}
	if outputs, err = PortsOf(m.Graph.Outputs); err != nil {
		return nil, nil, fmt.Errorf("outputs of %s: %w", path, err)
	}
	return inputs, outputs, nil
}

// PortsOf describes inputs or outputs of an ONNX file.
func PortsOf(values []*onnx.Value) ([]Port, error) {
	var list []Port
	for _, v := range values {
		dtype, ok := dtypes[v.Type.Elem]
		if !ok {
			return nil, fmt.Errorf("%s has elements of type %v, which this program does not handle", v.Name, v.Type.Elem)
		}
		port := Port{Name: v.Name, Type: dtype}
		for _, dim := range v.Type.Shape {
			extent := dim.Size
			if !dim.Known() {
				extent = -1
			}
			port.Shape = append(port.Shape, extent)
		}
		list = append(list, port)
	}
	return list, nil
}

// dtypes are the element types that tensors can have, by ONNX's.
var dtypes = map[onnx.ElemType]tensor.DType{
	onnx.Float32: tensor.Float32, onnx.Float64: tensor.Float64,
	onnx.Float16: tensor.Float16, onnx.BFloat16: tensor.BFloat16,
	onnx.Int8: tensor.Int8, onnx.Int16: tensor.Int16, onnx.Int32: tensor.Int32, onnx.Int64: tensor.Int64,
	onnx.Uint8: tensor.Uint8, onnx.Uint16: tensor.Uint16, onnx.Uint32: tensor.Uint32, onnx.Uint64: tensor.Uint64,
	onnx.Bool: tensor.Bool, onnx.String: tensor.String,
}
