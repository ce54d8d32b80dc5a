package englishtext

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

//go:embed spelling.txt.gz
var spellingText []byte

// spelling is read once. The text is part of the program, so that it can be read is tested.
var spelling = sync.OnceValue(func() map[string]string {
	words := make(map[string]string)
	z, err := gzip.NewReader(bytes.NewReader(spellingText))
	if err != nil {
		return words
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return words
	}
	for line := range strings.Lines(string(text)) {
		british, american, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		words[british] = american
	}
	return words
})

// american spells words as Americans do, with one blank between.
func american(s string) string {
	words := pytext.Fields(s)
	for i, word := range words {
		if other, ok := spelling()[word]; ok {
			words[i] = other
		}
	}
	return strings.Join(words, " ")
}
