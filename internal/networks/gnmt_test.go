package networks

import "testing"

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
