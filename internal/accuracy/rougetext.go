package accuracy

import "strings"

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
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			word = append(word, byte(r))
		case 'A' <= r && r <= 'Z':
			word = append(word, byte(r)+'a'-'A')
		case r == '\u212a': // the sign of kelvin, whose lower case is a k
			word = append(word, 'k')
		case r == '\u0130': // İ becomes an i and a dot, which ends the word
			word = append(word, 'i')
			flush()
		default:
			flush()
		}
	}
	flush()
	w.scratch = word
	return dst
}

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
