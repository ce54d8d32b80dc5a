package tokentest

import (
	"encoding/json"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tokenserver"
)

// Tokenizer is the content of a tokenizer.json whose tokens are those of the server of tokens.
func Tokenizer(t testing.TB) []byte {
	t.Helper()
	vocabulary := map[string]int{"<unk>": len(tokenserver.Words())}
	var added []map[string]any
	for id, word := range tokenserver.Words() {
		vocabulary[word] = id
		added = append(added, map[string]any{"id": id, "content": word, "special": false, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
	}
	text, err := json.Marshal(map[string]any{
		"version": "1.0", "added_tokens": added, "normalizer": nil, "pre_tokenizer": nil, "post_processor": nil,
		"decoder": map[string]any{"type": "Fuse"},
		"model":   map[string]any{"type": "WordLevel", "unk_token": "<unk>", "vocab": vocabulary},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
