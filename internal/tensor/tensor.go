package tensor

import (
	"fmt"
	"slices"
	"unsafe"
)

// Element is the set of Go types that Data and Of accept. Float16 and BFloat16
// elements are uint16, Bool elements are uint8.
type Element interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// A Tensor is a typed, shaped view of memory. The zero Tensor has no elements and
// the type Invalid.
type Tensor struct {
	Type    DType
	Shape   Shape
	mem     []byte
	strings []string
}

// New returns a zeroed tensor aligned for every element type.
// It panics if an axis is negative or the number of elements overflows.
func New(d DType, shape ...int64) Tensor {
	n := Shape(shape).Len()
	if n < 0 {
		panic(fmt.Sprintf("tensor: shape %v has a free axis or too many elements", Shape(shape)))
	}
	t := Tensor{Type: d, Shape: slices.Clone(Shape(shape))}
	if d == String {
		t.strings = make([]string, n)
		return t
	}
	size := n * int64(d.Size())
	if size > 0 {
		words := make([]uint64, (size+7)/8)
		t.mem = unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), size)
	}
	return t
}

// Of returns a tensor over data itself, without a copy. The element type follows
// from T, so Float16, BFloat16 and Bool need FromBytes.
// It panics if the shape does not hold exactly len(data) elements.
func Of[T Element](data []T, shape ...int64) Tensor {
	if Shape(shape).Len() != int64(len(data)) {
		panic(fmt.Sprintf("tensor: shape %v does not hold %d elements", Shape(shape), len(data)))
	}
	t := Tensor{Type: typeOf[T](), Shape: slices.Clone(Shape(shape))}
	if len(data) > 0 {
		t.mem = unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), len(data)*t.Type.Size())
	}
	return t
}

// OfStrings returns a String tensor over data itself.
func OfStrings(data []string, shape ...int64) Tensor {
	if Shape(shape).Len() != int64(len(data)) {
		panic(fmt.Sprintf("tensor: shape %v does not hold %d strings", Shape(shape), len(data)))
	}
	return Tensor{Type: String, Shape: slices.Clone(Shape(shape)), strings: data}
}

// FromBytes returns a tensor over mem itself, for instance a mapped file. It fails if mem
// has another size than type and shape need, or is not aligned for the element type.
func FromBytes(d DType, mem []byte, shape ...int64) (Tensor, error) {
	size := d.Size()
	if size == 0 {
		return Tensor{}, fmt.Errorf("%v has no flat memory", d)
	}
	if want := Shape(shape).Len() * int64(size); want != int64(len(mem)) {
		return Tensor{}, fmt.Errorf("tensor of %v%v needs %d bytes, got %d", d, Shape(shape), want, len(mem))
	}
	if len(mem) > 0 && uintptr(unsafe.Pointer(&mem[0]))%uintptr(size) != 0 {
		return Tensor{}, fmt.Errorf("memory of a %v tensor is not aligned to %d bytes", d, size)
	}
	return Tensor{Type: d, Shape: slices.Clone(Shape(shape)), mem: mem}, nil
}

// Data returns the elements of t, sharing its memory. It panics if T is not the Go type of
// t's elements: opening a model fixes the type of its tensors, so a mismatch is a bug.
func Data[T Element](t Tensor) []T {
	want := typeOf[T]()
	got := t.Type
	switch got {
	case Float16, BFloat16:
		got = Uint16
	case Bool:
		got = Uint8
	}
	if got != want {
		panic(fmt.Sprintf("tensor: elements are %v, not %v", t.Type, want))
	}
	if len(t.mem) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&t.mem[0])), len(t.mem)/want.Size())
}

// Strings returns the elements of a String tensor, nil for any other type.
func (t Tensor) Strings() []string { return t.strings }

// Bytes returns the memory of t in native byte order; nil for String tensors.
func (t Tensor) Bytes() []byte { return t.mem }

// Len returns the number of elements.
func (t Tensor) Len() int {
	if t.Type == String {
		return len(t.strings)
	}
	if t.Type.Size() == 0 {
		return 0
	}
	return len(t.mem) / t.Type.Size()
}

// Rows returns n rows of the outermost axis from first on, as a view of the same memory. It
// panics if they are not all inside t, or t is a scalar.
func (t Tensor) Rows(first, n int) Tensor {
	if len(t.Shape) == 0 || first < 0 || n < 0 || int64(first+n) > t.Shape[0] {
		panic(fmt.Sprintf("tensor: no rows %d to %d in shape %v", first, first+n, t.Shape))
	}
	shape := slices.Clone(t.Shape)
	shape[0] = int64(n)
	row := 0
	if t.Shape[0] > 0 {
		row = t.Len() / int(t.Shape[0])
	}
	if t.Type == String {
		return Tensor{Type: String, Shape: shape, strings: t.strings[first*row : (first+n)*row]}
	}
	row *= t.Type.Size()
	return Tensor{Type: t.Type, Shape: shape, mem: t.mem[first*row : (first+n)*row : (first+n)*row]}
}

// Reshape returns t with another shape over the same memory. It panics if the
// number of elements would change.
func (t Tensor) Reshape(shape ...int64) Tensor {
	if Shape(shape).Len() != int64(t.Len()) {
		panic(fmt.Sprintf("tensor: cannot reshape %v to %v", t.Shape, Shape(shape)))
	}
	t.Shape = slices.Clone(Shape(shape))
	return t
}

// String describes the tensor without its elements, as float32[8 3 224 224].
func (t Tensor) String() string { return t.Type.String() + t.Shape.String() }

func typeOf[T Element]() DType {
	switch any(*new(T)).(type) {
	case float32:
		return Float32
	case float64:
		return Float64
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	default:
		return Uint64
	}
}

// Grown returns n elements, in the memory of s if it has the capacity, with the elements of s;
// otherwise in new memory.
func Grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
