package arch

import (
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// Bell fills a tensor with bell-shaped random weights of mean 0 and a standard deviation.
type Bell struct{ Deviation float64 }

// Patched fills a tensor as Of does, and then calls Patch for each row, an index of the first
// axis with all of the others, to change what it likes. Patch has to depend on nothing but
// its arguments and what the architecture's options say.
type Patched struct {
	Of    Filler
	Patch func(row int, weights []float32)
}

func (n Bell) fill(seed uint64, name string, dims []int64) (onnx.Source, error) {
	return &bell{stream: streamSeed(seed, name), outputs: product(dims), fan: 1, scale: n.Deviation / math.Sqrt(sumVariance)}, nil
}

func (p Patched) fill(seed uint64, name string, dims []int64) (onnx.Source, error) {
	of, err := fillOr(p.Of, seed, name, dims)
	if err != nil {
		return nil, err
	}
	row := product(dims[min(1, len(dims)):])
	return &derived{of: of, group: row, size: of.Size(), apply: func(i int, weights []float32) []float32 {
		p.Patch(i, weights)
		return weights
	}}, nil
}
