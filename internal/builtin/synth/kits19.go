package synth

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A KiTS19Spec says everything about a built-in data set of volumes, in the layout of
// KiTS19. Equal specs make equal volumes.
type KiTS19Spec struct {
	Seed  uint64 `json:"seed"`
	Cases int    `json:"cases"` // 1 to 99
	// Truth names the way in which the Judge makes labels. It may be empty.
	Truth string `json:"truth,omitempty"`
}

const maxCases = 99

func (s KiTS19Spec) check() error {
	if s.Cases < 1 || s.Cases > maxCases {
		return fmt.Errorf("cases is %d: must be 1 to %d", s.Cases, maxCases)
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal volumes.
func (s KiTS19Spec) Key() string {
	return "kits19-" + keyOf("kits19 seed %d cases %d truth %q", s.Seed, s.Cases, s.Truth)
}

// Name returns the folder of a case, counted from 0.
func (s KiTS19Spec) Name(i int) string { return fmt.Sprintf("case_%05d", i) }

// A VolumeGrid is the grid of a volume: slices from head to foot, rows and columns.
type VolumeGrid struct {
	Shape   [3]int
	Spacing [3]float64 // of voxels, in mm
}

// Grid returns that of a case. Seen on the grid of 1.6×1.2×1.2 mm that the reference
// resamples to, a side has about 128 voxels or about 192, so that a window of 128 fits
// once or, with a step of 64, twice; no case needs more than four windows.
func (s KiTS19Spec) Grid(i int) VolumeGrid {
	r := newStream("kits19 grid", s.Seed, uint64(i))
	long := [6][3]bool{{}, {0: true}, {2: true}, {1: true}, {1: true, 2: true}, {}}[i%6]
	target := [3]float64{1.6, 1.2, 1.2}
	inPlane := float64(r.between(70, 94)) / 100 // the same for rows and columns
	g := VolumeGrid{Spacing: [3]float64{float64(r.between(4, 10)) / 2, inPlane, inPlane}}
	for axis := range g.Shape {
		voxels := r.between(112, 148)
		if long[axis] {
			voxels = r.between(168, 212)
		}
		g.Shape[axis] = int(float64(float64(voxels)*target[axis])/g.Spacing[axis] + 0.5)
	}
	return g
}

// WriteKiTS19 makes a data set of volumes: a folder for each case with imaging.nii.gz and
// segmentation.nii.gz, inference_cases.json with their order, and the Manifest. The
// segmentations are those of the bodies as they are drawn, until the judge, if there is
// one, writes others.
//
// Folder, errors, ctx and progress are as with WriteImageNet.
func WriteKiTS19(ctx context.Context, dir string, spec KiTS19Spec, judge Judge, progress func(done, total int)) error {
	return publish(ctx, dir, "KiTS19", &spec, func(folder string) error { return spec.fill(ctx, folder, progress) }, judge)
}

// fill writes the files.
func (s KiTS19Spec) fill(ctx context.Context, folder string, progress func(done, total int)) error {
	var names []string
	for i := range s.Cases {
		names = append(names, s.Name(i))
		if err := os.MkdirAll(filepath.Join(folder, s.Name(i)), 0o755); err != nil {
			return err
		}
	}
	list, err := json.Marshal(names)
	if err != nil {
		return err
	}
	if err := fileio.WriteFile(filepath.Join(folder, "inference_cases.json"), append(list, '\n'), 0o644); err != nil {
		return err
	}
	return draw(ctx, s.Cases, func() func(int) error {
		return func(i int) error {
			grid := s.Grid(i)
			body := newBody(deriveSeed("kits19 body", s.Seed, uint64(i)))
			image, labels := body.render(grid.Shape)
			if err := writeNIfTI(filepath.Join(folder, s.Name(i), "imaging.nii.gz"), grid, image); err != nil {
				return err
			}
			return s.WriteSegmentation(folder, i, labels)
		}
	}, progress)
}

// WriteSegmentation writes the labels of a case, one for each voxel of its grid: 1 for
// kidney, 2 for tumour, 0 for all else.
func (s KiTS19Spec) WriteSegmentation(folder string, i int, labels []uint8) error {
	grid := s.Grid(i)
	if want := grid.Shape[0] * grid.Shape[1] * grid.Shape[2]; len(labels) != want {
		return fmt.Errorf("segmentation of %s has %d voxels, expected %d", s.Name(i), len(labels), want)
	}
	return writeNIfTI(filepath.Join(folder, s.Name(i), "segmentation.nii.gz"), grid, labels)
}

// A body is what a volume shows: air, the flesh of a trunk, and organs in it, as
// densities in Hounsfield units.
type body struct {
	trunk  organ
	organs []organ
	seed   uint64 // of the noise
}

// An organ is an ellipsoid, in parts of the volume's sides.
type organ struct {
	center, radii [3]float64
	density       int32
	label         uint8
}

// Densities, in Hounsfield units.
const (
	airDensity           = -1000
	fleshDensity         = 47
	lowOrgan, highOrgan  = 10, 240
	kidneyLow, kidneyTop = 150, 220
	tumourLow, tumourTop = 60, 110
)

// newBody returns the body of a seed. It has two kidneys, one of them with a tumour, and
// a dozen of other organs.
func newBody(seed uint64) body {
	r := newStream("body", seed)
	b := body{
		trunk: organ{center: [3]float64{0.5, 0.54, 0.5}, radii: [3]float64{2, 0.44, 0.52}, density: fleshDensity},
		seed:  deriveSeed("voxels", seed),
	}
	for range 12 {
		o := organ{density: int32(r.between(lowOrgan, highOrgan))}
		for axis := range o.center {
			o.center[axis], o.radii[axis] = r.uniform(), within(r.uniform(), 0.05, 0.25)
		}
		b.organs = append(b.organs, o)
	}
	for _, side := range []float64{0.28, 0.72} {
		kidney := organ{density: int32(r.between(kidneyLow, kidneyTop)), label: 1}
		kidney.center = [3]float64{within(r.uniform(), 0.35, 0.65), within(r.uniform(), 0.5, 0.7), side}
		kidney.radii = [3]float64{within(r.uniform(), 0.14, 0.22), within(r.uniform(), 0.09, 0.14), within(r.uniform(), 0.08, 0.12)}
		b.organs = append(b.organs, kidney)
	}
	tumour := b.organs[len(b.organs)-1-r.below(2)]
	tumour.density, tumour.label = int32(r.between(tumourLow, tumourTop)), 2
	for axis := range tumour.center {
		tumour.center[axis] += float64(within(r.uniform(), -0.7, 0.7) * tumour.radii[axis])
		tumour.radii[axis] = float64(tumour.radii[axis] * within(r.uniform(), 0.4, 0.8))
	}
	b.organs = append(b.organs, tumour)
	return b
}

// render returns the densities and labels of the voxels of a grid, the last axis running
// fastest.
func (b *body) render(shape [3]int) (image []int16, labels []uint8) {
	n := shape[0] * shape[1] * shape[2]
	image, labels = make([]int16, 0, n), make([]uint8, 0, n)
	noise := newStream("voxels", b.seed)
	var row organRow
	for z := range shape[0] {
		for y := range shape[1] {
			row.place(b, (float64(z)+0.5)/float64(shape[0]), (float64(y)+0.5)/float64(shape[1]))
			for x := range shape[2] {
				density, label := row.at((float64(x) + 0.5) / float64(shape[2]))
				image = append(image, int16(density+grain(noise)))
				labels = append(labels, label)
			}
		}
	}
	return image, labels
}

// grain is the noise of a voxel: 32 coin tosses, a deviation of 11 units.
func grain(noise *stream) int32 {
	return 4 * int32(bits.OnesCount32(uint32(noise.pcg.Uint64()))-16)
}

// An organRow has the organs that a row of voxels may meet.
type organRow struct {
	inTrunk float64 // what is left of 1 for the distance along the row
	trunk   organ
	organs  []organ
	left    []float64
}

func (r *organRow) place(b *body, z, y float64) {
	r.trunk = b.trunk
	r.inTrunk = b.trunk.left(z, y)
	r.organs, r.left = r.organs[:0], r.left[:0]
	for _, o := range b.organs {
		if left := o.left(z, y); left > 0 {
			r.organs, r.left = append(r.organs, o), append(r.left, left)
		}
	}
}

// left is 1 less the squared distance from the centre across the row.
func (o *organ) left(z, y float64) float64 {
	return 1 - square((z-o.center[0])/o.radii[0]) - square((y-o.center[1])/o.radii[1])
}

func square(v float64) float64 { return float64(v * v) }

// at returns what is at a place of the row: the last organ that is drawn there.
func (r *organRow) at(x float64) (density int32, label uint8) {
	if square((x-r.trunk.center[2])/r.trunk.radii[2]) >= r.inTrunk {
		return airDensity, 0
	}
	density = r.trunk.density
	for i := range r.organs {
		o := &r.organs[i]
		if square((x-o.center[2])/o.radii[2]) < r.left[i] {
			density, label = o.density, o.label
		}
	}
	return density, label
}

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
	n := g.Shape
	stored := make([]T, 0, len(voxels))
	for x := range n[2] {
		for y := range n[1] {
			for z := range n[0] {
				stored = append(stored, voxels[(z*n[1]+y)*n[2]+x])
			}
		}
	}
	return writeStored(path, g, stored)
}

// writeStored writes a volume whose voxels are in the order of the file.
func writeStored[T int16 | uint8](path string, g VolumeGrid, voxels []T) error {
	size, code := 1, niftiUint8
	if _, ok := any(voxels).([]int16); ok {
		size, code = 2, niftiInt16
	}
	return fileio.WriteAtomic(path, 0o644, func(f io.Writer) error {
		packed, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
		if err != nil {
			return err
		}
		packed.Comment = markComment
		w := bufio.NewWriterSize(packed, 1<<16)
		_, err = w.Write(niftiHeaderOf(g, code, 8*size))
		for _, v := range voxels {
			w.WriteByte(byte(v))
			if size == 2 {
				w.WriteByte(byte(uint16(v) >> 8))
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
	copy(h[148:228], markComment) // descrip
	float(108, niftiHeader)       // vox_offset
	float(112, 1)                 // scl_slope
	h[123] = 2                    // xyzt_units: mm
	le.PutUint16(h[254:], 1)      // sform_code: the affine that follows
	float(280+8, -g.Spacing[2])
	float(296+4, -g.Spacing[1])
	float(312, -g.Spacing[0])
	copy(h[344:], "n+1\x00")
	return h
}
