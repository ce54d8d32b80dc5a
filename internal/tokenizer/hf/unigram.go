package hf

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// A unigram cuts a word into the tokens whose scores have the largest sum (Kudo, arXiv:1804.10959).
type unigram struct {
	ids      map[string]int32
	scores   []float64 // by id
	longest  int       // token in bytes
	unknown  int32
	least    float64 // score of a character that no token has
	bytes    [256]int32
	fallback bool // to tokens of bytes
}

// unknownPenalty is how much lower than the lowest the score of an unknown character is (tokenizers, models/unigram/model.rs).
const unknownPenalty = 10

// unigram makes the model, and returns its tokens by their numbers.
func (f *modelFile) unigram() (*unigram, []string, error) {
	var vocab []unigramEntry
	if err := json.Unmarshal(f.Vocab, &vocab); err != nil {
		return nil, nil, fmt.Errorf("model: vocab: must be a list of tokens with their scores: %w", err)
	}
	if len(vocab) == 0 || len(vocab) > maxID {
		return nil, nil, fmt.Errorf("model: vocab: there are %d tokens, expected 1 to %d", len(vocab), maxID)
	}
	if f.UnknownID == nil || *f.UnknownID < 0 || int(*f.UnknownID) >= len(vocab) {
		return nil, nil, fmt.Errorf("model: unk_id must be the number of a token, 0 to %d", len(vocab)-1)
	}
	m := &unigram{ids: make(map[string]int32, len(vocab)), scores: make([]float64, len(vocab)), unknown: *f.UnknownID, least: math.Inf(1),
		fallback: f.ByteFallback}
	pieces := make([]string, len(vocab))
	for id, e := range vocab {
		if e.token == "" || math.IsNaN(e.score) || math.IsInf(e.score, 0) {
			return nil, nil, fmt.Errorf("model: vocab[%d]: %q with the score %v: must be a text and a number", id, e.token, e.score)
		}
		pieces[id], m.ids[e.token], m.scores[id] = e.token, int32(id), e.score
		m.longest, m.least = max(m.longest, len(e.token)), min(m.least, e.score)
	}
	m.least -= unknownPenalty
	m.bytes = bytesOf(m.ids)
	return m, pieces, nil
}

// A unigramEntry is a token and its score, a list of two in the file.
type unigramEntry struct {
	token string
	score float64
}

func (e *unigramEntry) UnmarshalJSON(text []byte) error {
	var pair []any
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	if len(pair) == 2 {
		var ok, ok2 bool
		e.token, ok = pair[0].(string)
		if e.score, ok2 = pair[1].(float64); ok && ok2 {
			return nil
		}
	}
	return errors.New("must be a token and its score")
}

// append appends the tokens of a word. Unknown characters side by side are one token, or that of their bytes.
func (m *unigram) append(dst []int32, word string) []int32 {
	type node struct {
		sum  float64
		from int // where the last token begins; -1: not reached
		id   int32
	}
	nodes := make([]node, len(word)+1)
	for i := range nodes {
		nodes[i].from = -1
	}
	nodes[0].from = 0
	for at := 0; at < len(word); {
		_, size := utf8.DecodeRuneInString(word[at:])
		single := false
		reach := func(end int, id int32, score float64) {
			if n := &nodes[end]; n.from < 0 || nodes[at].sum+score > n.sum {
				*n = node{nodes[at].sum + score, at, id}
			}
		}
		for end := at + size; end <= len(word) && end-at <= m.longest; {
			if id, ok := m.ids[word[at:end]]; ok {
				reach(end, id, m.scores[id])
				single = single || end == at+size
			}
			if end == len(word) {
				break
			}
			_, next := utf8.DecodeRuneInString(word[end:])
			end += next
		}
		if !single {
			reach(at+size, m.unknown, m.least)
		}
		at += size
	}
	first := len(dst)
	for end := len(word); end > 0; { // from the end on
		n := nodes[end]
		if n.id != m.unknown {
			dst, end = append(dst, n.id), n.from
			continue
		}
		begin := n.from
		for begin > 0 && nodes[begin].id == m.unknown {
			begin = nodes[begin].from
		}
		dst, end = m.appendUnknown(dst, word[begin:end]), begin
	}
	for i, j := first, len(dst)-1; i < j; i, j = i+1, j-1 {
		dst[i], dst[j] = dst[j], dst[i]
	}
	return dst
}

// appendUnknown appends the tokens of what no token has, the last one first.
func (m *unigram) appendUnknown(dst []int32, text string) []int32 {
	if m.fallback {
		before := len(dst)
		for i := len(text) - 1; i >= 0; i-- {
			dst = append(dst, m.bytes[text[i]])
		}
		for _, id := range dst[before:] {
			if id < 0 {
				return append(dst[:before], m.unknown)
			}
		}
		return dst
	}
	return append(dst, m.unknown)
}
