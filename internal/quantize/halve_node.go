package quantize

import (
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// convert makes a node read and write float16 where it had float32.
func (h *halver) convert(n *onnx.Node) error {
	for i, name := range n.Inputs {
		if h.types[name] != onnx.Float32 {
			continue
		}
		if slices.Contains(fullInputs[n.Op], i) {
			h.needFull(name)
			continue
		}
		half, err := h.asHalf(name)
		if err != nil {
			return err
		}
		n.Inputs[i] = half
	}
	for i, name := range n.Outputs {
		if h.types[name] == onnx.Float32 {
			n.Outputs[i] = h.halfName(name)
			h.made[n.Outputs[i]] = true
			h.describe(name, n.Outputs[i])
		}
	}
	h.nodes = append(h.nodes, n)
	return nil
}

// full leaves a node in FP32, and makes what it reads in float32.
func (h *halver) full(n *onnx.Node) {
	for _, name := range readsOf(n) {
		h.needFull(name)
	}
	h.nodes = append(h.nodes, n)
}

// needFull casts a value back to float32 if a converted node makes it.
func (h *halver) needFull(name string) {
	half := h.half[name]
	if half == "" || !h.made[half] || h.made[name] || h.hasFull(name) {
		return
	}
	h.cast(half, name, onnx.Float32)
	h.made[name] = true
}

// hasFull reports whether the value is there as float32 without a cast: as an input, a
// constant, or made by a node that stayed in FP32.
func (h *halver) hasFull(name string) bool {
	producer := h.index.Producer(name)
	if producer != nil {
		return slices.Contains(producer.Outputs, name) // else it was converted
	}
	return !h.isHalfInput(name)
}

// isHalfInput reports whether the value is an input that has become float16.
func (h *halver) isHalfInput(name string) bool {
	half := h.half[name]
	return half != "" && slices.ContainsFunc(h.graph.Inputs, func(v *onnx.Value) bool { return v.Name == half })
}

// asHalf returns the name under which a float32 value is there as float16.
func (h *halver) asHalf(name string) (string, error) {
	half := h.halfName(name)
	if h.made[half] {
		return half, nil
	}
	h.made[half] = true
	if t := h.consts[name]; t != nil && t.External == nil {
		return half, h.halveConstant(t, half)
	}
	if n := h.index.Producer(name); isOp(n, "Constant") || isOp(n, "ConstantOfShape") {
		done, err := h.halveConstantNode(n, half)
		if done || err != nil {
			return half, err
		}
	}
	h.describe(name, half)
	h.cast(name, half, onnx.Float16)
	return half, nil
}

func (h *halver) halfName(name string) string {
	if h.half[name] == "" {
		h.half[name] = h.index.Unique(name + "_fp16")
	}
	return h.half[name]
}

func (h *halver) cast(from, to string, elem onnx.ElemType) {
	h.report.Casts++
	h.nodes = append(h.nodes, &onnx.Node{
		Name: h.index.Unique(to + "_cast"), Op: "Cast", Inputs: []string{from}, Outputs: []string{to},
		Attributes: []onnx.Attribute{onnx.Attr("to", int64(elem))},
	})
}

// describe says of a float16 value what is known of the shape of the float32 one.
func (h *halver) describe(name, half string) {
	v := h.index.Value(name)
	if v == nil || h.index.Value(half) != nil {
		return
	}
	described := *v
	described.Name = half
	described.Type.Elem = onnx.Float16
	described.Type.Shape = slices.Clone(v.Type.Shape)
	h.graph.Values = append(h.graph.Values, &described)
}

func (h *halver) halveConstant(t *onnx.Tensor, name string) error {
	half, counts, err := halfTensor(name, t)
	if err != nil {
		return err
	}
	h.report.Rounding.add(counts)
	h.report.Initializers++
	addConstant(h.model, half)
	return nil
}

// halveConstantNode puts a float16 twin beside a node that makes a constant. It does
// nothing if it does not know how.
func (h *halver) halveConstantNode(n *onnx.Node, name string) (bool, error) {
	value := constantValue(n)
	if value == nil || value.Type != onnx.Float32 || value.External != nil {
		return false, nil
	}
	half, counts, err := halfTensor(value.Name, value)
	if err != nil {
		return false, err
	}
	h.report.Rounding.add(counts)
	h.nodes = append(h.nodes, &onnx.Node{
		Name: h.index.Unique(layerName(n) + "_fp16"), Op: n.Op, Inputs: slices.Clone(n.Inputs), Outputs: []string{name},
		Attributes: []onnx.Attribute{onnx.Attr("value", half)},
	})
	return true, nil
}

// constantValue returns the tensor that a Constant makes, or with which a
// ConstantOfShape fills; nil if it is no tensor or number.
func constantValue(n *onnx.Node) *onnx.Tensor {
	switch {
	case n.Attr("value") != nil:
		return onnx.AttrOr[*onnx.Tensor](n, "value", nil)
	case n.Op == "ConstantOfShape":
		return onnx.TensorOf("", []float32{0}, 1)
	case n.Attr("value_float") != nil:
		return onnx.TensorOf("", []float32{onnx.AttrOr(n, "value_float", float32(0))})
	case n.Attr("value_floats") != nil:
		floats := onnx.AttrOr[[]float32](n, "value_floats", nil)
		return onnx.TensorOf("", floats, int64(len(floats)))
	}
	return nil
}

// readsOf returns the names that a node reads itself or in its subgraphs. Names that
// are defined inside a subgraph are among them, which does no harm: names are
// unique over all graphs of a model.
func readsOf(n *onnx.Node) []string {
	names := slices.Clone(n.Inputs)
	for _, a := range n.Attributes {
		switch v := a.Value.(type) {
		case *onnx.Graph:
			names = append(names, readsOfGraph(v)...)
		case []*onnx.Graph:
			for _, g := range v {
				names = append(names, readsOfGraph(g)...)
			}
		}
	}
	return names
}

func readsOfGraph(g *onnx.Graph) []string {
	var names []string
	if g == nil {
		return nil
	}
	for _, n := range g.Nodes {
		names = append(names, readsOf(n)...)
	}
	for _, v := range g.Outputs {
		names = append(names, v.Name)
	}
	return names
}
