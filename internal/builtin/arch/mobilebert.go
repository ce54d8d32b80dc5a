package arch

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// The size of MobileBERT (uncased_L-24_H-128_B-512_A-4_F-4_OPT).
const (
	mobileHidden    = 512 // between layers
	mobileNarrow    = 128 // inside them, and of the table of pieces
	mobileInner     = 512
	mobileHeads     = 4
	mobileHeadSize  = mobileNarrow / mobileHeads
	mobileForwards  = 4 // pairs of dense layers in a layer
	mobileLayers    = 24
	mobilePositions = 512
)

// mobileBERT is MobileBERT for questions about texts (Sun et al., arXiv:2004.02984): 24 thin
// layers, each between two bottlenecks, with four pairs of dense layers, ReLU instead of
// Gelu, and a scale and a shift where BERT has norms. A piece is known by three: itself and
// both of its neighbours.
//
// It answers the questions that the built-in BERT answers. See mobileKnowledge for how.
func mobileBERT() Architecture {
	a := bert()
	a.Name, a.Title = "mobilebert", "MobileBERT SQuAD v1.1"
	a.Official = "https://github.com/mlcommons/mobile_open/tree/main/language/bert"
	a.Layers, a.Seed, a.layers = mobileLayers, 18, mobileBERTLayers
	return a
}

func mobileBERTLayers(b *Builder, o Options) {
	ids := b.Input("input_ids", onnx.Int64, bertShape())
	mask := b.Input("input_mask", onnx.Int64, bertShape())
	segments := b.Input("segment_ids", onnx.Int64, bertShape())
	net := thinNet{b, mobileKnowledge{layers: int(o.Layers)}}
	x := net.embeddings(ids, segments)
	bias := bertNet{Builder: b}.maskBias(mask)
	for i := range int(o.Layers) {
		x = net.layer(i, x, bias)
	}
	bertNet{Builder: b}.spans(b.Linear("squad", x, 2, Patched{Bell{mobileNoise / 4}, net.knows.scores}, nil))
}

type thinNet struct {
	*Builder
	knows mobileKnowledge
}

// scale adds what MobileBERT has in the place of a norm: x·w + b.
func (n thinNet) scale(name string, x *onnx.Value) *onnx.Value {
	size := width(x)
	return n.Add(name, n.Binary("Mul", name+"/scaled", x, n.Weight(name+"/gamma", Constant(1), size)), n.Weight(name+"/beta", Constant(0), size))
}

// linear adds a dense layer whose weights have a meaning in some places.
func (n thinNet) linear(name string, x *onnx.Value, units int64, weights func(row int, w []float32), bias func(row int, b []float32)) *onnx.Value {
	if bias == nil {
		bias = func(int, []float32) {}
	}
	return n.Linear(name, x, units, Patched{Bell{n.knows.noise(width(x))}, weights}, Patched{Constant(0), bias})
}

// embeddings joins those of three pieces, and adds those of places and segments.
func (n thinNet) embeddings(ids, segments *onnx.Value) *onnx.Value {
	table := n.Weight("embeddings/word", Patched{Bell{0.5}, n.knows.piece}, bertPieces, mobileNarrow)
	x := n.Gather("embeddings/pieces", table, ids, 0)
	three := n.Concat("embeddings/three", 2, n.shifted("embeddings/next", x, 1, 0), x, n.shifted("embeddings/last", x, 0, 1))
	wide := n.linear("embeddings/wide", three, mobileHidden, n.knows.trigram, nil)
	kinds := n.Weight("embeddings/token_type", Patched{Constant(0), n.knows.segment}, 2, mobileHidden)
	x = n.Add("embeddings/sum", wide, n.Gather("embeddings/segments", kinds, segments, 0))
	places := bertNet{Builder: n.Builder}.tableOfPlaces(ids, Patched{Constant(0), n.knows.place}, mobilePositions, mobileHidden)
	return n.scale("embeddings/norm", n.Add("embeddings/all", x, places))
}

// shifted moves pieces by one place, forward or back, and puts zeros in the place that is left.
func (n thinNet) shifted(name string, x *onnx.Value, cut, fill int64) *onnx.Value {
	// Pad takes away what is below zero: for [batch sequence numbers], at the beginnings and
	// at the ends.
	pads := n.ints(0, fill-cut, 0, 0, cut-fill, 0)
	return n.Builder.layer("Pad", name, []*onnx.Value{x, pads}, nil, x.Type, 0)
}

// layer adds one of the layers.
func (n thinNet) layer(i int, x, bias *onnx.Value) *onnx.Value {
	name := fmt.Sprintf("layer%d", i)
	narrow := n.scale(name+"/bottleneck/norm", n.linear(name+"/bottleneck", x, mobileNarrow, n.knows.narrow(i), nil))
	shared := n.scale(name+"/shared/norm", n.linear(name+"/shared", x, mobileNarrow, n.knows.shared(i), nil))
	y := n.attention(i, name+"/attention", shared, x, bias)
	y = n.scale(name+"/attention/norm", n.Add(name+"/attention/sum", y, narrow))
	for k := range mobileForwards {
		part := fmt.Sprintf("%s/forward%d", name, k)
		inner := n.Relu(part+"/relu", n.linear(part+"/inner", y, mobileInner, n.knows.inner(i, k), n.knows.innerBias(i, k)))
		y = n.scale(part+"/norm", n.Add(part+"/sum", n.linear(part+"/outer", inner, mobileNarrow, n.knows.outer(i, k), nil), y))
	}
	wide := n.linear(name+"/output", y, mobileHidden, n.knows.widen(i), nil)
	return n.scale(name+"/norm", n.Add(name+"/sum", wide, x))
}

// attention adds four heads. Queries and keys come from a bottleneck that they share, values
// from what the layer reads.
func (n thinNet) attention(i int, name string, shared, x, bias *onnx.Value) *onnx.Value {
	head := func(part string, of *onnx.Value) *onnx.Value {
		y := n.linear(name+"/"+part, of, mobileNarrow, n.knows.projection(i, part), n.knows.projectionBias(i, part))
		return n.heads(name+"/"+part, y, mobileHeads, mobileHeadSize)
	}
	query, value := head("query", shared), head("value", x)
	key := n.Transpose(name+"/key/turned", head("key", shared), 0, 1, 3, 2)
	scores := n.Binary("Mul", name+"/scaled", n.MatMul(name+"/scores", query, key), n.scalar(1/float32(math.Sqrt(mobileHeadSize))))
	weights := n.Softmax(name+"/weights", n.Add(name+"/masked", scores, bias), -1)
	y := n.Transpose(name+"/context/turned", n.MatMul(name+"/context", weights, value), 0, 2, 1, 3)
	return n.linear(name+"/output", n.Reshape(name+"/joined", y, 0, 0, mobileNarrow), mobileNarrow, n.knows.output(i), nil)
}
