package hf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An addedToken is found in a text before any other step.
type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LeftStrip  bool   `json:"lstrip"`
	RightStrip bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// addedTokens are those of a tokenizer. Some are searched in the raw text, others, normalized too, in the normalized text.
type addedTokens struct {
	ids             map[string]int32
	special         map[int32]bool
	raw, normalized tokenFinder
}

// addTokens checks tokens against the vocabulary and adds them.
func (t *Tokenizer) addTokens(tokens []addedToken) error {
	t.added.ids, t.added.special = make(map[string]int32), make(map[int32]bool)
	for i, token := range tokens {
		err := error(nil)
		limit := len(t.pieces) + maxGap
		id, known := t.ids[token.Content]
		have, taken := t.Token(token.ID)
		content := token.Content
		switch {
		case token.Content == "":
			err = fmt.Errorf("the content of number %d is empty", token.ID)
		case token.ID < 0 || int(token.ID) > limit:
			err = fmt.Errorf("%q has number %d, expected 0 to %d", token.Content, token.ID, limit)
		case known && id != token.ID:
			err = fmt.Errorf("%q has number %d here and %d in the vocabulary of the model", token.Content, token.ID, id)
		case taken && have != token.Content:
			err = fmt.Errorf("%q has number %d, which %q has too", token.Content, token.ID, have)
		case token.Normalized:
			content, err = t.normalize(content)
		}
		if err != nil {
			return fmt.Errorf("added_tokens[%d]: %w", i, err)
		}
		if n := int(token.ID) + 1; n > len(t.pieces) {
			t.pieces = append(t.pieces, make([]string, n-len(t.pieces))...)
		}
		t.pieces[token.ID] = token.Content
		t.added.ids[token.Content] = token.ID
		if token.Special {
			t.added.special[token.ID] = true
		}
		finder := &t.added.raw
		if token.Normalized {
			finder = &t.added.normalized
		}
		if content != "" {
			finder.add(content, token)
		}
	}
	t.added.raw.sort()
	t.added.normalized.sort()
	return nil
}

// A tokenFinder finds tokens in a text, the leftmost and there the longest.
type tokenFinder struct {
	tokens  map[string]addedToken
	lengths []int // that tokens have, from the longest
	first   [256]bool
}

func (f *tokenFinder) add(content string, token addedToken) {
	if f.tokens == nil {
		f.tokens = make(map[string]addedToken)
	}
	if _, ok := f.tokens[content]; ok {
		return // the first one counts
	}
	f.tokens[content] = token
	f.lengths = append(f.lengths, len(content))
	f.first[content[0]] = true
}

func (f *tokenFinder) sort() {
	slices.SortFunc(f.lengths, func(a, b int) int { return cmp.Compare(b, a) })
	f.lengths = slices.Compact(f.lengths)
}

// A found is a token in a text, or text between tokens, whose id is negative.
type found struct {
	id    int32
	piece // between tokens
}

// find cuts a text into tokens and what is between them.
func (f *tokenFinder) find(p piece) []found {
	var parts []found
	text := p.text
	from := 0
	between := func(to int) {
		if to > from {
			parts = append(parts, found{-1, p.part(from, to)})
		}
	}
	for at := 0; at < len(text) && len(f.tokens) > 0; {
		token, n := f.at(text[at:])
		if n == 0 {
			at++
			continue
		}
		start, end := at, at+n
		at = end // where the search goes on, whatever blanks the token takes
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if token.SingleWord && (start > 0 && isWord(before) || end < len(text) && isWord(after)) {
			continue
		}
		if token.LeftStrip { // but for blanks that another token took
			start = max(from, len(strings.TrimRightFunc(text[:start], unicode.IsSpace)))
		}
		if token.RightStrip {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
		}
		between(start)
		if start < end { // a token of nothing but blanks that another took has none left
			parts = append(parts, found{id: token.ID})
		}
		from = end
	}
	between(len(text))
	return parts
}

// at returns the longest token with which a text begins, and its length; 0 if there is none.
func (f *tokenFinder) at(text string) (addedToken, int) {
	if !f.first[text[0]] {
		return addedToken{}, 0
	}
	for _, n := range f.lengths {
		if n > len(text) {
			continue
		}
		if token, ok := f.tokens[text[:n]]; ok {
			return token, n
		}
	}
	return addedToken{}, 0
}

// isWord is \w of the regular expressions of Rust.
func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}
