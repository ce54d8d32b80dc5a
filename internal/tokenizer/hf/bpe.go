package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// A mergeText is a pair of tokens that are joined: two texts, or one with a blank between.
type mergeText [2]string

func (m *mergeText) UnmarshalJSON(data []byte) error {
	var line string
	if json.Unmarshal(data, &line) == nil {
		left, right, ok := strings.Cut(line, " ")
		if !ok || strings.Contains(right, " ") {
			return fmt.Errorf("merge %q is not two tokens with a blank between", line)
		}
		*m = mergeText{left, right}
		return nil
	}
	var pair []string
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return fmt.Errorf("merge %q is not two tokens", pair)
	}
	*m = mergeText(pair)
	return nil
}

// A bpe joins pairs of neighbours, those that were learnt first, until none is left that
// was learnt.
type bpe struct {
	ids            map[string]int32
	merges         map[uint64]merge
	bytes          *[256]int32 // nil without byte_fallback
	unknown        int32       // -1 without
	fuse, whole    bool        // fuse_unk, ignore_merges
	prefix, suffix string
	memory         sync.Pool // of *bpeWord
}

// A merge is what two tokens become, and when that was learnt.
type merge struct{ rank, id int32 }

func pair(left, right int32) uint64 { return uint64(uint32(left))<<32 | uint64(uint32(right)) }

func newBPE(f *modelFile, ids map[string]int32) (*bpe, error) {
	if f.Dropout != nil && *f.Dropout != 0 {
		return nil, fmt.Errorf("dropout is %v: with it the same text is cut otherwise each time", *f.Dropout)
	}
	m := &bpe{ids: ids, merges: make(map[uint64]merge, len(f.Merges)), fuse: f.FuseUnknown, whole: f.IgnoreMerges}
	m.memory.New = func() any { return new(bpeWord) }
	m.prefix, m.suffix = textOr(f.Prefix, ""), textOr(f.Suffix, "")
	if f.ByteFallback {
		tokens := byteTokens(ids)
		m.bytes = &tokens
	}
	var err error
	if m.unknown, err = need(ids, f.Unknown, "unk_token"); err != nil {
		return nil, err
	}
	for rank, text := range f.Merges {
		if err := m.learn(int32(rank), text); err != nil {
			return nil, fmt.Errorf("merges[%d]: %w", rank, err)
		}
	}
	return m, nil
}

// learn adds a merge.
func (m *bpe) learn(rank int32, text mergeText) error {
	if text[0] == "" || text[1] == "" {
		return errors.New("a token is empty")
	}
	joined := text[0] + strings.TrimPrefix(text[1], m.prefix)
	var ids [3]int32
	for i, token := range [...]string{text[0], text[1], joined} {
		id, ok := m.ids[token]
		if !ok {
			return fmt.Errorf("%q and %q become %q, but %q is not in the vocabulary", text[0], text[1], joined, token)
		}
		ids[i] = id
	}
	m.merges[pair(ids[0], ids[1])] = merge{rank, ids[2]}
	return nil
}

func (m *bpe) id(token string) (int32, bool) { id, ok := m.ids[token]; return id, ok }

func (m *bpe) append(dst []int32, word string) ([]int32, error) {
	if m.whole {
		if id, ok := m.ids[word]; ok {
			return append(dst, id), nil
		}
	}
	w := m.memory.Get().(*bpeWord)
	defer m.memory.Put(w)
	w.initial = m.characters(w.initial[:0], word)
	return w.join(dst, m.merges), nil
}

// characters appends the tokens of the single characters of a word.
func (m *bpe) characters(dst []int32, word string) []int32 {
	waiting := 0 // unknown tokens that are not appended yet
	for i, r := range word {
		text := m.symbol(word, i, i+utf8.RuneLen(r))
		if id, ok := m.ids[text]; ok {
			dst = m.appendUnknown(dst, &waiting, 0)
			dst = append(dst, id)
			continue
		}
		if m.bytes != nil {
			var ok bool
			if dst, ok = appendBytes(dst, m.bytes, text); ok {
				continue
			}
		}
		if m.unknown >= 0 {
			if !m.fuse {
				dst = m.appendUnknown(dst, &waiting, 0)
			}
			waiting = 1
		}
	}
	return m.appendUnknown(dst, &waiting, 0)
}

// symbol is the token of the character of a word that is between two places.
func (m *bpe) symbol(word string, from, to int) string {
	text := word[from:to]
	if from > 0 {
		text = m.prefix + text
	}
	if to == len(word) {
		text += m.suffix
	}
	return text
}

// appendUnknown appends the unknown token that waits, if there is one.
func (m *bpe) appendUnknown(dst []int32, waiting *int, then int) []int32 {
	if *waiting > 0 {
		dst = append(dst, m.unknown)
	}
	*waiting = then
	return dst
}
