package volume

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
)

// Numbers of the reference's preprocess.py (vision/medical_imaging/3d-unet-kits19).
const (
	// Window is the side of the cubes in which the model sees a volume, Stride their distance.
	Window, Stride = 128, 64

	lowestDensity, highestDensity = -79, 304 // in Hounsfield units; others are clipped
	meanDensity, deviation        = 101.0, 76.9
	padding                       = -2.2 // after scaling
)

// targetSpacing is the distance of voxels after resampling.
func targetSpacing() [3]float64 { return [3]float64{1.6, 1.2, 1.2} }

// A plan has the steps of the preparation of a grid, axis by axis.
type plan struct {
	zoomed [3]int // voxels after resampling
	axes   [3]axisPlan
}

// An axisPlan has the steps along an axis after resampling.
type axisPlan struct {
	edge, edgeEnd int // repetitions of the first and last voxels
	crop          int // voxels cut off at the beginning
	kept          int // voxels that stay
	pad, shape    int // padding before them, and voxels in the end
}

func newPlan(g Grid) plan {
	var factors [3]float64
	for axis, target := range targetSpacing() {
		factors[axis] = g.Spacing[axis] / target
	}
	p := plan{zoomed: g.Shape}
	if g.Spacing != targetSpacing() {
		p.zoomed = zoomedShape(g.Shape, factors)
	}
	for axis, n := range p.zoomed {
		p.axes[axis] = planAxis(n)
	}
	return p
}

// planAxis brings n voxels to a multiple of the stride that has room for a window: fewer
// than half a stride too many are cut off, fewer than a window are filled up.
func planAxis(n int) axisPlan {
	var a axisPlan
	if missing := Window - n; missing > 0 {
		a.edge = missing / 2
		a.edgeEnd = missing - a.edge
		n = Window
	}
	rest := n % Stride
	if rest >= Stride/2 {
		rest = 0
	}
	a.crop, a.kept = rest/2, n-rest
	add := (Stride - a.kept%Stride) % Stride
	if a.kept+add < Window {
		add += Stride
	}
	a.pad, a.shape = add/2, a.kept+add
	return a
}

// source returns the place after resampling for place i of the result; false: padding.
func (a *axisPlan) source(i, zoomed int) (int, bool) {
	i -= a.pad
	if i < 0 || i >= a.kept {
		return 0, false
	}
	return min(max(i+a.crop-a.edge, 0), zoomed-1), true
}

// places returns the place in the result for each place after resampling; -1: cut off.
func (a *axisPlan) places(zoomed []int) []int {
	to := make([]int, len(zoomed))
	for i, at := range zoomed {
		to[i] = at + a.edge - a.crop + a.pad
		if to[i] < a.pad || to[i] >= a.pad+a.kept {
			to[i] = -1
		}
	}
	return to
}

// PreparedShape returns the shape of a volume of this grid after preparation. All sides are
// multiples of 64, at least 128.
func PreparedShape(g Grid) [3]int {
	p := newPlan(g)
	return [3]int{p.axes[0].shape, p.axes[1].shape, p.axes[2].shape}
}

// PrepareImage resamples, clips, scales, crops and pads a volume into dst, which has the size
// of PreparedShape.
func PrepareImage(dst []float32, v *Volume) error {
	p := newPlan(v.Grid)
	zoomed := zoomLinear(v.Data, v.Shape, p.zoomed)
	scaled := zoomed
	if p.zoomed == v.Shape {
		scaled = make([]float32, len(zoomed))
	}
	const low, high = float32(lowestDensity), float32(highestDensity)
	for i, density := range zoomed {
		if density != density {
			return fmt.Errorf("voxel %d is not a number", i)
		}
		scaled[i] = (min(max(density, low), high) - meanDensity) / deviation
	}
	return arrange(dst, scaled, &p, padding)
}

// PrepareLabels resamples, crops and pads labels into a new volume of PreparedShape.
func PrepareLabels(v *Volume) ([]uint8, error) {
	p := newPlan(v.Grid)
	labels := make([]uint8, len(v.Data))
	for i, label := range v.Data {
		if !(label >= 0 && label < 256) {
			return nil, fmt.Errorf("voxel %d has label %v, expected 0, 1 or 2", i, label)
		}
		labels[i] = uint8(label)
	}
	shape := PreparedShape(v.Grid)
	dst := make([]uint8, shape[0]*shape[1]*shape[2])
	return dst, arrange(dst, zoomNearest(labels, v.Shape, p.zoomed), &p, 0)
}

// arrange crops and pads.
func arrange[T float32 | uint8](dst, zoomed []T, p *plan, beyond T) error {
	shape := [3]int{p.axes[0].shape, p.axes[1].shape, p.axes[2].shape}
	if want := shape[0] * shape[1] * shape[2]; len(dst) != want {
		return fmt.Errorf("room for %d voxels, expected %d", len(dst), want)
	}
	workerpool.Compute(0, shape[0], func(i int) {
		z, inZ := p.axes[0].source(i, p.zoomed[0])
		for j := range shape[1] {
			y, inY := p.axes[1].source(j, p.zoomed[1])
			row := dst[(i*shape[1]+j)*shape[2]:][:shape[2]]
			if !inZ || !inY {
				fill(row, beyond)
				continue
			}
			from := zoomed[(z*p.zoomed[1]+y)*p.zoomed[2]:][:p.zoomed[2]]
			for k := range row {
				x, inX := p.axes[2].source(k, p.zoomed[2])
				if row[k] = beyond; inX {
					row[k] = from[x]
				}
			}
		}
	})
	return nil
}

// Unprepare returns labels on the grid of a file, whose preparation gives the given labels as far
// as possible: each voxel has the label of its place in the result, and 0 if it is cut off.
func Unprepare(labels []uint8, g Grid) []uint8 {
	p := newPlan(g)
	shape := PreparedShape(g)
	var to [3][]int
	for axis, n := range g.Shape {
		to[axis] = p.axes[axis].places(newZoomAxis(p.zoomed[axis], n).nearest)
	}
	out := make([]uint8, 0, g.Len())
	for _, z := range to[0] {
		for _, y := range to[1] {
			for _, x := range to[2] {
				label := uint8(0)
				if min(z, y, x) >= 0 {
					label = labels[(z*shape[1]+y)*shape[2]+x]
				}
				out = append(out, label)
			}
		}
	}
	return out
}
