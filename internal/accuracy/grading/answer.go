package grading

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

// space is \s of Python's regular expressions.
const space = `[\s\v\x{1c}-\x{1f}\x{85}\p{Z}]`

// A chooser finds letters from A to the last one.
type chooser struct{ told, alone, first, answer *regexp.Regexp }

var choosers = map[byte]*chooser{'D': newChooser("A-D"), 'J': newChooser("A-J" + foreignI)}

// foreignI are the letters that Python takes for an I where capitals do not count, beside i. Those for k and s Go knows too.
const foreignI = "ıİ"

func newChooser(letters string) *chooser {
	s := space + "*"
	return &chooser{
		told:   regexp.MustCompile(`(?i)(?:ANSWER|F[I` + foreignI + `]NAL` + s + `ANSWER)(?:` + space + `+[:=]?` + s + `\(?|[:=]` + s + `\(?|\()(?:` + s + `([` + letters + `])` + s + `\)?)(?:` + s + `$|[^A-Za-z` + foreignI + `])`),
		alone:  regexp.MustCompile(`(?i)[` + letters + `]`),
		first:  regexp.MustCompile(`(?i)^[^a-zA-Z` + foreignI + `]*([` + letters + `])(?:[^a-zA-Z` + foreignI + `]|$)`),
		answer: regexp.MustCompile(`(?i)(?:Answer)` + s + `[:.]?` + s + `([` + letters + `])`),
	}
}

// Letter returns the last letter that a text gives as its answer, from A to last ('D' or 'J'); of
// J the last letter that stands alone counts if there is no other. 0: there is none.
func Letter(text string, last byte) byte {
	text = replaceQuotes(pytext.TrimSpace(text))
	c := choosers[last]
	if m := lastOf(c.told, text, startsWord); m != nil {
		return upper(text[m[2]:])
	}
	return c.standing(text, last)
}

// FinalLetter is Letter for gpt-oss-120b: what it says at the end counts first.
func FinalLetter(text string, last byte) byte {
	text = pytext.TrimSpace(text)
	c, final := choosers[last], replaceQuotes(bold.ReplaceAllString(Final(text), "$1"))
	if m := c.first.FindStringSubmatchIndex(pytext.TrimSpace(final)); m != nil {
		return upper(pytext.TrimSpace(final)[m[2]:])
	}
	if m := firstOf(c.answer, final, wordAround); m != nil {
		return upper(final[m[2]:])
	}
	text = replaceQuotes(text)
	if m := lastOf(c.told, text, startsWord); m != nil {
		return upper(text[m[2]:])
	}
	return c.standing(final, last)
}

// standing is the last letter that stands alone, where that counts.
func (c *chooser) standing(text string, last byte) byte {
	if last != 'J' {
		return 0
	}
	if m := lastOf(c.alone, text, wordAround); m != nil {
		return upper(text[m[0]:])
	}
	return 0
}

var (
	bold  = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	final = regexp.MustCompile(`(?s)<\|channel\|>final[^<]*<\|message\|>(.*?)(?:<\|return\|>|\z)`)
)

// Final is what gpt-oss-120b says after it has thought; all of a text where that is not marked.
func Final(text string) string {
	text = pytext.TrimSpace(text)
	if m := final.FindStringSubmatch(text); m != nil {
		return pytext.TrimSpace(m[1])
	}
	return text
}

// replaceQuotes puts in the place of what Python escapes what it stands for. That the script drops [' and '] around a text
// changes nothing: a quote ends a word, and what is looked for, as the end of the text does.
func replaceQuotes(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, `\n`, "\n"), `\'`, "'")
}

// upper is the capital of the letter with which a text begins. Of İ there is none that answers a question.
func upper(text string) byte {
	switch r, _ := utf8.DecodeRuneInString(text); r {
	case 'ı':
		return 'I'
	case 'İ':
		return 0
	}
	return text[0] &^ 0x20
}

// lastOf is the last match that is right, as finditer of Python finds them.
func lastOf(re *regexp.Regexp, text string, right func(text string, m []int) bool) (last []int) {
	for from := 0; from <= len(text); {
		m := matchFrom(re, text, from, right)
		if m == nil {
			return last
		}
		last, from = m, max(m[1], m[0]+1)
	}
	return last
}

func firstOf(re *regexp.Regexp, text string, right func(text string, m []int) bool) []int {
	return matchFrom(re, text, 0, right)
}

// matchFrom is the first match from an offset on that is right.
func matchFrom(re *regexp.Regexp, text string, from int, right func(text string, m []int) bool) []int {
	for from <= len(text) {
		m := re.FindStringSubmatchIndex(text[from:])
		if m == nil {
			return nil
		}
		for i := range m {
			m[i] += from
		}
		if right(text, m) {
			return m
		}
		from = m[0] + 1
	}
	return nil
}

// startsWord reports whether a word begins where the match does.
func startsWord(text string, m []int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:m[0]])
	return m[0] == 0 || !isWord(before)
}

// wordAround reports whether the match is words, from its begin to its end.
func wordAround(text string, m []int) bool {
	after, _ := utf8.DecodeRuneInString(text[m[1]:])
	return startsWord(text, m) && (m[1] == len(text) || !isWord(after))
}

// isWord is \w of Python.
func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

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

var (
	pythonFence = regexp.MustCompile("(?s)```python(.*?)```")
	anyFence    = regexp.MustCompile("(?s)```(.*?)```")
	fenceName   = regexp.MustCompile(`^(?i:python|py)` + space + `*\n`)
)

// Code is the program in a text: what its first fence of Python holds. Empty: there is none.
func Code(text string) string {
	if m := pythonFence.FindStringSubmatch(pytext.TrimSpace(text)); m != nil {
		return pytext.TrimSpace(m[1])
	}
	return ""
}

// FinalCode is Code for gpt-oss-120b: the last fence counts, one without a name of a language if there is none of Python,
// and what it says at the end comes before the rest.
func FinalCode(text string) string {
	text = pytext.TrimSpace(text)
	if said := Final(text); said != text {
		if code, ok := lastCode(said); ok {
			return code
		}
	}
	code, _ := lastCode(text)
	return code
}

// lastCode is what the last fence of a text holds, one of Python first.
func lastCode(text string) (string, bool) {
	if all := pythonFence.FindAllStringSubmatch(text, -1); all != nil {
		return pytext.TrimSpace(all[len(all)-1][1]), true
	}
	if all := anyFence.FindAllStringSubmatch(text, -1); all != nil {
		return fenceName.ReplaceAllString(pytext.TrimSpace(all[len(all)-1][1]), ""), true
	}
	return "", false
}
