package vision

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess/volume"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// Windows are cubes of this side that overlap by half (3d-unet-kits19, inference_utils.py).
const (
	windowSide   = volume.Window
	windowStep   = volume.Stride
	windowVoxels = windowSide * windowSide * windowSide
	windowLabels = 3 // background, kidney, tumour
)

// windowWeights are the weights of the voxels of a window: the cube root of the product of three Gaussians of deviation 16 around
// its middle, computed in float64 and then rounded.
func windowWeights() []float32 {
	const deviation = 0.125 * windowSide
	var bell [windowSide]float64
	for k := range bell {
		d := (float64(k) - (windowSide-1)/2.0) / deviation
		bell[k] = math.Exp(-0.5 * d * d)
	}
	middle := bell[windowSide/2]
	largest := math.Cbrt(middle * middle * middle)
	weights := make([]float32, 0, windowVoxels)
	for _, a := range bell {
		for _, b := range bell {
			for _, c := range bell {
				weights = append(weights, float32(math.Cbrt(float64(float64(a*b)*c))/largest))
			}
		}
	}
	return weights
}

// A slidingWindow labels volumes with a model of one window. The scores
// of the windows are added up with their weights, and each voxel gets the label with
// the best mean.
//
// Windows are visited slice by slice, so that not the whole volume of sums has to be kept:
// once all windows that begin at a slice are done, nothing will be added to the next 64
// slices. The sums are a ring of as many slices as a window has. Every sum has its terms
// in the same order as in the reference, and so the same rounding.
type slidingWindow struct {
	session backend.Session
	weights []float32

	store   *workload.Store
	in, out tensor.Tensor
	inputs  []backend.Value
	outputs []backend.Value
	sums    [windowLabels][]float32
	norms   []float32
	labels  []byte
}

// newSlidingWindow makes a predictor for volumes up to the largest slice and volume, in voxels.
func newSlidingWindow(session backend.Session, weights []float32, largestSlice, largestVolume int) (*slidingWindow, error) {
	p := &slidingWindow{
		session: session, weights: weights,
		in:     tensor.New(tensor.Float32, 1, 1, windowSide, windowSide, windowSide),
		out:    tensor.New(tensor.Float32, 1, windowLabels, windowSide, windowSide, windowSide),
		norms:  make([]float32, windowSide*largestSlice),
		labels: make([]byte, largestVolume),
	}
	for c := range p.sums {
		p.sums[c] = make([]float32, windowSide*largestSlice)
	}
	in, err := session.Bind(p.in)
	if err != nil {
		return nil, err
	}
	p.inputs = []backend.Value{in}
	out, err := session.Bind(p.out)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	p.outputs = []backend.Value{out}
	return p, nil
}

// Use implements workload.Predictor.
func (p *slidingWindow) Use(store *workload.Store) error {
	p.store = store
	return nil
}

// Predict implements workload.Predictor.
func (p *slidingWindow) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	if p.store == nil && len(items) > 0 {
		return errors.New("no samples are loaded")
	}
	for k, item := range items {
		volume := p.store.Slot(0, item.Row, 1)
		n := volume.Shape[1:]
		labels, err := p.label(ctx, volume, [3]int{int(n[0]), int(n[1]), int(n[2])})
		if err != nil {
			return fmt.Errorf("sample %d: %w", item.Index, err)
		}
		reply.Done(k, labels, 0)
	}
	return nil
}

// label returns the label of each voxel of a volume.
func (p *slidingWindow) label(ctx context.Context, row tensor.Tensor, n [3]int) ([]byte, error) {
	image := tensor.Data[float32](row)[:n[0]*n[1]*n[2]]
	labels := p.labels[:len(image)]
	last := n[0] - windowSide
	for z := 0; z <= last; z += windowStep {
		for y := 0; y+windowSide <= n[1]; y += windowStep {
			for x := 0; x+windowSide <= n[2]; x += windowStep {
				if err := context.Cause(ctx); err != nil {
					return nil, err
				}
				p.cut(image, n, z, y, x)
				if err := p.session.Run(ctx, p.inputs, p.outputs); err != nil {
					return nil, err
				}
				p.add(n, z, y, x)
			}
		}
		end := z + windowStep
		if z == last {
			end = n[0]
		}
		if err := p.finish(labels, n, z, end); err != nil {
			return nil, err
		}
	}
	return labels, nil
}

// cut copies a window out of the volume.
func (p *slidingWindow) cut(image []float32, n [3]int, z, y, x int) {
	window := tensor.Data[float32](p.in)
	for i := range windowSide {
		for j := range windowSide {
			from := ((z+i)*n[1]+y+j)*n[2] + x
			copy(window[:windowSide], image[from:from+windowSide])
			window = window[windowSide:]
		}
	}
}

// add adds the scores of a window to the sums.
func (p *slidingWindow) add(n [3]int, z, y, x int) {
	scores := tensor.Data[float32](p.out)
	for i := range windowSide {
		slice := (z + i) % windowSide * n[1] * n[2]
		for j := range windowSide {
			at := (i*windowSide + j) * windowSide
			weights := p.weights[at:][:windowSide]
			to := slice + (y+j)*n[2] + x
			norms := p.norms[to:][:windowSide]
			for k, w := range weights {
				norms[k] += w
			}
			for c := range p.sums {
				sums := p.sums[c][to:][:windowSide]
				for k, v := range scores[c*windowVoxels+at:][:windowSide] {
					// The conversion keeps compilers from rounding product and sum at once.
					sums[k] += float32(v * weights[k])
				}
			}
		}
	}
}

// finish labels the slices from first to end, and frees their place in the ring.
func (p *slidingWindow) finish(labels []byte, n [3]int, first, end int) error {
	slice := n[1] * n[2]
	for z := first; z < end; z++ {
		at := z % windowSide * slice
		norms := p.norms[at:][:slice]
		a, b, c := p.sums[0][at:][:slice], p.sums[1][at:][:slice], p.sums[2][at:][:slice]
		to := labels[z*slice:][:slice]
		for i, norm := range norms {
			// As in the reference the first of equal means counts, after their rounding.
			best, label := a[i]/norm, byte(0)
			second, third := b[i]/norm, c[i]/norm
			if sum := best + second + third; sum != sum {
				return fmt.Errorf("the scores of voxel %d are not numbers", z*slice+i)
			}
			if second > best {
				best, label = second, 1
			}
			if third > best {
				label = 2
			}
			to[i] = label
		}
		for _, ring := range [][]float32{norms, a, b, c} {
			clear(ring)
		}
	}
	return nil
}

// Close implements workload.Predictor.
func (p *slidingWindow) Close() error {
	return backend.CloseAll(p.inputs, p.outputs)
}
