package quantize

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/units"
)

// Float16Report says what a conversion to float16 did.
type Float16Report struct {
	Converted map[string]int `json:"converted"` // nodes by operator
	// Kept are nodes that read or make float32 values and stayed in FP32, but for those that make constants or only change the type.
	Kept         []KeptNode `json:"kept,omitempty"`
	Folded       int        `json:"folded_norms"` // nodes folded into convolutions before
	Casts        int        `json:"casts"`        // that were added
	Initializers int        `json:"initializers"` // that were converted
	Rounding     Rounding   `json:"rounding"`
	BytesBefore  int64      `json:"bytes_before"` // of all constants
	BytesAfter   int64      `json:"bytes_after"`
}

// Part is how many nodes compute in float16, and of how many that read or make floats.
func (r Float16Report) Part() (nodes, of int) {
	for _, n := range r.Converted {
		nodes += n
	}
	return nodes, nodes + len(r.Kept)
}

// WriteMarkdown writes the description of the conversion that a submission contains.
func (r Float16Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	total, _ := r.Part()
	b.WriteString("# Conversion to float16\n\n")
	fmt.Fprintf(&b, "%d nodes compute in float16, %d with float inputs or outputs stay in FP32; %d casts are between them. "+
		"Constants were rounded to the nearest float16, ties to even, and take %s instead of %s.\n\n",
		total, len(r.Kept), r.Casts, units.Bytes(r.BytesAfter), units.Bytes(r.BytesBefore))
	fmt.Fprintf(&b, "- %d nodes were folded into the convolutions before them, in FP64.\n", r.Folded)
	fmt.Fprintf(&b, "- Of %d constant elements %d exceeded 65504 and became that, %d became zero.\n",
		r.Rounding.Elements, r.Rounding.Clamped, r.Rounding.Flushed)
	fmt.Fprintf(&b, "- %d single constants would have become zero and became 2⁻²⁴ instead.\n", r.Rounding.Raised)
	if len(r.Kept) > 0 {
		b.WriteString("\n| in FP32 | operator | because |\n|---|---|---|\n")
	}
	for _, k := range r.Kept {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(k.Node), k.Op, cell(k.Reason))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// A KeptNode is a node that stayed in FP32, and why.
type KeptNode struct {
	Node   string `json:"node"`
	Op     string `json:"op"`
	Reason string `json:"reason"`
}

const (
	oldestOpset  = 6 // before it, Cast and Reshape had other arguments
	halvingOpset = 7 // before it, broadcasting had another meaning
)

// ToFloat16 returns the model with its FP32 arithmetic in float16, as far as operators allow: fullOps
// and everything unknown stay in FP32, as do the graphs inside If, Loop and Scan, numbers made from
// integers, and the boxes of detectors. Batch norms are folded, then constants rounded to the nearest.
// Inputs and outputs keep their types, with casts behind the inputs and before the outputs. The
// original does not change.
//
// A quantised model is an error (errQuantized), as is one of which no node can compute in float16.
func ToFloat16(original *onnx.Model) (m *onnx.Model, report Float16Report, err error) {
	defer func() {
		if err != nil {
			m, report, err = nil, Float16Report{}, fmt.Errorf("converting to float16: %w", err)
		}
	}()
	report.Converted = make(map[string]int)
	if err := acceptable(original); err != nil {
		return nil, report, err
	}
	if v := original.Opset(""); v < oldestOpset {
		return nil, report, fmt.Errorf("the model has operator set %d, which is older than %d", v, oldestOpset)
	}
	m = clone(original)
	report.BytesBefore = weightBytes(m)
	if m.Opset("") < halvingOpset {
		if err := upgrade(m); err != nil {
			return nil, report, err
		}
	}
	if report.Folded, err = foldAffine(m); err != nil {
		return nil, report, err
	}
	h := &halver{
		model: m, graph: m.Graph, report: &report, index: m.Graph.Index(), types: elemTypes(m.Graph),
		consts: constants(m), boxes: boxNodes(m.Graph), integer: make(map[string]bool),
		half: make(map[string]string), made: make(map[string]bool),
	}
	kept, converted := make(map[*onnx.Node]string), make(map[*onnx.Node]bool)
	for _, n := range m.Graph.Nodes {
		if h.madeFromIntegers(n) {
			for _, name := range n.Outputs {
				h.integer[name] = h.types[name] == onnx.Float32
			}
		}
		reason, touches := h.keep(n)
		switch {
		case !touches:
			h.nodes = append(h.nodes, n)
		case reason != "":
			kept[n] = reason
			for _, name := range n.Reads() {
				h.needFull(name)
			}
			h.nodes = append(h.nodes, n)
		default:
			converted[n] = true
			if err := h.convert(n); err != nil {
				return nil, report, err
			}
		}
	}
	for _, v := range m.Graph.Outputs {
		h.needFull(v.Name)
	}
	m.Graph.Nodes = h.nodes
	prune(m)
	made := constants(m)              // and what is computed of nothing else, which an engine does once
	for _, n := range m.Graph.Nodes { // those that are left: constants may have lost all readers
		if !slices.ContainsFunc(n.Reads(), func(name string) bool { _, ok := made[name]; return !ok }) {
			for _, name := range n.Outputs {
				made[name] = nil
			}
			continue
		}
		switch {
		case isOp(n, "Cast"), isOp(n, "CastLike"):
		case converted[n]:
			report.Converted[n.Op]++
		case kept[n] != "":
			report.Kept = append(report.Kept, KeptNode{layerName(n), n.Op, kept[n]})
		}
	}
	if len(report.Converted) == 0 {
		return nil, report, nothingHalf(report.Kept)
	}
	if err := m.Check(); err != nil {
		return nil, report, fmt.Errorf("the result is not valid: %w", err)
	}
	report.BytesAfter = weightBytes(m)
	return m, report, nil
}

// nothingHalf is the error of a model of which no node would compute in float16.
func nothingHalf(kept []KeptNode) error {
	if len(kept) == 0 {
		return errors.New("no node computes in float32")
	}
	return fmt.Errorf("no node can compute in float16: %s %q stays in FP32 because %s, and so do %d others",
		kept[0].Op, kept[0].Node, kept[0].Reason, len(kept)-1)
}

// weightBytes are those of all constants, wherever they are: exporters write weights as nodes, too.
func weightBytes(m *onnx.Model) (total int64) {
	for t := range m.Tensors() {
		if t.Data != nil {
			total += t.Data.Size()
		}
	}
	return total
}

// A halver converts a graph. Every float32 value of the graph can exist twice in the
// result: as float32 under its own name, and as float16 under the name in half.
// A node that stays in FP32 goes on with the names it has, so nothing about it
// changes; a node that is converted reads and writes the other names. Where a
// name is read that no node makes, there is a cast or a converted constant.
type halver struct {
	model  *onnx.Model
	graph  *onnx.Graph
	report *Float16Report

	index   *onnx.Index
	types   map[string]onnx.ElemType
	consts  map[string]*onnx.Tensor
	boxes   map[*onnx.Node]bool
	integer map[string]bool   // float32 values made from integers
	half    map[string]string // float32 value → the same as float16
	made    map[string]bool   // names in half that something makes
	nodes   []*onnx.Node      // of the result
}

// keep returns why a node has to stay in FP32, and whether it reads or makes float32 values at all.
func (h *halver) keep(n *onnx.Node) (reason string, touches bool) {
	inside := len(n.Subgraphs()) > 0
	touches = inside
	unknown := ""
	for _, name := range slices.Concat(n.Inputs, n.Outputs) {
		switch t, known := h.types[name]; {
		case name == "":
		case !known:
			unknown, touches = name, true
		case t == onnx.Float32:
			touches = true
		}
	}
	switch {
	case !isONNX(n):
		return "the operator is not one of ONNX's own", touches
	case inside:
		return fullOps["Loop"], touches
	case fullOps[n.Op] != "":
		return fullOps[n.Op], touches
	case !halfOps[n.Op]:
		return "nothing is known of the operator", touches
	case n.Op == "LayerNormalization" && !onlyOutput(n):
		return "its statistics are float32", touches
	case h.boxes[n]:
		return "it computes with coordinates of boxes", touches
	case scatters[n.Op] && onnx.AttrOr(n, "reduction", "none") != "none":
		return "ONNX Runtime does not add up float16 in it", touches
	case unknown != "":
		return fmt.Sprintf("the type of %q is not known", unknown), touches
	case slices.ContainsFunc(n.Outputs, func(name string) bool { return h.integer[name] }):
		return "it computes with numbers made from integers", touches
	case slices.ContainsFunc(n.Inputs, func(name string) bool { return h.outOfRange(n, name) }):
		return "float16 cannot hold one of its constants", touches
	}
	return "", touches
}

// outOfRange reports whether a value is a constant that a node cannot read as float16: some elements exceed 65504,
// or all are smaller than the normal numbers. Elements from 1e9 on stand for infinity in limits and masks, where the
// largest float16 does as well. A single number may be small, as an epsilon is.
func (h *halver) outOfRange(n *onnx.Node, name string) bool {
	t := h.consts[name]
	if producer := h.index.Producer(name); isOp(producer, "Constant") {
		t = constantValue(producer)
	}
	if t == nil || t.Type != onnx.Float32 || t.External != nil || t.Data == nil {
		return false
	}
	w := halfWriter{w: io.Discard}
	if _, err := t.Data.WriteTo(&w); err != nil {
		return false // the conversion says it
	}
	tiny := w.counts.Elements > 1 && w.largest > 0 && w.largest < 0x1p-14
	return tiny || w.counts.Clamped > 0 && !(masks[n.Op] && w.leastClamped >= 1e9)
}

// constantValue is the tensor of a Constant; nil: it has none of float32.
func constantValue(n *onnx.Node) *onnx.Tensor {
	switch {
	case n.Attr("value") != nil:
		return onnx.AttrOr[*onnx.Tensor](n, "value", nil)
	case n.Attr("value_float") != nil:
		return onnx.TensorOf("", []float32{onnx.AttrOr(n, "value_float", float32(0))})
	case n.Attr("value_floats") != nil:
		floats := onnx.AttrOr[[]float32](n, "value_floats", nil)
		return onnx.TensorOf("", floats, int64(len(floats)))
	}
	return nil
}

// masks are the operators whose constants can be limits or masks.
var masks = set("Add", "Clip", "Max", "Min", "Sub", "Where")

// scatters are the operators that can combine elements, for which ONNX Runtime's CPU provider has no float16.
var scatters = set("ScatterElements", "ScatterND")

// madeFromIntegers reports whether a node is a Cast from integers, or arithmetic on nothing but values that such nodes
// make and constants.
func (h *halver) madeFromIntegers(n *onnx.Node) bool {
	if isOp(n, "Cast") {
		t, known := h.types[n.Input(0)]
		return known && !slices.Contains([]onnx.ElemType{onnx.Float32, onnx.Float64, onnx.Float16, onnx.BFloat16}, t)
	}
	if !isONNX(n) || !shapeOps[n.Op] {
		return false
	}
	floats := slices.DeleteFunc(slices.Clone(n.Inputs), func(name string) bool { return h.types[name] != onnx.Float32 })
	return slices.ContainsFunc(floats, func(name string) bool { return h.integer[name] }) &&
		!slices.ContainsFunc(floats, func(name string) bool {
			return !h.integer[name] && h.consts[name] == nil && !isOp(h.index.Producer(name), "Constant")
		})
}

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

// needFull casts a value back to float32 if a converted node makes it.
func (h *halver) needFull(name string) {
	half, producer := h.half[name], h.index.Producer(name)
	if half == "" || !h.made[half] || h.made[name] || producer == nil || slices.Contains(producer.Outputs, name) {
		return // it is there as float32: an input, a constant, or made by a node that stayed in FP32
	}
	h.cast(half, name, onnx.Float32)
	h.made[name] = true
}

// asHalf returns the name under which a float32 value is there as float16.
func (h *halver) asHalf(name string) (string, error) {
	half := h.halfName(name)
	if h.made[half] {
		return half, nil
	}
	h.made[half] = true
	if t := h.consts[name]; t != nil && t.External == nil {
		constant, counts, err := halfTensor(half, t)
		if err != nil {
			return "", err
		}
		h.report.Rounding.add(counts)
		h.report.Initializers++
		addConstant(h.model, constant)
		return half, nil
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

// describe gives a float16 value the known shape of the float32 one.
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

// halveConstantNode puts a float16 twin beside a node that makes a constant. It does nothing if it does
// not know how.
func (h *halver) halveConstantNode(n *onnx.Node, name string) (bool, error) {
	value := constantValue(n)
	if n.Op == "ConstantOfShape" && value == nil {
		value = onnx.TensorOf("", []float32{0}, 1)
	}
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

// halfOps are the operators that ToFloat16 computes in float16: ONNX defines them for it, and their
// results stay within its range in practice. All their inputs and outputs of type float32 become
// float16, but for those of fullInputs.
//
// An engine need not have float16 kernels for them: ONNX Runtime puts casts around the nodes that
// the processor cannot compute in float16.
var halfOps = set(
	// element by element
	"Abs", "Add", "Ceil", "Clip", "Div", "Elu", "Erf", "Floor", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu",
	"Max", "Mean", "Min", "Mish", "Mul", "Neg", "PRelu", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Softsign", "Sqrt",
	"Sub", "Sum", "Swish", "Tanh", "ThresholdedRelu", "Where",
	// products
	"Conv", "ConvTranspose", "Einsum", "GRU", "Gemm", "LSTM", "MatMul", "RNN",
	// windows and means
	"AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool", "ReduceMax", "ReduceMean", "ReduceMin",
	// normalisation
	"BatchNormalization", "GroupNormalization", "Hardmax", "InstanceNormalization", "LayerNormalization", "LogSoftmax",
	"LpNormalization", "LRN", "RMSNormalization", "Softmax",
	// choice and arrangement
	"ArgMax", "ArgMin", "Compress", "Concat", "DepthToSpace", "Dropout", "Expand", "Flatten", "Gather", "GatherElements",
	"GatherND", "Identity", "Pad", "Reshape", "Resize", "ReverseSequence", "Scatter", "ScatterElements", "ScatterND", "Shape",
	"Size", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Trilu", "Unsqueeze",
)

// fullInputs are the inputs that stay float32 where the rest of the node is float16, by
// operator: the region and the scales of Resize, the ratio of Dropout.
var fullInputs = map[string][]int{"Resize": {1, 2}, "Dropout": {1}}

// fullOps has the reasons for operators with float inputs or outputs to stay in FP32, with casts around
// them. Operators that are neither here nor in halfOps stay in FP32 too.
var fullOps = func() map[string]string {
	reasons := make(map[string]string)
	for reason, ops := range map[string][]string{
		"float16 is not defined for it":                     {"Celu", "NonMaxSuppression", "Range", "Upsample", "Multinomial", "STFT", "DFT"},
		"results soon exceed 65504 or vanish":               {"Exp", "Log", "Pow", "Reciprocal", "Softplus", "CumSum", "ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"},
		"the order of results depends on small differences": {"TopK", "Unique"},
		"limits would be rounded":                           {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "IsInf", "IsNaN", "NonZero"},
		"coordinates need the precision":                    {"RoiAlign", "GridSample", "AffineGrid", "Mod"},
		"ONNX Runtime has no float16 kernel for it":         {"MeanVarianceNormalization"},
		"it runs graphs of its own, which stay as they are": {"If", "Loop", "Scan"},
		"it turns one type into another":                    {"Cast", "CastLike", "Constant", "ConstantOfShape", "OneHot", "EyeLike"},
		"other random numbers would be drawn":               {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli"},
	} {
		for _, op := range ops {
			reasons[op] = reason
		}
	}
	return reasons
}()

func set(names ...string) map[string]bool {
	s := make(map[string]bool, len(names))
	for _, name := range names {
		s[name] = true
	}
	return s
}

// shapeOps pass on numbers that come from integers, for instance sizes of images and positions: these
// stay in FP32 with their producers, since float16 holds whole numbers only up to 2048.
var shapeOps = set("Add", "Sub", "Mul", "Div", "Floor", "Ceil", "Round", "Sqrt", "Min", "Max", "Neg", "Abs", "Concat", "Slice", "Gather",
	"Squeeze", "Unsqueeze", "Reshape", "Identity", "Transpose", "Expand", "Tile", "Flatten", "Split", "Clip")

// boxNodes returns the nodes that compute with the boxes of a detector: those between the layers with
// weights and the non-maximum suppression, and those behind it. Coordinates can be as large as an
// image, for which float16 has steps of half a pixel from 512 on, and small differences decide which
// boxes overlap enough.
func boxNodes(g *onnx.Graph) map[*onnx.Node]bool {
	index, found := g.Index(), make(map[*onnx.Node]bool)
	var back func(n *onnx.Node) // to the layers with weights
	back = func(n *onnx.Node) {
		if n == nil || found[n] || weightedOps[n.Op] {
			return
		}
		found[n] = true
		for _, name := range n.Reads() {
			back(index.Producer(name))
		}
	}
	for _, n := range g.Nodes {
		alone := onnx.Graph{Nodes: []*onnx.Node{n}}
		for inner := range alone.AllNodes() {
			if isOp(inner, "NonMaxSuppression") {
				back(n)
			}
		}
	}
	for _, n := range g.Nodes { // in the graph's order, so one pass goes all the way
		if !weightedOps[n.Op] && slices.ContainsFunc(n.Reads(), func(value string) bool { return found[index.Producer(value)] }) {
			found[n] = true
		}
	}
	return found
}

// weightedOps are the operators with weights.
var weightedOps = set("Conv", "ConvTranspose", "Gemm", "MatMul", "GRU", "LSTM", "RNN")
