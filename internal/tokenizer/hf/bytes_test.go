package hf

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// beginnings are all proper beginnings of characters, by the encoder of the standard library.
func beginnings() map[string]bool {
	all := make(map[string]bool)
	for r := rune(0x80); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		whole := string(r)
		for n := 1; n < len(whole); n++ {
			all[whole[:n]] = true
		}
		if r >= 0x800 {
			r |= 0x3f // characters that differ in their last byte only
		}
	}
	return all
}

// slowValidText takes away one character, or else the longest beginning of one, or one byte.
func slowValidText(text string, begins map[string]bool) string {
	var b strings.Builder
	for text != "" {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 {
			for n = min(3, len(text)); n > 1 && !begins[text[:n]]; n-- {
			}
		}
		b.WriteRune(r)
		text = text[n:]
	}
	return b.String()
}

func TestWhatIsNoTextIsOneMarkForEachBrokenCharacter(t *testing.T) {
	begins := beginnings()
	border := []byte{'a', 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff}
	var text [4]byte
	var check func(at int)
	check = func(at int) {
		if got, want := validText(text[:at]), slowValidText(string(text[:at]), begins); got != want {
			t.Fatalf("validText(% x) = %q, want %q", text[:at], got, want)
		}
		if at == len(text) {
			return
		}
		for _, b := range border {
			text[at] = b
			check(at + 1)
		}
	}
	check(0)
}

func TestEveryByteHasItsOwnCharacter(t *testing.T) {
	for b := range 256 {
		character := toByteCharacters(string([]byte{byte(b)}))
		if got := fromByteCharacters([]byte("x"), character); string(got) != "x"+string([]byte{byte(b)}) {
			t.Errorf("byte %#x is %q, which is % x", b, character, got)
		}
		if visible := b > ' ' && b < 0x7f || b > 0xa0 && b != 0xad; visible != (character == string(rune(b))) {
			t.Errorf("byte %#x is written as %q", b, character)
		}
	}
}
