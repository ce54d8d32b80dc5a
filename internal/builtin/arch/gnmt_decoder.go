package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// gnmtDecoder is one step of the decoder of GNMT, for all beams of all sentences that are
// still translated: four layers, of which the lowest asks for a part of the sentence
// (normed Bahdanau attention), which the others are shown, the last two with residuals.
// There is no official ONNX file: names are ours.
//
// A row is a beam. It goes on from the row of the step before that parents names, with a
// piece, and its sentence is found by its place: as many rows follow each other as each of
// the active sentences has beams. What a row remembers, cells and outputs of the layers and
// the part of the sentence, is its state.
func gnmtDecoder() Architecture {
	rows, active := onnx.Free(axisRows), onnx.Free(axisActive)
	memory := onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free(axisSentences), onnx.Free(axisPieces), onnx.Fixed(gnmtHidden)}}
	state := func(axis string) onnx.Type {
		return onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free(axis), onnx.Fixed(gnmtState)}}
	}
	best := onnx.Shape{rows, onnx.Fixed(gnmtCandidates)}
	return Architecture{
		Name:     "gnmt-decoder",
		Title:    "GNMT decoder step, 4 layers of 1024",
		Official: "https://zenodo.org/record/2530924",
		Inputs: []onnx.Value{
			{Name: "memory", Type: memory}, {Name: "keys", Type: memory},
			{Name: "mask", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free(axisSentences), onnx.Free(axisPieces)}}},
			{Name: "active", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{active}}},
			{Name: "parents", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{rows}}},
			{Name: "pieces", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{rows}}},
			{Name: "state", Type: state(axisBefore)},
		},
		Outputs: []onnx.Value{
			{Name: "logits", Type: onnx.Type{Elem: onnx.Float32, Shape: best}},
			{Name: "candidates", Type: onnx.Type{Elem: onnx.Int64, Shape: best}},
			{Name: "log_sum", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{rows}}},
			{Name: "next_state", Type: state(axisRows)},
		},
		Rows:   gnmtRows,
		Seed:   46,
		layers: gnmtDecoderLayers,
	}
}

func gnmtDecoderLayers(b *Builder, o Options) {
	in := map[string]*onnx.Value{}
	for _, v := range gnmtDecoder().Inputs {
		in[v.Name] = b.Input(v.Name, v.Type.Elem, v.Type.Shape)
	}
	d := gnmtStep{gnmtNet{Builder: b, knows: gnmtKnowledgeFor(o)}, in}
	table := b.Weight("embedding", Patched{Bell{gnmtEmbedding}, d.knows.target}, o.Rows, gnmtHidden)
	x := b.Gather("embedded", table, in["pieces"], 0)
	state := b.Gather("state/kept", in["state"], in["parents"], 0)
	part := func(i int64) *onnx.Value {
		return b.Slice(fmt.Sprintf("state/part%d", i), state, 1, i*gnmtHidden, (i+1)*gnmtHidden)
	}
	var kept []*onnx.Value
	y, c := d.cell("decoder0", b.Concat("decoder0/read", 1, x, part(2*gnmtLayers), part(1)), part(0))
	kept = append(kept, c, y)
	context := d.attention(y)
	for i := int64(1); i < gnmtLayers; i++ {
		name := fmt.Sprintf("decoder%d", i)
		h, c := d.cell(name, b.Concat(name+"/read", 1, y, context, part(2*i+1)), part(2*i))
		kept = append(kept, c, h)
		if i > 1 {
			h = b.Add(name+"/sum", h, y)
		}
		y = h
	}
	logits := b.MatMul("projection", y, b.Weight("projection/weights", Patched{Bell{gnmtNoise}, d.knows.projection}, gnmtHidden, o.Rows))
	values, indices := b.TopK("best", logits, 1, gnmtCandidates)
	sum := b.layer("ReduceLogSumExp", "sum", []*onnx.Value{logits}, []onnx.Attribute{onnx.Attr("axes", []int64{1}), onnx.Attr("keepdims", int64(0))},
		onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free(axisRows)}}, 0)
	b.Output(b.rename(values, "logits"), b.rename(indices, "candidates"), b.rename(sum, "log_sum"),
		b.rename(b.Concat("state/next", 1, append(kept, context)...), "next_state"))
}

type gnmtStep struct {
	gnmtNet
	in map[string]*onnx.Value
}

// cell adds a layer.
func (d gnmtStep) cell(name string, x, c *onnx.Value) (h, next *onnx.Value) {
	inputs := width(x)
	weights := Patched{Bell{gnmtNoise}, func(row int, w []float32) { d.knows.cell(name, row, w[:inputs-gnmtHidden], w[inputs-gnmtHidden:]) }}
	bias := Patched{Constant(0), func(row int, b []float32) { b[0] = d.knows.cellBias(name, row) }}
	return d.lstmCell(name, x, c, gnmtHidden, weights, bias)
}

// attention returns the part of the sentence that each row asks for.
func (d gnmtStep) attention(h *onnx.Value) *onnx.Value {
	query := d.MatMul("query", h, d.Weight("query/weights", Patched{Bell{gnmtNoise}, d.knows.query}, gnmtHidden, gnmtHidden))
	beams := onnx.Free("beams")
	count := d.Node("Shape", "active/shape", []*onnx.Value{d.in["active"]}, nil, onnx.Type{Elem: onnx.Int64, Shape: onnx.FixedShape([]int64{1})})[0]
	wide := d.Concat("query/dims", 0, count, d.ints(-1, 1, gnmtHidden))
	query = d.Node("Reshape", "query/wide", []*onnx.Value{query, wide}, nil,
		onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free(axisActive), beams, onnx.Fixed(1), onnx.Fixed(gnmtHidden)}})[0]
	keys := d.Unsqueeze("keys/wide", d.Gather("keys/active", d.in["keys"], d.in["active"], 0), 1)
	// The bias of the attention is one of the sum of key and query.
	sum := d.Add("attention/biased", d.Add("attention/sum", keys, query), d.Weight("attention/bias", Patched{Constant(0), d.knows.attentionBias}, gnmtHidden))
	scores := d.MatMul("attention/scores", d.Unary("Tanh", "attention/tanh", sum), d.Weight("attention/v", Patched{Bell{gnmtV}, d.knows.attentionV}, gnmtHidden, 1))
	masked := d.Add("attention/masked", d.Squeeze("attention/flat", scores, 3), d.Unsqueeze("mask/wide", d.Gather("mask/active", d.in["mask"], d.in["active"], 0), 1))
	weights := d.Softmax("attention/weights", masked, -1)
	context := d.MatMul("attention/context", weights, d.Gather("memory/active", d.in["memory"], d.in["active"], 0))
	flat := onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free(axisRows), onnx.Fixed(gnmtHidden)}}
	return d.Node("Reshape", "context", []*onnx.Value{context, d.ints(-1, gnmtHidden)}, nil, flat)[0]
}
