package sentences

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"strconv"
	"strings"
	"sync"
)

//go:embed english.txt.gz
var englishText []byte

// A language is what Punkt learnt of one.
type language struct {
	abbreviations, starters map[string]bool
	collocations            map[[2]string]bool
	writing                 map[string]uint8 // where a word is written how: bits of a writing
}

// Bits of how a word is written: at the beginning of a sentence, inside, or unknown where
// (nltk/tokenize/punkt.py, _ORTHO_…).
const (
	capitalInside = 1 << 2
	capital       = 1<<1 | capitalInside | 1<<3
	smallFirst    = 1 << 4
	small         = smallFirst | 1<<5 | 1<<6
)

// english is read once. The text is part of the program, so that it can be read is tested.
var english = sync.OnceValue(func() *language {
	z, err := gzip.NewReader(bytes.NewReader(englishText))
	if err != nil {
		return &language{}
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return &language{}
	}
	return parseLanguage(string(text))
})

func parseLanguage(text string) *language {
	l := &language{
		abbreviations: make(map[string]bool), starters: make(map[string]bool),
		collocations: make(map[[2]string]bool), writing: make(map[string]uint8),
	}
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch f[0] {
		case "a":
			l.abbreviations[f[1]] = true
		case "s":
			l.starters[f[1]] = true
		case "c":
			l.collocations[[2]string{f[1], f[2]}] = true
		case "o":
			bits, _ := strconv.Atoi(f[2])
			l.writing[f[1]] = uint8(bits)
		}
	}
	return l
}
