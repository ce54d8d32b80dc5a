package onnx

import (
	"slices"
	"strings"
)

// An inference works out the extents of a graph's values, node by node.
type inference struct {
	values map[string]*extent // of the graph and those around it; absent: not known
	free   map[string]int64   // free axes, by name
	scales map[string][]float32
	count  *Operations
	times  int64 // rounds of the loops around
}

// An extent is what is known of a value. No field of one that a value has is changed.
type extent struct {
	dims []int64
	// ints are the elements of a small tensor of whole numbers or truths, which shapes are computed with; nil: not known.
	ints []int64
}

// mostInts is the largest tensor whose elements are followed.
const mostInts = 4096

func scalar(v int64) *extent { return &extent{ints: []int64{v}} }

func list(v []int64) *extent { return &extent{dims: []int64{int64(len(v))}, ints: v} }

func shaped(dims ...int64) *extent { return &extent{dims: dims} }

// len is the number of elements; -1 where it is not known.
func (e *extent) len() int64 {
	if e == nil {
		return -1
	}
	return times(e.dims...)
}

func (e *extent) rank() int64 {
	if e == nil {
		return -1
	}
	return int64(len(e.dims))
}

// axis returns the place of an axis, which counts from the end if it is negative; -1: there is none.
func (e *extent) axis(axis int64) int64 {
	if axis < 0 {
		axis += e.rank()
	}
	if axis < 0 || axis >= e.rank() {
		return -1
	}
	return axis
}

// dim returns the extent of an axis; -1: there is none, or it is not known.
func (e *extent) dim(axis int64) int64 {
	if axis = e.axis(axis); axis < 0 {
		return -1
	}
	return e.dims[axis]
}

// with is an extent with another size of an axis; nil if there is no such axis.
func (e *extent) with(axis, size int64) *extent {
	if axis = e.axis(axis); axis < 0 {
		return nil
	}
	dims := slices.Clone(e.dims)
	dims[axis] = size
	return shaped(dims...)
}

// graph follows all nodes of a graph.
func (f *inference) graph(g *Graph) {
	declared := map[string]*extent{}
	for _, v := range g.Values {
		declared[v.Name] = f.declared(v)
	}
	for _, t := range g.Initializers {
		f.define(t.Name, t)
	}
	for _, n := range g.Nodes {
		out := f.node(n)
		if t := AttrOr[*Tensor](n, "value", nil); n.Op == "Constant" && t != nil && len(n.Outputs) == 1 {
			f.define(n.Outputs[0], t)
			continue
		}
		for i, name := range n.Outputs {
			if name == "" {
				continue
			}
			e := declared[name]
			if i < len(out) && out[i] != nil && out[i].len() >= 0 {
				e = out[i]
			}
			f.values[name] = e
		}
	}
}

// define notes a constant.
func (f *inference) define(name string, t *Tensor) {
	f.values[name] = constant(t)
	if n, err := t.Len(); err == nil && n <= 8 && t.Type == Float32 && t.External == nil {
		if scales, err := Elements[float32](t); err == nil {
			f.scales[name] = scales
		}
	}
}

// declared is what a graph says of a value, with the free axes of the inputs; nil if that is not all.
func (f *inference) declared(v *Value) *extent {
	if v.Type.Shape == nil {
		return nil
	}
	e := &extent{}
	for _, d := range v.Type.Shape {
		size := d.Size
		if d.Param != "" {
			known, ok := f.free[d.Param]
			if !ok {
				return nil
			}
			size = known
		}
		if size < 0 {
			return nil
		}
		e.dims = append(e.dims, size)
	}
	return e
}

// constant is a tensor of the file.
func constant(t *Tensor) *extent {
	n, err := t.Len()
	if err != nil {
		return nil
	}
	e := shaped(t.Dims...)
	if n > mostInts || t.External != nil {
		return e
	}
	switch t.Type {
	case Int64:
		if ints, err := Elements[int64](t); err == nil {
			e.ints = ints
		}
	case Int32:
		if ints, err := Elements[int32](t); err == nil {
			e.ints = make([]int64, len(ints))
			for i, v := range ints {
				e.ints[i] = int64(v)
			}
		}
	case Bool:
		if bytes, err := t.Bytes(); err == nil {
			e.ints = make([]int64, len(bytes))
			for i, v := range bytes {
				e.ints[i] = int64(v)
			}
		}
	}
	return e
}

// in returns what is known of a node's i-th input; nil: nothing.
func (f *inference) in(n *Node, i int) *extent { return f.values[n.Input(i)] }

// numbers are the elements of a node's i-th input.
func (f *inference) numbers(n *Node, i int) ([]int64, bool) {
	e := f.in(n, i)
	if e == nil || e.ints == nil && e.len() != 0 {
		return nil, false
	}
	return e.ints, true
}

// axes are those of an attribute, or of the i-th input.
func (f *inference) axes(n *Node, i int) ([]int64, bool) {
	if a := n.Attr("axes"); a != nil {
		v, ok := a.Value.([]int64)
		return v, ok
	}
	return f.numbers(n, i)
}

// alike have an output with the extents of the first input, and multiply no matrices.
var alike = strings.Fields(`Abs Acos Acosh Asin Asinh Atan Atanh BatchNormalization Bernoulli BiasGelu BitwiseNot Cast CastLike Ceil Celu Clip Cos Cosh
CumSum DequantizeLinear Elu Erf Exp FastGelu Floor Gelu GroupNorm GroupNormalization HardSigmoid HardSwish Hardmax InstanceNormalization IsInf IsNaN LRN
LeakyRelu Log LogSoftmax LpNormalization MeanVarianceNormalization Mish Neg Not PRelu QLinearLeakyRelu QLinearSigmoid QLinearSoftmax QuantizeLinear QuickGelu
RMSNormalization RandomNormalLike RandomUniformLike Reciprocal Relu ReverseSequence RotaryEmbedding Round ScatterElements ScatterND Scatter Selu Shrink Sigmoid
Sign SimplifiedLayerNormalization Sin Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Trilu TensorScatter`)

// pairs have an output of the extents to which their inputs are broadcast.
var pairs = strings.Fields(`Add Sub Mul Div Pow And Or Xor Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mean Sum Mod BitShift BitwiseAnd BitwiseOr
BitwiseXor Where`)

// sizedByContents multiply nothing, and their outputs have extents that the data ask for, or are no tensors.
var sizedByContents = strings.Fields(`NonZero NonMaxSuppression Unique Compress StringNormalizer StringSplit StringConcat RegexFullMatch Multinomial SequenceEmpty
SequenceInsert SequenceAt SequenceConstruct ConcatFromSequence SplitToSequence SequenceLength SequenceErase Optional OptionalGetElement OptionalHasElement
ArrayFeatureExtractor CategoryMapper LabelEncoder ZipMap MaxUnpool Col2Im`)

// node returns the extents of a node's outputs, as far as they are known, and counts its products.
func (f *inference) node(n *Node) []*extent {
	x, y := f.in(n, 0), f.in(n, 1)
	one := func(e *extent) []*extent { return []*extent{e} }
	switch {
	case slices.Contains(alike, n.Op):
		if x == nil {
			return nil
		}
		e := shaped(x.dims...)
		if n.Op == "Cast" || n.Op == "Floor" || n.Op == "Ceil" {
			e.ints = x.ints
		}
		return one(e)
	case slices.Contains(pairs, n.Op):
		return one(f.pair(n))
	case strings.HasPrefix(n.Op, "Reduce"), n.Op == "ArgMax", n.Op == "ArgMin":
		return one(f.reduce(n, x))
	case slices.Contains(sizedByContents, n.Op):
		return nil
	}
	switch n.Op {
	case "Identity":
		return one(x)
	case "Conv", "FusedConv":
		return one(f.conv(n, x, y))
	case "QLinearConv":
		return one(f.conv(n, x, f.in(n, 3)))
	case "ConvInteger":
		return one(f.conv(n, x, y))
	case "ConvTranspose":
		return one(f.deconv(n, x, y))
	case "MatMul", "MatMulInteger", "DynamicQuantizeMatMul", "MatMulIntegerToFloat", "FusedMatMul":
		return one(f.product(n, x, y))
	case "QLinearMatMul":
		return one(f.product(n, x, f.in(n, 3)))
	case "Gemm":
		return one(f.gemm(n, x, y))
	case "QGemm":
		return one(f.gemm(n, x, f.in(n, 3)))
	case "MatMulNBits":
		k, columns := AttrOr(n, "K", int64(-1)), AttrOr(n, "N", int64(-1))
		f.multiply(n, times(x.len(), columns))
		if x.dim(-1) != k {
			return nil
		}
		return one(x.with(-1, columns))
	case "Einsum":
		return one(f.einsum(n))
	case "LSTM", "GRU", "RNN":
		return f.recurrent(n, x, y)
	case "Attention", "MultiHeadAttention", "GroupQueryAttention":
		return f.attention(n)
	case "MoE":
		return one(f.experts(n, x, 2, 4, 6))
	case "QMoE":
		return one(f.experts(n, x, 2, 5, 8))
	case "If":
		return f.branch(n)
	case "Loop":
		return f.loop(n)
	case "Scan":
		return f.scan(n)
	case "MaxPool", "AveragePool", "LpPool":
		return []*extent{f.pool(n, x), f.pool(n, x)}
	case "QLinearAveragePool":
		return one(f.pool(n, x))
	case "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "QLinearGlobalAveragePool":
		if x.rank() < 2 {
			return nil
		}
		dims := slices.Clone(x.dims)
		for i := range dims[2:] {
			dims[2+i] = 1
		}
		return one(shaped(dims...))
	case "QLinearAdd", "QLinearMul":
		return one(broadcast(x, f.in(n, 3)))
	case "LayerNormalization", "Dropout":
		return []*extent{x, x}
	case "SkipLayerNormalization", "SkipSimplifiedLayerNormalization":
		return []*extent{x, nil, nil, x}
	case "DynamicQuantizeLinear":
		return []*extent{x, {}, {}}
	case "EmbedLayerNormalization":
		if x == nil {
			return nil
		}
		return one(shaped(append(slices.Clone(x.dims), f.in(n, 2).dim(1))...))
	case "Constant":
		return one(constantNode(n))
	case "ConstantOfShape":
		if dims, ok := f.numbers(n, 0); ok {
			e := shaped(dims...)
			if t := AttrOr[*Tensor](n, "value", nil); t != nil && e.len() >= 0 && e.len() <= mostInts {
				if c := constant(t); c != nil && len(c.ints) == 1 {
					e.ints = slices.Repeat(c.ints, int(e.len()))
				}
			}
			return one(e)
		}
	case "Shape":
		if x != nil {
			start, end := AttrOr(n, "start", int64(0)), AttrOr(n, "end", x.rank())
			start, end = clip(start, x.rank()), clip(end, x.rank())
			return one(list(slices.Clone(x.dims[start:max(start, end)])))
		}
	case "Size":
		if x.len() >= 0 {
			return one(scalar(x.len()))
		}
	case "Range":
		from, ok1 := f.numbers(n, 0)
		to, ok2 := f.numbers(n, 1)
		step, ok3 := f.numbers(n, 2)
		if ok1 && ok2 && ok3 && len(from) == 1 && len(to) == 1 && len(step) == 1 && step[0] != 0 {
			count := max(0, (to[0]-from[0]+step[0]-sign(step[0]))/step[0])
			if count > mostInts {
				return one(shaped(count))
			}
			e := list(make([]int64, count))
			for i := range e.ints {
				e.ints[i] = from[0] + int64(i)*step[0]
			}
			return one(e)
		}
	case "Reshape":
		return one(f.reshape(n, x))
	case "Flatten":
		if axis := AttrOr(n, "axis", int64(1)); x != nil {
			at := clip(axis, x.rank())
			return one(shaped(times(x.dims[:at]...), times(x.dims[at:]...)))
		}
	case "Transpose":
		return one(transpose(n, x))
	case "Squeeze":
		return one(f.squeeze(n, x))
	case "Unsqueeze":
		return one(f.unsqueeze(n, x))
	case "Concat":
		return one(f.concat(n))
	case "QLinearConcat":
		return one(f.quantizedConcat(n))
	case "Split":
		return f.split(n, x)
	case "Slice":
		return one(f.slice(n, x))
	case "Gather":
		return one(gather(x, y, AttrOr(n, "axis", int64(0))))
	case "GatherElements":
		if y != nil {
			return one(shaped(y.dims...))
		}
	case "GatherND":
		batch := AttrOr(n, "batch_dims", int64(0))
		if last := y.dim(-1); x != nil && last >= 0 && batch >= 0 && batch+last <= x.rank() {
			return one(shaped(append(slices.Clone(y.dims[:len(y.dims)-1]), x.dims[batch+last:]...)...))
		}
	case "GatherBlockQuantized":
		return one(gather(x, y, AttrOr(n, "gather_axis", int64(0))))
	case "Expand":
		if to, ok := f.numbers(n, 1); ok {
			return one(broadcast(x, shaped(to...)))
		}
	case "Tile":
		if repeats, ok := f.numbers(n, 1); ok && x != nil && len(repeats) == len(x.dims) {
			dims := slices.Clone(x.dims)
			for i, r := range repeats {
				dims[i] = times(dims[i], r)
			}
			return one(shaped(dims...))
		}
	case "Pad":
		return one(f.pad(n, x))
	case "Resize", "Upsample":
		return one(f.resize(n, x))
	case "TopK":
		if k, ok := f.numbers(n, 1); ok && len(k) == 1 && x != nil {
			e := x.with(AttrOr(n, "axis", int64(-1)), k[0])
			return []*extent{e, e}
		}
	case "OneHot":
		if depth, ok := f.numbers(n, 1); ok && len(depth) == 1 && x != nil {
			at := AttrOr(n, "axis", int64(-1))
			if at < 0 {
				at += x.rank() + 1
			}
			if at >= 0 && at <= x.rank() {
				return one(shaped(slices.Insert(slices.Clone(x.dims), int(at), depth[0])...))
			}
		}
	case "DepthToSpace", "SpaceToDepth":
		if b := AttrOr(n, "blocksize", int64(0)); b > 0 && b < 1<<16 && x.rank() == 4 {
			d := x.dims
			if n.Op == "DepthToSpace" {
				return one(shaped(d[0], d[1]/(b*b), d[2]*b, d[3]*b))
			}
			return one(shaped(d[0], d[1]*b*b, d[2]/b, d[3]/b))
		}
	case "EyeLike":
		return one(x)
	case "RandomNormal", "RandomUniform":
		return one(shaped(AttrOr[[]int64](n, "shape", nil)...))
	default:
		f.uncounted(n) // perhaps it multiplies
	}
	return nil
}

func sign(v int64) int64 {
	if v < 0 {
		return -1
	}
	return 1
}

// clip is an axis or a place from 0 to n, which counts from the end if it is negative.
func clip(at, n int64) int64 {
	if at < 0 {
		at += n
	}
	return min(max(at, 0), n)
}

func constantNode(n *Node) *extent {
	for _, a := range n.Attributes {
		switch v := a.Value.(type) {
		case *Tensor:
			return constant(v)
		case int64:
			return scalar(v)
		case []int64:
			return list(v)
		case float32, string:
			return &extent{}
		case []float32:
			return shaped(int64(len(v)))
		}
	}
	return nil
}

// broadcast repeats missing outer axes and axes of one element.
func broadcast(x, y *extent) *extent {
	if x == nil || y == nil {
		return nil
	}
	a, b := x.dims, y.dims
	if len(a) < len(b) {
		a, b = b, a
	}
	dims := slices.Clone(a)
	for i, d := range b {
		at := len(a) - len(b) + i
		switch {
		case dims[at] == 1:
			dims[at] = d
		case d != 1 && d != dims[at]:
			return nil
		}
	}
	return shaped(dims...)
}

// pair broadcasts all inputs, and computes with small whole numbers.
func (f *inference) pair(n *Node) *extent {
	e := f.in(n, 0)
	for i := 1; i < len(n.Inputs); i++ {
		e = broadcast(e, f.in(n, i))
	}
	if e == nil || e.len() < 0 || e.len() > mostInts {
		return e
	}
	if e = shaped(e.dims...); len(n.Inputs) > 3 {
		return e
	}
	var terms [][]int64
	for i := range n.Inputs {
		ints, ok := f.numbers(n, i)
		if !ok || len(ints) == 0 || int64(len(ints)) != e.len() && len(ints) != 1 {
			return e
		}
		terms = append(terms, ints)
	}
	at := func(term, i int) int64 { return terms[term][min(i, len(terms[term])-1)] }
	ints := make([]int64, e.len())
	for i := range ints {
		switch a := at(0, i); {
		case len(terms) == 1:
			ints[i] = a
		case n.Op == "Where" && len(terms) == 3:
			if ints[i] = at(2, i); a != 0 {
				ints[i] = at(1, i)
			}
		default:
			v, ok := compute(n.Op, a, at(1, i))
			if !ok || len(terms) != 2 {
				return e
			}
			ints[i] = v
		}
	}
	e.ints = ints
	return e
}

func compute(op string, a, b int64) (int64, bool) {
	truth := func(v bool) (int64, bool) {
		if v {
			return 1, true
		}
		return 0, true
	}
	switch op {
	case "Add":
		return a + b, true
	case "Sub":
		return a - b, true
	case "Mul":
		return a * b, true
	case "Div":
		if b == 0 {
			return 0, false
		}
		return a / b, true
	case "Mod":
		if b == 0 {
			return 0, false
		}
		return ((a % b) + b) % b, true
	case "Max":
		return max(a, b), true
	case "Min":
		return min(a, b), true
	case "Equal":
		return truth(a == b)
	case "Greater":
		return truth(a > b)
	case "GreaterOrEqual":
		return truth(a >= b)
	case "Less":
		return truth(a < b)
	case "LessOrEqual":
		return truth(a <= b)
	case "And":
		return truth(a != 0 && b != 0)
	case "Or":
		return truth(a != 0 || b != 0)
	}
	return 0, false
}

func (f *inference) reduce(n *Node, x *extent) *extent {
	if x == nil {
		return nil
	}
	var list []int64
	all := false
	switch {
	case strings.HasPrefix(n.Op, "Arg"):
		list = []int64{AttrOr(n, "axis", int64(0))}
	case n.Input(1) == "" && n.Attr("axes") == nil:
		if AttrOr(n, "noop_with_empty_axes", int64(0)) == 1 {
			return x
		}
		all = true
	default:
		given, ok := f.axes(n, 1)
		if !ok {
			return nil
		}
		if list = given; len(list) == 0 {
			if AttrOr(n, "noop_with_empty_axes", int64(0)) == 1 {
				return x
			}
			all = true
		}
	}
	gone := make([]bool, len(x.dims))
	for _, a := range list {
		if a = x.axis(a); a < 0 {
			return nil
		}
		gone[a] = true
	}
	var dims []int64
	for i, d := range x.dims {
		switch {
		case !gone[i] && !all:
			dims = append(dims, d)
		case AttrOr(n, "keepdims", int64(1)) == 1:
			dims = append(dims, 1)
		}
	}
	e := shaped(dims...)
	if len(x.ints) > 0 && e.len() == 1 {
		switch n.Op {
		case "ReduceProd":
			e.ints = []int64{times(x.ints...)}
		case "ReduceMax":
			e.ints = []int64{slices.Max(x.ints)}
		case "ReduceMin":
			e.ints = []int64{slices.Min(x.ints)}
		case "ReduceSum":
			sum := int64(0)
			for _, v := range x.ints {
				sum += v
			}
			e.ints = []int64{sum}
		}
	}
	return e
}

func (f *inference) reshape(n *Node, x *extent) *extent {
	to, ok := f.numbers(n, 1)
	if a := n.Attr("shape"); a != nil { // before version 5
		to, ok = a.Value.([]int64)
	}
	if !ok || x == nil {
		return nil
	}
	dims, open := slices.Clone(to), -1
	for i, d := range dims {
		switch {
		case d == 0 && AttrOr(n, "allowzero", int64(0)) == 0:
			dims[i] = x.dim(int64(i))
		case d == -1:
			open, dims[i] = i, 1
		}
	}
	if open >= 0 {
		rest := times(dims...)
		if rest <= 0 || x.len() < 0 {
			return nil
		}
		dims[open] = x.len() / rest
	}
	e := shaped(dims...)
	e.ints = x.ints
	return e
}

func transpose(n *Node, x *extent) *extent {
	if x == nil {
		return nil
	}
	perm := AttrOr[[]int64](n, "perm", nil)
	dims := make([]int64, len(x.dims))
	for i := range dims {
		from := int64(len(dims) - 1 - i)
		if perm != nil {
			if i >= len(perm) {
				return nil
			}
			from = perm[i]
		}
		dims[i] = x.dim(from)
	}
	return shaped(dims...)
}

func (f *inference) squeeze(n *Node, x *extent) *extent {
	if x == nil {
		return nil
	}
	gone := map[int64]bool{}
	if n.Input(1) != "" || n.Attr("axes") != nil {
		list, ok := f.axes(n, 1)
		if !ok {
			return nil
		}
		for _, a := range list {
			gone[x.axis(a)] = true
		}
	} else {
		for i, d := range x.dims {
			gone[int64(i)] = d == 1
		}
	}
	e := &extent{ints: x.ints}
	for i, d := range x.dims {
		if !gone[int64(i)] {
			e.dims = append(e.dims, d)
		}
	}
	return e
}

func (f *inference) unsqueeze(n *Node, x *extent) *extent {
	list, ok := f.axes(n, 1)
	if !ok || x == nil {
		return nil
	}
	rank := x.rank() + int64(len(list))
	added := map[int64]bool{}
	for _, a := range list {
		if a < 0 {
			a += rank
		}
		added[a] = true
	}
	e, next := &extent{ints: x.ints}, 0
	for i := range rank {
		switch {
		case added[i]:
			e.dims = append(e.dims, 1)
		case next < len(x.dims):
			e.dims = append(e.dims, x.dims[next])
			next++
		}
	}
	return e
}

func (f *inference) concat(n *Node) *extent {
	var parts []*extent
	for i := range n.Inputs {
		parts = append(parts, f.in(n, i))
	}
	return join(n, parts)
}

// quantizedConcat has a scale and a zero point of the output, and then three inputs for each part.
func (f *inference) quantizedConcat(n *Node) *extent {
	var parts []*extent
	for i := 2; i < len(n.Inputs); i += 3 {
		parts = append(parts, f.in(n, i))
	}
	return join(n, parts)
}

func join(n *Node, parts []*extent) *extent {
	if len(parts) == 0 || parts[0] == nil {
		return nil
	}
	first := parts[0]
	axis, size, ints := first.axis(AttrOr(n, "axis", int64(1))), int64(0), []int64{}
	for _, p := range parts {
		if p.rank() != first.rank() || p.dim(axis) < 0 {
			return nil
		}
		size += p.dims[axis]
		if ints != nil && p.rank() == 1 && (p.ints != nil || p.len() == 0) && len(ints)+len(p.ints) <= mostInts {
			ints = append(ints, p.ints...)
		} else {
			ints = nil
		}
	}
	e := first.with(axis, size)
	e.ints = ints
	return e
}

func (f *inference) split(n *Node, x *extent) []*extent {
	axis := AttrOr(n, "axis", int64(0))
	whole := x.dim(axis)
	if whole < 0 || len(n.Outputs) == 0 {
		return nil
	}
	sizes, ok := f.numbers(n, 1)
	if a := n.Attr("split"); a != nil {
		sizes, ok = a.Value.([]int64)
	}
	parts := int64(len(n.Outputs))
	each := (whole + parts - 1) / parts
	var out []*extent
	for i := range parts {
		size := min(each, whole-each*i)
		if n.Input(1) != "" || n.Attr("split") != nil {
			if !ok || i >= int64(len(sizes)) {
				return nil
			}
			size = sizes[i]
		}
		out = append(out, x.with(axis, size))
	}
	return out
}

func (f *inference) slice(n *Node, x *extent) *extent {
	if x == nil {
		return nil
	}
	part := func(i int, attribute string) ([]int64, bool) {
		if a := n.Attr(attribute); a != nil { // before version 10
			v, ok := a.Value.([]int64)
			return v, ok
		}
		return f.numbers(n, i)
	}
	starts, ok1 := part(1, "starts")
	ends, ok2 := part(2, "ends")
	if !ok1 || !ok2 || len(starts) != len(ends) {
		return nil
	}
	list, given := part(3, "axes")
	steps, stepped := part(4, "steps")
	if !given && n.Input(3) != "" || !stepped && n.Input(4) != "" || given && len(list) != len(starts) || stepped && len(steps) != len(starts) {
		return nil
	}
	e := shaped(slices.Clone(x.dims)...)
	e.ints = x.ints
	for i := range starts {
		axis, step := int64(i), int64(1)
		if given {
			axis = list[i]
		}
		if stepped {
			step = steps[i]
		}
		if axis = x.axis(axis); axis < 0 || step == 0 {
			return nil
		}
		size, from, to := x.dims[axis], starts[i], ends[i]
		if from < 0 {
			from += size
		}
		if to < 0 {
			to += size
		}
		if step > 0 {
			from, to = min(max(from, 0), size), min(max(to, 0), size)
		} else {
			from, to = min(max(from, 0), size-1), min(max(to, -1), size-1)
		}
		count := max(0, (to-from+step-sign(step))/step)
		if e.dims[axis] = count; e.ints != nil {
			if x.rank() != 1 {
				e.ints = nil
				continue
			}
			var kept []int64
			for k := range count {
				kept = append(kept, x.ints[from+k*step])
			}
			e.ints = kept
		}
	}
	return e
}

func gather(x, y *extent, axis int64) *extent {
	if axis = x.axis(axis); axis < 0 || y == nil {
		return nil
	}
	e := shaped(slices.Concat(x.dims[:axis], y.dims, x.dims[axis+1:])...)
	if x.rank() == 1 && x.ints != nil && y.ints != nil {
		for _, i := range y.ints {
			if i < 0 {
				i += int64(len(x.ints))
			}
			if i < 0 || i >= int64(len(x.ints)) {
				return e
			}
			e.ints = append(e.ints, x.ints[i])
		}
	}
	return e
}

func (f *inference) pad(n *Node, x *extent) *extent {
	pads, ok := f.numbers(n, 1)
	if a := n.Attr("pads"); a != nil {
		pads, ok = a.Value.([]int64)
	}
	if !ok || x == nil {
		return nil
	}
	list, given := f.numbers(n, 3)
	if !given {
		if n.Input(3) != "" {
			return nil
		}
		for i := range x.dims {
			list = append(list, int64(i))
		}
	}
	if len(pads) != 2*len(list) {
		return nil
	}
	dims := slices.Clone(x.dims)
	for i, a := range list {
		if a = x.axis(a); a < 0 {
			return nil
		}
		dims[a] += pads[i] + pads[len(list)+i]
	}
	return shaped(dims...)
}

// resize knows sizes; scales are known from what the graph declares.
func (f *inference) resize(n *Node, x *extent) *extent {
	sizes, ok := f.numbers(n, 3)
	if !ok || x == nil || n.Input(3) == "" || n.Attr("axes") != nil || len(sizes) != len(x.dims) {
		return f.scaled(n, x)
	}
	return shaped(sizes...)
}
