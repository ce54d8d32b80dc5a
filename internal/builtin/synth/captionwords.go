package synth

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/models/tokenizer/hf"
)

// wordTokens are words, and a vocabulary in the form of CLIP's that joins the bytes of words to
// tokens.
type wordTokens struct {
	words  []string
	tokens []string // by number
	merges [][2]string
}

const (
	wordEnd    = "</w>"
	startToken = "<|startoftext|>"
	endToken   = "<|endoftext|>"
)

// newWordTokens makes words until a vocabulary of a size is full.
func newWordTokens(seed uint64, size int) *wordTokens {
	w := &wordTokens{tokens: slices.Clone(hf.ByteCharacters[:])}
	for _, name := range hf.ByteCharacters {
		w.tokens = append(w.tokens, name+wordEnd)
	}
	known := map[string]bool{}
	for _, token := range w.tokens {
		known[token] = true
	}
	r := newStream("caption words", seed)
	for seen := map[string]bool{}; len(w.tokens) < size-2; {
		word := newWord(r)
		if !seen[word] {
			seen[word] = true
			w.words = append(w.words, word)
			w.join(word, known, size-2)
		}
	}
	w.tokens = append(w.tokens, startToken, endToken)
	return w
}

// join adds the tokens by which a word grows from its beginning, as long as there is room.
func (w *wordTokens) join(word string, known map[string]bool, room int) {
	whole := word[:1]
	for i := 1; i < len(word) && len(w.tokens) < room; i++ {
		next := word[i : i+1]
		if i == len(word)-1 {
			next += wordEnd
		}
		if joined := whole + next; !known[joined] {
			known[joined] = true
			w.tokens, w.merges = append(w.tokens, joined), append(w.merges, [2]string{whole, next})
		}
		whole += next
	}
}

// files are vocab.json and merges.txt.
func (w *wordTokens) files() (vocabulary, merges []byte, err error) {
	ids := make(map[string]int, len(w.tokens))
	for i, token := range w.tokens {
		ids[token] = i
	}
	if vocabulary, err = json.Marshal(ids); err != nil {
		return nil, nil, err
	}
	var b strings.Builder
	b.WriteString("#version: 0.2\n")
	for _, m := range w.merges {
		b.WriteString(m[0] + " " + m[1] + "\n")
	}
	return vocabulary, []byte(b.String()), nil
}
