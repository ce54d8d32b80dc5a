package sentences

import (
	"strings"
	"unicode"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

// A word is a token of Punkt's, with what is thought of it.
type word struct {
	text string
	kind string // lower-cased, numbers being all the same

	ends, abbreviation, ellipsis bool
}

func (w *word) endsWithPeriod() bool { return strings.HasSuffix(w.text, ".") }

// bare is the kind without the period.
func (w *word) bare() string {
	if len(w.kind) > 1 {
		return strings.TrimSuffix(w.kind, ".")
	}
	return w.kind
}

// name is the text without its last period, lower-cased.
func (w *word) name() string { return pytext.Lower(strings.TrimSuffix(w.text, ".")) }

// inner is the kind as it would be inside a sentence.
func (w *word) inner() string {
	if w.ends {
		return w.bare()
	}
	return w.kind
}

// isInitial reports whether the word is one letter and a period.
func (w *word) isInitial() bool {
	letter, ok := strings.CutSuffix(w.text, ".")
	r := []rune(letter)
	return ok && len(r) == 1 && (r[0] == '_' || unicode.IsLetter(r[0]) || unicode.In(r[0], unicode.Nl, unicode.No))
}

func (w *word) startsUpper() bool {
	for _, r := range w.text {
		return unicode.In(r, unicode.Lu, unicode.Other_Uppercase)
	}
	return false
}

func (w *word) startsLower() bool {
	for _, r := range w.text {
		return unicode.In(r, unicode.Ll, unicode.Other_Lowercase)
	}
	return false
}

// number is the kind of all numbers.
const number = "##number##"

func newWord(text string) word {
	lower := pytext.Lower(text)
	if isNumber(lower) {
		lower = number
	}
	return word{text: text, kind: lower}
}

// isNumber reports whether a word consists of digits, with a sign before and points, commas
// and hyphens among them.
func isNumber(text string) bool {
	text = strings.TrimPrefix(text, "-")
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, ",") {
		text = text[1:]
	}
	for i, r := range text {
		if !unicode.Is(unicode.Nd, r) && (i == 0 || !strings.ContainsRune(",.-", r)) {
			return false
		}
	}
	return text != ""
}

// splitWords cuts text into words and marks, line by line.
func splitWords(text []rune) []word {
	var words []word
	for len(text) > 0 {
		if text[0] == '\n' || pytext.IsSpace(text[0]) {
			text = text[1:]
			continue
		}
		n := wordLength(text)
		words = append(words, newWord(string(text[:n])))
		text = text[n:]
	}
	return words
}

// wordLength is the length of the word, or of the mark, with which text begins.
func wordLength(text []rune) int {
	if n := multiMark(text); n > 0 {
		return n
	}
	if strings.ContainsRune("(\"`{[:;&#*@)}]-,", text[0]) {
		return 1
	}
	for n := 1; n < len(text) && !pytext.IsSpace(text[n]); n++ {
		if endsWord(text[n:]) {
			return n
		}
	}
	return lineLength(text)
}

// lineLength is the length of a word that goes on until white space.
func lineLength(text []rune) int {
	for n, r := range text {
		if pytext.IsSpace(r) {
			return n
		}
	}
	return len(text)
}

// endsWord reports whether what comes next, which is no white space, ends a word.
func endsWord(next []rune) bool {
	if next[0] != ',' {
		return isNonWord(next[0]) || multiMark(next) > 0
	}
	next = next[1:]
	return len(next) == 0 || pytext.IsSpace(next[0]) || isNonWord(next[0]) || multiMark(next) > 0
}

// isNonWord reports whether a character is never inside a word.
func isNonWord(r rune) bool { return strings.ContainsRune(")\";}]*:@'({[?!", r) }

// multiMark is the length of a mark of several characters with which text begins, or 0:
// dashes, and dots with or without space between.
func multiMark(text []rune) int {
	for _, mark := range []rune{'-', '.'} {
		if n := leading(text, mark); n >= 2 {
			return n
		}
	}
	return spacedDots(text)
}

// leading is how many of a character text begins with.
func leading(text []rune, c rune) int {
	n := 0
	for n < len(text) && text[n] == c {
		n++
	}
	return n
}

// spacedDots is the length of three dots or more with a space between each two, with which text
// begins, or 0.
func spacedDots(text []rune) int {
	dots := 0
	for at := 0; at < len(text) && text[at] == '.'; at += 2 {
		dots++
		if next := at + 1; next == len(text) || text[next] == '\n' || !pytext.IsSpace(text[next]) {
			break
		}
	}
	if dots < 3 {
		return 0
	}
	return 2*dots - 1
}
