package pytext

import (
	"slices"
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

// What splitlines of Python 3.11 says, of which keepends is another form.
func TestLinesEndAsInPython(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "a": {"a"}, "\n": {""}, "a\n\nb": {"a", "", "b"}, "a\r\nb\r": {"a", "b"}, "a\n\rb": {"a", "", "b"}, "a\vb\fc": {"a", "b", "c"},
		"a\x1cb\x1dc\x1ed\x1fe": {"a", "b", "c", "d\x1fe"}, "é\u0085b\u2028c\u2029": {"é", "b", "c"}, "\u2027\u202a\u0084\u0086": {"\u2027\u202a\u0084\u0086"},
	} {
		if got := Lines(text, false); !slices.Equal(got, want) {
			t.Errorf("Lines(%q) = %q, want %q", text, got, want)
		}
	}
	if got, want := Lines("a\r\nb\u2028\rc", true), []string{"a\r\n", "b\u2028", "\r", "c"}; !slices.Equal(got, want) {
		t.Errorf("with their ends, lines are %q, want %q", got, want)
	}
}
