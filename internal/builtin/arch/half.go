package arch

import (
	"encoding/binary"
	"io"
	"math/rand/v2"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// halfTable returns a table of random numbers of 16 bits, of which rows are looked up: half of the memory
// of a table that is too large otherwise.
func (b *Builder) halfTable(name string, dims ...int64) *onnx.Value {
	if b.given != nil {
		return b.fail("weights", name, errFewBits)
	}
	b.weights[name] = parameter
	return b.Constant(&onnx.Tensor{Name: name, Type: onnx.Float16, Dims: dims, Data: halves{streamSeed(b.seed, name), product(dims)}})
}

// halves are random numbers from -2 to 2 of 16 bits: a sign, one of four exponents, and ten bits.
type halves struct {
	stream [2]uint64
	n      int64
}

// Size implements onnx.Source.
func (h halves) Size() int64 { return 2 * h.n }

// WriteTo implements onnx.Source.
func (h halves) WriteTo(w io.Writer) (written int64, err error) {
	const sign, spread, least = 0x8000, 0xfff, 0x3000 // of the bits: exponents from 2^-3 on
	rng := rand.NewPCG(h.stream[0], h.stream[1])
	buf := make([]byte, 8*chunk)
	for left := h.Size(); left > 0 && err == nil; {
		part := buf[:min(left, int64(len(buf)))]
		bits := uint64(0)
		for i := 0; i < len(part); i += 2 {
			if bits >>= 16; i%8 == 0 {
				bits = rng.Uint64()
			}
			v := uint16(bits)
			binary.LittleEndian.PutUint16(part[i:], v&sign|v&spread+least)
		}
		var n int
		n, err = w.Write(part)
		written += int64(n)
		left -= int64(len(part))
	}
	return written, err
}
