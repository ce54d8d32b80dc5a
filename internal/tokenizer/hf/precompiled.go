package hf

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// A charsMap is a normalizer of SentencePiece: texts by the characters that they take the place of, in a double array (Aoe, 1989; darts-clone).
type charsMap struct {
	units []uint32
	texts []byte // each ended by a zero
}

// newPrecompiled reads the map of a Precompiled normalizer: the length of the array, the array, and the texts.
func newPrecompiled(c *component, where string) (normalizer, error) {
	data, err := base64.StdEncoding.DecodeString(c.CharsMap)
	if err != nil {
		return nil, fmt.Errorf("%s: precompiled_charsmap is not base64: %w", where, err)
	}
	const word = 4
	if len(data) < word {
		return nil, fmt.Errorf("%s: precompiled_charsmap has %d bytes: must be a map of SentencePiece", where, len(data))
	}
	size := int(binary.LittleEndian.Uint32(data))
	if data = data[word:]; size == 0 || size%word != 0 || size > len(data) || !utf8.Valid(data[size:]) {
		return nil, fmt.Errorf("%s: precompiled_charsmap has an array of %d bytes in %d: must be a map of SentencePiece", where, size, len(data))
	}
	m := &charsMap{units: make([]uint32, size/word), texts: data[size:]}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(data[word*i:])
	}
	return func(text string) (string, error) { return m.normalize(text), nil }, nil
}

// normalize replaces characters: as one, those of a short cluster, else each by itself (spm_precompiled, Precompiled::normalize_string).
func (m *charsMap) normalize(text string) string {
	const short = 6 // bytes of a cluster that is looked up as one
	var out strings.Builder
	for state := -1; len(text) > 0; {
		var cluster string
		cluster, text, _, state = uniseg.FirstGraphemeClusterInString(text, state)
		if replacement, ok := m.lookUp(cluster); ok && len(cluster) < short {
			out.Write(replacement)
			continue
		}
		for _, r := range cluster {
			if replacement, ok := m.lookUp(string(r)); ok {
				out.Write(replacement)
			} else {
				out.WriteRune(r)
			}
		}
	}
	return out.String()
}

// lookUp returns the text of the shortest beginning of a key that has one.
func (m *charsMap) lookUp(key string) ([]byte, bool) {
	offset := func(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
	at := offset(m.units[0])
	for i := range len(key) {
		if at ^= uint32(key[i]); key[i] == 0 || int(at) >= len(m.units) {
			return nil, false
		}
		unit := m.units[at]
		if unit&(1<<31|0xff) != uint32(key[i]) {
			return nil, false
		}
		if at ^= offset(unit); int(at) >= len(m.units) {
			return nil, false
		}
		if unit>>8&1 == 1 { // its value says where the text is
			from := int(m.units[at] &^ (1 << 31))
			if from > len(m.texts) {
				return nil, false
			}
			text, _, _ := bytes.Cut(m.texts[from:], []byte{0})
			return text, true
		}
	}
	return nil, false
}
