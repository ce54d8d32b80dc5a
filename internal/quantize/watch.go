package quantize

import "github.com/mlperf-go/mlperf/internal/onnx"

// A watchGraph adds nodes to a copy of a model that hand out what is to be observed.
type watchGraph struct {
	model *onnx.Model
	names *onnx.Index
	one   string // the shape [1]
}

func newWatchGraph(m *onnx.Model) *watchGraph {
	m = clone(m)
	m.Graph.Outputs = nil
	return &watchGraph{model: m, names: m.Graph.Index()}
}

// finish drops what nobody watches.
func (w *watchGraph) finish() *onnx.Model {
	prune(w.model)
	return w.model
}

// node adds a node and returns the name of its result.
func (w *watchGraph) node(op string, inputs []string, attrs ...onnx.Attribute) string {
	n := &onnx.Node{Op: op, Inputs: inputs, Outputs: []string{w.names.Unique(inputs[0] + "_" + op)}, Attributes: attrs}
	w.model.Graph.Nodes = append(w.model.Graph.Nodes, n)
	return n.Outputs[0]
}

func (w *watchGraph) ints(base string, list ...int64) string {
	t := onnx.TensorOf(w.names.Unique(base), list, int64(len(list)))
	addConstant(w.model, t)
	return t.Name
}

// gather makes an output of lists, one behind the other.
func (w *watchGraph) gather(elem onnx.ElemType, length int, lists []string) {
	name := w.node("Concat", lists, onnx.Attr("axis", int64(0)))
	w.model.Graph.Outputs = append(w.model.Graph.Outputs, &onnx.Value{Name: name, Type: onnx.Type{
		Elem: elem, Shape: onnx.Shape{onnx.Fixed(int64(length))},
	}})
}

// scalar applies an operator that makes one number of a value, and returns that as a list.
func (w *watchGraph) scalar(op, value string, attrs ...onnx.Attribute) string {
	if w.one == "" {
		w.one = w.ints("one", 1)
	}
	return w.node("Reshape", []string{w.node(op, []string{value}, attrs...), w.one})
}

// reduce applies an operator over all axes of a value but that of its channels, and
// returns the list of the results.
func (w *watchGraph) reduce(op string, c channels) string {
	value, axes := c.value, []int64{0}
	if c.rank == 0 {
		value = w.node("Reshape", []string{value, w.ints("matrix", -1, int64(c.count))})
	}
	for axis := 2; axis < c.rank; axis++ {
		axes = append(axes, int64(axis))
	}
	keep := onnx.Attr("keepdims", int64(0))
	if w.model.Opset("") >= 18 { // from here on axes are an input
		return w.node(op, []string{value, w.ints("axes", axes...)}, keep)
	}
	return w.node(op, []string{value}, onnx.Attr("axes", axes), keep)
}

// Channels are those of an activation: along axis 1 if it has a rank, else along its
// last axis.
type channels struct {
	value string
	count int
	rank  int
}

// extremesModel returns a model whose outputs are the smallest and the largest elements
// and the numbers of elements of values, in their order, and the means of channels if
// there are any.
func extremesModel(m *onnx.Model, values []*observed, means []channels) *onnx.Model {
	w := newWatchGraph(m)
	scalar := onnx.Attr("keepdims", int64(0))
	var low, high, sizes, lists []string
	for _, v := range values {
		low = append(low, w.scalar("ReduceMin", v.name, scalar))
		high = append(high, w.scalar("ReduceMax", v.name, scalar))
		sizes = append(sizes, w.scalar("Size", v.name))
	}
	w.gather(onnx.Float32, len(values), low)
	w.gather(onnx.Float32, len(values), high)
	w.gather(onnx.Int64, len(values), sizes)
	if len(means) == 0 {
		return w.finish()
	}
	total := 0
	for _, c := range means {
		lists = append(lists, w.reduce("ReduceMean", c))
		total += c.count
	}
	w.gather(onnx.Float32, total, lists)
	return w.finish()
}

// valuesModel returns a model whose outputs are some values of another.
func valuesModel(m *onnx.Model, names []string) *onnx.Model {
	w := newWatchGraph(m)
	index := m.Graph.Index()
	for _, name := range names {
		out := onnx.Value{Name: name, Type: onnx.Type{Elem: onnx.Float32}}
		if known := index.Value(name); known != nil {
			out.Type = known.Type
		}
		if index.Producer(name) == nil { // an input: no engine need hand that out as it is
			out.Name = w.node("Identity", []string{name})
		}
		w.model.Graph.Outputs = append(w.model.Graph.Outputs, &out)
	}
	return w.finish()
}
