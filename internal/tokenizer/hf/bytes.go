package hf

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// ByteCharacters are the characters for bytes (GPT-2, bytes_to_unicode): visible ones stand for themselves, those after U+00FF
// for the others.
var ByteCharacters, characterBytes = func() (to [256]string, back map[rune]byte) {
	back = make(map[rune]byte, 256)
	next := rune(256)
	for b := range rune(256) {
		r := b
		if !(b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae) {
			r = next
			next++
		}
		to[b], back[r] = string(r), byte(b)
	}
	return to, back
}()

// toByteCharacters writes each byte of a text as a character.
func toByteCharacters(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/4)
	for i := range len(text) {
		b.WriteString(ByteCharacters[text[i]])
	}
	return b.String()
}

// fromByteCharacters appends the bytes that a token stands for, which are its own if one of
// its characters stands for none.
func fromByteCharacters(dst []byte, token string) []byte {
	n := len(dst)
	for _, r := range token {
		b, ok := characterBytes[r]
		if !ok {
			return append(dst[:n], token...)
		}
		dst = append(dst, b)
	}
	return dst
}

// validText puts U+FFFD in the place of what is not UTF-8: one for each longest part that
// begins a character, as Unicode recommends and both Rust and Python do.
func validText(data []byte) string {
	if !utf8.Valid(data) {
		data, _ = unicode.UTF8.NewDecoder().Bytes(data) // which has no error
	}
	return string(data)
}
