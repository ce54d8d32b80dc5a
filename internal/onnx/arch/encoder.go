package arch

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// The size of BERT-base, which both encoders of texts have.
const (
	encoderHidden   = 768
	encoderHeads    = 12
	encoderHeadSize = encoderHidden / encoderHeads
	encoderInner    = 3072
	encoderLayers   = 12
)

// E5 is e5-base-v2 (Wang et al., arXiv:2212.03533): BERT-base without a head. It has a state of 768 numbers for each piece of a text; their mean
// stands for the text. Options.Layers makes it shorter.
//
// Its weights keep the states near to what the pieces are, so that texts with the same words are near to each other.
func E5() Architecture {
	return textEncoder("e5-base-v2", "e5-base-v2", "https://huggingface.co/intfloat/e5-base-v2", 61)
}

// ColBERT is the BERT-base of ColBERTv2 (Santhanam et al., arXiv:2112.01488), whose states of pieces are compared one by one. The projection to
// 128 numbers is not part of it: the reference of E2E-RAG loads the file with transformers' AutoModel, which leaves it out
// (reranker_worker.py). Weights are made as those of E5.
func ColBERT() Architecture {
	return textEncoder("colbertv2", "ColBERTv2, without its projection", "https://huggingface.co/colbert-ir/colbertv2.0", 62)
}

func textEncoder(name, title, official string, seed uint64) Architecture {
	text := onnx.Type{Elem: onnx.Int64, Shape: bertShape()}
	states := onnx.Type{Elem: onnx.Float32, Shape: append(bertShape(), onnx.Fixed(encoderHidden))}
	return Architecture{
		Name:     name,
		Title:    title,
		Official: official,
		Inputs:   []onnx.Value{{Name: "input_ids", Type: text}, {Name: "attention_mask", Type: text}, {Name: "token_type_ids", Type: text}},
		Outputs:  []onnx.Value{{Name: "last_hidden_state", Type: states}},
		Layers:   encoderLayers,
		Seed:     seed,
		layers:   encoderLayersOf,
	}
}

func encoderLayersOf(b *Builder, o Options) {
	ids := b.Input("input_ids", onnx.Int64, bertShape())
	mask := b.Input("attention_mask", onnx.Int64, bertShape())
	segments := b.Input("token_type_ids", onnx.Int64, bertShape())
	bert := bertNet{Builder: b}
	const faint = 0.05
	pieces := b.Gather("embeddings/pieces", b.Weight("embeddings/word", Patched{Bell{1}, oppositeMarks}, bertPieces, encoderHidden), ids, 0)
	x := b.Add("embeddings/sum", pieces, b.Gather("embeddings/segments", b.Weight("embeddings/token_type", Bell{faint}, 2, encoderHidden), segments, 0))
	x = b.Add("embeddings/all", x, bert.tableOfPlaces(ids, Bell{faint}, bertPositions, encoderHidden))
	x = b.LayerNorm("embeddings/norm", x, bertEpsilon, nil, nil)
	bias, noise := bert.maskBias(mask), bertNoise/math.Sqrt(float64(o.Layers))
	for i := range int(o.Layers) {
		x = encoderLayer(b, fmt.Sprintf("layer%d", i), x, bias, noise)
	}
	b.Output(b.rename(x, "last_hidden_state"))
}

// oppositeMarks makes the states of the marks around a text cancel in its mean, where they would make all short texts near to each other.
func oppositeMarks(row int, weights []float32) {
	const separator = 102
	if row != bertBeginID && row != separator {
		return
	}
	for i := range weights {
		weights[i] = float32((row-bertBeginID)*2-1) * float32(i&1*2-1)
	}
}

// encoderLayer adds a layer of BERT that adds noise of this deviation to its input.
func encoderLayer(b *Builder, name string, x, bias *onnx.Value, noise float64) *onnx.Value {
	project := func(part string, deviation float64) *onnx.Value {
		return b.Linear(name+"/attention/"+part, x, encoderHidden, Bell{deviation}, nil)
	}
	width, inner := math.Sqrt(encoderHidden), math.Sqrt(encoderInner)
	y := b.attend(name+"/attention", encoderHeads, encoderHeadSize, project("query", 1/width), project("key", 1/width), project("value", 1/width), bias,
		1/float32(math.Sqrt(encoderHeadSize)))
	y = b.Linear(name+"/attention/output", y, encoderHidden, Bell{noise / width}, nil)
	x = b.LayerNorm(name+"/attention/norm", b.Add(name+"/attention/sum", y, x), bertEpsilon, nil, nil)
	y = b.Gelu(name+"/gelu", b.Linear(name+"/inner", x, encoderInner, Bell{1 / width}, nil))
	y = b.Linear(name+"/outer", y, encoderHidden, Bell{noise / inner}, nil)
	return b.LayerNorm(name+"/norm", b.Add(name+"/sum", y, x), bertEpsilon, nil, nil)
}
