package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// The size of GNMT with four layers (standard_hparams/wmt16_gnmt_4_layer.json).
const (
	gnmtHidden = 1024
	gnmtRows   = 32320 // pieces of the official vocabulary
	gnmtLayers = 4     // of encoder and decoder
	gnmtState  = (2*gnmtLayers + 1) * gnmtHidden

	// gnmtCandidates is how many of the likeliest pieces the decoder gives out.
	gnmtCandidates = 11
)

// The axes of GNMT's inputs and outputs.
const (
	axisSentences = "sentences"
	axisPieces    = "pieces" // of the longest sentence
	axisActive    = "active" // sentences that are still translated
	axisRows      = "rows"   // beams of all of them
	axisBefore    = "before" // beams of the step before
)

// gnmtEncoder is the encoder of GNMT (Wu et al., arXiv:1609.08144): one bidirectional layer
// and three more, the last two with residuals. There is no official ONNX file: names are
// ours. Besides the memory, which the decoder attends to, it gives out the keys by which
// that is found, and the state with which the decoder begins.
func gnmtEncoder() Architecture {
	memory := onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free(axisSentences), onnx.Free(axisPieces), onnx.Fixed(gnmtHidden)}}
	return Architecture{
		Name:     "gnmt-encoder",
		Title:    "GNMT encoder, 4 layers of 1024",
		Official: "https://zenodo.org/record/2530924",
		Inputs: []onnx.Value{
			{Name: "pieces", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{onnx.Free(axisSentences), onnx.Free(axisPieces)}}},
			{Name: "lengths", Type: onnx.Type{Elem: onnx.Int32, Shape: onnx.Shape{onnx.Free(axisSentences)}}},
		},
		Outputs: []onnx.Value{
			{Name: "memory", Type: memory}, {Name: "keys", Type: memory},
			{Name: "state", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free(axisSentences), onnx.Fixed(gnmtState)}}},
		},
		Rows:   gnmtRows,
		Seed:   45,
		layers: gnmtEncoderLayers,
	}
}

func gnmtEncoderLayers(b *Builder, o Options) {
	ids := b.Input("pieces", onnx.Int64, onnx.Shape{onnx.Free(axisSentences), onnx.Free(axisPieces)})
	lengths := b.Input("lengths", onnx.Int32, onnx.Shape{onnx.Free(axisSentences)})
	net := gnmtNet{Builder: b, knows: gnmtKnowledgeFor(o)}
	table := b.Weight("embedding", Patched{Bell{gnmtEmbedding}, net.knows.source}, o.Rows, gnmtHidden)
	x := b.Transpose("embedded/turned", b.Gather("embedded", table, ids, 0), 1, 0, 2)

	y, states := net.bidirectional(x, lengths)
	for i := range gnmtLayers - 1 {
		z, state := net.layer(fmt.Sprintf("uni%d", i), y, lengths)
		states = append(states, state...)
		if y = z; i > 0 {
			y = b.Add(fmt.Sprintf("uni%d/sum", i), z, net.below)
		}
		net.below = y
	}
	memory := b.Transpose("memory/turned", y, 1, 0, 2)
	keys := b.MatMul("keys", memory, b.Weight("keys/weights", Patched{Bell{gnmtNoise}, net.knows.keys}, gnmtHidden, gnmtHidden))
	context := b.Binary("Mul", "context", states[0], b.scalar(0))
	b.Output(b.rename(memory, "memory"), b.rename(keys, "keys"), b.rename(b.Concat("states", 1, append(states, context)...), "state"))
}

type gnmtNet struct {
	*Builder
	knows *gnmtKnowledge
	below *onnx.Value // the output of the layer below, for residuals
}

// layerOf adds an LSTM of which the parts read the same input.
func (n gnmtNet) layerOf(name string, x, lengths *onnx.Value, cells ...string) []*onnx.Value {
	cell := func(row int) string { return cells[row/(4*gnmtHidden)] }
	return n.Builder.lstm(name, x, lengths, recurrent{
		Hidden: gnmtHidden, Cells: int64(len(cells)),
		Weights:    Patched{Bell{gnmtNoise}, func(row int, x []float32) { n.knows.lstm(cell(row), row, x, nil) }},
		Recurrence: Patched{Bell{gnmtNoise}, func(row int, h []float32) { n.knows.lstm(cell(row), row, nil, h) }},
		Bias:       Patched{Constant(0), func(row int, b []float32) { n.knows.lstmBias(cells, row, b) }},
	})
}

// bidirectional adds the lowest layer. The state is that of the way back.
func (n gnmtNet) bidirectional(x, lengths *onnx.Value) (y *onnx.Value, state []*onnx.Value) {
	out := n.layerOf("bidirectional", x, lengths, "fw", "bw")
	y = n.Reshape("bidirectional/joined", n.Transpose("bidirectional/turned", out[0], 0, 2, 1, 3), 0, 0, 2*gnmtHidden)
	back := func(name string, v *onnx.Value) *onnx.Value {
		return n.Squeeze(name, n.Slice(name+"/part", v, 0, 1, 2), 0)
	}
	return y, []*onnx.Value{back("bidirectional/c", out[2]), back("bidirectional/h", out[1])}
}

// layer adds one of the other layers.
func (n gnmtNet) layer(name string, x, lengths *onnx.Value) (y *onnx.Value, state []*onnx.Value) {
	out := n.layerOf(name, x, lengths, name)
	return n.Squeeze(name+"/steps", out[0], 1), []*onnx.Value{n.Squeeze(name+"/c", out[2], 0), n.Squeeze(name+"/h", out[1], 0)}
}
