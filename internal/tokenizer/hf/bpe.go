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

// A bpeWord is a word on its way to its tokens. It is memory to be used again.
type bpeWord struct {
	initial []int32
	symbols []symbol
	queue   []candidate
}

// A symbol is a token with its neighbours, -1 for none. Without a size it has become a part
// of the one before.
type symbol struct {
	id, left, right int32
	gone            bool
}

// A candidate is a pair that can be joined: what it becomes, and where its left part is.
type candidate struct {
	merge
	at int32
}

func (c candidate) before(o candidate) bool {
	return c.rank < o.rank || c.rank == o.rank && c.at < o.at
}

// join appends the tokens that are left when nothing can be joined any more.
func (w *bpeWord) join(dst []int32, merges map[uint64]merge) []int32 {
	w.begin(merges)
	for len(w.queue) > 0 {
		w.joinPair(w.pop(), merges)
	}
	for _, s := range w.symbols {
		if !s.gone {
			dst = append(dst, s.id)
		}
	}
	return dst
}

// begin lines up the single characters, and puts all pairs that can be joined into the queue.
func (w *bpeWord) begin(merges map[uint64]merge) {
	w.symbols, w.queue = w.symbols[:0], w.queue[:0]
	for i, id := range w.initial {
		w.symbols = append(w.symbols, symbol{id: id, left: int32(i) - 1, right: int32(i) + 1})
	}
	if n := len(w.symbols); n > 0 {
		w.symbols[n-1].right = -1
	}
	for i := range len(w.symbols) - 1 {
		w.offer(int32(i), merges)
	}
}

// joinPair joins a pair, unless one of its parts has become another token since.
func (w *bpeWord) joinPair(c candidate, merges map[uint64]merge) {
	left := &w.symbols[c.at]
	if left.gone || left.right < 0 {
		return
	}
	right := &w.symbols[left.right]
	if m, ok := merges[pair(left.id, right.id)]; !ok || m.id != c.id {
		return
	}
	left.id, left.right, right.gone = c.id, right.right, true
	if left.right >= 0 {
		w.symbols[left.right].left = c.at
		w.offer(c.at, merges)
	}
	if left.left >= 0 {
		w.offer(left.left, merges)
	}
}

// offer puts the pair whose left part is at i into the queue, if it can be joined.
func (w *bpeWord) offer(i int32, merges map[uint64]merge) {
	left := w.symbols[i]
	m, ok := merges[pair(left.id, w.symbols[left.right].id)]
	if !ok {
		return
	}
	w.queue = append(w.queue, candidate{m, i})
	for k := len(w.queue) - 1; k > 0; { // a heap, without the interface of container/heap
		parent := (k - 1) / 2
		if !w.queue[k].before(w.queue[parent]) {
			break
		}
		w.queue[k], w.queue[parent] = w.queue[parent], w.queue[k]
		k = parent
	}
}

// pop takes the first candidate out of the queue.
func (w *bpeWord) pop() candidate {
	first, last := w.queue[0], len(w.queue)-1
	w.queue[0] = w.queue[last]
	w.queue = w.queue[:last]
	for k := 0; ; {
		child := 2*k + 1
		if child >= last {
			return first
		}
		if child+1 < last && w.queue[child+1].before(w.queue[child]) {
			child++
		}
		if !w.queue[child].before(w.queue[k]) {
			return first
		}
		w.queue[k], w.queue[child] = w.queue[child], w.queue[k]
		k = child
	}
}
