package hf

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A modelFile is the model of the file.
type modelFile struct {
	Type         string         `json:"type"` // older files leave BPE out
	Vocab        jsontext.Value `json:"vocab"`
	Merges       []mergeText    `json:"merges"`
	Unknown      *string        `json:"unk_token"`
	Dropout      float64        `json:"dropout"`
	Prefix       string         `json:"continuing_subword_prefix"`
	Suffix       string         `json:"end_of_word_suffix"`
	FuseUnknown  bool           `json:"fuse_unk"`
	ByteFallback bool           `json:"byte_fallback"`
	IgnoreMerges bool           `json:"ignore_merges"`
	UnknownID    *int32         `json:"unk_id"` // of Unigram
}

// A model cuts words into tokens.
type model interface {
	append(dst []int32, word string) []int32
}

// model makes the model, and returns its tokens by their numbers.
func (f *modelFile) model() (model, map[string]int32, []string, error) {
	if f.Vocab == nil {
		return nil, nil, nil, errors.New("model: there is no vocab")
	}
	if f.Type == "Unigram" {
		m, pieces, err := f.unigram()
		if err != nil {
			return nil, nil, nil, err
		}
		return m, m.ids, pieces, nil
	}
	m, pieces, err := f.bpe()
	if err != nil {
		return nil, nil, nil, err
	}
	return m, m.ids, pieces, nil
}

// bytesOf are the tokens of bytes, as <0x0A>; -1: none.
func bytesOf(ids map[string]int32) (list [256]int32) {
	for b := range list {
		id, ok := ids[fmt.Sprintf("<0x%02X>", b)]
		if !ok {
			id = -1
		}
		list[b] = id
	}
	return list
}

// A mergeText is a pair of tokens of a merge: two strings in the file, or one with a blank between.
type mergeText [2]string

func (m *mergeText) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '[' {
		return json.UnmarshalDecode(d, (*[2]string)(m))
	}
	var line string
	if err := json.UnmarshalDecode(d, &line); err != nil {
		return err
	}
	left, right, ok := strings.Cut(line, " ")
	if !ok || strings.Contains(right, " ") {
		return fmt.Errorf("merge %q is not two tokens with a blank between", line)
	}
	*m = mergeText{left, right}
	return nil
}

// A bpe merges pairs of neighbours, those of the lowest rank first, until no pair has a merge.
type bpe struct {
	ids        map[string]int32
	merges     map[uint64]merge
	bytes      [256]int32 // tokens of bytes, as <0x0A>; -1: none
	fallback   bool       // to them
	unknown    int32      // -1: none
	fuse       bool       // fuse_unk
	wholeWords bool       // ignore_merges
	suffix     string     // of the last character of a word
	memory     sync.Pool  // of *bpeWord
}

// A merge has the token that a pair becomes, and its rank.
type merge struct{ rank, id int32 }

func pair(left, right int32) uint64 { return uint64(uint32(left))<<32 | uint64(uint32(right)) }

const (
	// maxID bounds the numbers of tokens.
	maxID = 1 << 24
	// maxGap bounds the unused ids of a vocabulary, beyond its size, so that the file bounds the memory.
	maxGap = 1 << 16
)

// bpe makes the model, and returns its tokens by their numbers.
func (f *modelFile) bpe() (m *bpe, pieces []string, err error) {
	switch {
	case f.Type != "BPE" && (f.Type != "" || f.Merges == nil):
		return nil, nil, fmt.Errorf("model: type %q is not supported, expected BPE or Unigram", f.Type)
	case f.Dropout != 0:
		return nil, nil, fmt.Errorf("model: dropout is %v: must be 0, since results would be random", f.Dropout)
	case f.Prefix != "":
		return nil, nil, fmt.Errorf("model: continuing_subword_prefix %q is not supported, expected none", f.Prefix)
	}
	m = &bpe{merges: make(map[uint64]merge, len(f.Merges)), fallback: f.ByteFallback, unknown: -1, fuse: f.FuseUnknown, wholeWords: f.IgnoreMerges,
		suffix: f.Suffix}
	m.memory.New = func() any { return new(bpeWord) }
	if err := json.Unmarshal(f.Vocab, &m.ids); err != nil {
		return nil, nil, fmt.Errorf("model: vocab: must be an object of tokens with their numbers: %w", err)
	}
	size := int32(0)
	for token, id := range m.ids {
		if id < 0 || id >= maxID {
			return nil, nil, fmt.Errorf("model: vocab: %q has number %d, expected 0 to %d", token, id, maxID-1)
		}
		size = max(size, id+1)
	}
	if len(m.ids) == 0 || int(size) > 2*len(m.ids)+maxGap {
		return nil, nil, fmt.Errorf("model: vocab: there are %d tokens with numbers up to %d", len(m.ids), size-1)
	}
	pieces = make([]string, size)
	for token, id := range m.ids {
		if pieces[id] != "" {
			return nil, nil, fmt.Errorf("model: vocab: %q and %q both have number %d", min(token, pieces[id]), max(token, pieces[id]), id)
		}
		pieces[id] = token
	}
	m.bytes = bytesOf(m.ids)
	if f.Unknown != nil {
		id, ok := m.ids[*f.Unknown]
		if !ok {
			return nil, nil, fmt.Errorf("model: unk_token %q is not in the vocabulary", *f.Unknown)
		}
		m.unknown = id
	}
	for rank, text := range f.Merges {
		if text[0] == "" || text[1] == "" {
			return nil, nil, fmt.Errorf("model: merges[%d]: a token is empty", rank)
		}
		joined := text[0] + text[1]
		var ids [3]int32
		for i, token := range [...]string{text[0], text[1], joined} {
			id, ok := m.ids[token]
			if !ok {
				return nil, nil, fmt.Errorf("model: merges[%d]: %q and %q become %q, but %q is not in the vocabulary", rank, text[0], text[1], joined, token)
			}
			ids[i] = id
		}
		m.merges[pair(ids[0], ids[1])] = merge{int32(rank), ids[2]}
	}
	return m, pieces, nil
}

// append appends the tokens of a word.
func (m *bpe) append(dst []int32, word string) []int32 {
	if m.wholeWords {
		if id, ok := m.ids[word]; ok {
			return append(dst, id)
		}
	}
	w := m.memory.Get().(*bpeWord)
	defer m.memory.Put(w)
	w.initial = m.characters(w.initial[:0], word)
	return w.join(dst, m.merges)
}

// characters appends the tokens of the characters of a word. With fuse_unk consecutive unknown characters are one token, even
// with characters of bytes between them.
func (m *bpe) characters(dst []int32, word string) []int32 {
	waiting := false // an unknown token is not appended yet
	flush := func() {
		if waiting {
			dst = append(dst, m.unknown)
		}
		waiting = false
	}
	for i, r := range word {
		end := i + utf8.RuneLen(r)
		text := word[i:end]
		if end == len(word) {
			text += m.suffix
		}
		if id, ok := m.ids[text]; ok {
			flush()
			dst = append(dst, id)
			continue
		}
		if m.fallback {
			n := len(dst)
			for _, b := range []byte(text) {
				if id := m.bytes[b]; id >= 0 {
					dst = append(dst, id)
				}
			}
			if len(dst) == n+len(text) {
				continue
			}
			dst = dst[:n]
		}
		if m.unknown >= 0 {
			if !m.fuse {
				flush()
			}
			waiting = true
		}
	}
	flush()
	return dst
}

// A bpeWord is the reusable memory of a word.
type bpeWord struct {
	initial []int32
	symbols []symbol
	queue   []candidate
}

// A symbol is a token with its neighbours, -1 for none. If gone it is part of the symbol before.
type symbol struct {
	id, left, right int32
	gone            bool
}

// A candidate is a pair with a merge, and where its left part is.
type candidate struct {
	merge
	at int32
}

func (c candidate) before(o candidate) bool {
	return c.rank < o.rank || c.rank == o.rank && c.at < o.at
}

// join applies all merges and appends the tokens.
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

// begin sets the symbols to the characters, and queues all pairs with a merge.
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

// joinPair joins a pair, unless one of its parts has changed since.
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

// offer queues the pair whose left part is at i, if it has a merge.
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
