package onnx

import (
	"math"
	"slices"
	"strings"
)

// scaled is an extent times the scales of a node, which are floats: constants of the graph.
func (f *inference) scaled(n *Node, x *extent) *extent {
	scales := AttrOr[[]float32](n, "scales", nil)
	if scales == nil {
		name := n.Input(2)
		if n.Op == "Upsample" || len(n.Inputs) == 2 {
			name = n.Input(1)
		}
		scales = f.scales[name]
	}
	if x == nil || len(scales) != len(x.dims) || n.Attr("axes") != nil {
		return nil
	}
	dims := make([]int64, len(x.dims))
	for i, d := range x.dims {
		dims[i] = int64(math.Floor(float64(d) * float64(scales[i])))
	}
	return shaped(dims...)
}

// A window is how a kernel goes over the spatial axes.
type window struct{ kernel, strides, dilations, pads []int64 }

// windowOf reads the attributes of a node whose kernel has these extents.
func windowOf(n *Node, kernel []int64) (window, bool) {
	ones := slices.Repeat([]int64{1}, len(kernel))
	w := window{
		kernel: kernel, strides: AttrOr(n, "strides", ones), dilations: AttrOr(n, "dilations", ones),
		pads: AttrOr(n, "pads", make([]int64, 2*len(kernel))),
	}
	ok := len(w.strides) == len(kernel) && len(w.dilations) == len(kernel) && len(w.pads) == 2*len(kernel)
	return w, ok && !slices.ContainsFunc(w.strides, func(s int64) bool { return s < 1 })
}

// out is the extent of an axis behind the window.
func (w window) out(n *Node, i int, size int64) int64 {
	if size < 0 {
		return -1
	}
	switch AttrOr(n, "auto_pad", "NOTSET") {
	case "SAME_UPPER", "SAME_LOWER":
		return (size + w.strides[i] - 1) / w.strides[i]
	case "VALID":
		return max(0, (size-w.dilations[i]*(w.kernel[i]-1)-1)/w.strides[i]+1)
	}
	free := size + w.pads[i] + w.pads[len(w.kernel)+i] - w.dilations[i]*(w.kernel[i]-1) - 1
	if AttrOr(n, "ceil_mode", int64(0)) == 1 {
		free += w.strides[i] - 1
	}
	return max(0, free/w.strides[i]+1)
}

// conv is a convolution of [N C spatial…] with [filters C/groups kernel…].
func (f *inference) conv(n *Node, x, w *extent) *extent {
	if x.rank() < 3 || w.rank() != x.rank() {
		f.multiply(n, -1)
		return nil
	}
	v, ok := windowOf(n, w.dims[2:])
	if !ok {
		f.multiply(n, -1)
		return nil
	}
	dims := []int64{x.dims[0], w.dims[0]}
	for i, d := range x.dims[2:] {
		dims = append(dims, v.out(n, i, d))
	}
	e := shaped(dims...)
	f.multiply(n, times(e.len(), times(w.dims[1:]...)))
	return e
}

// deconv is a transposed convolution of [N C spatial…] with [C filters/groups kernel…]: each input meets the whole kernel.
func (f *inference) deconv(n *Node, x, w *extent) *extent {
	if x.rank() < 3 || w.rank() != x.rank() {
		f.multiply(n, -1)
		return nil
	}
	f.multiply(n, times(x.len(), times(w.dims[1:]...)))
	v, ok := windowOf(n, w.dims[2:])
	if !ok {
		return nil
	}
	dims := []int64{x.dims[0], times(w.dims[1], AttrOr(n, "group", int64(1)))}
	given, more := AttrOr[[]int64](n, "output_shape", nil), AttrOr[[]int64](n, "output_padding", nil)
	for i, d := range x.dims[2:] {
		size := v.strides[i]*(d-1) + v.dilations[i]*(v.kernel[i]-1) + 1 - v.pads[i] - v.pads[len(v.kernel)+i]
		if strings.HasPrefix(AttrOr(n, "auto_pad", "NOTSET"), "SAME") {
			size = d * v.strides[i]
		} else if i < len(more) {
			size += more[i]
		}
		if i < len(given) {
			size = given[len(given)-len(v.kernel)+i]
		}
		dims = append(dims, size)
	}
	return shaped(dims...)
}

func (f *inference) pool(n *Node, x *extent) *extent {
	kernel := AttrOr[[]int64](n, "kernel_shape", nil)
	v, ok := windowOf(n, kernel)
	if !ok || x.rank() != int64(len(kernel)+2) {
		return nil
	}
	dims := slices.Clone(x.dims)
	for i := range kernel {
		dims[2+i] = v.out(n, i, dims[2+i])
	}
	return shaped(dims...)
}

// product is that of matrices, the last two axes of both; the axes before them are broadcast. A vector is a matrix of one row,
// or of one column behind.
func (f *inference) product(n *Node, x, y *extent) *extent {
	if x.rank() < 1 || y.rank() < 1 {
		f.multiply(n, -1)
		return nil
	}
	a, b := x.dims, y.dims
	if len(a) == 1 {
		a = []int64{1, a[0]}
	}
	if len(b) == 1 {
		b = []int64{b[0], 1}
	}
	rows, inner, columns := a[len(a)-2], a[len(a)-1], b[len(b)-1]
	if AttrOr(n, "transA", int64(0)) == 1 {
		rows, inner = inner, rows
	}
	if AttrOr(n, "transB", int64(0)) == 1 {
		columns = b[len(b)-2]
	}
	outer := broadcast(shaped(a[:len(a)-2]...), shaped(b[:len(b)-2]...))
	f.multiply(n, times(outer.len(), rows, inner, columns))
	if outer == nil {
		return nil
	}
	dims := outer.dims
	if x.rank() > 1 {
		dims = append(dims, rows)
	}
	if y.rank() > 1 {
		dims = append(dims, columns)
	}
	return shaped(dims...)
}

func (f *inference) gemm(n *Node, x, y *extent) *extent {
	if x.rank() != 2 || y.rank() != 2 {
		f.multiply(n, -1)
		return nil
	}
	rows, inner, columns := x.dims[0], x.dims[1], y.dims[1]
	if AttrOr(n, "transA", int64(0)) != 0 {
		rows, inner = inner, rows
	}
	if AttrOr(n, "transB", int64(0)) != 0 {
		columns = y.dims[0]
	}
	f.multiply(n, times(rows, inner, columns))
	return shaped(rows, columns)
}

// einsum multiplies all its axes. The sum over several inputs at once is counted as one product for each.
func (f *inference) einsum(n *Node) *extent {
	equation := strings.ReplaceAll(AttrOr(n, "equation", ""), " ", "")
	from, to, explicit := strings.Cut(equation, "->")
	terms := strings.Split(from, ",")
	sizes := map[rune]int64{}
	seen := map[rune]int{}
	for i, term := range terms {
		e := f.in(n, i)
		if strings.Contains(term, ".") || e.rank() != int64(len(term)) || len(terms) != len(n.Inputs) {
			f.multiply(n, -1)
			return nil
		}
		for axis, letter := range term {
			sizes[letter] = max(sizes[letter], e.dims[axis])
			seen[letter]++
		}
	}
	macs := int64(len(terms) - 1)
	for _, size := range sizes {
		macs = times(macs, size)
	}
	if f.multiply(n, macs); !explicit {
		for letter, times := range seen {
			if times == 1 {
				to += string(letter)
			}
		}
		letters := []rune(to)
		slices.Sort(letters)
		to = string(letters)
	}
	var dims []int64
	for _, letter := range to {
		dims = append(dims, sizes[letter])
	}
	return shaped(dims...)
}

// recurrent is a layer that goes over [time batch inputs] with weights [directions gates·hidden inputs].
func (f *inference) recurrent(n *Node, x, w *extent) []*extent {
	r := f.in(n, 2)
	if x.rank() != 3 || w.rank() != 3 || r.rank() != 3 {
		f.multiply(n, -1)
		return nil
	}
	steps, batch, directions, hidden := x.dims[0], x.dims[1], w.dims[0], r.dims[2]
	f.multiply(n, times(steps, batch, directions, w.dims[1], w.dims[2]+hidden))
	if AttrOr(n, "layout", int64(0)) == 1 {
		steps, batch = batch, steps
		last := shaped(batch, directions, hidden)
		return []*extent{shaped(batch, steps, directions, hidden), last, last}
	}
	last := shaped(directions, batch, hidden)
	return []*extent{shaped(steps, directions, batch, hidden), last, last}
}

// attention is that of ONNX, or of com.microsoft: the weights of queries over keys, times values, without what masks leave out.
func (f *inference) attention(n *Node) []*extent {
	q, k := f.in(n, 0), f.in(n, 1)
	switch {
	case n.Op == "Attention" && n.Domain == "com.microsoft": // of [batch length inputs], with weights [inputs 3·hidden]
		if q.rank() != 3 || k.rank() != 2 {
			f.multiply(n, -1)
			return nil
		}
		batch, length, inner, hidden := q.dims[0], q.dims[1], q.dims[2], k.dims[1]/3
		f.multiply(n, add(times(batch, length, inner, k.dims[1]), times(2, batch, length, length, hidden)))
		return []*extent{shaped(batch, length, hidden)}
	case n.Op == "GroupQueryAttention" && n.Input(1) == "" && q.rank() == 3: // queries, keys and values side by side
		heads, shared, past := AttrOr(n, "num_heads", int64(0)), AttrOr(n, "kv_num_heads", int64(0)), f.in(n, 3)
		if heads < 1 || shared < 1 || past.rank() != 4 {
			f.multiply(n, -1)
			return nil
		}
		width, keys := q.dims[2]/(heads+2*shared)*heads, q.dims[1]+past.dims[2]
		f.multiply(n, times(2, q.dims[0], q.dims[1], keys, width))
		kept := past.with(2, keys)
		return []*extent{shaped(q.dims[0], q.dims[1], width), kept, kept}
	case q.rank() == 3 && k.rank() == 3: // all heads side by side
		queries, keys, width := q.dims[1], k.dims[1], q.dims[2]
		if past := f.in(n, 3); n.Op == "GroupQueryAttention" && past.rank() == 4 { // keys of earlier tokens
			keys += past.dims[2]
		}
		f.multiply(n, times(2, q.dims[0], queries, keys, width))
		v := f.in(n, 2)
		if n.Op == "GroupQueryAttention" || v.rank() != 3 {
			return []*extent{q}
		}
		return []*extent{shaped(q.dims[0], queries, v.dims[2])}
	case q.rank() == 4 && k.rank() == 4: // [batch heads length width]
		f.multiply(n, times(2, q.len(), k.dims[2]))
		return []*extent{q}
	case q.rank() == 3 && k.rank() == 4: // keys as [batch heads length width]
		f.multiply(n, times(2, q.len(), k.dims[2]))
		return []*extent{q}
	}
	f.multiply(n, -1)
	return nil
}

// experts are the matrices, [experts …], of which a router chooses some for each row. Those in fewer bits are packed into bytes.
func (f *inference) experts(n *Node, x *extent, matrices ...int) *extent {
	perRow := int64(0)
	for _, i := range matrices {
		if n.Input(i) == "" {
			continue
		}
		w := f.in(n, i)
		if w.rank() < 2 {
			f.multiply(n, -1)
			return x
		}
		perRow = add(perRow, times(w.dims[1:]...))
	}
	if n.Op == "QMoE" {
		perRow = times(perRow, 8/min(8, max(1, AttrOr(n, "expert_weight_bits", int64(4)))))
	}
	rows := int64(-1)
	if x.rank() > 0 && x.dim(-1) > 0 {
		rows = x.len() / x.dim(-1)
	}
	f.multiply(n, times(rows, AttrOr(n, "k", int64(1)), perRow))
	return x
}

// body counts a graph within another one, with these inputs.
func (f *inference) body(g *Graph, inputs []*extent, rounds int64) []*extent {
	inner := *f
	inner.values = map[string]*extent{}
	for name, e := range f.values {
		inner.values[name] = e
	}
	inner.times = times(f.times, rounds)
	for i, v := range g.Inputs {
		if inner.values[v.Name] = f.declared(v); i < len(inputs) && inputs[i] != nil {
			inner.values[v.Name] = inputs[i]
		}
	}
	inner.graph(g)
	var out []*extent
	for _, v := range g.Outputs {
		out = append(out, inner.values[v.Name])
	}
	return out
}

// branch counts the branch with more work: which one is taken follows from data.
func (f *inference) branch(n *Node) []*extent {
	var best *Operations
	var outputs [][]*extent
	before := f.count
	for _, g := range n.Subgraphs() {
		o := Operations{MACsOf: map[string]int64{}}
		f.count = &o
		outputs = append(outputs, f.body(g, nil, 1))
		if best == nil || sum(o.MACsOf) > sum(best.MACsOf) {
			best = &o
		}
	}
	if f.count = before; best == nil {
		return nil
	}
	for op, n := range best.MACsOf {
		f.count.MACsOf[op] = add(f.count.MACsOf[op], n)
	}
	f.count.Uncounted, f.count.Once = append(f.count.Uncounted, best.Uncounted...), append(f.count.Once, best.Once...)
	first := outputs[0]
	for _, other := range outputs[1:] {
		for i := range first {
			if i >= len(other) || first[i] == nil || other[i] == nil || !slices.Equal(first[i].dims, other[i].dims) {
				first[i] = nil
			}
		}
	}
	return first
}

func sum(of map[string]int64) (total int64) {
	for _, n := range of {
		total = add(total, n)
	}
	return total
}

// loop counts the body once: how often it goes round follows from data.
func (f *inference) loop(n *Node) []*extent {
	bodies := n.Subgraphs()
	if len(bodies) != 1 {
		return nil
	}
	inputs := []*extent{{}, {}} // round and condition
	for i := 2; i < len(n.Inputs); i++ {
		e := f.in(n, i)
		if e != nil {
			e = shaped(e.dims...) // the numbers change
		}
		inputs = append(inputs, e)
	}
	before := sum(f.count.MACsOf)
	uncounted := len(f.count.Uncounted)
	out := f.body(bodies[0], inputs, 1)
	if sum(f.count.MACsOf) > before || len(f.count.Uncounted) > uncounted {
		name := n.Op
		if n.Name != "" {
			name = n.Name
		}
		f.count.Once = append(f.count.Once, name)
	}
	carried := len(n.Inputs) - 2
	var results []*extent
	for i := 1; i < len(out) && i <= carried; i++ { // what is collected has as many rows as rounds
		if e := out[i]; e != nil && inputs[1+i] != nil && slices.Equal(e.dims, inputs[1+i].dims) {
			results = append(results, shaped(e.dims...))
		} else {
			results = append(results, nil)
		}
	}
	return results
}

// scan goes over the first axis of its last inputs, or over the axes that it names.
func (f *inference) scan(n *Node) []*extent {
	bodies := n.Subgraphs()
	over := int(AttrOr(n, "num_scan_inputs", int64(0)))
	states := len(n.Inputs) - over
	if len(bodies) != 1 || over < 1 || states < 0 {
		f.uncounted(n)
		return nil
	}
	along := AttrOr[[]int64](n, "scan_input_axes", nil)
	rounds := int64(-1)
	var inputs []*extent
	for i := range n.Inputs {
		e := f.in(n, i)
		if e != nil && i < states {
			e = shaped(e.dims...)
		}
		if i >= states {
			axis := int64(0)
			if i-states < len(along) {
				axis = along[i-states]
			}
			axis = e.axis(axis)
			if rounds = e.dim(axis); rounds < 0 {
				f.uncounted(n)
				return nil
			}
			e = shaped(slices.Delete(slices.Clone(e.dims), int(axis), int(axis)+1)...)
		}
		inputs = append(inputs, e)
	}
	out := f.body(bodies[0], inputs, rounds)
	for i := states; i < len(out); i++ {
		if out[i] != nil && n.Attr("scan_output_axes") == nil {
			out[i] = shaped(append([]int64{rounds}, out[i].dims...)...)
		} else {
			out[i] = nil
		}
	}
	return out
}
