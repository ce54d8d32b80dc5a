package hf

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kinds of characters, as they belong together for a reader (Unicode Standard Annex 29).
type graphemeKind int

const (
	otherGrapheme graphemeKind = iota
	control
	extending // belongs to what is before it, as an accent does
	prepended // belongs to what is behind it
	leading   // consonants at the beginning of a Korean syllable,
	vowel     // vowels,
	trailing  // consonants at its end,
	open      // syllables without one
	closed    // and with one
)

// graphemeLength is how many bytes the first characters of a text have that a reader takes for one. Of emoji that are joined,
// flags and consonants of Indic scripts that are, more than one is never short, so that it does not matter that they are apart here.
func graphemeLength(text string) int {
	r, n := utf8.DecodeRuneInString(text)
	if r == '\r' && len(text) > n && text[n] == '\n' {
		return n + 1
	}
	for before := kindOfGrapheme(r); n < len(text) && before != control; {
		r, size := utf8.DecodeRuneInString(text[n:])
		next := kindOfGrapheme(r)
		if next != extending && (before != prepended || next == control) && !inSyllable(before, next) {
			break
		}
		before = next
		n += size
	}
	return n
}

// inSyllable reports whether two parts of a Korean syllable belong together.
func inSyllable(before, next graphemeKind) bool {
	switch before {
	case leading:
		return next == leading || next == vowel || next == open || next == closed
	case vowel, open:
		return next == vowel || next == trailing
	case trailing, closed:
		return next == trailing
	}
	return false
}

func kindOfGrapheme(r rune) graphemeKind {
	switch {
	case r < 0x300:
		if unicode.IsControl(r) || r == 0xad {
			return control
		}
		return otherGrapheme
	case isExtending(r):
		return extending
	case isPrepended(r):
		return prepended
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp), unassignedControl(r):
		return control
	}
	return syllableKind(r)
}

// unassignedControl reports whether a character has no meaning yet, and will not be seen.
func unassignedControl(r rune) bool {
	return r == 0x2065 || r >= 0xfff0 && r <= 0xfff8 || r >= 0xe0000 && r <= 0xe0fff && !unicode.In(r, unicode.Mn, unicode.Cf)
}

// syllables are where parts of Korean syllables are.
var syllables = [...]struct {
	from, to rune
	kind     graphemeKind
}{
	{0x1100, 0x115f, leading}, {0xa960, 0xa97c, leading}, {0x1160, 0x11a7, vowel}, {0xd7b0, 0xd7c6, vowel}, {0x11a8, 0x11ff, trailing}, {0xd7cb, 0xd7fb, trailing},
	{0xac00, 0xd7a3, closed},
}

// syllableKind is the kind of a part of a Korean syllable. Of each 28 whole ones the first has no consonant at its end.
func syllableKind(r rune) graphemeKind {
	for _, s := range syllables {
		switch {
		case r < s.from || r > s.to:
		case s.kind == closed && (r-s.from)%28 == 0:
			return open
		default:
			return s.kind
		}
	}
	return otherGrapheme
}

// Marks that have a place of their own, and do not belong to what is before them, as others do (SpacingMark); letters that do; and
// letters that belong to what is behind them (Prepend).
const (
	marksApart = "\u102b\u102c\u1038\u1062\u1063\u1064\u1067\u1068\u1069\u106a\u106b\u106c\u106d\u1083\u1087\u1088\u1089\u108a\u108b\u108c\u108f\u109a\u109b\u109c" +
		"\u1a61\u1a63\u1a64\uaa7b\uaa7d\U00011720\U00011721"
	lettersBehind = "\u0e33\u0eb3"
	lettersBefore = "\u0d4e\U000111c2\U000111c3\U0001193f\U00011941\U00011a3a\U00011a84\U00011a85\U00011a86\U00011a87\U00011a88\U00011a89\U00011d46\U00011f02"
)

// isExtending reports whether a character belongs to what is before it.
func isExtending(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Other_Grapheme_Extend) || unicode.Is(unicode.Mc, r) && !strings.ContainsRune(marksApart, r) ||
		strings.ContainsRune(lettersBehind, r) || r == 0x200d || r >= 0x1f3fb && r <= 0x1f3ff
}

// isPrepended reports whether a character belongs to what is behind it.
func isPrepended(r rune) bool {
	return unicode.Is(unicode.Prepended_Concatenation_Mark, r) || strings.ContainsRune(lettersBefore, r)
}
