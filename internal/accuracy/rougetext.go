package accuracy

import (
	"strings"
	"unicode/utf8"
)

// rougeWords numbers the words of texts for ROUGE, so that equal words have equal numbers:
// runs of a to z and 0 to 9 after lower-casing, stemmed where they are longer than three
// characters (rouge_score, tokenize.py).
type rougeWords struct {
	stem    bool
	words   map[string]int32 // as they stand in a text
	stems   map[string]int32
	scratch []byte
}

// maxRougeWords bounds what is kept from text to text.
const maxRougeWords = 1 << 20

// forget makes room between two pairs of texts: numbers are compared within one only.
func (w *rougeWords) forget() {
	if len(w.words) > maxRougeWords || w.words == nil {
		w.words, w.stems = make(map[string]int32), make(map[string]int32)
	}
}

// append appends the numbers of a text's words.
func (w *rougeWords) append(dst []int32, text string) []int32 {
	word := w.scratch[:0]
	flush := func() {
		if len(word) > 0 {
			dst = append(dst, w.number(word))
			word = word[:0]
		}
	}
	for _, r := range text {
		c := rougeByte(r)
		if c != 0 {
			word = append(word, c)
		}
		if c == 0 || r == '\u0130' { // İ becomes an i and a dot, which ends the word
			flush()
		}
	}
	flush()
	w.scratch = word
	return dst
}

// rougeByte is a character of a word, lower-cased; 0: it is none.
func rougeByte(r rune) byte {
	switch {
	case r < utf8.RuneSelf:
		return rougeBytes[r]
	case r == '\u212a': // the sign of kelvin
		return 'k'
	case r == '\u0130':
		return 'i'
	}
	return 0
}

// rougeBytes are the characters of ASCII in words.
var rougeBytes = func() (table [utf8.RuneSelf]byte) {
	for i, c := range "abcdefghijklmnopqrstuvwxyz" {
		table[c], table['A'+i] = byte(c), byte(c)
	}
	for c := '0'; c <= '9'; c++ {
		table[c] = byte(c)
	}
	return table
}()

func (w *rougeWords) number(word []byte) int32 {
	if id, ok := w.words[string(word)]; ok {
		return id
	}
	text := string(word)
	stem := text
	if w.stem && len(text) > 3 {
		stem = strings.Clone(stemPorter(text))
	}
	id, ok := w.stems[stem]
	if !ok {
		id = int32(len(w.stems))
		w.stems[stem] = id
	}
	w.words[text] = id
	return id
}
