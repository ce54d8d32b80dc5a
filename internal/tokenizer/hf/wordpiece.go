package hf

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// A wordPiece takes the longest token with which a word begins, again and again.
type wordPiece struct {
	ids     map[string]int32
	unknown int32
	prefix  string // of tokens that go on with a word
	maxWord int    // in characters; a longer word is unknown
	longest int    // token, in bytes
}

// longestWord bounds how long words may be, of which each place is looked at: known tokenizers have 100 or 200.
const longestWord = 1000

func newWordPiece(f *modelFile, ids map[string]int32) (*wordPiece, error) {
	m := &wordPiece{ids: ids, prefix: textOr(f.Prefix, "##"), maxWord: 100}
	if f.MaxWord != nil {
		m.maxWord = *f.MaxWord
	}
	if m.maxWord < 0 || m.maxWord > longestWord {
		return nil, fmt.Errorf("max_input_chars_per_word is %d, want 0 to %d", m.maxWord, longestWord)
	}
	for token := range ids {
		m.longest = max(m.longest, len(token))
	}
	var err error
	unknown := textOr(f.Unknown, "[UNK]")
	m.unknown, err = need(ids, &unknown, "unk_token")
	return m, err
}

func (m *wordPiece) id(token string) (int32, bool) { id, ok := m.ids[token]; return id, ok }

func (m *wordPiece) append(dst []int32, word string) ([]int32, error) {
	if utf8.RuneCountInString(word) > m.maxWord {
		return append(dst, m.unknown), nil
	}
	n, prefix := len(dst), ""
	for word != "" {
		id, size := m.find(prefix, word)
		if size == 0 {
			return append(dst[:n], m.unknown), nil
		}
		dst = append(dst, id)
		word, prefix = word[size:], m.prefix
	}
	return dst, nil
}

// find returns the longest token with which a word begins, and how much of the word it is.
func (m *wordPiece) find(prefix, word string) (int32, int) {
	memory := make([]byte, 0, 64)
	memory = append(memory, prefix...)
	memory = append(memory, word[:min(len(word), max(0, m.longest-len(prefix)))]...)
	for end := len(memory); end > len(prefix); end-- {
		if id, ok := m.ids[string(memory[:end])]; ok {
			return id, end - len(prefix)
		}
	}
	return 0, 0
}

// A wordLevel has a token for each word that it knows.
type wordLevel struct {
	ids     map[string]int32
	unknown int32
}

func newWordLevel(f *modelFile, ids map[string]int32) (*wordLevel, error) {
	m := &wordLevel{ids: ids, unknown: -1}
	if f.Unknown != nil {
		if id, ok := ids[*f.Unknown]; ok {
			m.unknown = id
		}
	}
	return m, nil
}

func (m *wordLevel) id(token string) (int32, bool) { id, ok := m.ids[token]; return id, ok }

func (m *wordLevel) append(dst []int32, word string) ([]int32, error) {
	id, ok := m.ids[word]
	if !ok {
		if id = m.unknown; id < 0 {
			return nil, errors.New("there is no unknown token, and " + word + " is not in the vocabulary")
		}
	}
	return append(dst, id), nil
}
