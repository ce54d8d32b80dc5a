package arch

import (
	"math/rand/v2"
	"slices"
	"testing"
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
