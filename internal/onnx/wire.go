package onnx

import (
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// A message is a message under construction: its bytes, but for the elements of
// tensors, which are only remembered and written in between when the time comes.
// So the length prefixes are right and no weight is copied or even made.
type message struct {
	buf   []byte
	holes []hole
	held  int64 // bytes that the holes will take
	err   error // the first value that has no encoding
}

// A hole is a place in a message where the elements of a tensor go.
type hole struct {
	at     int // index into buf
	tensor *Tensor
}

func (m *message) size() int64 { return int64(len(m.buf)) + m.held }

func (m *message) int(num protowire.Number, v int64) {
	m.buf = protowire.AppendTag(m.buf, num, protowire.VarintType)
	m.buf = protowire.AppendVarint(m.buf, uint64(v))
}

func (m *message) float(num protowire.Number, v float32) {
	m.buf = protowire.AppendTag(m.buf, num, protowire.Fixed32Type)
	m.buf = protowire.AppendFixed32(m.buf, math.Float32bits(v))
}

func (m *message) string(num protowire.Number, v string) {
	m.buf = protowire.AppendTag(m.buf, num, protowire.BytesType)
	m.buf = protowire.AppendString(m.buf, v)
}

// optionalInt and optionalString leave the default value out.
func (m *message) optionalInt(num protowire.Number, v int64) {
	if v != 0 {
		m.int(num, v)
	}
}

func (m *message) optionalString(num protowire.Number, v string) {
	if v != "" {
		m.string(num, v)
	}
}

func (m *message) strings(num protowire.Number, list []string) {
	for _, s := range list {
		m.string(num, s)
	}
}

func (m *message) floats(num protowire.Number, list []float32) {
	for _, v := range list {
		m.float(num, v)
	}
}

func (m *message) ints(num protowire.Number, list []int64) {
	for _, v := range list {
		m.int(num, v)
	}
}

func (m *message) properties(num protowire.Number, list []Property) {
	for i := range list {
		m.message(num, list[i].encode)
	}
}

func (m *message) extra(e Extra) { m.buf = append(m.buf, e...) }

// data leaves a hole for the elements of a tensor.
func (m *message) data(num protowire.Number, t *Tensor) {
	m.buf = protowire.AppendTag(m.buf, num, protowire.BytesType)
	m.buf = protowire.AppendVarint(m.buf, uint64(t.Data.Size()))
	m.holes = append(m.holes, hole{len(m.buf), t})
	m.held += t.Data.Size()
}

// message adds the message that fill makes.
func (m *message) message(num protowire.Number, fill func(*message)) {
	var sub message
	fill(&sub)
	m.buf = protowire.AppendTag(m.buf, num, protowire.BytesType)
	m.buf = protowire.AppendVarint(m.buf, uint64(sub.size()))
	for _, h := range sub.holes {
		m.holes = append(m.holes, hole{len(m.buf) + h.at, h.tensor})
	}
	m.buf = append(m.buf, sub.buf...)
	m.held += sub.held
	if m.err == nil {
		m.err = sub.err
	}
}

// writeTo writes the message and the data of its tensors.
func (m *message) writeTo(w io.Writer) error {
	done := 0
	for _, h := range m.holes {
		if _, err := w.Write(m.buf[done:h.at]); err != nil {
			return err
		}
		done = h.at
		if err := h.tensor.writeElements(w); err != nil {
			return err
		}
	}
	_, err := w.Write(m.buf[done:])
	return err
}

// writeElements writes the elements, as many bytes as their source has said.
func (t *Tensor) writeElements(w io.Writer) error {
	n, err := t.Data.WriteTo(w)
	if err != nil {
		return err // as likely of the disk as of the source
	}
	if want := t.Data.Size(); n != want {
		return fmt.Errorf("tensor %q: its source wrote %d bytes, not %d", t.Name, n, want)
	}
	return nil
}

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
