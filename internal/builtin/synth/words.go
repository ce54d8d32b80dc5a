package synth

import (
	"fmt"
	"slices"
	"strings"
)

// vocabularySize is that of BERT's vocabulary, whose layout this one has: marks first, then
// characters, then words.
const vocabularySize = 30522

// A Vocabulary has the pieces of the built-in texts, by their numbers.
type vocabulary struct {
	pieces    []string
	common    []string // words that are in every text
	firstWord int
}

// marks are the special pieces, by their numbers in BERT's vocabulary.
var marks = map[int]string{0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]"}

// commonWords are those that sentences are built with.
var commonWords = strings.Fields("the of and in to a was is for on as with by he that at from his it an were which be this are or had not " +
	"first their after has who its two her she new there been one all other they have than some time into only when where over such most between " +
	"later about under through then during while before also many more no so up out if what how text word words follow follows comes come")

// squadVocabulary makes a vocabulary in which pieces from firstWord on are words.
func squadVocabulary(seed uint64, firstWord int) *vocabulary {
	v := &vocabulary{common: commonWords, firstWord: firstWord, pieces: fixedPieces()}
	for i := len(v.pieces); i < firstWord; i++ {
		v.pieces = append(v.pieces, fmt.Sprintf("[unused%d]", i))
	}
	seen := make(map[string]bool)
	for _, piece := range v.pieces {
		seen[piece] = true
	}
	r := newStream("words", seed)
	for len(v.pieces) < vocabularySize {
		if word := newWord(r); !seen[word] {
			seen[word] = true
			v.pieces = append(v.pieces, word)
		}
	}
	return v
}

// fixedPieces are marks, characters, and the words that every text has, each of them once.
func fixedPieces() []string {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyz"
	var pieces []string
	for i := range 1000 {
		mark, ok := marks[i]
		if !ok {
			mark = fmt.Sprintf("[unused%d]", i)
		}
		pieces = append(pieces, mark)
	}
	pieces = append(pieces, strings.Split("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"+letters+"–—’“”€", "")...)
	for _, r := range letters {
		pieces = append(pieces, "##"+string(r))
	}
	for _, word := range commonWords {
		if !slices.Contains(pieces, word) {
			pieces = append(pieces, word)
		}
	}
	return pieces
}

// newWord makes a word of two to four syllables.
func newWord(r *stream) string {
	onsets := strings.Fields("b br c ch d dr f g gr h j k l m n p pl qu r s sh st t tr v w")
	ends := strings.Fields("n r s l t nd st m ck")
	var b strings.Builder
	for range r.between(2, 4) {
		b.WriteString(onsets[r.below(len(onsets))])
		b.WriteByte("aeiou"[r.below(5)])
	}
	if r.below(2) == 0 {
		b.WriteString(ends[r.below(len(ends))])
	}
	return b.String()
}

// words draws different words.
func (v *vocabulary) words(r *stream, n int) []int {
	var drawn []int
	seen := make(map[int]bool)
	for len(drawn) < n {
		if id := r.between(v.firstWord, len(v.pieces)-1); !seen[id] {
			seen[id] = true
			drawn = append(drawn, id)
		}
	}
	return drawn
}
