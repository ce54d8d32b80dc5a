package quantize

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/units"
)

// prepare returns the FP32 model in the form for calibration and quantisation: of operator set 13 or newer,
// with constants as initializers, and batch norms folded into convolutions. It computes the same, but for
// rounding. A quantised model is an error (errQuantized).
func prepare(m *onnx.Model) (*onnx.Model, error) {
	if err := acceptable(m); err != nil {
		return nil, err
	}
	m = clone(m)
	if err := upgrade(m); err != nil {
		return nil, err
	}
	constantsToInitializers(m)
	if _, err := foldAffine(m); err != nil {
		return nil, err
	}
	if err := foldGemmFactors(m); err != nil {
		return nil, err
	}
	headsToGemm(m)
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("the result is not valid: %w", err)
	}
	return m, nil
}

// constantsToInitializers makes initializers of nodes that hold constants, or give others another shape: exporters write weights so.
// A canvas that others write into stays a node: as an initializer it would be the largest part of many a file.
func constantsToInitializers(m *onnx.Model) {
	known, index := constants(m), m.Graph.Index()
	m.Graph.Nodes = slices.DeleteFunc(m.Graph.Nodes, func(n *onnx.Node) bool {
		if !isONNX(n) || !onlyOutput(n) {
			return false
		}
		t := folded(n, known)
		if t == nil || n.Op == "ConstantOfShape" && isCanvas(index.Consumers(n.Outputs[0])) {
			return false
		}
		named := *t
		named.Name = n.Outputs[0]
		known[named.Name] = &named
		addConstant(m, &named)
		return true
	})
}

// isCanvas reports whether a value's readers all write into a copy of it.
func isCanvas(readers []*onnx.Node) bool {
	return len(readers) > 0 && !slices.ContainsFunc(readers, func(n *onnx.Node) bool {
		return !isOp(n, "ScatterND") && !isOp(n, "ScatterElements") && !isOp(n, "Scatter")
	})
}

// folded is the constant that a node makes of constants; nil: none, or it has to be computed.
func folded(n *onnx.Node, known map[string]*onnx.Tensor) *onnx.Tensor {
	if n.Op == "Constant" {
		return onnx.AttrOr[*onnx.Tensor](n, "value", nil)
	}
	t := known[n.Input(0)]
	if t == nil || t.External != nil {
		return nil
	}
	list := func(attribute string) []int64 { // of an attribute, or of the second input
		given := onnx.AttrOr[[]int64](n, attribute, nil)
		if second := known[n.Input(1)]; second != nil {
			given, _ = onnx.Elements[int64](second)
		}
		return given
	}
	shaped := *t
	switch n.Op {
	case "Identity":
		return t
	case "Reshape":
		shaped.Dims = slices.Clone(list("shape"))
		if len(shaped.Dims) == 0 || slices.Min(shaped.Dims) < 1 { // 0 and -1 stand for others
			return nil
		}
	case "Unsqueeze":
		axes := list("axes")
		for i := range axes {
			if axes[i] < 0 {
				axes[i] += int64(len(t.Dims) + len(axes))
			}
		}
		slices.Sort(axes)
		shaped.Dims = slices.Clone(t.Dims)
		for _, axis := range axes {
			if axis < 0 || axis > int64(len(shaped.Dims)) {
				return nil
			}
			shaped.Dims = slices.Insert(shaped.Dims, int(axis), 1)
		}
	case "ConstantOfShape":
		return filled(n, t)
	case "Transpose":
		return transpose(t, onnx.AttrOr[[]int64](n, "perm", nil))
	default:
		return nil
	}
	have, err := t.Len()
	want, errWant := shaped.Len()
	if err != nil || errWant != nil || have != want {
		return nil
	}
	return &shaped
}

// mostFilled is the largest constant that is filled here, in elements.
const mostFilled = 1 << 28

// filled is the result of a ConstantOfShape of floats.
func filled(n *onnx.Node, shape *onnx.Tensor) *onnx.Tensor {
	value := onnx.AttrOr(n, "value", onnx.TensorOf("", []float32{0}, 1))
	one, err := onnx.Elements[float32](value)
	dims, errDims := onnx.Elements[int64](shape)
	t := &onnx.Tensor{Dims: dims}
	size, errSize := t.Len()
	if cmp.Or(err, errDims, errSize) != nil || len(one) != 1 || size > mostFilled {
		return nil
	}
	return onnx.TensorOf("", slices.Repeat(one, int(size)), dims...)
}

// transpose is a matrix with its axes exchanged, or a tensor of floats with them in another order; nil: it is no such.
func transpose(t *onnx.Tensor, perm []int64) *onnx.Tensor {
	rank := len(t.Dims)
	if perm == nil {
		for i := range rank {
			perm = append(perm, int64(rank-1-i))
		}
	}
	sorted := slices.Sorted(slices.Values(perm))
	for i, axis := range sorted {
		if axis != int64(i) {
			return nil
		}
	}
	from, err := onnx.Elements[float32](t)
	if err != nil || len(perm) != rank {
		return nil
	}
	dims, steps := make([]int64, rank), make([]int, rank) // of the result: extents, and how far apart its elements are in t
	for i, axis := range perm {
		dims[i], steps[i] = t.Dims[axis], 1
		for _, d := range t.Dims[axis+1:] {
			steps[i] *= int(d)
		}
	}
	to, at, place := make([]float32, len(from)), 0, make([]int64, rank)
	for i := range to {
		to[i] = from[at]
		for axis := rank - 1; axis >= 0; axis-- {
			at += steps[axis]
			if place[axis]++; place[axis] < dims[axis] {
				break
			}
			at -= steps[axis] * int(dims[axis])
			place[axis] = 0
		}
	}
	return onnx.TensorOf("", to, dims...)
}

// foldAffine folds into each convolution the nodes behind it that scale and shift its channels: batch
// norms, and arithmetic with one constant for each channel, as frozen batch norms are exported. It returns
// how many nodes it folded. It computes in float64 and rounds once. Nodes stay if the convolution's result
// has other readers, or if anything is not constant.
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

// A convResult is the result of a convolution, or of the last node that was folded into it.
type convResult struct {
	name     string
	channels int64
	rank     int
}

// fold folds all affine nodes behind a convolution into it: they are dropped, and it makes their result instead.
func (f *folder) fold(conv *onnx.Node) error {
	weights := f.consts[conv.Input(1)]
	channels := filters(conv, weights)
	if channels == 0 || !onlyOutput(conv) {
		return nil
	}
	total := affine{slices.Repeat([]float64{1}, int(channels)), make([]float64, channels)}
	if name := conv.Input(2); name != "" {
		bias, ok, err := f.perChannel(name, channels)
		if !ok || err != nil {
			return err
		}
		total.shift = bias
	}
	x := convResult{conv.Outputs[0], channels, len(weights.Dims)}
	for {
		n := onlyReader(f.index, x.name)
		a, ok, err := f.affineOf(n, x)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		for i := range total.scale {
			total.scale[i] *= a.scale[i]
			total.shift[i] = total.shift[i]*a.scale[i] + a.shift[i]
		}
		f.dropped[n] = true
		x.name = n.Outputs[0]
	}
	if conv.Outputs[0] == x.name {
		return nil
	}
	conv.Outputs[0] = x.name
	return f.rewrite(conv, weights, total)
}

// filters returns the number of channels of a convolution's result, 0 if this package cannot handle its
// weights.
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

// isFloat32Constant reports whether t is a tensor of float32 in the model.
func isFloat32Constant(t *onnx.Tensor) bool {
	return t != nil && t.Type == onnx.Float32 && t.External == nil
}

// rewrite gives a convolution the weights scale·w and the bias shift. The old ones may have other readers,
// so they stay until prune.
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

// eachFilter calls visit for every stretch of a convolution's weights that belongs to one filter, that is
// one channel of the result. The weights of Conv are [filters, channels/group, kernel…], those of
// ConvTranspose [channels, filters/group, kernel…].
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

// affineOf returns how a node scales and shifts each channel of x, and whether it does nothing else: a norm
// with constants for each channel, or x∘c, or c∘x where the order does not matter.
func (f *folder) affineOf(n *onnx.Node, x convResult) (a affine, ok bool, err error) {
	if n == nil || !isONNX(n) || !onlyOutput(n) {
		return a, false, nil
	}
	a = affine{make([]float64, x.channels), make([]float64, x.channels)}
	if n.Op == "BatchNormalization" {
		if len(n.Inputs) != 5 || onnx.AttrOr(n, "training_mode", int64(0)) != 0 || onnx.AttrOr(n, "spatial", int64(1)) != 1 || n.Inputs[0] != x.name {
			return a, false, nil
		}
		var p [4][]float64
		for i := range p {
			if p[i], ok, err = f.perChannel(n.Inputs[i+1], x.channels); !ok || err != nil {
				return a, false, err
			}
		}
		gamma, beta, mean, variance := p[0], p[1], p[2], p[3]
		epsilon := float64(onnx.AttrOr(n, "epsilon", float32(1e-5)))
		for i := range a.scale {
			a.scale[i] = gamma[i] / math.Sqrt(variance[i]+epsilon)
			a.shift[i] = beta[i] - mean[i]*a.scale[i]
		}
		return a, units.Finite(a.scale...) && units.Finite(a.shift...), nil
	}

	if len(n.Inputs) != 2 || n.Inputs[0] == n.Inputs[1] {
		return a, false, nil
	}
	other := n.Inputs[1]
	if other == x.name {
		if other = n.Inputs[0]; n.Op == "Sub" || n.Op == "Div" {
			return a, false, nil
		}
	}
	c, ok, err := f.broadcast(other, x)
	if !ok || err != nil {
		return a, false, err
	}
	for i, v := range c {
		switch n.Op {
		case "Mul":
			a.scale[i] = v
		case "Div":
			a.scale[i] = 1 / v
		case "Add":
			a.scale[i], a.shift[i] = 1, v
		case "Sub":
			a.scale[i], a.shift[i] = 1, -v
		default:
			return a, false, nil
		}
	}
	return a, units.Finite(a.scale...) && units.Finite(a.shift...), nil
}

// perChannel returns a constant of shape [channels], and whether the value is one.
func (f *folder) perChannel(name string, channels int64) ([]float64, bool, error) {
	t := f.consts[name]
	if !isFloat32Constant(t) || len(t.Dims) != 1 || t.Dims[0] != channels {
		return nil, false, nil
	}
	values, err := onnx.Elements[float32](t)
	return widen(values), err == nil, err
}

// broadcast returns the second operand of x as one number for each channel, and whether it is such a
// constant: with one number for each channel, or one for all.
func (f *folder) broadcast(name string, x convResult) ([]float64, bool, error) {
	t := f.consts[name]
	if !isFloat32Constant(t) || len(t.Dims) > x.rank {
		return nil, false, nil
	}
	for i, d := range t.Dims {
		if axis := x.rank - len(t.Dims) + i; d != 1 && (axis != 1 || d != x.channels) {
			return nil, false, nil
		}
	}
	values, err := onnx.Elements[float32](t)
	if len(values) == 1 {
		values = slices.Repeat(values, int(x.channels))
	}
	return widen(values), err == nil, err
}

func widen(values []float32) []float64 {
	wide := make([]float64, len(values))
	for i, v := range values {
		wide[i] = float64(v)
	}
	return wide
}

// foldGemmFactors multiplies the factors of matrix products into their constants: integer kernels have
// none.
func foldGemmFactors(m *onnx.Model) error {
	consts, index := constants(m), m.Graph.Index()
	for _, n := range m.Graph.Nodes {
		if !isOp(n, "Gemm") {
			continue
		}
		for i, factor := range []string{"alpha", "beta"} {
			input := i + 1
			by := onnx.AttrOr(n, factor, float32(1))
			t := consts[n.Input(input)]
			if by == 1 || !isFloat32Constant(t) {
				continue
			}
			values, err := onnx.Elements[float32](t)
			if err != nil {
				return fmt.Errorf("node %q: %w", n.Name, err)
			}
			for i := range values {
				values[i] *= by
			}
			scaled := onnx.TensorOf(index.Unique(t.Name+"_"+factor), values, t.Dims...)
			addConstant(m, scaled)
			n.Inputs[input] = scaled.Name
			n.DropAttr(factor)
		}
	}
	prune(m)
	return nil
}

// headsToGemm makes matrix products of 1×1 convolutions of pooled features that make an output, for
// instance MobileNet's classes. An integer product can return its exact sums; an integer convolution
// rounds its results to 8 bits, which mixes up classes that are close to each other.
func headsToGemm(m *onnx.Model) {
	p := &plan{model: m, index: m.Graph.Index(), consts: constants(m)}
	last := p.endsOf(Options{SkipLast: true})
	allAre := func(list []int64, want int64) bool {
		return !slices.ContainsFunc(list, func(n int64) bool { return n != want })
	}
	var nodes []*onnx.Node
	for _, n := range m.Graph.Nodes {
		conv := p.consts[n.Input(1)]
		if last[n] == "" || !isOp(n, "Conv") || !onlyOutput(n) || !isOp(p.index.Producer(n.Input(0)), "GlobalAveragePool") ||
			filters(n, conv) == 0 || !allAre(conv.Dims[2:], 1) || onnx.AttrOr(n, "group", int64(1)) != 1 ||
			!allAre(onnx.AttrOr[[]int64](n, "strides", nil), 1) || !allAre(onnx.AttrOr[[]int64](n, "pads", nil), 0) {
			nodes = append(nodes, n)
			continue
		}
		matrix := *conv
		matrix.Name = p.index.Unique(conv.Name + "_matrix")
		matrix.Dims = conv.Dims[:2:2]
		addConstant(m, &matrix)
		list := make([]int64, len(conv.Dims)-2)
		for i := range list {
			list[i] = int64(i + 2)
		}
		axes := onnx.TensorOf(p.index.Unique(layerName(n)+"_axes"), list, int64(len(list)))
		addConstant(m, axes)
		flat, product := p.index.Unique(n.Inputs[0]+"_flat"), p.index.Unique(n.Outputs[0]+"_flat")
		gemm := *n // with its name
		gemm.Op, gemm.Outputs = "Gemm", []string{product}
		gemm.Inputs = append([]string{flat, matrix.Name}, n.Inputs[2:]...)
		gemm.Attributes = []onnx.Attribute{onnx.Attr("transB", int64(1))}
		if gemm.Name == "" {
			gemm.Name = layerName(n)
		}
		nodes = append(nodes,
			&onnx.Node{Name: p.index.Unique(flat + "_Flatten"), Op: "Flatten", Inputs: []string{n.Inputs[0]}, Outputs: []string{flat}},
			&gemm,
			&onnx.Node{Name: p.index.Unique(product + "_Unsqueeze"), Op: "Unsqueeze", Inputs: []string{product, axes.Name}, Outputs: n.Outputs[:1:1]},
		)
	}
	m.Graph.Nodes = nodes
	prune(m)
}
