package volume

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// place is where SciPy looks for place k of a result of so many: between two places of the source, or outside by a
// rounding error.
func place(k, from, to int) (at float64, outside bool) {
	if to > 1 {
		at = float64(k) * (float64(from-1) / float64(to-1))
	}
	return at, at > float64(from-1)
}

// slowZoom resamples voxel by voxel, from the definition.
func slowZoom(v *Volume, to [3]int, nearest bool) []float64 {
	voxel := func(at [3]int) float64 {
		for axis := range at {
			at[axis] = min(at[axis], v.Shape[axis]-1)
		}
		return float64(v.Data[(at[0]*v.Shape[1]+at[1])*v.Shape[2]+at[2]])
	}
	out := make([]float64, 0, to[0]*to[1]*to[2])
	for i := range to[0] {
		for j := range to[1] {
			for k := range to[2] {
				var at [3]float64
				var low [3]int
				beyond := false
				for axis, n := range [3]int{i, j, k} {
					var outside bool
					at[axis], outside = place(n, v.Shape[axis], to[axis])
					low[axis], beyond = int(at[axis]), beyond || outside
				}
				switch {
				case beyond:
					out = append(out, float64(slices.Min(v.Data)))
				case nearest:
					out = append(out, voxel([3]int{int(at[0] + 0.5), int(at[1] + 0.5), int(at[2] + 0.5)}))
				default:
					out = append(out, between(at, low, voxel))
				}
			}
		}
	}
	return out
}

// between weighs the eight voxels around a place.
func between(at [3]float64, low [3]int, voxel func([3]int) float64) (sum float64) {
	for corner := range 8 {
		weight, of := 1.0, low
		for axis := range 3 {
			f := at[axis] - float64(low[axis])
			if corner>>axis&1 == 1 {
				of[axis]++
				weight *= f
			} else {
				weight *= 1 - f
			}
		}
		sum += weight * voxel(of)
	}
	return sum
}

// roundedOut finds two sides for which the last place is outside by a rounding error.
func roundedOut(t *testing.T, rng *rand.Rand) (from, to int) {
	t.Helper()
	for range 10000 {
		from, to = 2+rng.IntN(9), 2+rng.IntN(60)
		if _, outside := place(to-1, from, to); outside {
			return from, to
		}
	}
	t.Fatal("there are no such sides")
	return 0, 0
}

func TestZoomsFollowTheirDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for i := range 60 {
		v := &Volume{}
		var to [3]int
		for axis := range to {
			v.Shape[axis], to[axis] = 1+rng.IntN(9), 1+rng.IntN(12)
		}
		if i%2 == 0 { // along each axis in turn
			v.Shape[i/2%3], to[i/2%3] = roundedOut(t, rng)
		}
		labels := make([]uint8, v.Len())
		for k := range labels {
			labels[k] = uint8(1 + rng.IntN(200))
			v.Data = append(v.Data, float32(labels[k]))
		}
		got := zoomLinear(v.Data, v.Shape, to)
		for k, want := range slowZoom(v, to, false) {
			if math.Abs(float64(got[k])-want) > 1e-4 {
				t.Fatalf("linear, %v to %v: voxel %d is %v, want %v", v.Shape, to, k, got[k], want)
			}
		}
		nearest := zoomNearest(labels, v.Shape, to)
		for k, want := range slowZoom(v, to, true) {
			if float64(nearest[k]) != want {
				t.Fatalf("nearest, %v to %v: voxel %d is %v, want %v", v.Shape, to, k, nearest[k], want)
			}
		}
	}
}

func TestADistanceHasNoSign(t *testing.T) {
	n := small()
	want, err := readGridOf(n)
	if err != nil {
		t.Fatal(err)
	}
	n.spacing[1] = -n.spacing[1]
	if got, err := readGridOf(n); err != nil || got != want {
		t.Errorf("with a negative distance the grid is %v, %v, want %v", got, err, want)
	}
}

func readGridOf(n nifti) (Grid, error) {
	v, err := read(bytes.NewReader(n.file()))
	if err != nil {
		return Grid{}, err
	}
	return v.Grid, nil
}
