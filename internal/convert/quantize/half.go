package quantize

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// largestHalfBits are the bits of 65504, the largest finite float16.
const largestHalfBits = 0x7bff

// float16Of returns the bits of the float16 nearest to x, ties to even (IEEE 754). Beyond 65504 it is an
// infinity. A NaN stays one, with the upper bits of its payload.
func float16Of(x float32) uint16 {
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	exponent := int(bits>>23&0xff) - 127
	fraction := bits & 0x7fffff
	switch {
	case exponent == 128 && fraction != 0:
		return sign | 0x7e00 | uint16(fraction>>13) // quiet
	case exponent > 15:
		return sign | 0x7c00
	case exponent >= -14:
		// A carry out of the fraction goes into the exponent, as it should, also from the largest
		// number to infinity.
		return sign | roundShift(uint32(exponent+15)<<23|fraction, 13)
	case exponent >= -25:
		return sign | roundShift(fraction|0x800000, uint(-exponent-1))
	}
	return sign
}

// roundShift returns x/2ⁿ, rounded to nearest even.
func roundShift(x uint32, n uint) uint16 {
	quotient := x >> n
	rest, half := x&(1<<n-1), uint32(1)<<(n-1)
	if rest > half || rest == half && quotient&1 == 1 {
		quotient++
	}
	return uint16(quotient)
}

// A Rounding counts the changes of constants on the way to float16.
type Rounding struct {
	Elements int64 `json:"elements"`
	Clamped  int64 `json:"clamped"`         // finite numbers beyond ±65504, which became that
	Flushed  int64 `json:"flushed_to_zero"` // numbers other than zero that became zero
	// Raised are single numbers, for instance an epsilon, that would have become zero and became the
	// smallest number above it instead, so that a division by them stays possible.
	Raised int64 `json:"raised_from_zero"`
}

func (r *Rounding) add(o Rounding) {
	r.Elements += o.Elements
	r.Clamped += o.Clamped
	r.Flushed += o.Flushed
	r.Raised += o.Raised
}

// halfTensor returns a float32 tensor in float16. Its elements are converted each time that they are
// read, so that a model of any size takes no memory; a first pass counts.
func halfTensor(name string, t *onnx.Tensor) (*onnx.Tensor, Rounding, error) {
	n, err := t.Len()
	if err != nil {
		return nil, Rounding{}, err
	}
	h := &onnx.Tensor{Name: name, Type: onnx.Float16, Dims: t.Dims, Extra: t.Extra}
	if t.Data == nil {
		return h, Rounding{}, nil // no elements
	}
	source := halfSource{t.Data, n == 1}
	w := halfWriter{w: io.Discard, single: source.single}
	if _, err := t.Data.WriteTo(&w); err != nil {
		return nil, Rounding{}, err
	}
	h.Data = source
	if w.counts.Elements <= 16 { // a copy is smaller than its source
		if raw, err := h.Bytes(); err == nil {
			h.Data = onnx.Raw(raw)
		}
	}
	return h, w.counts, nil
}

// A halfSource yields the elements of a source of float32 as float16.
type halfSource struct {
	of     onnx.Source
	single bool
}

// Size implements onnx.Source.
func (s halfSource) Size() int64 { return s.of.Size() / 2 }

// WriteTo implements onnx.Source.
func (s halfSource) WriteTo(w io.Writer) (int64, error) {
	h := halfWriter{w: w, single: s.single}
	_, err := s.of.WriteTo(&h)
	return h.written, err
}

// A halfWriter takes the bytes of float32 numbers, in pieces of any length, and writes float16 numbers.
type halfWriter struct {
	w       io.Writer
	single  bool
	rest    []byte // of a number that is not complete, less than 4
	buffer  []byte
	written int64
	counts  Rounding

	largest      float32 // magnitude of a finite number
	leastClamped float32 // the smallest magnitude beyond 65504
}

// Write implements io.Writer.
func (h *halfWriter) Write(p []byte) (int, error) {
	h.buffer = h.buffer[:0]
	whole := p
	if len(h.rest) > 0 {
		n := min(4-len(h.rest), len(p))
		h.rest, whole = append(h.rest, p[:n]...), p[n:]
		if len(h.rest) < 4 {
			return len(p), nil
		}
		h.convert(h.rest)
		h.rest = h.rest[:0]
	}
	cut := len(whole) &^ 3
	h.convert(whole[:cut])
	h.rest = append(h.rest, whole[cut:]...)
	n, err := h.w.Write(h.buffer)
	h.written += int64(n)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (h *halfWriter) convert(raw []byte) {
	for ; len(raw) >= 4; raw = raw[4:] {
		x := math.Float32frombits(binary.LittleEndian.Uint32(raw))
		half, r := float16Of(x), &h.counts
		r.Elements++
		size := float32(math.Abs(float64(x)))
		if size <= math.MaxFloat32 {
			h.largest = max(h.largest, size)
		}
		switch {
		case half&0x7fff == 0x7c00 && !math.IsInf(float64(x), 0):
			if r.Clamped++; r.Clamped == 1 || size < h.leastClamped {
				h.leastClamped = size
			}
			half = half&0x8000 | largestHalfBits
		case half&0x7fff == 0 && x != 0 && h.single:
			r.Raised++
			half |= 1
		case half&0x7fff == 0 && x != 0:
			r.Flushed++
		}
		h.buffer = binary.LittleEndian.AppendUint16(h.buffer, half)
	}
}
