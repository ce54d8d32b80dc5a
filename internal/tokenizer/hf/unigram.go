package hf

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// A unigram cuts a word so that the sum of its tokens' scores, the logarithms of their
// probabilities, is largest.
type unigram struct {
	ids     map[string]int32
	scores  []float64
	bytes   *[256]int32 // nil without byte_fallback
	unknown int32       // -1 without
	penalty float64     // the score of an unknown character
	longest int         // token, in bytes
}

// unknownPenalty is how much less than the rarest token a character counts that no token has
// (tokenizers, unigram/model.rs).
const unknownPenalty = 10

// longestPiece bounds what is looked for at each place of a text, in bytes: those of known vocabularies have some 50.
const longestPiece = 512

// A scoredPiece is a token with its score.
type scoredPiece struct {
	token string
	score float64
}

func (p *scoredPiece) UnmarshalJSON(data []byte) error {
	fields := []any{&p.token, &p.score}
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if len(fields) != 2 {
		return fmt.Errorf("%s is not a token and its score", data)
	}
	return nil
}

// readScored reads the vocabulary of a unigram model.
func readScored(data []byte) ([]scoredPiece, error) {
	var vocab []scoredPiece
	if err := json.Unmarshal(data, &vocab); err != nil {
		return nil, fmt.Errorf("vocab: want a list of tokens with their scores: %w", err)
	}
	if len(vocab) == 0 || len(vocab) > maxID {
		return nil, fmt.Errorf("vocab: there are %d tokens, want 1 to %d", len(vocab), maxID)
	}
	return vocab, nil
}

func newUnigram(f *modelFile) (model, []string, error) {
	vocab, err := readScored(f.Vocab)
	if err != nil {
		return nil, nil, err
	}
	m := &unigram{ids: make(map[string]int32, len(vocab)), unknown: -1, penalty: math.Inf(1)}
	pieces := make([]string, len(vocab))
	for i, p := range vocab {
		if len(p.token) > longestPiece {
			return nil, nil, fmt.Errorf("vocab: token %d, %.20q…, has %d bytes, want at most %d", i, p.token, len(p.token), longestPiece)
		}
		m.ids[p.token] = int32(i)
		m.scores = append(m.scores, p.score)
		m.penalty = min(m.penalty, p.score-unknownPenalty)
		m.longest = max(m.longest, len(p.token))
		pieces[i] = p.token
	}
	if f.UnknownID != nil {
		if *f.UnknownID < 0 || *f.UnknownID >= len(vocab) {
			return nil, nil, fmt.Errorf("unk_id is %d, want 0 to %d", *f.UnknownID, len(vocab)-1)
		}
		m.unknown = int32(*f.UnknownID)
	}
	if f.ByteFallback {
		tokens := byteTokens(m.ids)
		m.bytes = &tokens
	}
	return m, pieces, nil
}

func (m *unigram) id(token string) (int32, bool) { id, ok := m.ids[token]; return id, ok }

// A step is the best way to a place in a word: where its last token begins, and which it is.
type step struct {
	score float64
	from  int // -1 if no way is known
	id    int32
}

func (m *unigram) append(dst []int32, word string) ([]int32, error) {
	best := make([]step, len(word)+1)
	for i := range best {
		best[i].from = -1
	}
	best[0].from = 0
	for at := 0; at < len(word); {
		_, n := utf8.DecodeRuneInString(word[at:])
		single := m.extend(best, word, at, n)
		if !single {
			if m.unknown < 0 && m.bytes == nil {
				return nil, fmt.Errorf("there is no unknown token, and no token for %q", word[at:at+n])
			}
			best[at+n].offer(best[at].score+m.penalty, at, m.unknown)
		}
		at += n
	}
	return m.walk(dst, best, word)
}

// extend offers all tokens that begin at a place, and reports whether one of them is the
// single character there.
func (m *unigram) extend(best []step, word string, at, n int) (single bool) {
	for end := at + 1; end <= min(len(word), at+m.longest); end++ {
		if id, ok := m.ids[word[at:end]]; ok {
			best[end].offer(best[at].score+m.scores[id], at, id)
			single = single || end == at+n
		}
	}
	return single
}

func (s *step) offer(score float64, from int, id int32) {
	if s.from < 0 || score > s.score {
		*s = step{score, from, id}
	}
}

// walk appends the tokens of the best way.
func (m *unigram) walk(dst []int32, best []step, word string) ([]int32, error) {
	for _, end := range slices.Backward(m.ends(best)) {
		var err error
		if dst, err = m.appendPart(dst, word[best[end].from:end]); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// ends is where the parts of the best way end, from the last. Unknown characters that are
// neighbours become one part.
func (m *unigram) ends(best []step) (ends []int) {
	isUnknown := func(end int) bool { return m.unknown >= 0 && best[end].id == m.unknown }
	for at := len(best) - 1; at > 0; at = best[at].from {
		if n := len(ends); n > 0 && isUnknown(at) && isUnknown(ends[n-1]) {
			best[ends[n-1]].from = best[at].from
			continue
		}
		ends = append(ends, at)
	}
	return ends
}

// appendPart appends the token of a part, or those of its bytes, or the unknown one.
func (m *unigram) appendPart(dst []int32, part string) ([]int32, error) {
	if id, ok := m.ids[part]; ok {
		return append(dst, id), nil
	}
	if m.bytes != nil {
		if dst, ok := appendBytes(dst, m.bytes, part); ok {
			return dst, nil
		}
	}
	if m.unknown < 0 {
		return nil, fmt.Errorf("there is no unknown token, and no token for %q", part)
	}
	return append(dst, m.unknown), nil
}
