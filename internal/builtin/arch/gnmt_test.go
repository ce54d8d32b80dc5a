package arch

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

func TestTheLexiconTranslatesHalfOfTheWords(t *testing.T) {
	for _, rows := range []int{400, 4000} {
		lexicon, first := GNMTLexicon(rows)
		words, split := 0, 0
		said := map[int32]int{}
		for w, pieces := range lexicon {
			if pieces == nil {
				continue
			}
			words++
			for k, piece := range pieces {
				if other, twice := said[piece]; twice || piece < gnmtFirstWord {
					t.Fatalf("word %d is translated to %d, as word %d is", w, piece, other)
				}
				said[piece] = w
				if first[piece] != (k+1 < len(pieces)) {
					t.Errorf("piece %d of word %d: another follows: %t", k, w, first[piece])
				}
			}
			if len(pieces) == 2 {
				split++
			}
		}
		if words != rows/2 || split < words/5 || split > words/3 {
			t.Errorf("%d of %d words, %d in two pieces", words, rows, split)
		}
	}
}

func TestTheDecoderForgetsAsTensorFlowsDoes(t *testing.T) {
	k := newGNMTKnowledge(100)
	// BasicLSTMCell adds 1 to what it forgets by; a unit without a meaning has nothing else.
	if got := k.bias("decoder2", gateForget, 7); got != 1 {
		t.Errorf("the bias of forgetting is %v, want 1", got)
	}
	if got := k.bias("decoder2", gateInput, 7); got != 0 {
		t.Errorf("the bias of the input is %v, want 0", got)
	}
	var b [1]float32
	k.lstmBias([]string{"fw", "bw"}, 2*gnmtHidden+900, b[:]) // ONNX's third gate
	if b[0] != 1 {
		t.Errorf("the bias of forgetting of a layer is %v, want 1", b[0])
	}
	k.lstmBias([]string{"fw", "bw"}, 4*gnmtHidden+2*gnmtHidden+900, b[:])
	if b[0] != 1 { // nothing was written: those for the last output are 0
		t.Errorf("a bias for the last output is set to %v", b[0])
	}
}

// A synonym differs from the piece that is right in what the shade says, and in nothing else: so FP32 decides by the
// shade, however small it is.
func TestSynonymsDifferInTheShadeAlone(t *testing.T) {
	const rows = 4000
	k := newGNMTKnowledge(rows)
	matrix := projected(k, rows)
	words, thin := 0, 0
	for word, other := range k.synonym {
		if other == 0 {
			continue
		}
		words++
		checkSynonym(t, k, matrix, word, other)
		if k.shade[word] < gnmtShades/20 {
			thin++
		}
	}
	if words < rows/10 || thin < words/40 || thin > words/10 {
		t.Errorf("%d words have synonyms, %d of them by a twentieth of the largest shade", words, thin)
	}
}

// projected are the weights of the logits that mean something, and some noise.
func projected(k *gnmtKnowledge, rows int) [][]float32 {
	noise := rand.New(rand.NewPCG(1, 2))
	matrix := make([][]float32, gnmtShade+2)
	for row := range matrix {
		matrix[row] = make([]float32, rows)
		for i := range matrix[row] {
			matrix[row][i] = float32(noise.NormFloat64()) * gnmtNoise
		}
		k.projection(row, matrix[row])
	}
	return matrix
}

func checkSynonym(t *testing.T, k *gnmtKnowledge, matrix [][]float32, word int, other int32) {
	t.Helper()
	right, shade := k.lexicon[word][0], k.shade[word]
	if k.first[right] || k.first[other] || k.decoy[word] != 0 {
		t.Fatalf("word %d with the synonym %d has other difficulties", word, other)
	}
	if row := differing(matrix, right, other); row != gnmtShade {
		t.Fatalf("word %d and its synonym differ in row %d, want %d", word, row, gnmtShade)
	}
	if !slices.Equal(embedded(k, right), embedded(k, other)) {
		t.Fatalf("after word %d and its synonym it does not go on alike", word)
	}
	if shade <= 0 || shade > gnmtShades {
		t.Fatalf("the shade of word %d is %v", word, shade)
	}
}

// differing is the only row in which a column is larger than another; -1: there is none, or they differ elsewhere.
func differing(matrix [][]float32, a, b int32) int {
	found := -1
	for row, weights := range matrix {
		switch {
		case weights[a] < weights[b] || weights[a] > weights[b] && found >= 0:
			return -1
		case weights[a] > weights[b]:
			found = row
		}
	}
	return found
}

// embedded is what the decoder reads of a piece, whose noise is of its own.
func embedded(k *gnmtKnowledge, piece int32) []float32 {
	x := make([]float32, gnmtHidden)
	for i := range x {
		x[i] = float32(piece)
	}
	k.target(int(piece), x)
	return x
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
