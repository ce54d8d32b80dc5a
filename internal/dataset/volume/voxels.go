package volume

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
)

// A voxelType says how large a voxel is, and how its number is read.
type voxelType struct {
	size   int
	decode func(o binary.ByteOrder, b []byte) float64
}

// voxelTypes are those that are read, by their codes in nifti1.h.
var voxelTypes = map[uint16]voxelType{
	2:   {1, func(_ binary.ByteOrder, b []byte) float64 { return float64(b[0]) }},
	256: {1, func(_ binary.ByteOrder, b []byte) float64 { return float64(int8(b[0])) }},
	4:   {2, func(o binary.ByteOrder, b []byte) float64 { return float64(int16(o.Uint16(b))) }},
	512: {2, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint16(b)) }},
	8:   {4, func(o binary.ByteOrder, b []byte) float64 { return float64(int32(o.Uint32(b))) }},
	768: {4, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint32(b)) }},
	16:  {4, func(o binary.ByteOrder, b []byte) float64 { return float64(math.Float32frombits(o.Uint32(b))) }},
	64:  {8, func(o binary.ByteOrder, b []byte) float64 { return math.Float64frombits(o.Uint64(b)) }},
}

// voxels reads the numbers, which have the first axis running fastest, and turns them so
// that the last does. Memory grows with what is really there, so that a header that
// promises too much costs nothing.
func (h *header) voxels(r io.Reader) ([]float32, error) {
	size := h.voxel.size
	const piece = 1 << 16 // voxels at a time
	var stored []float32
	raw := make([]byte, size*min(h.Len(), piece))
	for left := h.Len(); left > 0; left = h.Len() - len(stored) {
		raw = raw[:size*min(left, piece)]
		if _, err := io.ReadFull(r, raw); err != nil {
			slice := h.Shape[0] * h.Shape[1]
			return nil, fmt.Errorf("the file ends in slice %d of %d: %w", len(stored)/slice, h.Shape[2], cut(err))
		}
		stored = slices.Grow(stored, min(left, max(len(stored), piece)))
		for at := 0; at < len(raw); at += size {
			v := h.voxel.decode(h.order, raw[at:])
			stored = append(stored, float32(float64(v*h.slope)+h.intercept))
		}
	}
	return h.turned(stored), nil
}

// turned puts the voxels [(k·n₁+j)·n₀+i] into the order [(i·n₁+j)·n₂+k].
func (h *header) turned(stored []float32) []float32 {
	n := h.Shape
	data := make([]float32, h.Len())
	for j := range n[1] {
		for i := range n[0] {
			row := data[(i*n[1]+j)*n[2]:][:n[2]]
			for k := range row {
				row[k] = stored[(k*n[1]+j)*n[0]+i]
			}
		}
	}
	return data
}
