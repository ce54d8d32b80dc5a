package oip

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// A scanner reads a message that lies in several buffers. A copy of it goes on from where the
// copy was made.
type scanner struct {
	rest mem.BufferSlice
	b    []byte
	left int // bytes
}

func newScanner(s mem.BufferSlice) scanner { return scanner{rest: s, left: s.Len()} }

var errShort = errors.New("the message ends early")

// more sees to it that there is a byte to read.
func (r *scanner) more() bool {
	for len(r.b) == 0 {
		if len(r.rest) == 0 {
			return false
		}
		r.b, r.rest = r.rest[0].ReadOnlyData(), r.rest[1:]
	}
	return true
}

func (r *scanner) varint() (uint64, error) {
	var v uint64
	for shift := 0; shift < 70; shift += 7 {
		if !r.more() {
			return 0, errShort
		}
		c := r.b[0]
		r.b, r.left = r.b[1:], r.left-1
		if shift == 63 && c > 1 {
			break
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, nil
		}
	}
	return 0, errors.New("a number has more than 64 bits")
}

// read copies bytes of the message; skip leaves them out.
func (r *scanner) read(dst []byte) error {
	for len(dst) > 0 {
		if !r.more() {
			return errShort
		}
		n := copy(dst, r.b)
		dst, r.b, r.left = dst[n:], r.b[n:], r.left-n
	}
	return nil
}

func (r *scanner) skip(n int) error {
	if n > r.left {
		return errShort
	}
	for n > 0 && r.more() {
		k := min(n, len(r.b))
		r.b, r.left, n = r.b[k:], r.left-k, n-k
	}
	return nil
}

// bytes returns the next bytes: the message's own if they lie in one buffer.
func (r *scanner) bytes(n int) ([]byte, error) {
	if n > r.left {
		return nil, errShort
	}
	if r.more() && n <= len(r.b) {
		b := r.b[:n:n]
		return b, r.skip(n)
	}
	b := make([]byte, n)
	return b, r.read(b)
}

// A wireField is a field of a message: a number, or the length of the bytes that follow.
type wireField struct {
	number protowire.Number
	kind   protowire.Type
	value  uint64
}

// field reads the tag of a field and its number or length. Fixed numbers are read, too.
func (r *scanner) field() (f wireField, err error) {
	tag, err := r.varint()
	if err != nil {
		return f, err
	}
	if tag > math.MaxUint32 {
		return f, fmt.Errorf("a field has the tag %d", tag)
	}
	f.number, f.kind = protowire.Number(tag>>3), protowire.Type(tag&7)
	if !f.number.IsValid() {
		return f, fmt.Errorf("a field has the number %d", f.number)
	}
	f.value, err = r.value(f)
	return f, err
}

// value reads the number of a field, or its length.
func (r *scanner) value(f wireField) (v uint64, err error) {
	switch f.kind {
	case protowire.VarintType:
		return r.varint()
	case protowire.Fixed32Type:
		return r.fixed(4)
	case protowire.Fixed64Type:
		return r.fixed(8)
	case protowire.BytesType:
		if v, err = r.varint(); err == nil && v > uint64(r.left) {
			err = fmt.Errorf("field %d claims %d bytes, %d are left", f.number, v, r.left)
		}
		return v, err
	}
	return 0, fmt.Errorf("field %d is of the wire type %d, which nothing here has", f.number, f.kind)
}

func (r *scanner) fixed(size int) (v uint64, err error) {
	var b [8]byte
	err = r.read(b[:size])
	for i := size - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v, err
}

// is reports whether a field is that of a number and a kind. A field of that number and another
// kind is an error, as nobody would have written it.
func (f wireField) is(kind protowire.Type) error {
	if f.kind != kind {
		return fmt.Errorf("field %d is of the wire type %d, want %d", f.number, f.kind, kind)
	}
	return nil
}
