package arch

import "testing"

// The meanings between layers have numbers of their own, and fit.
func TestMeaningsOfMobileBERTDoNotOverlap(t *testing.T) {
	used := map[int]string{}
	for _, m := range []struct {
		name     string
		first, n int
	}{
		{"content", mobileContent, mobileCode}, {"before", mobileBefore, mobileCode}, {"place", mobilePlace, mobileHeadSize}, {"segment", mobileSegment, 1},
		{"word", mobileWord, 1}, {"begin", mobileBegin, 1}, {"length", mobileLength, BERTLengths}, {"flag", mobileFlag, 1},
		{"starts", mobileStarts, BERTLengths}, {"end", mobileEnd, 1},
	} {
		for i := m.first; i < m.first+m.n; i++ {
			if other, taken := used[i]; taken || i >= mobileFree {
				t.Errorf("number %d is of %s and %s", i, m.name, other)
			}
			used[i] = m.name
		}
	}
}

// The trigram puts the code of a piece where it is known as itself, and where it is known as the
// piece before; nothing of the next piece is kept.
func TestATrigramKnowsThePieceBefore(t *testing.T) {
	k := mobileKnowledge{layers: 24}
	for part, want := range []int{-1, mobileContent, mobileBefore} {
		w := make([]float32, mobileHidden)
		k.trigram(part*mobileNarrow+5, w)
		for i, v := range w[:mobileFree] {
			if (v == 1) != (want >= 0 && i == want+5) {
				t.Errorf("part %d, number %d is %v", part, i, v)
			}
		}
	}
}

// The heads of two layers look for each length once.
func TestEachLengthHasAHead(t *testing.T) {
	k, heads := mobileKnowledge{}, map[int]int{}
	for layer := range mobileLayers {
		for head := range mobileHeads {
			if k.looksBack(layer) && k.lengthOf(layer, head) < BERTLengths {
				heads[k.lengthOf(layer, head)]++
			}
		}
	}
	for l := range BERTLengths {
		if heads[l] != 1 {
			t.Errorf("%d heads for answers of %d pieces", heads[l], l+1)
		}
	}
}
