package models

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/onnxgraph"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// Ports reads the inputs and outputs of an ONNX file, without its weights.
func Ports(path string) (inputs, outputs []backend.Port, err error) {
	m, err := onnxgraph.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	if inputs, err = ports(m.Graph.FreeInputs()); err != nil {
		return nil, nil, fmt.Errorf("inputs of %s: %w", path, err)
	}
	if outputs, err = ports(m.Graph.Outputs); err != nil {
		return nil, nil, fmt.Errorf("outputs of %s: %w", path, err)
	}
	return inputs, outputs, nil
}

func ports(values []*onnxgraph.Value) ([]backend.Port, error) {
	var list []backend.Port
	for _, v := range values {
		dtype, ok := dtypes[v.Type.Elem]
		if !ok {
			return nil, fmt.Errorf("%s has elements of type %v, which this program does not handle", v.Name, v.Type.Elem)
		}
		port := backend.Port{Name: v.Name, Type: dtype}
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
var dtypes = map[onnxgraph.ElemType]tensor.DType{
	onnxgraph.Float32: tensor.Float32, onnxgraph.Float64: tensor.Float64,
	onnxgraph.Float16: tensor.Float16, onnxgraph.BFloat16: tensor.BFloat16,
	onnxgraph.Int8: tensor.Int8, onnxgraph.Int16: tensor.Int16, onnxgraph.Int32: tensor.Int32, onnxgraph.Int64: tensor.Int64,
	onnxgraph.Uint8: tensor.Uint8, onnxgraph.Uint16: tensor.Uint16, onnxgraph.Uint32: tensor.Uint32, onnxgraph.Uint64: tensor.Uint64,
	onnxgraph.Bool: tensor.Bool, onnxgraph.String: tensor.String,
}
