package onnx

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"reflect"
)

// A Tensor is a constant: an initializer of a graph or the value of an attribute.
// The elements are in Data, in Strings if the type is String, or in another file
// if External is not nil.
type Tensor struct {
	Name     string
	Type     ElemType
	Dims     []int64 // none for a scalar
	Data     Source
	Strings  []string
	External []Property // where they are: location, offset, length
	Extra    Extra
}

// A Source yields the elements of a tensor as little-endian bytes in row-major order; types of less than a
// byte are packed from the low bits up. It need not hold them: the built-in models make their weights while
// they are written. Each reading of a Source gives the same bytes.
type Source interface {
	// Size returns how many bytes WriteTo will write.
	Size() int64
	io.WriterTo
}

// Raw is a Source in memory.
type Raw []byte

// Size returns the number of bytes.
func (r Raw) Size() int64 { return int64(len(r)) }

// WriteTo writes the bytes.
func (r Raw) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(r)
	return int64(n), err
}

// Element is the set of Go types for Elements and TensorOf: uint8 for bool, and uint16 for the bits of float16
// and bfloat16.
type Element interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// TensorOf returns a tensor with a copy of data. The type follows from T; for
// bool, float16 and bfloat16 set Type afterwards. No dims make a scalar.
func TensorOf[T Element](name string, data []T, dims ...int64) *Tensor {
	raw, err := binary.Append(make([]byte, 0, binary.Size(data)), binary.LittleEndian, data)
	if err != nil {
		panic("onnx: " + err.Error()) // every Element is of fixed size
	}
	return &Tensor{Name: name, Type: elemTypeOf[T](), Dims: dims, Data: Raw(raw)}
}

// Elements returns a copy of the tensor's elements. It fails if T is not the Go type of the elements, if they
// are in another file, or if Dims says another number.
func Elements[T Element](t *Tensor) ([]T, error) {
	if got, want := goType(t.Type), elemTypeOf[T](); got != want {
		return nil, fmt.Errorf("tensor %q has %v elements, not %v", t.Name, t.Type, want)
	}
	raw, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	data := make([]T, len(raw)*8/t.Type.Bits())
	if _, err := binary.Decode(raw, binary.LittleEndian, data); err != nil {
		return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	return data, nil
}

// Bytes returns the elements in the encoding of Source, without a copy if they are
// in memory.
func (t *Tensor) Bytes() ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	switch data := t.Data.(type) {
	case nil:
		if t.External != nil {
			return nil, fmt.Errorf("tensor %q: its elements are in another file", t.Name)
		}
		return nil, nil
	case Raw:
		return data, nil
	}
	var buf bytes.Buffer
	buf.Grow(int(t.Data.Size()))
	if _, err := t.Data.WriteTo(&buf); err != nil {
		return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	return buf.Bytes(), nil
}

// Len returns the number of elements that Dims asks for. It fails if an axis is
// negative or the product too large.
func (t *Tensor) Len() (int64, error) {
	n := int64(1)
	for _, d := range t.Dims {
		if d < 0 || (d > 0 && n > math.MaxInt64/128/d) {
			return 0, fmt.Errorf("tensor %q has no possible shape: %v", t.Name, t.Dims)
		}
		n *= d
	}
	return n, nil
}

// check compares the amount of data with type and shape.
func (t *Tensor) check() error {
	n, err := t.Len()
	if err != nil || t.External != nil {
		return err
	}
	if t.Type == String {
		if int64(len(t.Strings)) != n {
			return fmt.Errorf("tensor %q of shape %v holds %d strings, expected %d", t.Name, t.Dims, len(t.Strings), n)
		}
		return nil
	}
	want, err := t.bytes()
	if err != nil {
		return err
	}
	var got int64
	if t.Data != nil {
		got = t.Data.Size()
	}
	if got != want {
		return fmt.Errorf("tensor %q of %v%v holds %d bytes, expected %d", t.Name, t.Type, t.Dims, got, want)
	}
	return nil
}

// bytes returns how many bytes the elements take. It fails for strings and unknown types.
func (t *Tensor) bytes() (int64, error) {
	n, err := t.Len()
	if err != nil {
		return 0, err
	}
	bits := int64(t.Type.Bits())
	if bits == 0 {
		return 0, fmt.Errorf("tensor %q: the size of elements of type %v is not known", t.Name, t.Type)
	}
	return (n*bits + 7) / 8, nil
}

// goType maps an element type to the one whose Go type represents it.
func goType(t ElemType) ElemType {
	switch t {
	case Float16, BFloat16:
		return Uint16
	case Bool:
		return Uint8
	}
	return t
}

func elemTypeOf[T Element]() ElemType {
	return elemTypeOfKind[reflect.TypeFor[T]().Kind()]
}

var elemTypeOfKind = map[reflect.Kind]ElemType{
	reflect.Float32: Float32, reflect.Float64: Float64,
	reflect.Int8: Int8, reflect.Int16: Int16, reflect.Int32: Int32, reflect.Int64: Int64,
	reflect.Uint8: Uint8, reflect.Uint16: Uint16, reflect.Uint32: Uint32, reflect.Uint64: Uint64,
}
