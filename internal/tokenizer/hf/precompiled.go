package hf

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A charsmap is what SentencePiece has compiled of its rules of normalization: a trie of texts, each with the place of
// what takes its place, which ends with a zero.
type charsmap struct {
	trie []uint32 // a double array, as of the library Darts-clone
	to   string
}

// shortGrapheme is up to how many bytes the characters that a reader takes for one are looked for together
// (tokenizers, normalizers/precompiled.rs).
const shortGrapheme = 5

// newPrecompiled makes the normalizer of a charsmap.
func newPrecompiled(c *component, where string) (normalizer, error) {
	m, err := parseCharsmap(c.Charsmap)
	if err != nil {
		return nil, fmt.Errorf("%s: precompiled_charsmap: %w", where, err)
	}
	return m.normalizePiece, nil
}

func parseCharsmap(text string) (*charsmap, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	if len(data) < 4 {
		return nil, fmt.Errorf("want a size of four bytes, not %d", len(data))
	}
	size := binary.LittleEndian.Uint32(data)
	if data = data[4:]; int64(size) > int64(len(data)) || size%4 != 0 || size == 0 {
		return nil, fmt.Errorf("want a trie of %d bytes, in whole words, not %d", size, len(data))
	}
	m := &charsmap{trie: make([]uint32, size/4), to: string(data[size:])}
	for i := range m.trie {
		m.trie[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	if !utf8.ValidString(m.to) {
		return nil, fmt.Errorf("what takes the place of texts is no UTF-8")
	}
	return m, nil
}

// normalizePiece is a normalizer. What is dropped at the beginning is not noticed: what is behind it stands there then.
func (m *charsmap) normalizePiece(p piece) (piece, error) {
	text, err1 := m.normalize(p.text)
	first, err2 := m.normalize(p.text[:p.first])
	if _, n := utf8.DecodeRuneInString(text); first == "" && p.first > 0 {
		first = text[:n]
	}
	return piece{text, min(len(first), len(text))}, cmp.Or(err1, err2)
}

// normalize looks for characters that belong together, if they are short, and else for each alone. What is found may be the
// beginning of them only, and takes the place of all.
func (m *charsmap) normalize(text string) (string, error) {
	var b strings.Builder
	for text != "" {
		n := graphemeLength(text)
		if to, ok := m.find(text[:n]); n <= shortGrapheme && ok {
			if len(to) > maxContent {
				return "", errContent(to)
			}
			b.WriteString(to)
			text = text[n:]
			continue
		}
		for _, r := range text[:n] {
			to, ok := m.find(string(r))
			if !ok {
				to = string(r)
			}
			if len(to) > maxContent {
				return "", errContent(to)
			}
			b.WriteString(to)
		}
		text = text[n:]
	}
	return b.String(), nil
}

func errContent(to string) error {
	return fmt.Errorf("precompiled_charsmap: %d bytes take the place of a character, want at most %d", len(to), maxContent)
}

// find is what takes the place of the shortest beginning of a text that the trie has.
func (m *charsmap) find(text string) (string, bool) {
	at := offsetOf(m.trie[0])
	for _, c := range []byte(text) {
		if at ^= uint32(c); c == 0 || at >= uint32(len(m.trie)) {
			break
		}
		unit := m.trie[at]
		if unit&(1<<31|0xff) != uint32(c) {
			break
		}
		if at ^= offsetOf(unit); at >= uint32(len(m.trie)) {
			break
		}
		if unit>>8&1 == 1 {
			return m.until(m.trie[at] &^ (1 << 31))
		}
	}
	return "", false
}

// offsetOf is what leads from a unit to those behind it.
func offsetOf(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

// until is the text from a place up to a zero.
func (m *charsmap) until(from uint32) (string, bool) {
	if int64(from) > int64(len(m.to)) || from < uint32(len(m.to)) && !utf8.RuneStart(m.to[from]) {
		return "", false
	}
	to, _, _ := strings.Cut(m.to[from:], "\x00")
	return to, true
}
