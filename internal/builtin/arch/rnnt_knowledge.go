package arch

import "math"

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
