package quantize

import (
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// affineOf returns what a node does to each channel of x, and whether that is all it
// does.
func (f *folder) affineOf(n *onnx.Node, x convolved) (a affine, ok bool, err error) {
	if n == nil || !isONNX(n) || !onlyOutput(n) {
		return affine{}, false, nil
	}
	of := f.arithmetic
	if n.Op == "BatchNormalization" {
		of = f.batchNorm
	}
	a, ok, err = of(n, x)
	return a, ok && finite(a.scale) && finite(a.shift), err
}

// batchNorm returns scale = γ/√(variance+ε) and shift = β - mean·scale.
func (f *folder) batchNorm(n *onnx.Node, x convolved) (affine, bool, error) {
	if !hasFixedStatistics(n) || n.Inputs[0] != x.name {
		return affine{}, false, nil
	}
	var p [4][]float64
	for i := range p {
		var ok bool
		var err error
		if p[i], ok, err = f.perChannel(n.Inputs[i+1], x.channels); !ok || err != nil {
			return affine{}, false, err
		}
	}
	gamma, beta, mean, variance := p[0], p[1], p[2], p[3]
	epsilon := float64(onnx.AttrOr(n, "epsilon", float32(1e-5)))
	a := affine{make([]float64, x.channels), make([]float64, x.channels)}
	for i := range a.scale {
		a.scale[i] = gamma[i] / math.Sqrt(variance[i]+epsilon)
		a.shift[i] = beta[i] - mean[i]*a.scale[i]
	}
	return a, true, nil
}

// hasFixedStatistics reports whether a norm has constants for each channel, as in inference.
func hasFixedStatistics(n *onnx.Node) bool {
	return len(n.Inputs) == 5 && onnx.AttrOr(n, "training_mode", int64(0)) == 0 && onnx.AttrOr(n, "spatial", int64(1)) == 1
}

// arithmetic returns what x∘c does, or c∘x where the order does not matter.
func (f *folder) arithmetic(n *onnx.Node, x convolved) (affine, bool, error) {
	apply, known := affineOps[n.Op]
	other, ok := otherOperand(n, x)
	if !known || !ok {
		return affine{}, false, nil
	}
	c, ok, err := f.broadcast(other, x)
	if !ok || err != nil {
		return affine{}, false, err
	}
	a := affine{make([]float64, x.channels), make([]float64, x.channels)}
	for i, v := range c {
		a.scale[i], a.shift[i] = apply(v)
	}
	return a, true, nil
}

// affineOps are the scale and the shift of x∘v.
var affineOps = map[string]func(v float64) (scale, shift float64){
	"Mul": func(v float64) (float64, float64) { return v, 0 },
	"Div": func(v float64) (float64, float64) { return 1 / v, 0 },
	"Add": func(v float64) (float64, float64) { return 1, v },
	"Sub": func(v float64) (float64, float64) { return 1, -v },
}

// otherOperand returns what x is combined with, and whether it can be folded.
func otherOperand(n *onnx.Node, x convolved) (string, bool) {
	if len(n.Inputs) != 2 || n.Inputs[0] == n.Inputs[1] {
		return "", false
	}
	if n.Inputs[1] != x.name {
		return n.Inputs[1], true
	}
	return n.Inputs[0], n.Op != "Sub" && n.Op != "Div"
}

func finite(list []float64) bool {
	return !slices.ContainsFunc(list, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// perChannel returns a constant [channels], and whether it is one.
func (f *folder) perChannel(name string, channels int64) ([]float64, bool, error) {
	t := f.consts[name]
	if !isFloat32Constant(t) || len(t.Dims) != 1 || t.Dims[0] != channels {
		return nil, false, nil
	}
	values, err := onnx.Elements[float32](t)
	return widen(values), err == nil, err
}

// broadcast returns a constant that is added to x, or the like, as one number for each
// channel, and whether it is one.
func (f *folder) broadcast(name string, x convolved) ([]float64, bool, error) {
	t := f.consts[name]
	if !isFloat32Constant(t) || !x.perChannel(t.Dims) {
		return nil, false, nil
	}
	values, err := onnx.Elements[float32](t)
	if len(values) == 1 {
		values = slices.Repeat(values, int(x.channels))
	}
	return widen(values), err == nil, err
}

// perChannel reports whether a shape is broadcast to that of x with one number for each channel, or one for all.
func (x convolved) perChannel(dims []int64) bool {
	first := x.rank - len(dims)
	for i, d := range dims {
		if d != 1 && (first+i != 1 || d != x.channels) {
			return false
		}
	}
	return first >= 0
}

func widen(values []float32) []float64 {
	wide := make([]float64, len(values))
	for i, v := range values {
		wide[i] = float64(v)
	}
	return wide
}
