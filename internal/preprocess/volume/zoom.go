package volume

import (
	"math"

	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
)

// zoomedShape returns the shape after scaling by factors: rounded half to even, as Python does
// (scipy.ndimage.zoom).
func zoomedShape(shape [3]int, factors [3]float64) [3]int {
	var out [3]int
	for axis, n := range shape {
		out[axis] = max(int(math.RoundToEven(float64(n)*factors[axis])), 1)
	}
	return out
}

// A zoomAxis has the two neighbours in the source of each place of the result, and the distance from the first.
type zoomAxis struct {
	low, high []int
	fraction  []float64
	nearest   []int
	outside   []bool // by a rounding error, beyond the last place
}

// newZoomAxis maps the first place of the source to the first of the result, and the last to the last.
func newZoomAxis(from, to int) zoomAxis {
	z := zoomAxis{
		low: make([]int, to), high: make([]int, to), fraction: make([]float64, to),
		nearest: make([]int, to), outside: make([]bool, to),
	}
	step := 1.0 // SciPy's for a result of one place
	if to > 1 {
		step = float64(from-1) / float64(to-1)
	}
	for k := range to {
		at := float64(float64(k) * step)
		// SciPy fills places outside with the volume's minimum, and where rounding makes the
		// last place lie outside by the smallest amount it does so with a whole border slice.
		z.outside[k] = at > float64(from-1)
		floor := math.Floor(at)
		z.low[k] = min(int(floor), from-1)
		z.high[k] = min(int(floor)+1, from-1)
		z.fraction[k] = at - floor
		z.nearest[k] = min(int(math.Floor(at+0.5)), from-1)
	}
	return z
}

// zoomLinear resamples by linear interpolation (scipy.ndimage.zoom of order 1, mode
// constant, cval the volume's minimum): in float64, the weights multiplied axis by axis.
func zoomLinear(data []float32, from, to [3]int) []float32 {
	if from == to {
		return data
	}
	z, y, x := newZoomAxis(from[0], to[0]), newZoomAxis(from[1], to[1]), newZoomAxis(from[2], to[2])
	lowest := minimum(data)
	out := make([]float32, to[0]*to[1]*to[2])
	workerpool.Compute(0, to[0], func(i int) {
		for j := range to[1] {
			row := out[(i*to[1]+j)*to[2]:][:to[2]]
			if z.outside[i] || y.outside[j] {
				fill(row, lowest)
				continue
			}
			at := func(a, b int) []float32 { return data[(a*from[1]+b)*from[2]:][:from[2]] }
			corners := [4][]float32{at(z.low[i], y.low[j]), at(z.low[i], y.high[j]), at(z.high[i], y.low[j]), at(z.high[i], y.high[j])}
			interpolateRow(row, corners, z.fraction[i], y.fraction[j], &x, lowest)
		}
	})
	return out
}

// interpolateRow fills a row from the four rows of the source around it. The products and
// their sum are in SciPy's order.
func interpolateRow(row []float32, corners [4][]float32, fz, fy float64, x *zoomAxis, lowest float32) {
	wz, wy := [2]float64{1 - fz, fz}, [2]float64{1 - fy, fy}
	for k := range row {
		if x.outside[k] {
			row[k] = lowest
			continue
		}
		low, high, f := x.low[k], x.high[k], x.fraction[k]
		sum := 0.0
		for c, source := range corners {
			a, b := wz[c>>1], wy[c&1]
			sum += float64(float64(float64(float64(source[low])*a)*b) * (1 - f))
			sum += float64(float64(float64(float64(source[high])*a)*b) * f)
		}
		row[k] = float32(sum)
	}
}

// zoomNearest resamples by taking the nearest voxel (order 0).
func zoomNearest(data []uint8, from, to [3]int) []uint8 {
	if from == to {
		return data
	}
	z, y, x := newZoomAxis(from[0], to[0]), newZoomAxis(from[1], to[1]), newZoomAxis(from[2], to[2])
	lowest := minimum(data)
	out := make([]uint8, to[0]*to[1]*to[2])
	workerpool.Compute(0, to[0], func(i int) {
		for j := range to[1] {
			row := out[(i*to[1]+j)*to[2]:][:to[2]]
			source := data[(z.nearest[i]*from[1]+y.nearest[j])*from[2]:][:from[2]]
			for k := range row {
				if row[k] = source[x.nearest[k]]; z.outside[i] || y.outside[j] || x.outside[k] {
					row[k] = lowest
				}
			}
		}
	})
	return out
}

func minimum[T float32 | uint8](data []T) T {
	lowest := data[0]
	for _, v := range data {
		lowest = min(lowest, v)
	}
	return lowest
}

func fill[T float32 | uint8](row []T, v T) {
	for i := range row {
		row[i] = v
	}
}
