package hf

import (
	"encoding/json"
	"errors"
	"fmt"
)

// modelFile is what the file has of a model. Which fields count follows from its type.
type modelFile struct {
	Type    string          `json:"type"`
	Vocab   json.RawMessage `json:"vocab"`
	Merges  []mergeText     `json:"merges"`
	Unknown *string         `json:"unk_token"`

	Dropout      *float64 `json:"dropout"`
	Prefix       *string  `json:"continuing_subword_prefix"`
	Suffix       *string  `json:"end_of_word_suffix"`
	FuseUnknown  bool     `json:"fuse_unk"`
	ByteFallback bool     `json:"byte_fallback"`
	IgnoreMerges bool     `json:"ignore_merges"`

	UnknownID *int `json:"unk_id"`
	MaxWord   *int `json:"max_input_chars_per_word"`
}

// readModel makes a model, and returns its tokens by their numbers.
func readModel(data json.RawMessage) (model, []string, error) {
	var f modelFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, nil, fmt.Errorf("model: %w", err)
	}
	if f.Type == "" {
		f.Type = f.guessType()
	}
	m, pieces, err := f.model()
	if err != nil {
		return nil, nil, fmt.Errorf("model: %w", err)
	}
	return m, pieces, nil
}

// guessType is for files of before the type was written.
func (f *modelFile) guessType() string {
	switch {
	case f.Merges != nil:
		return "BPE"
	case len(f.Vocab) > 0 && f.Vocab[0] == '[':
		return "Unigram"
	case f.MaxWord != nil:
		return "WordPiece"
	}
	return "WordLevel"
}

func (f *modelFile) model() (model, []string, error) {
	if f.Type == "Unigram" {
		return newUnigram(f)
	}
	var ids map[string]int32
	if err := json.Unmarshal(f.Vocab, &ids); err != nil {
		return nil, nil, fmt.Errorf("vocab: want an object of tokens with their numbers: %w", err)
	}
	pieces, err := byNumber(ids)
	if err != nil {
		return nil, nil, fmt.Errorf("vocab: %w", err)
	}
	var m model
	switch f.Type {
	case "BPE":
		m, err = newBPE(f, ids)
	case "WordPiece":
		m, err = newWordPiece(f, ids)
	case "WordLevel":
		m, err = newWordLevel(f, ids)
	default:
		err = fmt.Errorf("type %q is not one of BPE, Unigram, WordPiece, WordLevel", f.Type)
	}
	return m, pieces, err
}

// maxGap is how many numbers a vocabulary may leave out, beyond as many as it has: memory is
// bounded by the file.
const maxGap = 1 << 16

// byNumber puts the tokens of a vocabulary in order.
func byNumber(ids map[string]int32) ([]string, error) {
	if len(ids) == 0 {
		return nil, errors.New("the vocabulary is empty")
	}
	size, err := vocabularySize(ids)
	if err != nil {
		return nil, err
	}
	pieces := make([]string, size)
	for token, id := range ids {
		if pieces[id] != "" {
			return nil, fmt.Errorf("%q and %q both have number %d", min(token, pieces[id]), max(token, pieces[id]), id)
		}
		pieces[id] = token
	}
	return pieces, nil
}

// vocabularySize is one more than the largest number of a token.
func vocabularySize(ids map[string]int32) (int32, error) {
	size := int32(0)
	for token, id := range ids {
		if id < 0 || id >= maxID {
			return 0, fmt.Errorf("%q has number %d, want 0 to %d", token, id, maxID-1)
		}
		size = max(size, id+1)
	}
	if int(size) > 2*len(ids)+maxGap {
		return 0, fmt.Errorf("there are %d tokens with numbers up to %d", len(ids), size-1)
	}
	return size, nil
}

// textOr is a text of the file, or what it is where the file has none.
func textOr(text *string, otherwise string) string {
	if text == nil {
		return otherwise
	}
	return *text
}

// need returns the number of a token that the file names, or -1 if it names none.
func need(ids map[string]int32, token *string, field string) (int32, error) {
	if token == nil {
		return -1, nil
	}
	id, ok := ids[*token]
	if !ok {
		return 0, fmt.Errorf("%s %q is not in the vocabulary", field, *token)
	}
	return id, nil
}

// byteTokens are the numbers of the tokens that stand for bytes, <0x00> to <0xFF>; -1 for
// those that there are not.
func byteTokens(ids map[string]int32) (tokens [256]int32) {
	for b := range tokens {
		id, ok := ids[fmt.Sprintf("<0x%02X>", b)]
		if !ok {
			id = -1
		}
		tokens[b] = id
	}
	return tokens
}

// appendBytes appends the tokens of the bytes of a text, if there is one for each.
func appendBytes(dst []int32, tokens *[256]int32, text string) ([]int32, bool) {
	n := len(dst)
	for i := range len(text) {
		id := tokens[text[i]]
		if id < 0 {
			return dst[:n], false
		}
		dst = append(dst, id)
	}
	return dst, true
}
