package onnx

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// An ElemType is the type of a tensor's elements. The numbers are ONNX's own
// (TensorProto.DataType in onnx.proto).
type ElemType int32

// The element types of ONNX 1.20.
const (
	Undefined      ElemType = 0
	Float32        ElemType = 1
	Uint8          ElemType = 2
	Int8           ElemType = 3
	Uint16         ElemType = 4
	Int16          ElemType = 5
	Int32          ElemType = 6
	Int64          ElemType = 7
	String         ElemType = 8
	Bool           ElemType = 9
	Float16        ElemType = 10
	Float64        ElemType = 11
	Uint32         ElemType = 12
	Uint64         ElemType = 13
	Complex64      ElemType = 14
	Complex128     ElemType = 15
	BFloat16       ElemType = 16
	Float8E4M3FN   ElemType = 17
	Float8E4M3FNUZ ElemType = 18
	Float8E5M2     ElemType = 19
	Float8E5M2FNUZ ElemType = 20
	Uint4          ElemType = 21
	Int4           ElemType = 22
	Float4E2M1     ElemType = 23
	Float8E8M0     ElemType = 24
	Uint2          ElemType = 25
	Int2           ElemType = 26
)

var elemTypes = [...]struct {
	name string
	bits int
}{
	Undefined: {"undefined", 0},
	Float32:   {"float32", 32}, Float64: {"float64", 64}, Float16: {"float16", 16}, BFloat16: {"bfloat16", 16},
	Uint8: {"uint8", 8}, Uint16: {"uint16", 16}, Uint32: {"uint32", 32}, Uint64: {"uint64", 64},
	Int8: {"int8", 8}, Int16: {"int16", 16}, Int32: {"int32", 32}, Int64: {"int64", 64},
	String: {"string", 0}, Bool: {"bool", 8}, Complex64: {"complex64", 64}, Complex128: {"complex128", 128},
	Float8E4M3FN: {"float8e4m3fn", 8}, Float8E4M3FNUZ: {"float8e4m3fnuz", 8},
	Float8E5M2: {"float8e5m2", 8}, Float8E5M2FNUZ: {"float8e5m2fnuz", 8}, Float8E8M0: {"float8e8m0", 8},
	Uint4: {"uint4", 4}, Int4: {"int4", 4}, Float4E2M1: {"float4e2m1", 4},
	Uint2: {"uint2", 2}, Int2: {"int2", 2},
}

// String returns the type's name in NumPy's spelling.
func (t ElemType) String() string {
	if t < 0 || int(t) >= len(elemTypes) {
		return fmt.Sprintf("ElemType(%d)", int32(t))
	}
	return elemTypes[t].name
}

// Bits returns the size of one element, 0 for strings and unknown types.
func (t ElemType) Bits() int {
	if t < 0 || int(t) >= len(elemTypes) {
		return 0
	}
	return elemTypes[t].bits
}

// A Dim is the extent of one axis of a value.
type Dim struct {
	Size       int64  // -1 where only Param is known, or nothing
	Param      string // the name of a free axis; axes of one name have one extent
	Denotation string
}

// Fixed returns an axis of n elements.
func Fixed(n int64) Dim { return Dim{Size: n} }

// Free returns an axis whose extent the caller chooses, known by a name.
func Free(param string) Dim { return Dim{Size: -1, Param: param} }

// Known reports whether the extent is a number.
func (d Dim) Known() bool { return d.Size >= 0 && d.Param == "" }

func (d Dim) String() string {
	switch {
	case d.Param != "":
		return d.Param
	case d.Size == -1:
		return "?"
	}
	return fmt.Sprint(d.Size)
}

// A Shape lists the axes of a value, outermost first. It is empty for a scalar, and nil if the number of axes
// is not known.
type Shape []Dim

// BatchAxis is the name of the free outermost axis of the built-in models.
const BatchAxis = "N"

// Batched returns the shape [N d0 d1 …] of a batch of samples.
func Batched(dims ...int64) Shape {
	return append(Shape{Free(BatchAxis)}, FixedShape(dims)...)
}

// FixedShape returns the shape [d0 d1 …], in which no extent is free.
func FixedShape(dims []int64) Shape {
	s := make(Shape, len(dims))
	for i, d := range dims {
		s[i] = Fixed(d)
	}
	return s
}

// String formats the shape as [N 3 224 224], with ? for an axis without a name.
func (s Shape) String() string {
	if s == nil {
		return "[…]"
	}
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = d.String()
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// PerSample returns the number of elements with every free axis counted as one,
// which is the number for one sample where the batch is free.
func (s Shape) PerSample() int64 {
	n := int64(1)
	for _, d := range s {
		if d.Known() {
			n *= d.Size
		}
	}
	return n
}

// A Type is the type of a value. For other values than tensors Elem is Undefined and Extra has the type.
type Type struct {
	Elem  ElemType
	Shape Shape
	Extra Extra // sequences, maps, optional values, sparse tensors
}

// Kind returns the kind of a value: tensor, sequence, map, sparse tensor, optional or opaque; empty if the type
// is missing.
func (t Type) Kind() string {
	if t.Elem != Undefined || t.Shape != nil {
		return "tensor"
	}
	num, _, _ := protowire.ConsumeTag([]byte(t.Extra))
	return map[protowire.Number]string{4: "sequence", 5: "map", 7: "opaque", 8: "sparse tensor", 9: "optional"}[num]
}

// A Value is a name in a graph with its type, as far as it is known.
type Value struct {
	Name  string
	Type  Type
	Extra Extra
}

// Channels returns the size of axis 1, 0 if it is not known.
func (v *Value) Channels() int64 {
	if len(v.Type.Shape) < 2 || !v.Type.Shape[1].Known() {
		return 0
	}
	return v.Type.Shape[1].Size
}

// String describes the value as "input_tensor:0 float32[N 3 224 224]".
func (v *Value) String() string {
	return v.Name + " " + v.Type.Elem.String() + v.Type.Shape.String()
}

// dtypes are the element types that tensors of this program can have. ONNX Runtime numbers types
// as ONNX does.
var dtypes = [...]tensor.DType{
	Float32: tensor.Float32, Float64: tensor.Float64, Float16: tensor.Float16, BFloat16: tensor.BFloat16,
	Int8: tensor.Int8, Int16: tensor.Int16, Int32: tensor.Int32, Int64: tensor.Int64,
	Uint8: tensor.Uint8, Uint16: tensor.Uint16, Uint32: tensor.Uint32, Uint64: tensor.Uint64,
	Bool: tensor.Bool, String: tensor.String,
}

// DType returns the type of tensors with such elements, tensor.Invalid if this program has none.
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
