package onnx

import (
	"slices"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// dtypes are the element types that tensors of this program can have. ONNX Runtime numbers types
// as ONNX does.
var dtypes = [...]tensor.DType{
	Float32: tensor.Float32, Float64: tensor.Float64, Float16: tensor.Float16, BFloat16: tensor.BFloat16,
	Int8: tensor.Int8, Int16: tensor.Int16, Int32: tensor.Int32, Int64: tensor.Int64,
	Uint8: tensor.Uint8, Uint16: tensor.Uint16, Uint32: tensor.Uint32, Uint64: tensor.Uint64,
	Bool: tensor.Bool, String: tensor.String,
}

// DType returns the type of tensors with such elements, tensor.Invalid if there is none.
func (t ElemType) DType() tensor.DType {
	if t < 0 || int(t) >= len(dtypes) {
		return tensor.Invalid
	}
	return dtypes[t]
}

// ElemTypeOf returns the type of the elements of a tensor, Undefined for tensor.Invalid.
func ElemTypeOf(t tensor.DType) ElemType {
	if t == tensor.Invalid {
		return Undefined
	}
	return ElemType(slices.Index(dtypes[:], t))
}
