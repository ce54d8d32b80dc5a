package synth

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// The parts of a NIfTI-1 header that are used here, and the codes of its types
// (nifti1.h).
const (
	niftiHeader = 352 // with the four bytes that say that no extension follows
	niftiUint8  = 2
	niftiInt16  = 4
)

// writeNIfTI writes a volume, packed. The file has the first axis running fastest, as in
// KiTS19, whose first axis are the slices.
func writeNIfTI[T int16 | uint8](path string, g VolumeGrid, voxels []T) error {
	size, code := 1, niftiUint8
	if _, ok := any(voxels).([]int16); ok {
		size, code = 2, niftiInt16
	}
	return fileio.WriteAtomic(path, 0o644, func(f io.Writer) error {
		packed, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
		if err != nil {
			return err
		}
		w := bufio.NewWriterSize(packed, 1<<16)
		_, err = w.Write(niftiHeaderOf(g, code, 8*size))
		n := g.Shape
		for x := range n[2] {
			for y := range n[1] {
				for z := range n[0] {
					v := uint16(voxels[(z*n[1]+y)*n[2]+x])
					w.WriteByte(byte(v))
					if size == 2 {
						w.WriteByte(byte(v >> 8))
					}
				}
			}
		}
		return errors.Join(err, w.Flush(), packed.Close())
	})
}

// niftiHeaderOf returns the header of a volume with elements of a type.
func niftiHeaderOf(g VolumeGrid, code, bitsPerVoxel int) []byte {
	h := make([]byte, niftiHeader)
	le := binary.LittleEndian
	float := func(at int, v float64) { le.PutUint32(h[at:], math.Float32bits(float32(v))) }
	le.PutUint32(h[0:], 348) // sizeof_hdr
	le.PutUint16(h[40:], 3)  // dim[0]
	for i := range 7 {
		le.PutUint16(h[42+2*i:], 1)
	}
	float(76, 1) // pixdim[0], a handedness
	for axis := range g.Shape {
		le.PutUint16(h[42+2*axis:], uint16(g.Shape[axis])) // dim
		float(80+4*axis, g.Spacing[axis])                  // pixdim
	}
	le.PutUint16(h[70:], uint16(code))
	le.PutUint16(h[72:], uint16(bitsPerVoxel))
	float(108, niftiHeader)  // vox_offset
	float(112, 1)            // scl_slope
	h[123] = 2               // xyzt_units: mm
	le.PutUint16(h[254:], 1) // sform_code: the affine that follows
	float(280+8, -g.Spacing[2])
	float(296+4, -g.Spacing[1])
	float(312, -g.Spacing[0])
	copy(h[344:], "n+1\x00")
	return h
}
