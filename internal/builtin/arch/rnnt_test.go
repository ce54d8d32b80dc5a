package arch

import (
	"slices"
	"testing"
)

func TestEachCharacterHasABandOfItsOwn(t *testing.T) {
	bands := RNNTBands()
	if len(bands) != rnntLabels || !slices.IsSorted(bands) || bands[0] < 1 || bands[len(bands)-1] >= bandsOfFeatures {
		t.Fatalf("bands %v", bands)
	}
	for i := 1; i < len(bands); i++ {
		if bands[i]-bands[i-1] < 2 {
			t.Errorf("bands %d and %d are neighbours", bands[i-1], bands[i])
		}
	}
}

// What a step of the encoder needs for a character: five frames of six. An open unit gives out
// nearly ±1 times rnntHeld for what is there and what is not.
func TestAStepNeedsFiveFrames(t *testing.T) {
	k := rnntKnowledge{}
	const label = 4
	w, b := make([]float32, 2*rnntHidden), []float32{0}
	row := slices.Index(onnxGates[:], gateCandidate)*rnntHidden + label
	k.weights("post0", row, w)
	k.bias("post0", row, b)
	for frames := range 7 {
		sum := b[0]
		for frame := range 6 {
			there := float32(-1)
			if frame < frames {
				there = 1
			}
			sum += w[frame/3*rnntHidden+3*label+frame%3] * there * rnntFull
		}
		if heard := sum > 0; heard != (frames >= 5) {
			t.Errorf("%d frames: %v", frames, sum)
		}
	}
}

// A character is written if it is heard and was not the last one: otherwise the blank wins.
func TestTheLastCharacterIsNotWrittenAgain(t *testing.T) {
	k := rnntKnowledge{}
	unit := func(fill func(int, []float32)) float32 {
		w := make([]float32, rnntJoint)
		fill(3, w)
		return w[3]
	}
	var doubt, blank [1]float32
	k.jointBias(3, doubt[:])
	k.logitsBias(rnntLabels, blank[:])
	for _, test := range []struct {
		heard, last float32
		want        bool
	}{{1, 0, true}, {1, 1, false}, {-1, 0, false}, {-1, 1, false}} {
		hidden := max(0, unit(k.jointEncoder)*test.heard*rnntHeld+unit(k.jointPrediction)*test.last*rnntHeld+doubt[0])
		if got := unit(k.logits)*hidden > blank[0]; got != test.want {
			t.Errorf("heard %v, last %v: written is %t", test.heard, test.last, got)
		}
	}
}

// The tests of what networks know ask for it directly; here it is where the graph has its weights.
func TestTheEncoderOfRNNTListensInItsGraph(t *testing.T) {
	m, _ := build(t, lookup(t, "rnnt-encoder"), Options{})
	w, bias := weightsNamed(t, m, "pre0/weights"), weightsNamed(t, m, "pre0/bias")
	bands, candidate := RNNTBands(), slices.Index(onnxGates[:], gateCandidate)
	for label, band := range bands {
		for frame := range rnntFrames {
			unit := label*rnntFrames + frame
			row := w.data[(candidate*rnntHidden+unit)*rnntFeatures:][:rnntFeatures]
			if at := likeliest(row); at != frame*bandsOfFeatures+band {
				t.Errorf("character %d listens to number %d in frame %d, want band %d", label, at, frame, band)
			}
			if b := bias.data[candidate*rnntHidden+unit]; b != float64(float32(-rnntSteep*rnntLoud)) {
				t.Errorf("unit %d has the threshold %v", unit, b)
			}
		}
	}
	for _, noise := range w.data[:100*rnntFeatures] { // of the gate of the input
		if abs(noise) > 4*rnntNoise {
			t.Fatalf("a weight without a meaning is %v", noise)
		}
	}
}
