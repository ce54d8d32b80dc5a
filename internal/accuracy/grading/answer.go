package grading

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// letterPatterns are the patterns of the scripts for letters from A to the last one, for text as ascii returns it.
type letterPatterns struct{ marked, lone, leading, answer *regexp.Regexp }

var letters = map[byte]letterPatterns{'D': patternsFor("([A-D])"), 'J': patternsFor("([A-J])")}

func patternsFor(letter string) letterPatterns {
	return letterPatterns{
		marked:  regexp.MustCompile(`(?i)\b(?:ANSWER|FINAL\s*ANSWER)\b\s*[:=]?\s*(?:\(?\s*` + letter + `\s*\)?)(?:\s*$|[^A-Za-z])`),
		lone:    regexp.MustCompile(`(?i)\b` + letter + `\b`),
		leading: regexp.MustCompile(`(?i)^[^a-zA-Z]*` + letter + `(?:[^a-zA-Z]|$)`),
		answer:  regexp.MustCompile(`(?i)\bAnswer\s*[:.]?\s*` + letter + `\b`),
	}
}

// ascii writes a text such that \w, \s, \d, \b and (?i) of Go, which are about ASCII, match where those of Python do: other letters become
// underscores.
func ascii(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == 'ı':
			return 'i'
		case r == 'ſ':
			return 's'
		case pytext.IsSpace(r):
			return ' '
		}
		if r = pytext.ASCIIDigit(r); r >= utf8.RuneSelf && pytext.IsWord(r) {
			return '_'
		}
		return r
	}, text)
}

// unescape reads the two escapes that the scripts know. They drop [' and '] around a text, too, which changes no answer: a quote ends a
// word as the end of the text does.
var unescape = strings.NewReplacer(`\n`, "\n", `\'`, "'").Replace

// Letter returns the last letter that a text gives as its answer, from A to last ('D' or 'J'); without one and for J the last letter that
// stands alone. 0: none.
func Letter(text string, last byte) byte {
	text = ascii(unescape(pytext.TrimSpace(text)))
	if letter := capital(letters[last].marked, text); letter != 0 || last != 'J' {
		return letter
	}
	return capital(letters[last].lone, text)
}

// FinalLetter is Letter for gpt-oss-120b: its final message counts first.
func FinalLetter(text string, last byte) byte {
	end := ascii(unescape(bold.ReplaceAllString(finalMessage(text), "$1")))
	for _, re := range []*regexp.Regexp{letters[last].leading, letters[last].answer} {
		if m := re.FindStringSubmatch(end); m != nil {
			return m[1][0] &^ 0x20
		}
	}
	if letter := capital(letters[last].marked, ascii(unescape(pytext.TrimSpace(text)))); letter != 0 || last != 'J' {
		return letter
	}
	return capital(letters[last].lone, end)
}

// capital returns the letter of the last match as a capital. 0: no match.
func capital(re *regexp.Regexp, text string) byte {
	all := re.FindAllStringSubmatch(text, -1)
	if all == nil {
		return 0
	}
	return all[len(all)-1][1][0] &^ 0x20
}

var (
	bold  = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	final = regexp.MustCompile(`(?s)<\|channel\|>final[^<]*<\|message\|>(.*?)(?:<\|return\|>|\z)`)
)

// finalMessage is the text that gpt-oss-120b writes after its analysis; all of a text without the marks.
func finalMessage(text string) string {
	text = pytext.TrimSpace(text)
	if m := final.FindStringSubmatch(text); m != nil {
		return pytext.TrimSpace(m[1])
	}
	return text
}

// Boxed returns the content of the last \boxed{…} of a text; false: no box, or one without end.
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
	boxedInteger  = regexp.MustCompile(`\\boxed{\s*(\d+)\s*}`)
	markedInteger = regexp.MustCompile(`(?i)Answer:\s*(\d+)(?:[^.\w]|$)`)
)

// Integer returns the answer to a question of AIME, from 0 to 999: the last number in a box, or else after "Answer:". False: none.
func Integer(text string) (int, bool) {
	text = ascii(pytext.TrimSpace(text))
	for _, re := range []*regexp.Regexp{boxedInteger, markedInteger} {
		if all := re.FindAllStringSubmatch(text, -1); all != nil {
			n, err := strconv.Atoi(all[len(all)-1][1])
			return n, err == nil && n <= 999
		}
	}
	return 0, false
}

var (
	pythonFence = regexp.MustCompile("(?s)```python(.*?)```")
	anyFence    = regexp.MustCompile("(?s)```(.*?)```")
	fenceName   = regexp.MustCompile(`(?i)^(?:python|py)[\s\v\x{1c}-\x{1f}\x{85}\p{Z}]*\n`) // \s of Python
)

// Code returns the program in a text: the content of its first fence of Python. Empty: none.
func Code(text string) string {
	if m := pythonFence.FindStringSubmatch(text); m != nil {
		return pytext.TrimSpace(m[1])
	}
	return ""
}

// FinalCode is Code for gpt-oss-120b: the last fence of Python counts, or else the last one; its final message comes before the rest.
func FinalCode(text string) string {
	for _, text := range []string{finalMessage(text), text} {
		if all := pythonFence.FindAllStringSubmatch(text, -1); all != nil {
			return pytext.TrimSpace(all[len(all)-1][1])
		}
		if all := anyFence.FindAllStringSubmatch(text, -1); all != nil {
			return fenceName.ReplaceAllString(pytext.TrimSpace(all[len(all)-1][1]), "")
		}
	}
	return ""
}
