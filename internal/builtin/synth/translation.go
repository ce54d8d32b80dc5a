package synth

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A TranslationSpec says everything about a built-in data set of sentences and their
// translations, in the form of newstest2014 as the GNMT reference has it. Equal specs with
// the same lexicon make equal files.
type TranslationSpec struct {
	Seed      uint64 `json:"seed"`
	Sentences int    `json:"sentences"`
	Pieces    int    `json:"pieces"` // of the vocabulary, which both languages share
	// Lexicon names the way in which words are translated.
	Lexicon string `json:"lexicon"`
}

// A Lexicon says how words are translated: the pieces of each source word, by number, nil
// for what is no word, and which pieces others follow.
type Lexicon struct {
	Pieces [][]int32
	First  []bool
}

func (s TranslationSpec) check() error {
	switch {
	case s.Sentences < 1 || s.Sentences > 100_000:
		return fmt.Errorf("sentences is %d: must be 1 to 100000", s.Sentences)
	case s.Pieces < 100 || s.Pieces > 1<<17:
		return fmt.Errorf("pieces is %d: must be 100 to %d", s.Pieces, 1<<17)
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal files.
func (s TranslationSpec) Key() string {
	return "wmt16-" + keyOf("translation seed %d sentences %d pieces %d lexicon %q", s.Seed, s.Sentences, s.Pieces, s.Lexicon)
}

// otherPercent is how many pieces of a reference people translated otherwise.
const otherPercent = 30

// WriteTranslation makes a data set: sentences, references and the two vocabularies, and the
// Manifest.
//
// Folder, errors and ctx are as with WriteImageNet.
func WriteTranslation(ctx context.Context, dir string, spec TranslationSpec, lexicon Lexicon) error {
	if spec.check() == nil && (len(lexicon.Pieces) != spec.Pieces || len(lexicon.First) != spec.Pieces) {
		return fmt.Errorf("making the built-in sentences: the lexicon is of %d pieces: must be %d", len(lexicon.Pieces), spec.Pieces)
	}
	return publish(ctx, dir, "sentences", &spec, func(folder string) error { return spec.fill(folder, lexicon) }, nil)
}

// words returns the pieces that have a translation.
func (l Lexicon) words() []int32 {
	var words []int32
	for w, to := range l.Pieces {
		if to != nil {
			words = append(words, int32(w))
		}
	}
	return words
}

// writePieces writes a line of pieces.
func writePieces(b *strings.Builder, pieces []string, ids []int32) {
	for k, id := range ids {
		if k > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(pieces[id])
	}
	b.WriteByte('\n')
}

// fill writes the files.
func (s TranslationSpec) fill(folder string, lexicon Lexicon) error {
	pieces := s.vocabulary(lexicon)
	vocabulary := strings.Join(pieces, "\n") + "\n"
	words := lexicon.words()
	var source, reference strings.Builder
	for i := range s.Sentences {
		from, to := s.sentence(newStream("sentence", s.Seed, uint64(i)), words, lexicon)
		writePieces(&source, pieces, from)
		writePieces(&reference, pieces, to)
	}
	for name, text := range map[string]string{
		"newstest2014.tok.bpe.32000.en": source.String(), "newstest2014.tok.bpe.32000.de": reference.String(),
		"vocab.bpe.32000.en": vocabulary, "vocab.bpe.32000.de": vocabulary,
	} {
		if err := fileio.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// vocabulary names the pieces. Those that another follows end with "@@".
func (s TranslationSpec) vocabulary(lexicon Lexicon) []string {
	r := newStream("pieces", s.Seed)
	pieces := []string{"<unk>", "<s>", "</s>"}
	seen := make(map[string]bool)
	for len(pieces) < s.Pieces {
		word := newWord(r)
		if seen[word] {
			continue
		}
		seen[word] = true
		if lexicon.First[len(pieces)] {
			word += "@@"
		}
		pieces = append(pieces, word)
	}
	return pieces
}

// sentence draws a sentence of 4 to 40 words, mostly short as in newspapers, and translates it.
func (s TranslationSpec) sentence(r *stream, words []int32, lexicon Lexicon) (from, to []int32) {
	n := r.between(4, 14) + r.below(1+r.below(27))
	for range n {
		w := words[r.below(len(words))]
		from = append(from, w)
		pieces := lexicon.Pieces[w]
		if r.below(100) < otherPercent {
			pieces = lexicon.Pieces[words[r.below(len(words))]]
		}
		to = append(to, pieces...)
	}
	return from, to
}
