package arch

import (
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A GATSize is the size of an R-GAT: the numbers of a node, the units and heads of a layer, and the classes.
type GATSize struct{ Features, Hidden, Heads, Classes int64 }

const gatLayers = 3

// A gatRelation goes from nodes of one kind to those of another.
type gatRelation struct{ from, name, to string }

// gatRelations are those of IGBH, in DGL's order.
var gatRelations = [...]gatRelation{
	{"author", "affiliated_to", "institute"}, {"author", "rev_written_by", "paper"}, {"conference", "rev_venue", "paper"}, {"fos", "rev_topic", "paper"},
	{"institute", "rev_affiliated_to", "author"}, {"journal", "rev_published", "paper"}, {"paper", "cites", "paper"}, {"paper", "published", "journal"},
	{"paper", "topic", "fos"}, {"paper", "venue", "conference"}, {"paper", "written_by", "author"},
}

var gatKinds = [...]string{"author", "conference", "fos", "institute", "journal", "paper"}

// RGAT is R-GAT for IGBH (graph/R-GAT, dgl_utilities/components.py): three layers of graph attention (Veličković et al.,
// arXiv:1710.10903), each with weights for every relation, and a class for each paper. Names of weights are those of the
// checkpoint. There is no official ONNX file. This one takes the neighbours that were drawn as tables:
//
//	features_KIND      float32[nodes 1024]  of the nodes of a kind; row 0 is no node
//	neighbors_L_RELATION int64[rows width]  for each of the first rows of the kind that a relation leads to, edges: places in the sources; 0: none
//	sources_L_RELATION   int64[N]           the rows of the other kind that edges come from; the first is 0
//	logits             float32[samples 2983] of the papers of row 1 and up
//
// Tables need no sums at scattered places, which ONNX Runtime adds in any order, and only the sources are multiplied with
// weights. Weights that no answer depends on are left out: of relations that do not lead to papers in the last layer, and from
// authors to institutes in the one before.
func RGAT() Architecture { return RGATOf(GATSize{1024, 512, 4, 2983}) }

// RGATOf is RGAT of another size.
func RGATOf(size GATSize) Architecture {
	return Architecture{
		Name:     "rgat",
		Title:    "R-GAT, IGBH",
		Official: "https://github.com/mlcommons/inference/tree/master/graph/R-GAT",
		Inputs:   gatInputs(size),
		Outputs:  []onnx.Value{{Name: "logits", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free("samples"), onnx.Fixed(size.Classes)}}}},
		Seed:     47,
		layers:   func(b *Builder, _ Options) { gatNetwork(b, size) },
	}
}

// gatNeeds lists the kinds of nodes that each layer computes: those that the layers behind it read.
func gatNeeds() [gatLayers][]string {
	var needs [gatLayers][]string
	needs[gatLayers-1] = []string{"paper"}
	for layer := gatLayers - 2; layer >= 0; layer-- {
		next := needs[layer+1]
		for _, kind := range gatKinds {
			if slices.Contains(next, kind) || slices.ContainsFunc(gatRelations[:],
				func(r gatRelation) bool { return r.from == kind && slices.Contains(next, r.to) }) {
				needs[layer] = append(needs[layer], kind)
			}
		}
	}
	return needs
}

// gatInputs are the inputs, in order.
func gatInputs(size GATSize) (list []onnx.Value) {
	for _, kind := range gatKinds {
		list = append(list, onnx.Value{Name: "features_" + kind,
			Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free("nodes_" + kind), onnx.Fixed(size.Features)}}})
	}
	for layer, kinds := range gatNeeds() {
		for _, r := range gatRelations {
			if slices.Contains(kinds, r.to) {
				end := fmt.Sprintf("_%d_%s", layer, r.name)
				list = append(list,
					onnx.Value{Name: "neighbors" + end,
						Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{onnx.Free(fmt.Sprintf("rows_%d_%s", layer, r.to)), onnx.Free("width" + end)}}},
					onnx.Value{Name: "sources" + end, Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{onnx.Free("from" + end)}}})
			}
		}
	}
	return list
}

func gatNetwork(b *Builder, size GATSize) {
	in := map[string]*onnx.Value{}
	for _, v := range gatInputs(size) {
		in[v.Name] = b.Input(v.Name, v.Type.Elem, v.Type.Shape)
	}
	x := map[string]*onnx.Value{}
	for _, kind := range gatKinds {
		x[kind] = in["features_"+kind]
	}
	for layer, kinds := range gatNeeds() {
		sums := map[string]*onnx.Value{}
		for _, r := range gatRelations {
			if !slices.Contains(kinds, r.to) {
				continue
			}
			end := fmt.Sprintf("_%d_%s", layer, r.name)
			y := gatAttention(b, fmt.Sprintf("layers.%d.mods.%s", layer, r.name), size, x[r.from], x[r.to], in["neighbors"+end], in["sources"+end])
			if sum := sums[r.to]; sum != nil {
				y = b.Add(fmt.Sprintf("layers.%d.%s.%s", layer, r.to, r.name), sum, y)
			}
			sums[r.to] = y
		}
		if layer < gatLayers-1 {
			for _, kind := range kinds {
				sums[kind] = b.Unary("LeakyRelu", fmt.Sprintf("layers.%d.%s", layer, kind), sums[kind], onnx.Attr("alpha", float32(0.01)))
			}
		}
		x = sums
	}
	papers := b.Node("Slice", "papers", []*onnx.Value{x["paper"], b.ints(1), b.ints(math.MaxInt64), b.ints(0)}, nil,
		onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free("samples"), onnx.Fixed(size.Hidden)}})[0]
	logits := gemm(b, "linear", papers, b.Weight("linear.weight", Bell{gatSpread}, size.Classes, size.Hidden),
		b.Weight("linear.bias", Constant(0), size.Classes))
	b.Output(b.rename(logits, "logits"))
}

// gatSpread is how the weights of the classes are spread.
const gatSpread = 0.05

// gemm multiplies rows with weights [units inputs], and adds biases if there are any.
func gemm(b *Builder, name string, x *onnx.Value, weights ...*onnx.Value) *onnx.Value {
	if len(x.Type.Shape) != 2 || len(weights[0].Type.Shape) != 2 {
		return b.fail("Gemm", name, errNoAxis)
	}
	out := onnx.Shape{x.Type.Shape[0], weights[0].Type.Shape[0]}
	return b.layer("Gemm", name, append([]*onnx.Value{x}, weights...), []onnx.Attribute{onnx.Attr("transB", int64(1))},
		onnx.Type{Elem: onnx.Float32, Shape: out}, weights[0].Type.Shape.PerSample())
}

// gatAttention adds the attention of a relation: the message to a row is the sum of its sources, each multiplied with weights, in
// parts that a softmax over the row's edges gives, for each head on its own. A row without edges gets the bias.
func gatAttention(b *Builder, name string, size GATSize, from, to, neighbors, sources *onnx.Value) *onnx.Value {
	inputs, each := width(from), size.Hidden/size.Heads
	weights := b.Weight(name+".fc.weight", He{Gain: math.Sqrt2 / 2, ZeroMean: true}, size.Hidden, inputs)
	z := gemm(b, name+".fc", b.Gather(name+".from", from, sources, 0), weights)

	// How much a source asks for: fc(x)·attn_l by head.
	left := b.Binary("Mul", name+".left.product", b.Reshape(name+".fc.heads", z, -1, size.Heads, each),
		b.Weight(name+".attn_l", Bell{gatFocus}, 1, size.Heads, each))
	asked := b.Reshape(name+".left", b.Reduce("ReduceSum", name+".left.sum", left, 2), -1)
	// How much a row listens: fc(x)·attn_r, of which fc·attn_r is a constant of [heads inputs].
	right := b.Binary("Mul", name+".right.product", b.Reshape(name+".fc.weight.heads", weights, size.Heads, each, inputs),
		b.Reshape(name+".attn_r.turned", b.Weight(name+".attn_r", Bell{gatFocus}, 1, size.Heads, each), size.Heads, each, 1))
	rows := b.Node("Shape", name+".rows", []*onnx.Value{neighbors}, []onnx.Attribute{onnx.Attr("start", int64(0)), onnx.Attr("end", int64(1))},
		onnx.Type{Elem: onnx.Int64, Shape: onnx.FixedShape([]int64{1})})[0]
	targets := b.Node("Slice", name+".to", []*onnx.Value{to, b.ints(0), rows, b.ints(0)}, nil,
		onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{neighbors.Type.Shape[0], onnx.Fixed(inputs)}})[0]
	listens := b.Unsqueeze(name+".right", gemm(b, name+".right.rows", targets, b.Reduce("ReduceSum", name+".right.sum", right, 1)), 2)

	// Places of a source's heads: [rows heads width].
	heads := make([]int64, size.Heads)
	for i := range heads {
		heads[i] = int64(i)
	}
	edges := b.Unsqueeze(name+".edges", neighbors, 1)
	places := b.Add(name+".places", b.Binary("Mul", name+".edges.heads", edges, b.ints(size.Heads)),
		b.Constant(onnx.TensorOf(name+".heads", heads, size.Heads, 1)))
	scores := b.Unary("LeakyRelu", name+".scores", b.Add(name+".scores.sum", b.Gather(name+".left.edges", asked, places, 0), listens),
		onnx.Attr("alpha", float32(0.2)))
	there := b.Compare("Greater", name+".there", edges, b.ints(0))
	masked := b.layer("Where", name+".masked", []*onnx.Value{there, scores, b.scalar(-1e30)}, nil, scores.Type, 0)
	parts := b.Binary("Mul", name+".parts", b.Softmax(name+".softmax", masked, -1), b.Cast(name+".there.float", there, onnx.Float32))

	messages := b.Gather(name+".messages", b.Reshape(name+".fc.rows", z, -1, each), places, 0)
	sum := b.Reshape(name+".sum", b.MatMul(name+".sum.heads", b.Unsqueeze(name+".parts.rows", parts, 2), messages), 0, size.Hidden)
	return b.Add(name, sum, b.Weight(name+".bias", Bell{gatBias}, size.Hidden))
}

// How the weights are spread.
const (
	gatFocus = 0.1
	gatBias  = 0.01
)
