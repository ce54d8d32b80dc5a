package quantize

import (
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// foldAffine folds into each convolution what follows it and only scales and shifts
// its channels: batch norms, and arithmetic with one constant for each channel, which
// is what frozen batch norms are exported as. It returns how many nodes it folded. All
// arithmetic is in float64, and rounded once.
//
// A node is left alone if somebody else reads the convolution's result, or if anything
// about it is not constant.
func foldAffine(m *onnx.Model) (int, error) {
	f := folder{model: m, consts: constants(m), index: m.Graph.Index(), dropped: make(map[*onnx.Node]bool)}
	for _, n := range m.Graph.Nodes {
		if !isOp(n, "Conv") && !isOp(n, "ConvTranspose") {
			continue
		}
		if err := f.fold(n); err != nil {
			return 0, fmt.Errorf("folding into %s %q: %w", n.Op, layerName(n), err)
		}
	}
	if len(f.dropped) > 0 {
		m.Graph.Nodes = slices.DeleteFunc(m.Graph.Nodes, func(n *onnx.Node) bool { return f.dropped[n] })
		prune(m)
	}
	return len(f.dropped), nil
}

type folder struct {
	model   *onnx.Model
	consts  map[string]*onnx.Tensor
	index   *onnx.Index
	dropped map[*onnx.Node]bool
}

// An affine maps x to scale·x + shift, for each channel.
type affine struct{ scale, shift []float64 }

// A convolved value is the result of a convolution, or of what was folded into it.
type convolved struct {
	name     string
	channels int64
	rank     int
}

// fold folds all affine nodes behind a convolution into it.
func (f *folder) fold(conv *onnx.Node) error {
	weights := f.consts[conv.Input(1)]
	channels := filters(conv, weights)
	if channels == 0 || !onlyOutput(conv) {
		return nil
	}
	shift, ok, err := f.bias(conv, channels)
	if !ok || err != nil {
		return err
	}
	x := convolved{conv.Outputs[0], channels, len(weights.Dims)}
	total, err := f.absorb(conv, x, shift)
	if err != nil || conv.Outputs[0] == x.name {
		return err
	}
	return f.rewrite(conv, weights, total)
}

// absorb drops the affine nodes behind a convolution, which makes their result instead, and returns what its
// bias and they do together.
func (f *folder) absorb(conv *onnx.Node, x convolved, shift []float64) (affine, error) {
	total := affine{ones(x.channels), shift}
	for {
		n := onlyReader(f.index, x.name)
		a, ok, err := f.affineOf(n, x)
		if !ok || err != nil {
			return total, err
		}
		total.then(a)
		f.dropped[n] = true
		x.name = n.Outputs[0]
		conv.Outputs[0] = x.name
	}
}

func (a *affine) then(b affine) {
	for i := range a.scale {
		a.scale[i] *= b.scale[i]
		a.shift[i] = a.shift[i]*b.scale[i] + b.shift[i]
	}
}

func ones(n int64) []float64 {
	return slices.Repeat([]float64{1}, int(n))
}

// filters returns the number of channels that a convolution makes, 0 if its weights are
// not such that this package can handle them.
func filters(conv *onnx.Node, weights *onnx.Tensor) int64 {
	if !isFloat32Constant(weights) || len(weights.Dims) < 3 || slices.Contains(weights.Dims, 0) {
		return 0
	}
	if conv.Op == "Conv" {
		return weights.Dims[0]
	}
	groups := onnx.AttrOr(conv, "group", int64(1))
	if groups < 1 || weights.Dims[0]%groups != 0 {
		return 0
	}
	return weights.Dims[1] * groups
}

// isFloat32Constant reports whether a tensor is there, in memory or in the file of the
// model, as float32.
func isFloat32Constant(t *onnx.Tensor) bool {
	return t != nil && t.Type == onnx.Float32 && t.External == nil
}

// bias returns the bias of a convolution, and whether it is constant.
func (f *folder) bias(conv *onnx.Node, channels int64) ([]float64, bool, error) {
	if conv.Input(2) == "" {
		return make([]float64, channels), true, nil
	}
	return f.perChannel(conv.Input(2), channels)
}

// rewrite gives a convolution the weights scale·w and the bias shift. The old ones may
// have other readers, so they stay until they are pruned.
func (f *folder) rewrite(conv *onnx.Node, weights *onnx.Tensor, a affine) error {
	w, err := onnx.Elements[float32](weights)
	if err != nil {
		return err
	}
	eachFilter(conv, weights.Dims, func(filter, first, n int) {
		for i := first; i < first+n; i++ {
			w[i] = float32(float64(w[i]) * a.scale[filter])
		}
	})
	bias := make([]float32, len(a.shift))
	for i, v := range a.shift {
		bias[i] = float32(v)
	}
	folded := onnx.TensorOf(f.index.Unique(weights.Name+"_folded"), w, weights.Dims...)
	shift := onnx.TensorOf(f.index.Unique(conv.Outputs[0]+"_bias"), bias, int64(len(bias)))
	addConstant(f.model, folded)
	addConstant(f.model, shift)
	conv.Inputs = []string{conv.Inputs[0], folded.Name, shift.Name}
	return nil
}

// eachFilter calls visit for every stretch of a convolution's weights that belongs to
// one filter, which is one channel of the result. The weights of Conv are [filters,
// channels/group, kernel…], those of ConvTranspose [channels, filters/group, kernel…].
func eachFilter(conv *onnx.Node, dims []int64, visit func(filter, first, n int)) {
	kernel := 1
	for _, d := range dims[2:] {
		kernel *= int(d)
	}
	if conv.Op == "Conv" {
		n := int(dims[1]) * kernel
		for filter := range int(dims[0]) {
			visit(filter, filter*n, n)
		}
		return
	}
	groups := int(onnx.AttrOr(conv, "group", int64(1)))
	perGroup := int(dims[0]) / groups
	for channel := range int(dims[0]) {
		for j := range int(dims[1]) {
			filter := channel/perGroup*int(dims[1]) + j
			visit(filter, (channel*int(dims[1])+j)*kernel, kernel)
		}
	}
}
