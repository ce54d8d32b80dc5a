package volume

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// Modalities is how many images a scan of BraTS has: T1, T1 with contrast agent, T2, and FLAIR.
const Modalities = 4

// ScanSides are the sides of a prepared scan: the patch of nnU-Net's plans for the benchmark.
func ScanSides() [3]int { return [3]int{224, 224, 160} }

// A Box has the first voxel along each axis, and the one behind the last.
type Box [3][2]int

// Shape returns how many voxels the box has along each axis.
func (b Box) Shape() (n [3]int) {
	for axis, side := range b {
		n[axis] = side[1] - side[0]
	}
	return n
}

// Brain returns the box of all voxels that are not 0 in each image of a scan, whose axes are those of ReadStored. An error says
// why the scan cannot be prepared.
func Brain(scan []*Volume) (Box, error) {
	shape := scan[0].Shape
	for i, v := range scan {
		if v.Shape != shape {
			return Box{}, fmt.Errorf("image %d has %v voxels, the first one %v", i, v.Shape, shape)
		}
		for axis, spacing := range v.Spacing {
			// nnU-Net resamples to 1 mm where that changes the number of voxels: no scan of BraTS needs that.
			if n := v.Shape[axis]; int(math.RoundToEven(spacing*float64(n))) != n {
				return Box{}, fmt.Errorf("the voxels of image %d are %.4g mm apart: must be 1 mm as in BraTS", i, spacing)
			}
		}
	}
	box := Box{{shape[0], 0}, {shape[1], 0}, {shape[2], 0}}
	for _, v := range scan {
		for z := range shape[0] {
			for y := range shape[1] {
				for x, density := range v.Data[(z*shape[1]+y)*shape[2]:][:shape[2]] {
					if density == 0 {
						continue
					}
					for axis, at := range [3]int{z, y, x} {
						box[axis] = [2]int{min(box[axis][0], at), max(box[axis][1], at+1)}
					}
				}
			}
		}
	}
	for axis, n := range box.Shape() {
		switch most := ScanSides()[axis]; {
		case n <= 0:
			return box, fmt.Errorf("all voxels are 0")
		case n > most:
			return box, fmt.Errorf("the brain has %d voxels along axis %d, and the model sees %d", n, axis, most)
		}
	}
	return box, nil
}

// PrepareScan crops, normalises and pads a scan into dst, which has the size of Modalities times ScanSides, as nnU-Net's
// GenericPreprocessor and the reference's preprocess.py do with the plans of the benchmark (vision/medical_imaging/3d-unet, v0.7 to
// v1.1): each image has mean 0 and deviation 1 in the brain, and is 0 around it.
func PrepareScan(dst []float32, scan []*Volume) error {
	sides := ScanSides()
	voxels := sides[0] * sides[1] * sides[2]
	if len(dst) != Modalities*voxels || len(scan) != Modalities {
		return fmt.Errorf("room for %d numbers of %d images, expected %d of %d", len(dst), len(scan), Modalities*voxels, Modalities)
	}
	box, err := Brain(scan)
	if err != nil {
		return err
	}
	n := box.Shape()
	inside := brainMask(scan, box)
	clear(dst)
	list := make([]float64, 0, len(inside)) // the voxels of the brain
	for m, v := range scan {
		list = list[:0]
		rows := func(visit func(row []float32, mask []bool, z, y int)) {
			for z := range n[0] {
				for y := range n[1] {
					row := v.Data[((box[0][0]+z)*v.Shape[1]+box[1][0]+y)*v.Shape[2]:][box[2][0]:box[2][1]]
					visit(row, inside[(z*n[1]+y)*n[2]:][:n[2]], z, y)
				}
			}
		}
		rows(func(row []float32, mask []bool, _, _ int) {
			for x, density := range row {
				if density != density {
					density = 0 // as in nnU-Net
				}
				if mask[x] {
					list = append(list, float64(density))
				}
			}
		})
		normalise(list)
		at := 0
		rows(func(_ []float32, mask []bool, z, y int) {
			z, y = z+(sides[0]-n[0])/2, y+(sides[1]-n[1])/2
			to := dst[m*voxels+(z*sides[1]+y)*sides[2]+(sides[2]-n[2])/2:]
			for x, in := range mask {
				if in {
					to[x] = float32(list[at])
					at++
				}
			}
		})
	}
	return nil
}

// brainMask returns which voxels of the box are in the brain: those that are not 0 in each image, and holes in it
// (scipy.ndimage.binary_fill_holes: what cannot be reached from outside over faces of voxels).
func brainMask(scan []*Volume, box Box) []bool {
	n := box.Shape()
	const unknown, brain, outside = 0, 1, 2
	state := make([]uint8, n[0]*n[1]*n[2])
	for _, v := range scan {
		for z := range n[0] {
			for y := range n[1] {
				row := v.Data[((box[0][0]+z)*v.Shape[1]+box[1][0]+y)*v.Shape[2]:][box[2][0]:box[2][1]]
				for x, density := range row {
					if density != 0 {
						state[(z*n[1]+y)*n[2]+x] = brain
					}
				}
			}
		}
	}
	var reached []int
	reach := func(z, y, x int) {
		if z < 0 || y < 0 || x < 0 || z >= n[0] || y >= n[1] || x >= n[2] {
			return
		}
		if at := (z*n[1]+y)*n[2] + x; state[at] == unknown {
			state[at] = outside
			reached = append(reached, at)
		}
	}
	for z := range n[0] {
		for y := range n[1] {
			step := n[2] - 1 // only the ends of a row are on a face
			if z == 0 || z == n[0]-1 || y == 0 || y == n[1]-1 || step == 0 {
				step = 1
			}
			for x := 0; x < n[2]; x += step {
				reach(z, y, x)
			}
		}
	}
	for len(reached) > 0 {
		at := reached[len(reached)-1]
		reached = reached[:len(reached)-1]
		z, y, x := at/(n[1]*n[2]), at/n[2]%n[1], at%n[2]
		reach(z-1, y, x)
		reach(z+1, y, x)
		reach(z, y-1, x)
		reach(z, y+1, x)
		reach(z, y, x-1)
		reach(z, y, x+1)
	}
	mask := make([]bool, len(state))
	for i, s := range state {
		mask[i] = s != outside
	}
	return mask
}

// normalise subtracts the mean and divides by the deviation, with the roundings of NumPy's float64, which nnU-Net has by then:
// (v - v.mean()) / (v.std() + 1e-8).
func normalise(v []float64) {
	n := float64(len(v))
	mean := tensor.Sum(v) / n
	squares := make([]float64, len(v))
	for i, x := range v {
		squares[i] = (x - mean) * (x - mean)
	}
	deviation := math.Sqrt(tensor.Sum(squares)/n) + 1e-8
	for i, x := range v {
		v[i] = (x - mean) / deviation
	}
}
