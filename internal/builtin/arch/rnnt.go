package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// The size of RNN-T (speech_recognition/rnnt, pytorch/configs/rnnt.toml).
const (
	rnntFeatures  = 240
	rnntHidden    = 1024 // of the encoder
	rnntPredicted = 320  // hidden numbers of the prediction network
	rnntLayers    = 2    // of it, and of the encoder before two steps become one
	rnntJoint     = 512
	rnntState     = 2 * rnntLayers * rnntPredicted

	// rnntLabels is how many characters there are. The label behind them is the blank, and of
	// the prediction network it is the start.
	rnntLabels = 28
)

// rnntEncoder is the encoder of RNN-T (Graves, arXiv:1211.3711; the MLPerf reference is
// trained on LibriSpeech): two layers of LSTM, of whose outputs each two become one, and
// three more. There is no official ONNX file: names are ours. It ends with the part of the
// joint network's first layer that reads the encoder, which so is computed for all steps
// at once.
func rnntEncoder() Architecture {
	return Architecture{
		Name:     "rnnt-encoder",
		Title:    "RNN-T encoder, 5 layers of 1024",
		Official: "https://zenodo.org/record/3662521",
		Inputs: []onnx.Value{
			{Name: "features", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free("utterances"), onnx.Free("frames"), onnx.Fixed(rnntFeatures)}}},
			{Name: "lengths", Type: onnx.Type{Elem: onnx.Int32, Shape: onnx.Shape{onnx.Free("utterances")}}},
		},
		Outputs: []onnx.Value{
			{Name: "encoded", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free("utterances"), onnx.Free("steps"), onnx.Fixed(rnntJoint)}}},
		},
		Seed:   15,
		layers: rnntEncoderLayers,
	}
}

func rnntEncoderLayers(b *Builder, _ Options) {
	in := rnntEncoder().Inputs
	features, lengths := b.Input(in[0].Name, onnx.Float32, in[0].Type.Shape), b.Input(in[1].Name, onnx.Int32, in[1].Type.Shape)
	x := b.Transpose("features/turned", features, 1, 0, 2)
	for i := range rnntLayers {
		x = rnntLayer(b, fmt.Sprintf("pre%d", i), x, lengths)
	}
	// Behind the end of an utterance outputs are 0, so a step that lacks its second half has
	// zeros there, as in the reference.
	stacked := onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free("utterances"), onnx.Free("steps"), onnx.Fixed(2 * rnntHidden)}}
	pairs := b.Node("Reshape", "stacked", []*onnx.Value{b.Transpose("stacked/turned", x, 1, 0, 2), b.ints(0, -1, 2*rnntHidden)}, nil, stacked)[0]
	x = b.Transpose("stacked/back", pairs, 1, 0, 2)
	for i := range 3 {
		x = rnntLayer(b, fmt.Sprintf("post%d", i), x, nil)
	}
	knows := rnntKnowledge{}
	b.Output(b.rename(b.Linear("joint/encoder", b.Transpose("encoded/turned", x, 1, 0, 2), rnntJoint,
		Patched{Bell{rnntNoise}, knows.jointEncoder}, Patched{Constant(0), knows.jointBias}), "encoded"))
}

// rnntLayer adds a layer of the encoder.
func rnntLayer(b *Builder, name string, x, lengths *onnx.Value) *onnx.Value {
	knows := rnntKnowledge{}
	out := b.lstm(name, x, lengths, recurrent{
		Hidden: rnntHidden, Cells: 1,
		Weights:    Patched{Bell{rnntNoise}, func(row int, w []float32) { knows.weights(name, row, w) }},
		Recurrence: Bell{rnntNoise},
		Bias:       Patched{Constant(0), func(row int, w []float32) { knows.bias(name, row, w) }},
	})
	return b.Squeeze(name+"/steps", out[0], 1)
}

// rnntPrediction is the prediction network: what has been written so far, character by
// character. It ends with the part of the joint network's first layer that reads it. The
// state has cell and output of the two layers.
func rnntPrediction() Architecture {
	state := onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(rnntState)}
	return Architecture{
		Name:     "rnnt-prediction",
		Title:    "RNN-T prediction network, 2 layers of 320",
		Official: "https://zenodo.org/record/3662521",
		Inputs:   []onnx.Value{{Name: "labels", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Batched()}}, {Name: "state", Type: state}},
		Outputs: []onnx.Value{
			{Name: "predicted", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(rnntJoint)}}, {Name: "next_state", Type: state},
		},
		Seed:   16,
		layers: rnntPredictionLayers,
	}
}

func rnntPredictionLayers(b *Builder, _ Options) {
	in := rnntPrediction().Inputs
	labels, state := b.Input(in[0].Name, onnx.Int64, in[0].Type.Shape), b.Input(in[1].Name, onnx.Float32, in[1].Type.Shape)
	part := func(i int64) *onnx.Value {
		return b.Slice(fmt.Sprintf("state/part%d", i), state, 1, i*rnntPredicted, (i+1)*rnntPredicted)
	}
	knows := rnntKnowledge{}
	table := b.Weight("embedding", Patched{Bell{rnntNoise}, knows.label}, rnntLabels+1, rnntPredicted)
	x := b.Gather("embedded", table, labels, 0)
	var kept []*onnx.Value
	for i := range int64(rnntLayers) {
		name := fmt.Sprintf("layer%d", i)
		h, c := b.lstmCell(name, b.Concat(name+"/read", 1, x, part(2*i+1)), part(2*i), rnntPredicted,
			Patched{Bell{rnntNoise}, knows.predict}, Patched{Constant(0), knows.predictBias})
		kept, x = append(kept, c, h), h
	}
	predicted := b.MatMul("joint/prediction", x, b.Weight("joint/prediction/weights", Patched{Bell{rnntNoise}, knows.jointPrediction}, rnntPredicted, rnntJoint))
	b.Output(b.rename(predicted, "predicted"), b.rename(b.Concat("state/next", 1, kept...), "next_state"))
}

// rnntJointNet is the rest of the joint network: how likely each character comes next, or none
// before the next step.
func rnntJointNet() Architecture {
	part := onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(rnntJoint)}
	return Architecture{
		Name:     "rnnt-joint",
		Title:    "RNN-T joint network, 512",
		Official: "https://zenodo.org/record/3662521",
		Inputs:   []onnx.Value{{Name: "encoded", Type: part}, {Name: "predicted", Type: part}},
		Outputs:  []onnx.Value{{Name: "logits", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(rnntLabels + 1)}}},
		Seed:     17,
		layers: func(b *Builder, _ Options) {
			knows := rnntKnowledge{}
			x := b.Relu("relu", b.Add("sum", b.Input("encoded", onnx.Float32, part.Shape), b.Input("predicted", onnx.Float32, part.Shape)))
			logits := b.Dense("labels", x, Dense{Units: rnntLabels + 1, Weights: Patched{Bell{rnntNoise}, knows.logits}, Bias: Patched{Constant(0), knows.logitsBias}})
			b.Output(b.rename(logits, "logits"))
		},
	}
}
