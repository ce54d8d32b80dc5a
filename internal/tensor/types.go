package tensor

import (
	"fmt"
	"slices"
	"strings"
)

// A DType is the type of a tensor's elements.
type DType uint8

// The element types of ONNX that models in this program may use.
const (
	Invalid DType = iota
	Float32
	Float64
	Float16  // raw bits, uint16 in Go
	BFloat16 // raw bits, uint16 in Go
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Bool   // one byte each, 0 or 1
	String // kept in Go strings, not in flat memory
)

var dtypes = [...]struct {
	name string
	size int
}{
	Invalid: {"invalid", 0},
	Float32: {"float32", 4}, Float64: {"float64", 8}, Float16: {"float16", 2}, BFloat16: {"bfloat16", 2},
	Int8: {"int8", 1}, Int16: {"int16", 2}, Int32: {"int32", 4}, Int64: {"int64", 8},
	Uint8: {"uint8", 1}, Uint16: {"uint16", 2}, Uint32: {"uint32", 4}, Uint64: {"uint64", 8},
	Bool: {"bool", 1}, String: {"string", 0},
}

// String returns the type's name in NumPy's spelling.
func (d DType) String() string { return dtypes[d].name }

// Size returns the bytes of one element; 0 for String and Invalid.
func (d DType) Size() int { return dtypes[d].size }

// A Shape lists the extent of each axis, outermost first. The shape of a scalar
// is empty. A model's declared shape may hold -1 for an axis that is free; the
// shape of a Tensor never does.
type Shape []int64

// maxLen is more elements than any memory holds; their bytes still fit in an int64.
const maxLen = 1 << 56

// Len returns the number of elements: 1 for a scalar, and -1 if an axis is free or if the
// product overflows, as the axes of a damaged file may.
func (s Shape) Len() int64 {
	if len(s) == 0 {
		return 1
	}
	if least := slices.Min(s); least <= 0 {
		return max(least, -1)
	}
	n := int64(1)
	for _, d := range s {
		if d > maxLen/n {
			return -1
		}
		n *= d
	}
	return n
}

// String formats the shape as [8 3 224 224], with ? for a free axis.
func (s Shape) String() string {
	parts := make([]string, len(s))
	for i, d := range s {
		if parts[i] = fmt.Sprint(d); d < 0 {
			parts[i] = "?"
		}
	}
	return "[" + strings.Join(parts, " ") + "]"
}
