package synth

import (
	"fmt"
	"strings"
)

// space is how a tokenizer of the SentencePiece kind writes the space before a word.
const space = "▁"

// pieces are the texts of the tokens.
func (s PromptSpec) pieces() []string {
	r := newStream("prompt words", s.Seed)
	pieces := []string{"<unk>", "<s>", "</s>"}
	for i := len(pieces); i < promptFirstWord; i++ {
		pieces = append(pieces, fmt.Sprintf("<reserved_%d>", i))
	}
	for seen := map[string]bool{}; len(pieces) < s.Tokens; {
		word := newWord(r)
		if seen[word] {
			continue
		}
		seen[word] = true
		switch {
		case len(pieces)%sentenceEnds == 0:
			word += "."
		case len(pieces)%numberWords == 1:
			word = fmt.Sprint(len(pieces))
		}
		pieces = append(pieces, space+word)
	}
	return pieces
}

// spelled is the text of tokens. Marks are none.
func spelled(pieces []string, tokens []int32) string {
	var b strings.Builder
	for _, t := range tokens {
		if t >= promptFirstWord && int(t) < len(pieces) {
			b.WriteString(strings.ReplaceAll(pieces[t], space, " "))
		}
	}
	return strings.TrimPrefix(b.String(), " ")
}

// promptTokenizer is the content of tokenizer.json: every word is a token, and others are unknown.
func promptTokenizer(pieces []string) map[string]any {
	vocab := map[string]int{}
	var added []map[string]any
	for i, piece := range pieces {
		vocab[piece] = i
		if i < promptFirstWord {
			added = append(added, map[string]any{"id": i, "content": piece, "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
		}
	}
	metaspace := map[string]any{"type": "Metaspace", "replacement": space, "prepend_scheme": "always", "split": true}
	return map[string]any{
		"version": "1.0", "added_tokens": added, "normalizer": nil, "pre_tokenizer": metaspace, "post_processor": nil, "decoder": metaspace,
		"model": map[string]any{"type": "BPE", "unk_token": pieces[0], "fuse_unk": true, "ignore_merges": true, "vocab": vocab, "merges": []string{}},
	}
}
