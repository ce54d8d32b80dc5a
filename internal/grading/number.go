package grading

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

// Boxed is what stands in the last \boxed{…} of a text; false: there is none, or it has no end.
func Boxed(text string) (string, bool) {
	const open = `\boxed{`
	at := strings.LastIndex(text, open)
	if at < 0 {
		return "", false
	}
	inside, depth := text[at+len(open):], 0
	for i, c := range []byte(inside) {
		switch {
		case c == '{':
			depth++
		case c == '}' && depth == 0:
			return pytext.TrimSpace(inside[:i]), true
		case c == '}':
			depth--
		}
	}
	return "", false
}

var (
	boxedInteger = regexp.MustCompile(`\\boxed{` + space + `*(\p{Nd}+)` + space + `*}`)
	toldInteger  = regexp.MustCompile(`(?i)Answer:` + space + `*(\p{Nd}+)`)
)

// Integer is the answer to a question of AIME, from 0 to 999: the last number in a box, or behind
// "Answer:". False: there is none.
func Integer(text string) (int, bool) {
	m := lastOf(boxedInteger, text, func(string, []int) bool { return true })
	if m == nil {
		m = lastOf(toldInteger, text, endsNumber)
	}
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.Map(pytext.ASCIIDigit, text[m[2]:m[3]]))
	return n, err == nil && n <= 999
}

// endsNumber reports whether neither a point nor more of a word follows.
func endsNumber(text string, m []int) bool {
	after, _ := utf8.DecodeRuneInString(text[m[1]:])
	return m[1] == len(text) || after != '.' && !isWord(after)
}
