package volume

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine"
)

// A Grid is the number of voxels along each axis and their distance.
type Grid struct {
	Shape   [3]int
	Spacing [3]float64 // in mm
}

// Len returns the number of voxels.
func (g Grid) Len() int { return g.Shape[0] * g.Shape[1] * g.Shape[2] }

// A Volume is a grid with a number for each voxel.
type Volume struct {
	Grid
	Data []float32 // the last axis runs fastest
}

// maxVoxels limits the memory for a file. The largest case of KiTS19 has 277 million voxels.
const maxVoxels = 1 << 29

// maxBehind limits the bytes that are read after the voxels.
const maxBehind = 1 << 20

// headerSize is the size of a NIfTI-1 header in bytes (nifti1.h).
const headerSize = 348

// A header has the used fields of a file's header.
type header struct {
	Grid
	order            binary.ByteOrder
	voxel            voxelType
	offset           int64 // of the voxels
	slope, intercept float64
}

// ReadFile reads a NIfTI file, with gzip or without.
func ReadFile(path string) (*Volume, error) { return readFile(path, read) }

// ReadStored is ReadFile with the axes in the opposite order, as SimpleITK has them: the voxels are as they are in the file.
func ReadStored(path string) (*Volume, error) { return readFile(path, readStored) }

func readFile(path string, read func(io.Reader) (*Volume, error)) (v *Volume, err error) {
	err = withFile(path, func(r io.Reader) (err error) {
		v, err = read(r)
		return err
	})
	return v, err
}

// ReadGrid reads the grid of a NIfTI file.
func ReadGrid(path string) (Grid, error) {
	var h header
	err := withFile(path, func(r io.Reader) (err error) {
		h, err = readHeader(r)
		return err
	})
	return h.Grid, err
}

// withFile opens a file, and unpacks it if its content is gzip.
func withFile(path string, read func(io.Reader) error) error {
	f, err := fileio.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	var r io.Reader = in
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		if r, err = gzip.NewReader(in); err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
	}
	if err := read(r); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}

// read reads a NIfTI file without gzip, and turns it.
func read(r io.Reader) (*Volume, error) {
	v, err := readStored(r)
	if err != nil {
		return nil, err
	}
	slices.Reverse(v.Shape[:])
	slices.Reverse(v.Spacing[:])
	v.Data = turned(v.Data, v.Shape)
	return v, nil
}

// readStored reads a NIfTI file without gzip.
func readStored(r io.Reader) (*Volume, error) {
	h, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	if err := h.fits(machine.AvailableMemory()); err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, r, h.offset-headerSize); err != nil {
		return nil, fmt.Errorf("the file ends before the voxels: %w", cut(err))
	}
	v := &Volume{Grid: h.Grid}
	if v.Data, err = h.voxels(r); err != nil {
		return nil, err
	}
	// gzip checks its sum at the end of the file.
	if _, err := io.CopyN(io.Discard, r, maxBehind); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("after the voxels: %w", err)
	}
	slices.Reverse(v.Shape[:])
	slices.Reverse(v.Spacing[:])
	return v, nil
}

func readHeader(r io.Reader) (header, error) {
	var raw [headerSize]byte
	if _, err := io.ReadFull(r, raw[:]); err != nil {
		return header{}, fmt.Errorf("the header of %d bytes is incomplete: %w", headerSize, cut(err))
	}
	h := header{order: binary.LittleEndian}
	if h.order.Uint32(raw[:]) != headerSize {
		h.order = binary.BigEndian
	}
	if size := h.order.Uint32(raw[:]); size != headerSize {
		return h, errors.New("not a NIfTI-1 file: it does not begin with the size of the header, 348")
	}
	if string(raw[344:348]) != "n+1\x00" {
		return h, fmt.Errorf("the header ends with %q, expected a NIfTI-1 file with its voxels in it: %q", raw[344:348], "n+1\x00")
	}
	axes := h.order.Uint16(raw[40:])
	if axes < 3 || axes > 7 {
		return h, fmt.Errorf("the volume has %d axes, expected 3", axes)
	}
	voxels := 1
	for i := range int(axes) {
		n := int(h.order.Uint16(raw[42+2*i:]))
		if i >= 3 {
			if n != 1 {
				return h, fmt.Errorf("axis %d has extent %d, expected a volume of three axes", i+1, n)
			}
			continue
		}
		if n < 1 || n > math.MaxInt16 || n > maxVoxels/voxels {
			return h, fmt.Errorf("axis %d has %d voxels, expected at least 1, and %d in all at most", i+1, n, maxVoxels)
		}
		spacing := math.Abs(float64(h.float(raw[80+4*i:]))) // nibabel also drops the sign
		if !(spacing > 1e-3 && spacing < 1e3) {
			return h, fmt.Errorf("the voxels along axis %d are %v mm apart: must be 0.001 to 1000", i+1, spacing)
		}
		h.Shape[i], h.Spacing[i], voxels = n, spacing, voxels*n
	}
	if p := PreparedShape(h.Grid); float64(p[0])*float64(p[1])*float64(p[2]) > maxVoxels {
		return h, fmt.Errorf("the voxels are %v mm apart: the prepared volume has %v voxels, expected at most %d in all", h.Spacing, p, maxVoxels)
	}
	code := h.order.Uint16(raw[70:])
	var known bool
	if h.voxel, known = voxelTypes[code]; !known {
		return h, fmt.Errorf("voxels are of type %d (nifti1.h): must be integers of 8 to 32 bits or floats", code)
	}
	offset := h.float(raw[108:])
	if !(offset >= headerSize && offset < 1<<20) {
		return h, fmt.Errorf("the voxels begin at byte %v, expected one from %d to %d", offset, headerSize, 1<<20)
	}
	h.offset = int64(offset)
	h.slope, h.intercept = float64(h.float(raw[112:])), float64(h.float(raw[116:]))
	if h.slope == 0 || math.IsNaN(h.slope) { // as in nibabel, voxels without a slope are not scaled
		h.slope, h.intercept = 1, 0
	}
	if math.IsInf(h.slope, 0) || h.intercept-h.intercept != 0 {
		return h, fmt.Errorf("voxels are scaled by %v plus %v: must be finite numbers", h.slope, h.intercept)
	}
	return h, nil
}

// fits refuses a volume that takes more than the free memory, if that is known: a small file of gzip may have a large one.
func (h *header) fits(free uint64) error {
	const bytes = 4 // of a voxel
	p := PreparedShape(h.Grid)
	need := bytes * (2*uint64(h.Len()) + uint64(p[0])*uint64(p[1])*uint64(p[2])) // as stored, turned, and prepared
	if free > 0 && need > free {
		return fmt.Errorf("the volume of %v voxels takes %.1f GiB of memory, %.1f GiB are free", h.Shape, float64(need)/(1<<30), float64(free)/(1<<30))
	}
	return nil
}

func (h *header) float(raw []byte) float32 { return math.Float32frombits(h.order.Uint32(raw)) }

// cut makes the end of a file an error.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// A voxelType has the size of a voxel in bytes, and reads its number.
type voxelType struct {
	size   int
	decode func(o binary.ByteOrder, b []byte) float64
}

// voxelTypes are the supported types by their codes in nifti1.h.
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

// voxels reads the numbers. Memory grows with the bytes that exist, not with what the header claims.
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
	return stored, nil
}

// turned turns [(k·n₁+j)·n₀+i] into [(i·n₁+j)·n₂+k].
func turned(stored []float32, n [3]int) []float32 {
	data := make([]float32, len(stored))
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
