package tokentest

import (
	"encoding/json"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
)

// Tokenizer is the content of a tokenizer.json whose tokens are those of the server of tokens.
func Tokenizer(t testing.TB) []byte {
	t.Helper()
	text, err := json.Marshal(tokenserver.Tokenizer())
	if err != nil {
		t.Fatal(err)
	}
	return text
}
