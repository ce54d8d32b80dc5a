package volume

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A Grid says where the voxels of a volume are.
type Grid struct {
	Shape   [3]int
	Spacing [3]float64 // in mm
}

// Len is the number of voxels.
func (g Grid) Len() int { return g.Shape[0] * g.Shape[1] * g.Shape[2] }

// A Volume is a grid with a number for each voxel.
type Volume struct {
	Grid
	Data []float32 // the last axis runs fastest
}

// maxVoxels bounds the memory that a file can ask for. The largest case of KiTS19 has 277
// million voxels.
const maxVoxels = 1 << 29

// maxBehind is how much behind the voxels is looked at.
const maxBehind = 1 << 20

// headerSize is that of a NIfTI-1 header (nifti1.h).
const headerSize = 348

// A header is what matters of a file's header.
type header struct {
	Grid
	order            binary.ByteOrder
	voxel            voxelType
	offset           int64 // of the voxels
	slope, intercept float64
}

// ReadFile reads a NIfTI file, packed by gzip or not.
func ReadFile(path string) (*Volume, error) {
	var v *Volume
	err := withFile(path, func(r io.Reader) (err error) {
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

// withFile opens a file, and unpacks it if its content says that it is packed.
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

// read reads a NIfTI file that is not packed.
func read(r io.Reader) (*Volume, error) {
	h, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, r, h.offset-headerSize); err != nil {
		return nil, fmt.Errorf("the file ends before the voxels: %w", cut(err))
	}
	v := &Volume{Grid: h.Grid}
	if v.Data, err = h.voxels(r); err != nil {
		return nil, err
	}
	// The checksum of a packed file comes at its end.
	if _, err := io.CopyN(io.Discard, r, maxBehind); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("behind the voxels: %w", err)
	}
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
		return h, fmt.Errorf("the header ends with %q, want a NIfTI-1 file with its voxels in it: %q", raw[344:348], "n+1\x00")
	}
	if err := h.parseGrid(raw[:]); err != nil {
		return h, err
	}
	return h, h.parseVoxels(raw[:])
}

// parseGrid reads the numbers of voxels and their distances.
func (h *header) parseGrid(raw []byte) error {
	axes := h.order.Uint16(raw[40:])
	if axes < 3 || axes > 7 {
		return fmt.Errorf("the volume has %d axes, want 3", axes)
	}
	for i := 3; i < int(axes); i++ {
		if n := h.order.Uint16(raw[42+2*i:]); n != 1 {
			return fmt.Errorf("axis %d has %d places, want a volume of three axes", i+1, n)
		}
	}
	voxels := 1
	for i := range h.Shape {
		if err := h.parseAxis(raw, i, maxVoxels/voxels); err != nil {
			return err
		}
		voxels *= h.Shape[i]
	}
	return h.checkPrepared()
}

// parseAxis reads the number of voxels along an axis, of which there may be so many, and their
// distance.
func (h *header) parseAxis(raw []byte, i, most int) error {
	n, spacing := int(h.order.Uint16(raw[42+2*i:])), math.Abs(float64(h.float(raw, 80+4*i))) // nibabel drops the sign, too
	if n < 1 || n > math.MaxInt16 || n > most {
		return fmt.Errorf("axis %d has %d voxels, want at least 1, and %d in all at most", i+1, n, maxVoxels)
	}
	if !(spacing > 1e-3 && spacing < 1e3) {
		return fmt.Errorf("the voxels along axis %d are %v mm apart, want a distance", i+1, spacing)
	}
	h.Shape[i], h.Spacing[i] = n, spacing
	return nil
}

// checkPrepared bounds what becomes of a volume whose header has wrong distances.
func (g Grid) checkPrepared() error {
	shape := PreparedShape(g)
	if float64(shape[0])*float64(shape[1])*float64(shape[2]) > maxVoxels {
		return fmt.Errorf("the voxels are %v mm apart, for which the volume would be prepared as one of %v voxels, want at most %d in all", g.Spacing, shape, maxVoxels)
	}
	return nil
}

// parseVoxels reads how and where voxels are stored.
func (h *header) parseVoxels(raw []byte) error {
	code := h.order.Uint16(raw[70:])
	var known bool
	if h.voxel, known = voxelTypes[code]; !known {
		return fmt.Errorf("voxels are of type %d (nifti1.h), want integers of 8 to 32 bits or floats", code)
	}
	offset := h.float(raw, 108)
	if !(offset >= headerSize && offset < 1<<20) {
		return fmt.Errorf("the voxels begin at byte %v, want one from %d to %d", offset, headerSize, 1<<20)
	}
	h.offset = int64(offset)
	return h.parseScale(raw)
}

// parseScale reads what stored numbers stand for. Like nibabel: without a slope they are as they are.
func (h *header) parseScale(raw []byte) error {
	h.slope, h.intercept = float64(h.float(raw, 112)), float64(h.float(raw, 116))
	if h.slope == 0 || math.IsNaN(h.slope) {
		h.slope, h.intercept = 1, 0
	}
	if math.IsInf(h.slope, 0) || math.IsNaN(h.intercept) || math.IsInf(h.intercept, 0) {
		return fmt.Errorf("voxels are scaled by %v plus %v, want finite numbers", h.slope, h.intercept)
	}
	return nil
}

func (h *header) float(raw []byte, at int) float32 {
	return math.Float32frombits(h.order.Uint32(raw[at:]))
}

// cut says that the end of a file is not expected here.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
