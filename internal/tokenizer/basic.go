package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// Basic splits text into words and punctuation marks, lower-cased and without accents, as BERT's BasicTokenizer. Names of
// special pieces, for example [SEP], stay as they are between white space.
func Basic(text string) []string {
	var words []string
	var memory scratch
	splitText(text, &memory, func(word []byte) { words = append(words, string(word)) })
	return words
}

// special reports whether a word is the name of a special piece.
func special(word string) bool {
	switch word {
	case "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]":
		return true
	}
	return false
}

// Classes of ASCII bytes.
const (
	upper byte = 1 << iota
	punctuation
	dropped // control characters, and NUL
	separator
	beyond // not ASCII
)

var classes = func() (table [256]byte) {
	for c := range table {
		switch {
		case c >= utf8.RuneSelf:
			table[c] = beyond
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			table[c] = separator
		case c < ' ' || c == 0x7f:
			table[c] = dropped
		case c >= 'A' && c <= 'Z':
			table[c] = upper
		case !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9'):
			table[c] = punctuation
		}
	}
	return table
}()

// scratch is memory for words that differ from the text.
type scratch [128]byte

// splitText calls emit for every word and punctuation mark. The next call overwrites its argument.
func splitText(text string, memory *scratch, emit func([]byte)) {
	for i := 0; i < len(text); {
		start, kinds := i, byte(0)
		for ; i < len(text) && classes[text[i]] != separator; i++ {
			kinds |= classes[text[i]]
		}
		switch word := text[start:i]; {
		case word == "":
			i++
		case kinds&(beyond|dropped) != 0:
			splitUnicode(word, emit)
		default:
			splitASCII(word, kinds, memory, emit)
		}
	}
}

// splitASCII splits a word of ASCII without control characters.
func splitASCII(word string, kinds byte, memory *scratch, emit func([]byte)) {
	if word[0] == '[' && special(word) {
		emit(append(memory[:0], word...))
		return
	}
	lower := append(memory[:0], word...)
	if kinds&upper != 0 {
		for i, c := range lower {
			if classes[c] == upper {
				lower[i] = c + 'a' - 'A'
			}
		}
	}
	if kinds&punctuation == 0 {
		emit(lower)
		return
	}
	start := 0 // each mark is a word
	for i, c := range lower {
		if classes[c] != punctuation {
			continue
		}
		if start < i {
			emit(lower[start:i])
		}
		emit(lower[i : i+1])
		start = i + 1
	}
	if start < len(lower) {
		emit(lower[start:])
	}
}

// splitUnicode splits text of any kind.
func splitUnicode(text string, emit func([]byte)) {
	for _, word := range strings.FieldsFunc(clean(text), pytext.IsSpace) {
		if special(word) {
			emit([]byte(word))
			continue
		}
		word = strings.Map(func(r rune) rune { // without accents
			if unicode.Is(unicode.Mn, r) {
				return -1
			}
			return r
		}, norm.NFD.String(pytext.Lower(word)))
		start := 0 // each punctuation mark is a word: all of ASCII but letters, digits and blanks, and Unicode's
		for i, r := range word {
			if r < utf8.RuneSelf && classes[r] != punctuation || r >= utf8.RuneSelf && !unicode.Is(unicode.P, r) {
				continue
			}
			if start < i {
				emit([]byte(word[start:i]))
			}
			next := i + utf8.RuneLen(r)
			emit([]byte(word[i:next]))
			start = next
		}
		if start < len(word) {
			emit([]byte(word[start:]))
		}
	}
}

// clean drops control characters, and puts blanks around ideographs.
func clean(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == utf8.RuneError || r == 0:
		case !unicode.IsPrint(r) && !unicode.In(r, unicode.Z) && r != '\t' && r != '\n' && r != '\r': // categories C*
		case isIdeograph(r):
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// ideographs are the blocks that BERT splits into single characters: Chinese as it is
// written in all languages, but neither Hangul nor kana.
var ideographs = &unicode.RangeTable{
	R16: []unicode.Range16{{0x3400, 0x4dbf, 1}, {0x4e00, 0x9fff, 1}, {0xf900, 0xfaff, 1}},
	R32: []unicode.Range32{{0x20000, 0x2a6df, 1}, {0x2a700, 0x2b73f, 1}, {0x2b740, 0x2b81f, 1}, {0x2b820, 0x2ceaf, 1}, {0x2f800, 0x2fa1f, 1}},
}

func isIdeograph(r rune) bool { return r >= 0x3400 && unicode.Is(ideographs, r) }
