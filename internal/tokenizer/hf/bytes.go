package hf

import (
	"strings"
	"unicode/utf8"
)

// byteCharacters are the characters that stand for bytes (GPT-2, bytes_to_unicode): those
// that can be seen stand for themselves, others for what follows U+00FF.
var byteCharacters, characterBytes = func() (to [256]string, back map[rune]byte) {
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
		b.WriteString(byteCharacters[text[i]])
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

// validText puts U+FFFD in the place of what is no UTF-8: one for each longest part that
// begins a character, as Unicode recommends and both Rust and Python do.
func validText(data []byte) string {
	if utf8.Valid(data) {
		return string(data)
	}
	var b strings.Builder
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if r == utf8.RuneError && n == 1 {
			n = brokenLength(data)
		}
		b.WriteRune(r)
		data = data[n:]
	}
	return b.String()
}

// brokenLength is how many bytes begin a character that does not go on.
func brokenLength(data []byte) int {
	n, want, next := 1, wholeLength(data[0]), secondByte(data[0])
	for n < min(want, len(data)) && next.holds(data[n]) {
		next = laterByte
		n++
	}
	return n
}

// wholeLength is how many bytes a character has that begins with a byte, 0 if none does.
func wholeLength(lead byte) int {
	switch {
	case lead >= 0xc2 && lead <= 0xdf:
		return 2
	case lead >= 0xe0 && lead <= 0xef:
		return 3
	case lead >= 0xf0 && lead <= 0xf4:
		return 4
	}
	return 0
}

// A byteRange are the bytes that may stand at a place.
type byteRange struct{ low, high byte }

func (r byteRange) holds(b byte) bool { return b >= r.low && b <= r.high }

// laterByte is what bytes behind the first may be.
var laterByte = byteRange{0x80, 0xbf}

// secondBytes are bound further behind some (The Unicode Standard, table 3-7).
var secondBytes = map[byte]byteRange{0xe0: {0xa0, 0xbf}, 0xed: {0x80, 0x9f}, 0xf0: {0x90, 0xbf}, 0xf4: {0x80, 0x8f}}

func secondByte(lead byte) byteRange {
	if r, ok := secondBytes[lead]; ok {
		return r
	}
	return laterByte
}
