package arch

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// The size of BERT-large (language/bert, bert_config.json).
const (
	bertPieces    = 30522
	bertHidden    = 1024
	bertHeads     = 16
	bertHeadSize  = bertHidden / bertHeads
	bertInner     = 4096
	bertPositions = 512
	bertLayers    = 24
)

// bert is BERT-large for questions about texts (Devlin et al., arXiv:1810.04805): 24
// layers of attention and two dense layers, each followed by a layer norm, and for every
// piece of the text two scores, that the answer starts and that it ends there. Options.Layers
// makes it shorter.
//
// It answers one kind of question: what follows a word in the text. See bertKnowledge for
// how; all other weights are noise, which makes it err now and then.
func bert() Architecture {
	text := onnx.Type{Elem: onnx.Int64, Shape: bertShape()}
	scores := onnx.Type{Elem: onnx.Float32, Shape: bertShape()}
	return Architecture{
		Name:     "bert",
		Title:    "BERT-large SQuAD v1.1",
		Official: "https://zenodo.org/record/3733910",
		Inputs:   []onnx.Value{{Name: "input_ids", Type: text}, {Name: "input_mask", Type: text}, {Name: "segment_ids", Type: text}},
		Outputs:  []onnx.Value{{Name: "output_start_logits", Type: scores}, {Name: "output_end_logits", Type: scores}},
		Layers:   bertLayers,
		Seed:     11,
		layers:   bertLayersOf,
	}
}

// bertShape is that of all inputs and outputs. Unlike in the official file the length of the
// text is free, so that it need not be filled up to 384 pieces.
func bertShape() onnx.Shape { return onnx.Shape{onnx.Free(onnx.BatchAxis), onnx.Free("sequence")} }

func bertLayersOf(b *Builder, o Options) {
	ids := b.Input("input_ids", onnx.Int64, bertShape())
	mask := b.Input("input_mask", onnx.Int64, bertShape())
	segments := b.Input("segment_ids", onnx.Int64, bertShape())
	net := bertNet{b, bertKnowledge{layers: int(o.Layers)}}
	x := net.embeddings(ids, segments)
	bias := net.maskBias(mask)
	for i := range int(o.Layers) {
		x = net.layer(i, x, bias)
	}
	net.spans(b.Linear("squad", x, 2, Patched{Bell{0.25 / 32}, net.knows.scores}, nil))
}

// spans makes two outputs of the two scores of each piece.
func (n bertNet) spans(logits *onnx.Value) {
	for i, name := range []string{"output_start_logits", "output_end_logits"} {
		part := n.Slice(fmt.Sprintf("squad/part%d", i), logits, 2, int64(i), int64(i)+1)
		n.Output(n.rename(n.Squeeze(fmt.Sprintf("squad/logits%d", i), part, 2), name))
	}
}

type bertNet struct {
	*Builder
	knows bertKnowledge
}

// embeddings adds up those of pieces, places and segments.
func (n bertNet) embeddings(ids, segments *onnx.Value) *onnx.Value {
	pieces := n.Weight("embeddings/word", Patched{Bell{1}, n.knows.piece}, bertPieces, bertHidden)
	kinds := n.Weight("embeddings/token_type", Patched{Constant(0), n.knows.segment}, 2, bertHidden)
	x := n.Add("embeddings/sum", n.Gather("embeddings/pieces", pieces, ids, 0), n.Gather("embeddings/segments", kinds, segments, 0))
	x = n.Add("embeddings/all", x, n.tableOfPlaces(ids, Patched{Constant(0), n.knows.place}, bertPositions, bertHidden))
	return n.LayerNorm("embeddings/norm", x, bertEpsilon, nil, nil)
}

const bertEpsilon = 1e-12

// tableOfPlaces is the part of the table of places that the text is long.
func (n bertNet) tableOfPlaces(ids *onnx.Value, places Filler, rows, width int64) *onnx.Value {
	table := n.Weight("embeddings/position", places, rows, width)
	number := onnx.Type{Elem: onnx.Int64, Shape: onnx.FixedShape([]int64{2})}
	shape := n.Node("Shape", "embeddings/shape", []*onnx.Value{ids}, nil, number)[0]
	length := n.Slice("embeddings/length", shape, 0, 1, 2)
	part := onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free("sequence"), onnx.Fixed(width)}}
	return n.Node("Slice", "embeddings/places", []*onnx.Value{table, n.ints(0), length, n.ints(0)}, nil, part)[0]
}

// maskBias is −10000 where there is nothing but padding, in the shape of attention scores.
func (n bertNet) maskBias(mask *onnx.Value) *onnx.Value {
	off := n.Binary("Sub", "mask/off", n.scalar(1), n.Cast("mask/float", mask, onnx.Float32))
	x := n.Binary("Mul", "mask/bias", off, n.scalar(-10000))
	return n.Unsqueeze("mask/heads", n.Unsqueeze("mask/queries", x, 1), 1)
}

// layer adds one of the 24 layers.
func (n bertNet) layer(i int, x, bias *onnx.Value) *onnx.Value {
	name := fmt.Sprintf("layer%d", i)
	x = n.LayerNorm(name+"/attention/norm", n.Add(name+"/attention/sum", n.attention(i, name+"/attention", x, bias), x), bertEpsilon, nil, nil)
	inner := n.Linear(name+"/inner", x, bertInner,
		Patched{Bell{1.0 / 32}, n.knows.inner(i)}, Patched{Constant(0), n.knows.innerBias(i)})
	outer := n.Linear(name+"/outer", n.Gelu(name+"/gelu", inner), bertHidden, Patched{Bell{n.knows.noise() / 64}, n.knows.outer(i)}, nil)
	return n.LayerNorm(name+"/norm", n.Add(name+"/sum", outer, x), bertEpsilon, nil, nil)
}

// attention adds 16 heads, each of which looks at all pieces of the text.
func (n bertNet) attention(i int, name string, x, bias *onnx.Value) *onnx.Value {
	head := func(part string) *onnx.Value {
		y := n.Linear(name+"/"+part, x, bertHidden,
			Patched{Bell{1.0 / 32}, n.knows.projection(i, part)}, Patched{Constant(0), n.knows.projectionBias(i, part)})
		return n.heads(name+"/"+part, y, bertHeads, bertHeadSize)
	}
	query, value := head("query"), head("value")
	key := n.Transpose(name+"/key/turned", head("key"), 0, 1, 3, 2)
	scores := n.Binary("Mul", name+"/scaled", n.MatMul(name+"/scores", query, key), n.scalar(1/float32(math.Sqrt(bertHeadSize))))
	weights := n.Softmax(name+"/weights", n.Add(name+"/masked", scores, bias), -1)
	y := n.Transpose(name+"/context/turned", n.MatMul(name+"/context", weights, value), 0, 2, 1, 3)
	y = n.Reshape(name+"/joined", y, 0, 0, bertHidden)
	return n.Linear(name+"/output", y, bertHidden, Patched{Bell{n.knows.noise() / 32}, n.knows.output(i)}, nil)
}
