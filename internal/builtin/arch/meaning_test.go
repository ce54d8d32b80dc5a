package arch

import (
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// weightsNamed reads a tensor of a built model.
func weightsNamed(t *testing.T, m *onnx.Model, name string) array {
	t.Helper()
	c := m.Graph.Index().Initializer(name)
	if c == nil {
		t.Fatalf("the model has no weights %q", name)
	}
	a, err := constantArray(c)
	if err != nil {
		t.Fatal(err)
	}
	return a
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

// Through the graphs of the prediction and the joint network a character is written if it is heard and was not the last.
func TestRNNTWritesInItsGraphs(t *testing.T) {
	prediction, _ := build(t, lookup(t, "rnnt-prediction"), Options{})
	joint, _ := build(t, lookup(t, "rnnt-joint"), Options{})
	inMemory(t, prediction)
	state := newArray(onnx.Float32, 1, rnntState)
	predicted := func(label int64) map[string]array {
		return evaluate(t, prediction, map[string]array{"labels": numbers([]int64{label}, 1), "state": state})
	}
	hears := func(label int, said array) int {
		encoded := newArray(onnx.Float32, 1, rnntJoint).of(func(float64) float64 { return -rnntDoubt })
		for i := range rnntLabels {
			encoded.data[i] = -rnntHeard * float64(rnntHeld)
		}
		encoded.data[label] = rnntHeard*float64(rnntHeld) - rnntDoubt
		return likeliest(evaluate(t, joint, map[string]array{"encoded": encoded, "predicted": said})["logits"].data)
	}
	for _, last := range []int64{9, rnntLabels} {
		values := predicted(last)
		for _, label := range []int{0, 9, 20} {
			want := label
			if int64(label) == last {
				want = rnntLabels
			}
			if got := hears(label, values["predicted"]); got != want {
				t.Errorf("%d is heard after %d and written as %d, want %d", label, last, got, want)
			}
		}
	}
	// The state has cell and output of both layers, and the next step begins with them.
	first := predicted(5)
	if slices.Equal(first["next_state"].data, state.data) {
		t.Error("nothing is kept")
	}
	state = first["next_state"]
	if again := predicted(5); slices.Equal(again["next_state"].data, first["next_state"].data) {
		t.Error("what was kept is not read")
	}
}

// Biases of GNMT's layers: for each cell those of the input, gate by gate, and then zeros.
func TestGNMTHasItsBiasesInItsGraphs(t *testing.T) {
	o := Options{Rows: 64}
	encoder, _ := build(t, lookup(t, "gnmt-encoder"), o)
	decoder, _ := build(t, lookup(t, "gnmt-decoder"), o)
	k := newGNMTKnowledge(64)
	check := func(m *onnx.Model, name string, cells []string, places [4]int, each int) {
		t.Helper()
		bias := weightsNamed(t, m, name)
		for i, v := range bias.data {
			cell, gate, unit := cells[i/(each*gnmtHidden)], i/gnmtHidden%each, i%gnmtHidden
			want := 0.0
			if gate < 4 {
				want = float64(k.bias(cell, places[gate], unit))
			}
			if v != want {
				t.Fatalf("%s: number %d, of unit %d of %s, is %v, want %v", name, i, unit, cell, v, want)
			}
		}
	}
	own := [4]int{gateInput, gateCandidate, gateForget, gateOutput}
	check(encoder, "bidirectional/bias", []string{"fw", "bw"}, onnxGates, 8)
	check(encoder, "uni0/bias", []string{"uni0"}, onnxGates, 8)
	check(encoder, "uni2/bias", []string{"uni2"}, onnxGates, 8)
	for _, name := range []string{"decoder0", "decoder1", "decoder3"} {
		check(decoder, name+"/gates/bias", []string{name}, own, 4)
	}
}

// The attention's tables and the embeddings have their meanings where the graph reads them.
func TestGNMTHasItsTablesInItsGraphs(t *testing.T) {
	o := Options{Rows: 64}
	encoder, _ := build(t, lookup(t, "gnmt-encoder"), o)
	decoder, _ := build(t, lookup(t, "gnmt-decoder"), o)
	k := newGNMTKnowledge(64)
	source, target := weightsNamed(t, encoder, "embedding"), weightsNamed(t, decoder, "embedding")
	for id := range 64 {
		for i, v := range k.codes[id] {
			if off := source.at(id, i) - float64(v); abs(off) > 5*gnmtEmbedding {
				t.Fatalf("number %d of the code of word %d is %v, want %v", i, id, source.at(id, i), v)
			}
		}
		if got := source.at(id, gnmtShade); got != float64(k.shade[id]) {
			t.Errorf("the shade of word %d is %v, want %v", id, got, k.shade[id])
		}
		if goesOn := target.at(id, 0) < 0; goesOn != k.first[id] {
			t.Errorf("piece %d: another one follows is %t, want %t", id, goesOn, k.first[id])
		}
	}
	v, keys := weightsNamed(t, decoder, "attention/v"), weightsNamed(t, encoder, "keys/weights")
	for unit := range 4 * gnmtPairs {
		if sign := float64(1 - 2*(unit%2)); abs(v.at(unit, 0)-sign*gnmtGain) > 1e-6 {
			t.Errorf("number %d of the attention's vector is %v, want %v", unit, v.at(unit, 0), sign*gnmtGain)
		}
		if w := keys.at(gnmtPlace+unit/2, unit); abs(w-gnmtBump) > 5*gnmtNoise {
			t.Errorf("place %d is weighted with %v, want %v", unit/2, w, gnmtBump)
		}
	}
}
