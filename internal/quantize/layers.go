package quantize

import (
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A kind says how an operator takes part in integer arithmetic.
type kind int

const (
	// weighted operators multiply activations with constant weights. They are where the
	// time goes, so they are the layers of which users speak.
	weighted kind = iota + 1
	// joining operators compute with activations alone. They are quantised where that
	// saves the way to FP32 and back between weighted ones.
	joining
	// carrying operators only choose or move elements: what comes out has the
	// parameters of what goes in.
	carrying
)

// kinds are the operators that can be quantised.
var kinds = map[string]kind{
	"Conv": weighted, "Gemm": weighted, "MatMul": weighted,
	"Add": joining, "Mul": joining, "Concat": joining, "AveragePool": joining, "GlobalAveragePool": joining,
	"MaxPool": carrying, "Flatten": carrying, "Reshape": carrying, "Transpose": carrying, "Squeeze": carrying,
	"Unsqueeze": carrying, "Slice": carrying, "DepthToSpace": carrying, "SpaceToDepth": carrying, "Resize": carrying,
}

// defaultOps are the operators that are quantised if the options name none. Products of
// two activations are not among them: each costs accuracy and saves little.
func defaultOps() []string {
	return []string{"Conv", "Gemm", "MatMul", "Add", "Concat", "AveragePool", "GlobalAveragePool", "MaxPool", "Flatten", "Reshape",
		"Transpose", "Squeeze", "Unsqueeze", "Slice", "DepthToSpace", "SpaceToDepth", "Resize"}
}

// A layer is a node that is computed with integers.
type layer struct {
	node *onnx.Node
	kind kind
	// result is the value that leaves the layer: the node's output, or that of the
	// activation function behind it.
	result string
	fused  *onnx.Node // the activation function
}

// activations returns the positions of the inputs that are activations.
func (l *layer) activations() []int {
	if l.kind == joining {
		positions := make([]int, len(l.node.Inputs))
		for i := range positions {
			positions[i] = i
		}
		return positions
	}
	return []int{0}
}

// hasBias reports whether the layer adds a bias, or could.
func (l *layer) hasBias() bool { return l.kind == weighted && l.node.Op != "MatMul" }

// A plan says which nodes of a prepared model become integer arithmetic.
type plan struct {
	model    *onnx.Model
	index    *onnx.Index
	consts   map[string]*onnx.Tensor
	types    map[string]onnx.ElemType
	layers   []*layer              // in the graph's order
	byNode   map[*onnx.Node]*layer // the same
	byResult map[string]*layer     // the same
	excluded []ExcludedLayer       // weighted nodes that stay in FP32
}

// An ExcludedLayer is a layer with weights that stays in FP32, and why.
type ExcludedLayer struct {
	Layer  string `json:"layer"`
	Op     string `json:"op"`
	Reason string `json:"reason"`
}

// newPlan chooses the layers of a prepared model.
func newPlan(m *onnx.Model, o Options) *plan {
	p := &plan{
		model: m, index: m.Graph.Index(), consts: constants(m), types: elemTypes(m.Graph),
		byNode: make(map[*onnx.Node]*layer), byResult: make(map[string]*layer),
	}
	ends := p.endsOf(o)
	for _, n := range m.Graph.Nodes {
		k, reason := p.candidate(n, o)
		if reason == "" {
			reason = ends[n]
		}
		if reason == "" && k != 0 {
			p.add(n, k)
		} else if k == weighted {
			p.excluded = append(p.excluded, ExcludedLayer{layerName(n), n.Op, reason})
		}
	}
	p.dropLonely()
	return p
}

func (p *plan) add(n *onnx.Node, k kind) {
	l := &layer{node: n, kind: k, result: n.Outputs[0]}
	if k != carrying {
		if l.fused = p.activationBehind(n); l.fused != nil {
			l.result = l.fused.Outputs[0]
		}
	}
	p.layers = append(p.layers, l)
	p.byNode[n], p.byResult[l.result] = l, l
}

// candidate says what a node could be, 0 for nothing, and why it is not.
func (p *plan) candidate(n *onnx.Node, o Options) (kind, string) {
	k := kinds[n.Op]
	if k == 0 || !isONNX(n) || !onlyOutput(n) || p.constant(n) {
		return 0, ""
	}
	if reason := o.excludes(n); reason != "" {
		return k, reason
	}
	if k == weighted {
		return k, p.whyNotWeighted(n)
	}
	if !p.readsActivations(n, k) {
		return 0, ""
	}
	return k, ""
}

// readsActivations reports whether all inputs of a node are activations; of one that carries only the first counts.
func (p *plan) readsActivations(n *onnx.Node, k kind) bool {
	read := n.Inputs
	if k == carrying {
		read = []string{n.Input(0)}
	}
	return !slices.ContainsFunc(read, func(name string) bool { return !p.isActivation(name) })
}

// constant reports whether a node has no input that varies.
func (p *plan) constant(n *onnx.Node) bool {
	return !slices.ContainsFunc(n.Inputs, p.varies)
}

// varies reports whether there is a value of that name, and it is no constant.
func (p *plan) varies(name string) bool { return name != "" && p.consts[name] == nil }

// isActivation reports whether a value is a float32 that varies.
func (p *plan) isActivation(name string) bool {
	return p.varies(name) && p.types[name] == onnx.Float32
}

// unitAxis returns the axis of a node's weights along which its output channels lie.
func unitAxis(n *onnx.Node) int {
	if n.Op == "Conv" || n.Op == "Gemm" && onnx.AttrOr(n, "transB", int64(0)) != 0 {
		return 0
	}
	return 1
}

// activationBehind returns the Relu or Clip that is the only reader of a node's result:
// the saturation of the integers does its work.
func (p *plan) activationBehind(n *onnx.Node) *onnx.Node {
	value := n.Outputs[0]
	r := onlyReader(p.index, value)
	if r == nil || !onlyOutput(r) || r.Input(0) != value {
		return nil
	}
	constantLimits := isOp(r, "Clip") && !slices.ContainsFunc(r.Inputs[1:], p.varies)
	if isOp(r, "Relu") || constantLimits {
		return r
	}
	return nil
}
