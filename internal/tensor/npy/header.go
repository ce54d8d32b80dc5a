package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

const (
	magic = "\x93NUMPY"

	// maxHeader bounds the memory for a header. Version 1 cannot exceed it, and NumPy
	// itself refuses more than 10,000 bytes unless told otherwise.
	maxHeader = math.MaxUint16

	// alignment of the array's first byte in the file, and the digits for which NumPy
	// leaves room in the header, so that the first axis can grow in place.
	alignment  = 64
	growDigits = 21
)

// A header says what an array is.
type header struct {
	Type  tensor.DType
	Shape tensor.Shape
}

// types maps NumPy's type codes, without the byte order, to ours.
var types = map[string]tensor.DType{
	"f2": tensor.Float16, "f4": tensor.Float32, "f8": tensor.Float64,
	"i1": tensor.Int8, "i2": tensor.Int16, "i4": tensor.Int32, "i8": tensor.Int64,
	"u1": tensor.Uint8, "u2": tensor.Uint16, "u4": tensor.Uint32, "u8": tensor.Uint64,
	"b1": tensor.Bool,
}

// code returns NumPy's type code with byte order.
func code(d tensor.DType) (string, error) {
	for c, t := range types {
		if t != d {
			continue
		}
		if d.Size() == 1 {
			return "|" + c, nil
		}
		return "<" + c, nil
	}
	return "", fmt.Errorf("element type %v has no NumPy equivalent", d)
}

// bytes returns the size of the array's elements in the file. It fails if it exceeds
// what can be addressed.
func (h header) bytes() (int64, error) {
	n := int64(h.Type.Size())
	for _, d := range h.Shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative axis", h.Shape)
		}
		if d > 0 && n > math.MaxInt/d {
			return 0, fmt.Errorf("shape %v is too large", h.Shape)
		}
		n *= d
	}
	return n, nil
}

// encode returns everything that precedes the elements in a file.
func (h header) encode() ([]byte, error) {
	descr, err := code(h.Type)
	if err != nil {
		return nil, err
	}
	if _, err := h.bytes(); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, tuple(h.Shape))
	if len(h.Shape) > 0 {
		text += strings.Repeat(" ", growDigits-len(fmt.Sprint(h.Shape[0])))
	}
	const fixed = len(magic) + 2 + 2 // with version and length
	size := (fixed + len(text) + 1 + alignment - 1) / alignment * alignment
	if size-fixed > maxHeader {
		return nil, fmt.Errorf("shape of %d axes is too long for a header", len(h.Shape))
	}
	text += strings.Repeat(" ", size-fixed-len(text)-1) + "\n"
	out := append([]byte(magic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(text)))
	return append(out, text...), nil
}

// tuple is a shape as Python writes it: (), (2,) and (2, 3).
func tuple(shape tensor.Shape) string {
	if len(shape) == 1 {
		return fmt.Sprintf("(%d,)", shape[0])
	}
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = fmt.Sprint(d)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// readHeader reads up to the first element. It also reports whether the elements are in
// big-endian order.
func readHeader(r io.Reader) (h header, bigEndian bool, err error) {
	var start [len(magic) + 2]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return h, false, fmt.Errorf("reading the NumPy signature: %w", err)
	}
	if string(start[:len(magic)]) != magic {
		return h, false, fmt.Errorf("file begins with % X, want the NumPy signature % X", start[:len(magic)], magic)
	}
	n, err := readLength(r, start[len(magic)])
	if err != nil {
		return h, false, err
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, false, fmt.Errorf("reading the header: %w", err)
	}
	h, bigEndian, err = parse(string(text))
	if err != nil {
		return h, false, fmt.Errorf("header %q: %w", strings.TrimSpace(string(text)), err)
	}
	return h, bigEndian, nil
}

// readLength reads how long the header is, for which version 1 has two bytes, and later ones
// four.
func readLength(r io.Reader, version byte) (uint32, error) {
	size := 4
	switch version {
	case 1:
		size = 2
	case 2, 3:
	default:
		return 0, fmt.Errorf("NumPy format version is %d, want 1 to 3", version)
	}
	var length [4]byte
	if _, err := io.ReadFull(r, length[:size]); err != nil {
		return 0, fmt.Errorf("reading the length of the header: %w", err)
	}
	n := binary.LittleEndian.Uint32(length[:])
	if n > maxHeader {
		return 0, fmt.Errorf("header has %d bytes, want at most %d", n, maxHeader)
	}
	return n, nil
}

// parse understands the header's Python dictionary.
func parse(text string) (h header, bigEndian bool, err error) {
	p := parser{rest: text}
	d, err := p.dictionary()
	if err != nil {
		return h, false, err
	}
	if d.fortran {
		return h, false, errors.New("array is in Fortran order, want C order")
	}
	if len(d.descr) != 3 || !strings.Contains("<>|=", d.descr[:1]) {
		return h, false, fmt.Errorf("element type %q is not supported", d.descr)
	}
	typ, ok := types[d.descr[1:]]
	if !ok {
		return h, false, fmt.Errorf("element type %q is not supported", d.descr)
	}
	h = header{Type: typ, Shape: d.shape}
	_, err = h.bytes()
	return h, d.descr[0] == '>' || d.descr[0] == '=' && !littleEndian(), err
}
