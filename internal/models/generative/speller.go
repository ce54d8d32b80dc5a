package generative

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/regular"
)

// A speller says which text tokens are.
type speller struct {
	pieces  []string
	special map[int32]bool
}

// maxTokenizer bounds a tokenizer.json.
const maxTokenizer = 64 << 20

// readSpeller reads the tokenizer.json of a Unigram model.
func readSpeller(path string) (*speller, error) {
	text, err := regular.ReadFile(path, maxTokenizer)
	if err != nil {
		return nil, fmt.Errorf("opening the tokenizer: %w", err)
	}
	var file struct {
		Added []struct {
			ID      int32 `json:"id"`
			Special bool  `json:"special"`
		} `json:"added_tokens"`
		Model struct {
			Type  string               `json:"type"`
			Vocab [][2]json.RawMessage `json:"vocab"`
		} `json:"model"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if file.Model.Type != "Unigram" {
		return nil, fmt.Errorf("%s: the tokenizer is a %q, want Unigram", path, file.Model.Type)
	}
	s := &speller{special: map[int32]bool{}}
	for _, a := range file.Added {
		s.special[a.ID] = a.Special
	}
	for i, entry := range file.Model.Vocab {
		var piece string
		if err := json.Unmarshal(entry[0], &piece); err != nil {
			return nil, fmt.Errorf("%s: piece %d: %w", path, i, err)
		}
		s.pieces = append(s.pieces, piece)
	}
	return s, nil
}

// text is that of tokens, without those that are marks.
func (s *speller) text(tokens []int32) (string, error) {
	var b strings.Builder
	for _, t := range tokens {
		if t < 0 || int(t) >= len(s.pieces) {
			return "", fmt.Errorf("the tokenizer has %d tokens, not token %d: is it the model's?", len(s.pieces), t)
		}
		if !s.special[t] {
			b.WriteString(strings.ReplaceAll(s.pieces[t], "▁", " "))
		}
	}
	return strings.TrimPrefix(b.String(), " "), nil
}
