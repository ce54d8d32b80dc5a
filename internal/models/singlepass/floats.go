package singlepass

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// IsFloat reports whether a type is one of numbers with a fraction.
func IsFloat(d tensor.DType) bool {
	return d == tensor.Float32 || IsOtherFloat(d)
}

// IsOtherFloat reports whether numbers of a type are converted on the way in and out.
func IsOtherFloat(d tensor.DType) bool {
	return d == tensor.Float16 || d == tensor.BFloat16 || d == tensor.Float64
}

// AsFloat32 returns the numbers of a tensor of another float type, in memory that is reused.
func AsFloat32(t tensor.Tensor, memory *[]float32) tensor.Tensor {
	n := t.Len()
	if cap(*memory) < n {
		*memory = make([]float32, n)
	}
	to := (*memory)[:n]
	switch t.Type {
	case tensor.Float64:
		for i, v := range tensor.Data[float64](t) {
			to[i] = float32(v)
		}
	case tensor.BFloat16:
		for i, bits := range tensor.Data[uint16](t) {
			to[i] = math.Float32frombits(uint32(bits) << 16)
		}
	default:
		for i, bits := range tensor.Data[uint16](t) {
			to[i] = fromHalf(bits)
		}
	}
	return tensor.Of(to, t.Shape...)
}

// FromFloat32 fills a tensor of another float type.
func FromFloat32(dst tensor.Tensor, from []float32) {
	switch dst.Type {
	case tensor.Float64:
		to := tensor.Data[float64](dst)
		for i, v := range from {
			to[i] = float64(v)
		}
	case tensor.Float16:
		to := tensor.Data[uint16](dst)
		for i, v := range from {
			to[i] = toHalf(v)
		}
	case tensor.BFloat16:
		to := tensor.Data[uint16](dst)
		for i, v := range from {
			to[i] = toBrain(v)
		}
	}
}

// AppendHalves appends the float16 nearest to each number, little-endian.
func AppendHalves(dst []byte, from []float32) []byte {
	dst = slices.Grow(dst, 2*len(from))
	for _, v := range from {
		dst = binary.LittleEndian.AppendUint16(dst, toHalf(v))
	}
	return dst
}

// fromHalf returns the number of a float16.
func fromHalf(bits uint16) float32 {
	sign, exponent, fraction := uint32(bits>>15)<<31, uint32(bits>>10&0x1f), uint32(bits&0x3ff)
	switch exponent {
	case 0: // zero, or below the smallest normal number
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	case 0x1f:
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// toHalf returns the nearest float16, of two that are as near the even one, as NumPy does.
func toHalf(v float32) uint16 {
	bits := math.Float32bits(v)
	sign := uint16(bits >> 16 & 0x8000)
	size := math.Abs(float64(v))
	switch {
	case v != v:
		return sign | 0x7e00
	case size >= 65520: // halfway between the largest and what would follow it
		return sign | 0x7c00
	case size < 0x1p-14:
		return sign | uint16(math.RoundToEven(size*0x1p24))
	}
	rounded := bits&0x7fffffff + 0xfff + bits>>13&1
	return sign | uint16(rounded>>13-(127-15)<<10)
}

// toBrain returns the nearest bfloat16, of two that are as near the even one.
func toBrain(v float32) uint16 {
	bits := math.Float32bits(v)
	if v != v {
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}
