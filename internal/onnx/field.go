package onnx

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// A field is one field of a message being read.
type field struct {
	num  protowire.Number
	typ  protowire.Type
	val  uint64 // of a varint, fixed32 or fixed64
	data []byte // of a bytes field
	raw  []byte // the whole field with its tag
}

// errUnknownField says that a field has no place in our types.
var errUnknownField = errors.New("unknown field")

// eachField calls visit for each field of a message. Those for which visit returns
// errUnknownField are appended to extra.
func eachField(msg []byte, extra *Extra, visit func(field) error) error {
	var unknown []byte
	for len(msg) > 0 {
		f, err := nextField(msg)
		if err != nil {
			return err
		}
		msg = msg[len(f.raw):]
		switch err := visit(f); {
		case err == errUnknownField:
			unknown = append(unknown, f.raw...)
		case err != nil:
			return err
		}
	}
	if len(unknown) > 0 {
		*extra += Extra(unknown)
	}
	return nil
}

func nextField(msg []byte) (field, error) {
	num, typ, tag := protowire.ConsumeTag(msg)
	if tag < 0 {
		return field{}, protowire.ParseError(tag)
	}
	f := field{num: num, typ: typ}
	n := 0
	switch typ {
	case protowire.VarintType:
		f.val, n = protowire.ConsumeVarint(msg[tag:])
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(msg[tag:])
		f.val = uint64(v)
	case protowire.Fixed64Type:
		f.val, n = protowire.ConsumeFixed64(msg[tag:])
	case protowire.BytesType:
		f.data, n = protowire.ConsumeBytes(msg[tag:])
	default:
		return field{}, errNoWireType(num, typ)
	}
	if n < 0 {
		return field{}, protowire.ParseError(n)
	}
	f.raw = msg[:tag+n]
	return f, nil
}

// errNoWireType refuses groups, which protocol buffers gave up before ONNX began, and
// wire types that do not exist.
func errNoWireType(num protowire.Number, typ protowire.Type) error {
	return fmt.Errorf("field %d has wire type %d, which ONNX does not use", num, typ)
}

func (f field) want(typ protowire.Type) error {
	if f.typ != typ {
		return fmt.Errorf("field %d has wire type %d, want %d", f.num, f.typ, typ)
	}
	return nil
}

func (f field) int(dst *int64) error {
	*dst = int64(f.val)
	return f.want(protowire.VarintType)
}

func (f field) float(dst *float32) error {
	*dst = math.Float32frombits(uint32(f.val))
	return f.want(protowire.Fixed32Type)
}

func (f field) string(dst *string) error {
	*dst = string(f.data)
	return f.want(protowire.BytesType)
}

func (f field) strings(dst *[]string) error {
	*dst = append(*dst, string(f.data))
	return f.want(protowire.BytesType)
}

// message hands the bytes of an embedded message to decode.
func (f field) message(decode func([]byte) error) error {
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	return decode(f.data)
}

// varints appends the elements of a repeated field of integers, which may come
// one by one or packed.
func (f field) varints(dst *[]int64) error {
	if f.typ == protowire.VarintType {
		*dst = append(*dst, int64(f.val))
		return nil
	}
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	for rest := f.data; len(rest) > 0; {
		v, n := protowire.ConsumeVarint(rest)
		if n < 0 {
			return protowire.ParseError(n)
		}
		*dst = append(*dst, int64(v))
		rest = rest[n:]
	}
	return nil
}

// fixed appends the little-endian bytes of a repeated field of floats of a width,
// which may come one by one or packed. Packed ones are not copied if they are all.
func (f field) fixed(width int, dst *[]byte) error {
	one := protowire.Fixed32Type
	if width == 8 {
		one = protowire.Fixed64Type
	}
	elements := f.data
	switch {
	case f.typ == one:
		elements = f.raw[len(f.raw)-width:]
	case f.want(protowire.BytesType) != nil:
		return f.want(protowire.BytesType)
	case len(f.data)%width != 0:
		return fmt.Errorf("field %d holds %d bytes, not a multiple of %d", f.num, len(f.data), width)
	}
	if *dst == nil {
		*dst = elements[:len(elements):len(elements)]
		return nil
	}
	*dst = append(*dst, elements...)
	return nil
}
