package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

func upper(s string) string { return cases.Upper(language.Und).String(s) }

// capital is a character as a word begins with it: of ß two, Ss.
func capital(r rune) string { return cases.Title(language.Und, cases.NoLower).String(string(r)) }

// title begins each run of letters with a capital. The whole text decides how a letter is small.
func title(s string) string {
	inWord := false
	small := pytext.Lower(s)
	var b strings.Builder
	for _, r := range s {
		of := small[:lengthOfFirst(small, r)]
		small = small[len(of):]
		switch {
		case inWord:
			b.WriteString(of)
		default:
			b.WriteString(capital(r))
		}
		inWord = pytext.IsUpper(r) || pytext.IsLower(r) || unicode.IsTitle(r)
	}
	return b.String()
}

// lengthOfFirst is how many bytes of a text are those of a character made small, of which one alone becomes two.
func lengthOfFirst(s string, of rune) int {
	if of == 'İ' {
		return len("i\u0307")
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// capitalize begins a text with a capital, and no other letter is one. The whole text decides how a letter is small.
func capitalize(s string) string {
	for _, r := range s {
		return capital(r) + strings.TrimPrefix(pytext.Lower(s), pytext.Lower(string(r)))
	}
	return s
}

// isUpper holds where there are capitals and no small letters.
func isUpper(s string) bool {
	return strings.ContainsFunc(s, pytext.IsUpper) && !strings.ContainsFunc(s, func(r rune) bool { return pytext.IsLower(r) || unicode.IsTitle(r) })
}

// isTitle holds where each run of letters begins with a capital, and has no other.
func isTitle(s string) bool {
	inWord, any := false, false
	for _, r := range s {
		capital := pytext.IsUpper(r) || unicode.IsTitle(r)
		if capital && inWord || pytext.IsLower(r) && !inWord {
			return false
		}
		inWord = capital || pytext.IsLower(r)
		any = any || inWord
	}
	return any
}

// isLower holds where there are small letters and no capitals.
func isLower(s string) bool {
	return strings.ContainsFunc(s, pytext.IsLower) && !strings.ContainsFunc(s, func(r rune) bool { return pytext.IsUpper(r) || unicode.IsTitle(r) })
}

// swapped has small letters as capitals, and capitals small.
func swapped(s string) string {
	var b strings.Builder
	for _, r := range s {
		if pytext.IsUpper(r) {
			b.WriteString(pytext.Lower(string(r)))
		} else {
			b.WriteString(upper(string(r)))
		}
	}
	return b.String()
}

// otherDigits are digits of which no numbers are made, as those that stand high (Unicode's Numeric_Type=Digit).
var otherDigits = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0xb2, 0xb3, 1}, {0xb9, 0xb9, 1}, {0x1369, 0x1371, 1}, {0x19da, 0x19da, 1}, {0x2070, 0x2070, 1}, {0x2074, 0x2079, 1}, {0x2080, 0x2089, 1}, {0x2460, 0x2468, 1},
		{0x2474, 0x247c, 1}, {0x2488, 0x2490, 1}, {0x24ea, 0x24ea, 1}, {0x24f5, 0x24fd, 1}, {0x24ff, 0x24ff, 1}, {0x2776, 0x277e, 1}, {0x2780, 0x2788, 1}, {0x278a, 0x2792, 1},
	},
	R32:         []unicode.Range32{{0x10a40, 0x10a43, 1}, {0x10e60, 0x10e68, 1}, {0x11052, 0x1105a, 1}, {0x1f100, 0x1f10a, 1}},
	LatinOffset: 2,
}
