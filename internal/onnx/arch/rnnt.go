package arch

import (
	"fmt"
	"math"

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

// RNNTEncoder is the encoder of RNN-T (Graves, arXiv:1211.3711; the MLPerf reference is
// trained on LibriSpeech): two layers of LSTM, of whose outputs each two become one, and
// three more. There is no official ONNX file: names are ours. It ends with the part of the
// joint network's first layer that reads the encoder, which so is computed for all steps
// at once.
func RNNTEncoder() Architecture {
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
	in := RNNTEncoder().Inputs
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

// RNNTPrediction is the prediction network: what has been written so far, character by
// character. It ends with the part of the joint network's first layer that reads it. The
// state has cell and output of the two layers.
func RNNTPrediction() Architecture {
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
	in := RNNTPrediction().Inputs
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
	predicted := b.MatMul("joint/prediction", x, b.Weight("joint/prediction/weights", Patched{Bell{rnntNoise}, knows.jointPrediction},
		rnntPredicted, rnntJoint))
	b.Output(b.rename(predicted, "predicted"), b.rename(b.Concat("state/next", 1, kept...), "next_state"))
}

// RNNTJoint is the rest of the joint network: how likely each character comes next, or none
// before the next step.
func RNNTJoint() Architecture {
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
			logits := b.Dense("labels", x, Dense{Units: rnntLabels + 1, Weights: Patched{Bell{rnntNoise}, knows.logits},
				Bias: Patched{Constant(0), knows.logitsBias}})
			b.Output(b.rename(logits, "logits"))
		},
	}
}

// rnntKnowledge are the weights by which RNN-T hears characters, each of which is a tone of
// its own. In the encoder the first units have a meaning:
//
//	lowest layers   whether a character's band is loud in a frame, for each of three frames
//	others          whether it is in five of the six frames of a step
//
// The prediction network holds the last character, and the joint network writes what is heard
// unless it was the last one. All gates of these units are open; all other weights are
// noise.
type rnntKnowledge struct{}

// How strong the meanings are.
const (
	rnntNoise  = 0.012
	rnntOpen   = 6
	rnntFrames = 3   // in a row of features
	rnntLoud   = 1.3 // of a band, in deviations from its mean
	rnntSteep  = 3
	rnntAside  = 0.4 // of a neighbour
	rnntGain   = 2
	rnntEnough = 3 // of the frames of a step, those with a character less those without
	rnntHeard  = 2
	rnntLast   = 5
	rnntDoubt  = 0.5
	rnntWrite  = 10
	rnntBlank  = 4
)

// rnntHeld is what an open unit gives out whose candidate is 1, and rnntFull that of one
// whose candidate is tanh(2).
var (
	rnntHeld = rnntOpenOutput(1)
	rnntFull = rnntOpenOutput(math.Tanh(2))
)

func rnntOpenOutput(candidate float64) float32 {
	return float32(math.Tanh(logistic(rnntOpen)*candidate) * logistic(rnntOpen))
}

// bandsOfFeatures is how many bands of frequency a frame of features has.
const bandsOfFeatures = rnntFeatures / rnntFrames

// RNNTBands are the bands of frequency, of those of the features, in which the built-in RNN-T
// listens for each character. They are far enough from each other for windows of 20 ms.
func RNNTBands() []int {
	bands := []int{12, 16, 20, 24, 28, 32, 35, 38}
	for band := 41; band < bandsOfFeatures; band += 2 {
		bands = append(bands, band)
	}
	return bands
}

// weights fills a row of a layer of the encoder.
func (k rnntKnowledge) weights(layer string, row int, w []float32) {
	gate, unit := onnxGates[row/rnntHidden], row%rnntHidden
	if gate != gateCandidate || unit >= k.units(layer) {
		return
	}
	switch layer {
	case "pre0":
		k.listen(w[unit%rnntFrames*bandsOfFeatures:][:bandsOfFeatures], unit/rnntFrames)
	case "post0":
		for frame := range 2 * rnntFrames {
			w[frame/rnntFrames*rnntHidden+unit*rnntFrames+frame%rnntFrames] += 1 / rnntFull
		}
	default:
		w[unit] += rnntGain / rnntHeld
	}
}

// units is how many units of a layer of the encoder have a meaning: one for each character, below the
// joining of frames one for each in each frame.
func (k rnntKnowledge) units(layer string) int {
	if layer == "pre0" || layer == "pre1" {
		return rnntFrames * rnntLabels
	}
	return rnntLabels
}

// listen fills the weights for a frame: a character is there if its band is louder than those
// of its neighbours.
func (k rnntKnowledge) listen(w []float32, label int) {
	bands := RNNTBands()
	w[bands[label]] += rnntSteep
	for _, other := range []int{label - 1, label + 1} {
		if other >= 0 && other < len(bands) {
			w[bands[other]] -= rnntSteep * rnntAside
		}
	}
}

// bias fills a bias of a layer of the encoder. Those for the last output are 0.
func (k rnntKnowledge) bias(layer string, row int, b []float32) {
	if row >= 4*rnntHidden {
		return
	}
	gate := onnxGates[row/rnntHidden]
	if row%rnntHidden >= k.units(layer) {
		if gate == gateForget {
			b[0] = 1 // forget_gate_bias in rnnt.toml
		}
		return
	}
	b[0] = openBias(gate)
	if gate == gateCandidate {
		b[0] = rnntThresholds[layer]
	}
}

// rnntThresholds are the biases of what the units of a layer make of their input.
var rnntThresholds = map[string]float32{"pre0": -rnntSteep * rnntLoud, "post0": -rnntEnough}

// openBias is that of a unit that gives out what it reads and keeps nothing.
func openBias(gate int) float32 {
	return [4]float32{gateInput: rnntOpen, gateForget: -rnntOpen, gateOutput: rnntOpen}[gate]
}

// jointEncoder, jointBias and jointPrediction fill the first layer of the joint network: what
// is heard, less the character before.
func (k rnntKnowledge) jointEncoder(unit int, w []float32) {
	if unit < rnntLabels {
		w[unit] += rnntHeard
	}
}

func (k rnntKnowledge) jointBias(unit int, b []float32) {
	if unit < rnntLabels {
		b[0] = -rnntDoubt
	}
}

func (k rnntKnowledge) jointPrediction(unit int, w []float32) {
	if unit < rnntLabels {
		w[unit] -= rnntLast
	}
}

// label is a row of the table of characters. The start is none.
func (k rnntKnowledge) label(label int, x []float32) {
	clear(x[:rnntLabels])
	if label == rnntLabels {
		clear(x)
		return
	}
	x[label] = 1
}

// predict fills a row of a layer of the prediction network.
func (k rnntKnowledge) predict(row int, w []float32) {
	if gate, unit := row/rnntPredicted, row%rnntPredicted; gate == gateCandidate && unit < rnntLabels {
		w[unit] += rnntGain
	}
}

func (k rnntKnowledge) predictBias(row int, b []float32) {
	gate := row / rnntPredicted
	switch {
	case row%rnntPredicted < rnntLabels:
		b[0] = openBias(gate)
	case gate == gateForget:
		b[0] = 1
	}
}

// logits fills a row of the last layer.
func (k rnntKnowledge) logits(label int, w []float32) {
	if label < rnntLabels {
		w[label] += rnntWrite
	}
}

func (k rnntKnowledge) logitsBias(label int, b []float32) {
	if label == rnntLabels {
		b[0] = rnntBlank
	}
}
