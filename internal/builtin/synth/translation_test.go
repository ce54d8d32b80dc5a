package synth

import (
	"path/filepath"
	"strings"
	"testing"
)

// A small lexicon: word n is translated to n+10, every third in two pieces.
func smallLexicon(pieces int) Lexicon {
	l := Lexicon{make([][]int32, pieces), make([]bool, pieces)}
	for w := 3; w < pieces/2; w++ {
		l.Pieces[w] = []int32{int32(pieces/2 + w)}
		if w%3 == 0 {
			l.Pieces[w] = append(l.Pieces[w], int32(w))
			l.First[pieces/2+w] = true
		}
	}
	return l
}

func TestReferencesAreTranslationsButForSomeWords(t *testing.T) {
	spec := TranslationSpec{Seed: 1, Sentences: 300, Pieces: 200, Lexicon: "small"}
	lexicon := smallLexicon(spec.Pieces)
	dir := filepath.Join(t.TempDir(), "wmt")
	if err := WriteTranslation(t.Context(), dir, spec, lexicon); err != nil {
		t.Fatal(err)
	}
	number := map[string]int32{}
	vocabulary := readLines(t, filepath.Join(dir, "vocab.bpe.32000.en"))
	for i, piece := range vocabulary {
		number[piece] = int32(i)
		if strings.HasSuffix(piece, "@@") != lexicon.First[i] {
			t.Fatalf("piece %d is %q", i, piece)
		}
	}
	if len(number) != spec.Pieces || number["</s>"] != 2 {
		t.Fatalf("%d different pieces", len(number))
	}
	sources, references := readLines(t, filepath.Join(dir, "newstest2014.tok.bpe.32000.en")), readLines(t, filepath.Join(dir, "newstest2014.tok.bpe.32000.de"))
	if len(sources) != spec.Sentences || len(references) != spec.Sentences {
		t.Fatalf("%d sentences and %d references", len(sources), len(references))
	}
	same, all, lengths := 0, 0, map[int]bool{}
	for i, source := range sources {
		words := strings.Fields(source)
		lengths[len(words)] = true
		said := map[string]int{}
		for _, piece := range strings.Fields(references[i]) {
			said[piece]++
		}
		for _, word := range words {
			for _, to := range lexicon.Pieces[number[word]] {
				all++
				if said[vocabulary[to]] > 0 {
					said[vocabulary[to]]--
					same++
				}
			}
		}
	}
	if share := float64(same) / float64(all); share < 0.65 || share > 0.85 || len(lengths) < 20 {
		t.Errorf("%.2f of the words are translated as the lexicon does, and there are %d lengths", share, len(lengths))
	}
}

func TestSpecsOfTranslationsThatCannotBe(t *testing.T) {
	lexicon := smallLexicon(200)
	for _, spec := range []TranslationSpec{{}, {Sentences: 1, Pieces: 10}, {Sentences: 1, Pieces: 201}} {
		if err := WriteTranslation(t.Context(), t.TempDir(), spec, lexicon); err == nil {
			t.Errorf("made %+v", spec)
		}
	}
}
