package oip

import (
	"fmt"
	"math"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// fields calls take for each field of a message. Take reads the bytes that follow a length.
func fields(b []byte, take func(r *scanner, f wireField) error) error {
	r := newScanner(mem.BufferSlice{mem.SliceBuffer(b)})
	for r.more() {
		f, err := r.field()
		if err == nil {
			err = take(&r, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pass leaves a field out.
func (r *scanner) pass(f wireField) error {
	if f.kind != protowire.BytesType {
		return nil
	}
	return r.skip(int(f.value))
}

func (r *scanner) text(f wireField) (string, error) {
	b, err := r.element(f)
	if err != nil {
		return "", err
	}
	return text(b)
}

// mostExtents bounds a shape while it is read: an extent is a byte or two there, and eight here.
const mostExtents = 1024

var errExtents = fmt.Errorf("a shape has more than %d extents", mostExtents)

// extents appends the numbers of a shape, packed or not.
func (r *scanner) extents(f wireField, list []int64) ([]int64, error) {
	put := func(v uint64) error {
		if len(list) == mostExtents {
			return errExtents
		}
		list = append(list, int64(v))
		return nil
	}
	if f.kind == protowire.VarintType {
		return list, put(f.value)
	}
	err := r.packed(f, protowire.VarintType, put)
	return list, err
}

// checkBools refuses bytes that are neither false nor true.
func checkBools(t tensor.Tensor) error {
	if t.Type != tensor.Bool {
		return nil
	}
	for i, b := range t.Bytes() {
		if b > 1 {
			return fmt.Errorf("element %d is %d, want 0 or 1", i, b)
		}
	}
	return nil
}

// contentsOf says which field of InferTensorContents has elements of a type.
var contentsOf = map[tensor.DType]struct {
	number protowire.Number
	kind   protowire.Type
}{
	tensor.Bool: {1, protowire.VarintType},
	tensor.Int8: {2, protowire.VarintType}, tensor.Int16: {2, protowire.VarintType}, tensor.Int32: {2, protowire.VarintType},
	tensor.Int64: {3, protowire.VarintType},
	tensor.Uint8: {4, protowire.VarintType}, tensor.Uint16: {4, protowire.VarintType}, tensor.Uint32: {4, protowire.VarintType},
	tensor.Uint64: {5, protowire.VarintType}, tensor.Float32: {6, protowire.Fixed32Type}, tensor.Float64: {7, protowire.Fixed64Type},
	tensor.String: {8, protowire.BytesType},
}

// readContents puts typed contents into a tensor.
func readContents(b []byte, t tensor.Tensor) error {
	form, ok := contentsOf[t.Type]
	if !ok {
		return fmt.Errorf("%s has no typed contents: want raw ones", Datatype(t.Type))
	}
	in := contents{t: t}
	err := fields(b, func(r *scanner, f wireField) error {
		switch {
		case f.number != form.number:
			return fmt.Errorf("contents of field %d, want %d for %s", f.number, form.number, Datatype(t.Type))
		case t.Type == tensor.String:
			return in.takeString(r, f)
		case f.kind == form.kind:
			return in.put(f.value)
		}
		return r.packed(f, form.kind, in.put)
	})
	if err == nil && in.n != t.Len() {
		err = fmt.Errorf("%d elements, want %d", in.n, t.Len())
	}
	return err
}

// contents fill a tensor, of which n elements are there.
type contents struct {
	t tensor.Tensor
	n int
}

// next is the place of one more.
func (c *contents) next() (i int, err error) {
	if c.n == c.t.Len() {
		return 0, fmt.Errorf("more than %d elements", c.n)
	}
	c.n++
	return c.n - 1, nil
}

func (c *contents) put(v uint64) error {
	i, err := c.next()
	if err != nil {
		return err
	}
	return setNumber(c.t, i, v)
}

func (c *contents) takeString(r *scanner, f wireField) error {
	b, err := r.element(f)
	if err != nil {
		return err
	}
	i, err := c.next()
	if err == nil {
		c.t.Strings()[i] = string(b)
	}
	return err
}

// element returns the bytes of a text or a message.
func (r *scanner) element(f wireField) ([]byte, error) {
	if err := f.is(protowire.BytesType); err != nil {
		return nil, err
	}
	return r.bytes(int(f.value))
}

// merged appends a message to what came before in the same field: both together are one message, as for protobuf. What
// came before has no room behind it that is somebody else's.
func (r *scanner) merged(f wireField, before []byte) ([]byte, error) {
	b, err := r.element(f)
	if before == nil {
		return b, err
	}
	return append(before, b...), err
}

// packed reads numbers that lie side by side.
func (r *scanner) packed(f wireField, kind protowire.Type, put func(uint64) error) error {
	b, err := r.element(f)
	if err != nil {
		return err
	}
	for in := newScanner(mem.BufferSlice{mem.SliceBuffer(b)}); in.more(); {
		var v uint64
		switch kind {
		case protowire.Fixed32Type:
			v, err = in.fixed(4)
		case protowire.Fixed64Type:
			v, err = in.fixed(8)
		default:
			v, err = in.varint()
		}
		if err == nil {
			err = put(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setNumber stores an element that was read as a number of the wire.
func setNumber(t tensor.Tensor, i int, v uint64) error {
	if !numberSetters[t.Type](t, i, v) {
		return fmt.Errorf("element %d is %d, which is no %s", i, int64(v), Datatype(t.Type))
	}
	return nil
}

// numberSetters store an element of each type that contentsOf has as a number, if it is one.
var numberSetters = map[tensor.DType]func(t tensor.Tensor, i int, v uint64) bool{
	tensor.Float32: func(t tensor.Tensor, i int, v uint64) bool {
		tensor.Data[float32](t)[i] = math.Float32frombits(uint32(v))
		return true
	},
	tensor.Float64: func(t tensor.Tensor, i int, v uint64) bool {
		tensor.Data[float64](t)[i] = math.Float64frombits(v)
		return true
	},
	tensor.Uint64: func(t tensor.Tensor, i int, v uint64) bool {
		tensor.Data[uint64](t)[i] = v
		return true
	},
	tensor.Int64: setIn[int64], tensor.Int32: setIn[int32], tensor.Int16: setIn[int16], tensor.Int8: setIn[int8],
	tensor.Uint32: setIn[uint32], tensor.Uint16: setIn[uint16], tensor.Uint8: setIn[uint8], tensor.Bool: setIn[uint8],
}

func setIn[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32](t tensor.Tensor, i int, v uint64) bool {
	tensor.Data[T](t)[i] = T(v)
	return int64(T(v)) == int64(v)
}
