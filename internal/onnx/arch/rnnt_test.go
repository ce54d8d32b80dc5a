package arch

import (
	"math"
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

// A gatedLayer is a layer of LSTM cells without noise, of which all but the first units mean nothing.
type gatedLayer [4][]struct {
	read reader
	bias float64
}

// gatedBy reads a layer as the graph does, unit by unit; places says which gate comes where.
func gatedBy(units, hidden, inputs int, places [4]int, weights, bias func(row int, w []float32)) (l gatedLayer) {
	for place, gate := range places {
		for unit := range units {
			at := place*hidden + unit
			l[gate] = append(l[gate], struct {
				read reader
				bias float64
			}{readerOf(weightsOf(inputs, at, weights)), float64(weightsOf(1, at, bias)[0])})
		}
	}
	return l
}

func weightsOf(n, row int, fill func(int, []float32)) []float32 {
	w := make([]float32, n)
	fill(row, w)
	return w
}

// run gives out what the layer makes of each step.
func (l *gatedLayer) run(hidden int, xs [][]float64) [][]float64 {
	out, c := make([][]float64, len(xs)), make([]float64, hidden)
	for i, x := range xs {
		out[i] = make([]float64, hidden)
		for u := range l[0] {
			var z [4]float64
			for gate := range z {
				z[gate] = l[gate][u].bias + l[gate][u].read.of(x)
			}
			c[u] = logistic(z[gateForget])*c[u] + logistic(z[gateInput])*math.Tanh(z[gateCandidate])
			out[i][u] = logistic(z[gateOutput]) * math.Tanh(c[u])
		}
	}
	return out
}

// A listener is RNN-T without noise.
type listener struct {
	layers                    map[string]*gatedLayer
	predicts                  gatedLayer
	encoder, prediction, last [rnntJoint]reader // of the joint network, row by row
	doubts, biases            []float64
}

func newListener() *listener {
	k := rnntKnowledge{}
	l := &listener{layers: map[string]*gatedLayer{}, doubts: make([]float64, rnntJoint), biases: make([]float64, rnntLabels+1)}
	for layer, inputs := range map[string]int{"pre0": rnntFeatures, "pre1": rnntHidden, "post0": 2 * rnntHidden, "post1": rnntHidden, "post2": rnntHidden} {
		cell := gatedBy(k.units(layer), rnntHidden, inputs, onnxGates,
			func(row int, w []float32) { k.weights(layer, row, w) }, func(row int, b []float32) { k.bias(layer, row, b) })
		l.layers[layer] = &cell
	}
	l.predicts = gatedBy(rnntLabels, rnntPredicted, 2*rnntPredicted, [4]int{gateInput, gateCandidate, gateForget, gateOutput}, k.predict, k.predictBias)
	for unit := range rnntJoint {
		l.encoder[unit], l.prediction[unit] = readerOf(weightsOf(rnntJoint, unit, k.jointEncoder)), readerOf(weightsOf(rnntJoint, unit, k.jointPrediction))
		l.doubts[unit] = float64(weightsOf(1, unit, k.jointBias)[0])
	}
	for label := range l.biases {
		l.last[label] = readerOf(weightsOf(rnntJoint, label, k.logits))
		l.biases[label] = float64(weightsOf(1, label, k.logitsBias)[0])
	}
	return l
}

// through adds x times rows of weights to what is there.
func through(sum, x []float64, rows *[rnntJoint]reader) []float64 {
	sum = slices.Clone(sum)
	for unit, v := range x[:rnntLabels] {
		for _, e := range rows[unit] {
			sum[e.at] += v * e.weight
		}
	}
	return sum
}

// heard is what the encoder hands to the joint network, step by step.
func (l *listener) heard(rows [][]float64) [][]float64 {
	run := func(layer string, x [][]float64) [][]float64 { return l.layers[layer].run(rnntHidden, x) }
	x := run("pre1", run("pre0", rows))
	var steps [][]float64
	for i := 0; i+1 < len(x); i += 2 {
		steps = append(steps, slices.Concat(x[i], x[i+1]))
	}
	steps = run("post2", run("post1", run("post0", steps)))
	for i, x := range steps {
		steps[i] = through(l.doubts, x, &l.encoder)
	}
	return steps
}

// said is what the prediction network makes of the character before. It keeps nothing of those before that.
func (l *listener) said(label int) []float64 {
	x := make([]float64, rnntPredicted)
	for i, v := range weightsOf(rnntPredicted, label, rnntKnowledge{}.label) {
		x[i] = float64(v)
	}
	for range rnntLayers {
		x = l.predicts.run(rnntPredicted, [][]float64{slices.Concat(x, make([]float64, rnntPredicted))})[0]
	}
	return through(make([]float64, rnntJoint), x, &l.prediction)
}

// written decodes greedily, as the reference does: at each step characters until the blank wins.
func (l *listener) written(rows [][]float64) (labels []int) {
	predicted := l.said(rnntLabels)
	for _, encoded := range l.heard(rows) {
		for range 5 {
			logits := slices.Clone(l.biases)
			for label := range logits {
				for _, e := range l.last[label] {
					logits[label] += e.weight * max(0, encoded[e.at]+predicted[e.at])
				}
			}
			best := likeliest(logits)
			if best == rnntLabels {
				break
			}
			labels, predicted = append(labels, best), l.said(best)
		}
	}
	return labels
}

// tones are frames of features, three in a row, in which characters sound one after the other for some steps each.
func tones(steps int, labels ...int) [][]float64 {
	bands := RNNTBands()
	var rows [][]float64
	for _, label := range labels {
		for range 2 * steps {
			features := make([]float64, rnntFeatures)
			for frame := range rnntFrames {
				if label >= 0 {
					features[frame*bandsOfFeatures+bands[label]] = 3
				}
			}
			rows = append(rows, features)
		}
	}
	return rows
}

func TestRNNTWritesTheCharactersThatSound(t *testing.T) {
	const silence = -1
	l := newListener()
	for _, c := range []struct {
		name  string
		sound []int
		want  []int
	}{
		{"nothing", []int{silence, silence}, nil},
		{"one character", []int{silence, 7, silence}, []int{7}},
		{"the first and the last one", []int{0, rnntLabels - 1}, []int{0, rnntLabels - 1}},
		{"neighbours", []int{3, 4, 3}, []int{3, 4, 3}},
		{"a word", []int{12, silence, 1, 19, 5, silence, silence, 27, 0}, []int{12, 1, 19, 5, 27, 0}},
		{"one that goes on is written once", []int{5, 5, 5}, []int{5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := l.written(tones(2, c.sound...)); !slices.Equal(got, c.want) {
				t.Errorf("%v is written as %v, want %v", c.sound, got, c.want)
			}
		})
	}
}

// A sound that is everywhere is none: a band has to be louder than those of its neighbours.
func TestRNNTHearsNoCharacterInASoundOfAllBands(t *testing.T) {
	rows := tones(3, -1)
	for _, features := range rows {
		for i := range features {
			features[i] = 1.2
		}
	}
	if got := newListener().written(rows); got != nil {
		t.Errorf("a noise is written as %v", got)
	}
}

func TestRNNTHearsEveryCharacter(t *testing.T) {
	var all []int
	for label := range rnntLabels {
		all = append(all, label)
	}
	if got := newListener().written(tones(1, all...)); !slices.Equal(got, all) {
		t.Errorf("all characters are written as %v", got)
	}
}
