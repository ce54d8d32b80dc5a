package arch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// int4Block is how many weights of an output share a scale, and int4Accuracy says that the products
// are computed in 8 bits.
const (
	int4Block    = 32
	int4Accuracy = 4
)

// errFewBits refuses Options.Weights, which are float32.
var errFewBits = errors.New("weights of a checkpoint have no place in a table of fewer bits")

// matMulInt4 adds x·W with weights of 4 bits (MatMulNBits). Weights that mean nothing are drawn in 4
// bits; others are rounded, which needs the whole matrix in memory.
func (b *Builder) matMulInt4(name string, x *onnx.Value, units int64, f Filler, random bool) *onnx.Value {
	inputs := width(x)
	switch {
	case b.given != nil:
		return b.fail("weights", name+"/weights", errFewBits)
	case inputs == 0 || inputs%int4Block != 0:
		return b.fail("MatMulNBits", name, fmt.Errorf("the inputs of %v are no whole blocks of %d", x, int4Block))
	}
	source, err := f.fill(b.seed, name+"/weights", []int64{inputs, units})
	if err != nil {
		return b.fail("weights", name, err)
	}
	m := int4Matrix{inputs: inputs, units: units}
	if random {
		m.stream = streamSeed(b.seed, name+"/weights")
	} else {
		m.source = source
	}
	blocks := inputs / int4Block
	weights := b.Constant(&onnx.Tensor{Name: name + "/weights", Type: onnx.Uint8, Dims: []int64{units, blocks, int4Block / 2}, Data: int4Weights{m}})
	scales := b.Constant(&onnx.Tensor{Name: name + "/scales", Type: onnx.Float32, Dims: []int64{units * blocks}, Data: int4Scales{m}})
	shape := append(onnx.Shape{}, x.Type.Shape...)
	shape[len(shape)-1] = onnx.Fixed(units)
	return b.contrib("MatMulNBits", name, []*onnx.Value{x, weights, scales}, []onnx.Attribute{
		onnx.Attr("K", inputs), onnx.Attr("N", units), onnx.Attr("bits", int64(4)), onnx.Attr("block_size", int64(int4Block)), onnx.Attr("accuracy_level", int64(int4Accuracy)),
	}, onnx.Type{Elem: x.Type.Elem, Shape: shape})[0]
}

// An int4Matrix is a matrix [inputs, units] that is kept in 4 bits, block by block of each unit's
// inputs.
type int4Matrix struct {
	inputs, units int64
	source        onnx.Source // nil: weights are drawn from the stream
	stream        [2]uint64
}

// read returns the weights.
func (m int4Matrix) read() ([]float32, error) {
	list := &elementList{make([]float32, 0, m.inputs*m.units)}
	_, err := m.source.WriteTo(list)
	return list.elements, err
}

// scale is that of a block: the largest weight becomes ±7.
func (m int4Matrix) scale(w []float32, unit, block int64) float32 {
	largest := 0.0
	for i := block * int4Block; i < (block+1)*int4Block; i++ {
		largest = max(largest, math.Abs(float64(w[i*m.units+unit])))
	}
	return float32(largest / 7)
}

// int4Weights are the weights, two in a byte, each 8 more than its multiple of the scale.
type int4Weights struct{ int4Matrix }

// Size implements onnx.Source.
func (m int4Weights) Size() int64 { return m.inputs * m.units / 2 }

// WriteTo implements onnx.Source.
func (m int4Weights) WriteTo(to io.Writer) (int64, error) {
	if m.source == nil {
		return m.draw(to)
	}
	w, err := m.read()
	if err != nil {
		return 0, err
	}
	row := make([]byte, m.inputs/2)
	written := int64(0)
	for unit := range m.units {
		for block := range m.inputs / int4Block {
			scale := float64(m.scale(w, unit, block))
			for i := block * int4Block; i < (block+1)*int4Block; i += 2 {
				row[i/2] = nibble(w[i*m.units+unit], scale) | nibble(w[(i+1)*m.units+unit], scale)<<4
			}
		}
		n, err := to.Write(row)
		if written += int64(n); err != nil {
			return written, err
		}
	}
	return written, nil
}

func nibble(w float32, scale float64) byte {
	if scale == 0 {
		return 8
	}
	return byte(8 + math.Round(float64(w)/scale))
}

// draw writes random weights.
func (m int4Weights) draw(to io.Writer) (written int64, err error) {
	rng := rand.NewPCG(m.stream[0], m.stream[1])
	buf := make([]byte, 4*chunk)
	for left := m.Size(); left > 0 && err == nil; {
		part := buf[:min(left, int64(len(buf)))]
		for i := 0; i+8 <= len(part); i += 8 {
			binary.LittleEndian.PutUint64(part[i:], rng.Uint64())
		}
		var n int
		n, err = to.Write(part)
		written += int64(n)
		left -= int64(len(part))
	}
	return written, err
}

// int4Scales are the scales, unit by unit.
type int4Scales struct{ int4Matrix }

// Size implements onnx.Source.
func (m int4Scales) Size() int64 { return 4 * m.units * (m.inputs / int4Block) }

// evenDeviation is that of an even distribution over 0 to 15.
const evenDeviation = 4.61

// WriteTo implements onnx.Source.
func (m int4Scales) WriteTo(to io.Writer) (int64, error) {
	blocks := m.inputs / int4Block
	if m.source == nil {
		scale := float32(1 / math.Sqrt(float64(m.inputs)) / evenDeviation)
		return writeFloats(to, m.units*blocks, func(int64) float32 { return scale })
	}
	w, err := m.read()
	if err != nil {
		return 0, err
	}
	return writeFloats(to, m.units*blocks, func(i int64) float32 { return m.scale(w, i/blocks, i%blocks) })
}
