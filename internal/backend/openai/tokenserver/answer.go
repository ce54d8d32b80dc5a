package tokenserver

import (
	"slices"
	"strings"
)

// The tokens.
const (
	// Plain is how many tokens are words that mean nothing.
	Plain = 64
	// Hidden is the token in a prompt behind which its answer is hidden.
	Hidden = 87

	programBegin = 88
	programEnd   = 89

	firstDigit  = 64
	firstLetter = 74
	answerIs    = 84
	boxBegin    = 85
	boxEnd      = 86
)

// Letter is an answer: a letter from A to J.
func Letter(c byte) []int32 { return []int32{answerIs, firstLetter + int32(c-'A')} }

// Number is an answer: a number that is not negative, in a box.
func Number(n int) []int32 {
	digits := []int32{boxEnd}
	for ; n > 0 || len(digits) == 1; n /= 10 {
		digits = append(digits, firstDigit+int32(n%10))
	}
	digits = append(digits, boxBegin)
	slices.Reverse(digits)
	return digits
}

// Program is an answer: a program that reads a number, and writes the sum of it and n, which is not negative.
func Program(n int) []int32 {
	digits := Number(n)
	digits[0], digits[len(digits)-1] = programBegin, programEnd
	return digits
}

// Spelled is the text of tokens.
func Spelled(tokens []int32) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(words[t])
	}
	return b.String()
}

// Tokenizer is the content of a tokenizer.json whose tokens are those of the server.
func Tokenizer() map[string]any {
	vocabulary := map[string]int{"<unk>": len(words)}
	var added []map[string]any
	for id, word := range words {
		vocabulary[word] = id
		added = append(added, map[string]any{"id": id, "content": word, "special": false, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
	}
	return map[string]any{
		"version": "1.0", "added_tokens": added, "normalizer": nil, "pre_tokenizer": nil, "post_processor": nil,
		"decoder": map[string]any{"type": "Fuse"},
		"model":   map[string]any{"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "ignore_merges": true, "vocab": vocabulary, "merges": []string{}},
	}
}

// behindIDs are the tokens behind the mark; nil: there is none, or what is behind it is unknown.
func behindIDs(ids []int32) []int32 {
	i := slices.Index(ids, Hidden)
	if i < 0 || slices.ContainsFunc(ids[i:], func(t int32) bool { return t < 0 || int(t) >= len(words) }) {
		return nil
	}
	return ids[i+1:]
}

// behindText is behindIDs of a text.
func behindText(text string) (tokens []int32) {
	_, rest, found := strings.Cut(text, words[Hidden])
	for found && rest != "" {
		i := slices.IndexFunc(words[:], func(w string) bool { return strings.HasPrefix(rest, w) })
		if i < 0 {
			return nil
		}
		tokens, rest = append(tokens, int32(i)), rest[len(words[i]):]
	}
	return tokens
}

// parts is how finely shares are told apart.
const parts = 10007

// know has a share of the questions answered with what is hidden in them: always the same ones.
func (s *Server) know(q *request) {
	if len(q.hidden) == 0 || float64(q.seed%parts) >= s.options.Right*parts {
		return
	}
	q.says = q.hidden
	q.tokens = min(q.tokens, len(q.says))
	s.mu.Lock()
	s.rights[q.seed] = true
	s.mu.Unlock()
}

// token is the nth of the answer.
func (q *request) token(n int) int {
	if q.says != nil {
		return int(q.says[n])
	}
	return id(q.seed, n)
}
