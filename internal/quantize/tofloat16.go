package quantize

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// Float16Options say how to convert a model to float16.
type Float16Options struct {
	// HalfIO makes inputs and outputs of type float32 float16 too. Without it the
	// interface stays as it is, with casts behind the inputs and before the outputs.
	HalfIO bool
	// Keep names nodes or operators that stay in FP32.
	Keep []string
}

// Float16Report says what a conversion to float16 did.
type Float16Report struct {
	Converted map[string]int `json:"converted"` // nodes by operator
	// Kept are nodes that read or make float32 values and stayed in FP32.
	Kept         []KeptNode `json:"kept,omitempty"`
	Folded       int        `json:"folded_norms"` // nodes folded into convolutions before
	Casts        int        `json:"casts"`        // that were added
	Initializers int        `json:"initializers"` // that were converted
	Rounding     Rounding   `json:"rounding"`
	BytesBefore  int64      `json:"bytes_before"` // of all initializers
	BytesAfter   int64      `json:"bytes_after"`
}

// WriteMarkdown writes the description of the conversion that a submission contains.
func (r Float16Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	total := 0
	for _, n := range r.Converted {
		total += n
	}
	b.WriteString("# Conversion to float16\n\n")
	fmt.Fprintf(&b, "%d nodes compute in float16, %d that have to do with floats stay in FP32; %d casts are between them. "+
		"Constants were rounded to the nearest float16, ties to even, and take %.1f MB instead of %.1f MB.\n\n",
		total, len(r.Kept), r.Casts, float64(r.BytesAfter)/1e6, float64(r.BytesBefore)/1e6)
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

const oldestOpset = 7 // before it, Cast had another attribute and broadcasting another meaning

// ToFloat16 returns the model with its FP32 arithmetic in float16, as far as operators
// allow: fullOps and everything unknown stay in FP32, as do the graphs inside If,
// Loop and Scan, numbers made from integers, and what detectors do with boxes. Constants
// are rounded to the nearest, batch norms folded before. The original is not changed.
//
// A model that is quantised is refused with errQuantized.
func ToFloat16(m *onnx.Model, o Float16Options) (*onnx.Model, Float16Report, error) {
	if err := acceptable(m); err != nil {
		return nil, Float16Report{}, fmt.Errorf("converting to float16: %w", err)
	}
	if v := m.Opset(""); v < oldestOpset {
		return nil, Float16Report{}, fmt.Errorf("converting to float16: the model has operator set %d, which is older than %d", v, oldestOpset)
	}
	m = clone(m)
	report := Float16Report{Converted: make(map[string]int), BytesBefore: weightBytes(m.Graph)}
	var err error
	if report.Folded, err = foldAffine(m); err != nil {
		return nil, report, fmt.Errorf("converting to float16: %w", err)
	}
	h := newHalver(m, o, &report)
	if err := h.run(); err != nil {
		return nil, report, fmt.Errorf("converting to float16: %w", err)
	}
	if err := m.Check(); err != nil {
		return nil, report, fmt.Errorf("converting to float16: the result is not valid: %w", err)
	}
	report.BytesAfter = weightBytes(m.Graph)
	return m, report, nil
}

func weightBytes(g *onnx.Graph) int64 {
	total := int64(0)
	for _, t := range g.Initializers {
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
	model   *onnx.Model
	graph   *onnx.Graph
	options Float16Options
	report  *Float16Report

	index   *onnx.Index
	types   map[string]onnx.ElemType
	consts  map[string]*onnx.Tensor
	boxes   map[*onnx.Node]bool
	integer map[string]bool   // float32 values made from integers
	half    map[string]string // float32 value → the same as float16
	made    map[string]bool   // names in half that something makes
	nodes   []*onnx.Node      // of the result
}

func newHalver(m *onnx.Model, o Float16Options, report *Float16Report) *halver {
	return &halver{
		model: m, graph: m.Graph, options: o, report: report,
		consts: constants(m), boxes: boxNodes(m.Graph), integer: make(map[string]bool),
		half: make(map[string]string), made: make(map[string]bool),
	}
}

func (h *halver) run() error {
	h.types = elemTypes(h.graph)
	h.index = h.graph.Index()
	if h.options.HalfIO {
		h.halveInterface()
	}
	kept, converted := make(map[*onnx.Node]string), make(map[*onnx.Node]bool)
	for _, n := range h.graph.Nodes {
		h.followIntegers(n)
		reason, touches := h.keep(n)
		switch {
		case !touches:
			h.nodes = append(h.nodes, n)
		case reason != "":
			kept[n] = reason
			h.full(n)
		default:
			converted[n] = true
			if err := h.convert(n); err != nil {
				return err
			}
		}
	}
	if err := h.finishOutputs(); err != nil {
		return err
	}
	h.graph.Nodes = h.nodes
	prune(h.model)
	h.count(kept, converted)
	return nil
}

// count reports the nodes that are left: constants may have lost all readers.
func (h *halver) count(kept map[*onnx.Node]string, converted map[*onnx.Node]bool) {
	for _, n := range h.graph.Nodes {
		switch {
		case converted[n]:
			h.report.Converted[n.Op]++
		case kept[n] != "":
			h.report.Kept = append(h.report.Kept, KeptNode{layerName(n), n.Op, kept[n]})
		}
	}
}

// halveInterface makes inputs and outputs float16, under their names. What was known by
// these names gets others.
func (h *halver) halveInterface() {
	done := make(map[string]bool)
	inputs := h.graph.FreeInputs()
	for _, v := range slices.Concat(inputs, h.graph.Outputs) {
		name := v.Name
		if done[name] || h.types[name] != onnx.Float32 {
			continue
		}
		full := h.index.Unique(name + "_fp32")
		h.graph.RenameValue(name, full)
		done[name], done[full] = true, true
		h.types[full], h.types[name] = onnx.Float32, onnx.Float16
		h.half[full] = name
		if t := h.consts[name]; t != nil {
			delete(h.consts, name)
			h.consts[full] = t
		}
	}
	for _, v := range inputs {
		if name := h.half[v.Name]; name != "" {
			v.Name, v.Type.Elem = name, onnx.Float16
			h.made[name] = true
		}
	}
	h.index = h.graph.Index()
}

// finishOutputs sees to it that every output of the graph is made.
func (h *halver) finishOutputs() error {
	for _, v := range h.graph.Outputs {
		if name := h.half[v.Name]; h.options.HalfIO && name != "" {
			if _, err := h.asHalf(v.Name); err != nil {
				return err
			}
			v.Name, v.Type.Elem = name, onnx.Float16
			continue
		}
		h.needFull(v.Name)
	}
	return nil
}
