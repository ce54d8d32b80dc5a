package pytext

import (
	"testing"
	"unicode"
)

// What isupper and islower of Python 3.11 say of single characters.
func TestCapitalsAreThoseOfPython(t *testing.T) {
	for r, want := range map[rune][2]bool{ // isupper, islower
		'a': {false, true}, 'A': {true, false}, 'ª': {false, true}, 'º': {false, true}, 'ʰ': {false, true}, 'Ⅰ': {true, false}, 'ⅰ': {false, true}, 'Ⓐ': {true, false}, 'ⓐ': {false, true},
		'ǅ': {false, false}, 'ß': {false, true}, 'ẞ': {true, false}, '1': {false, false}, '_': {false, false}, '日': {false, false}, 'Σ': {true, false}, 'ς': {false, true},
		'İ': {true, false}, 'ı': {false, true}, '𝐀': {true, false}, '𝐚': {false, true}, '\u0345': {false, true},
	} {
		if got := [2]bool{IsUpper(r), IsLower(r)}; got != want {
			t.Errorf("%q is upper, lower: %t, want %t", r, got, want)
		}
	}
}

// No character is both, and what one changes into the other is one of them, or a title.
func TestEveryLetterWithAnotherFormIsCased(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		if IsUpper(r) && IsLower(r) {
			t.Errorf("%U is both", r)
		}
		if unicode.ToLower(r) != r && !IsUpper(r) && !unicode.IsTitle(r) {
			t.Errorf("%U has a small form, and is no capital", r)
		}
	}
}
