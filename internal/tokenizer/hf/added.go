package hf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// An addedToken is one that is found before anything else is done to a text.
type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LeftStrip  bool   `json:"lstrip"`
	RightStrip bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// addedTokens are those of a tokenizer. Some are looked for in the text as it is, others after
// normalization, which they go through too.
type addedTokens struct {
	ids             map[string]int32
	special         map[int32]bool
	raw, normalized tokenFinder
}

// maxID bounds the numbers of tokens.
const maxID = 1 << 24

func (t *Tokenizer) addTokens(tokens []addedToken) error {
	t.added.ids, t.added.special = make(map[string]int32), make(map[int32]bool)
	for i, token := range tokens {
		if err := t.addToken(token); err != nil {
			return fmt.Errorf("added_tokens[%d]: %w", i, err)
		}
	}
	t.added.raw.sort()
	t.added.normalized.sort()
	return nil
}

func (t *Tokenizer) addToken(token addedToken) error {
	if err := t.checkAdded(token); err != nil {
		return err
	}
	if n := int(token.ID) + 1; n > len(t.pieces) {
		t.pieces = append(t.pieces, make([]string, n-len(t.pieces))...)
	}
	t.pieces[token.ID] = token.Content
	t.added.ids[token.Content] = token.ID
	if token.Special {
		t.added.special[token.ID] = true
	}
	if !token.Normalized {
		t.added.raw.add(token.Content, token)
		return nil
	}
	content, err := t.normalize(piece{text: token.Content})
	if err == nil && content.text != "" {
		t.added.normalized.add(content.text, token)
	}
	return err
}

// checkAdded finds what contradicts the vocabulary.
func (t *Tokenizer) checkAdded(token addedToken) error {
	if token.Content == "" {
		return fmt.Errorf("the content of number %d is empty", token.ID)
	}
	if limit := len(t.pieces) + maxGap; token.ID < 0 || int(token.ID) > limit {
		return fmt.Errorf("%q has number %d, want 0 to %d", token.Content, token.ID, limit)
	}
	if id, ok := t.model.id(token.Content); ok && id != token.ID {
		return fmt.Errorf("%q has number %d here and %d in the vocabulary of the model", token.Content, token.ID, id)
	}
	if have, ok := t.Token(token.ID); ok && have != token.Content {
		return fmt.Errorf("%q has number %d, which %q has too", token.Content, token.ID, have)
	}
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
		if !token.fits(text[:start], text[end:]) {
			continue
		}
		start, end = token.withBlanks(text, from, start, end)
		between(start)
		if start < end {
			parts = append(parts, found{id: token.ID})
		}
		from = end
	}
	between(len(text))
	return parts
}

// fits reports whether a token counts between two texts: a single word is no part of another.
func (a addedToken) fits(before, after string) bool {
	return !a.SingleWord || !wordEnds(before) && !wordBegins(after)
}

// withBlanks is where a token begins and ends that takes the blanks around it, but for those
// that another took, which ends at from. A token of nothing but such blanks has none left.
func (a addedToken) withBlanks(text string, from, start, end int) (int, int) {
	if a.LeftStrip {
		start = max(from, len(strings.TrimRightFunc(text[:start], unicode.IsSpace)))
	}
	if a.RightStrip {
		end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
	}
	return start, end
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

func wordEnds(text string) bool {
	r := []rune(text[max(0, len(text)-4):])
	return len(r) > 0 && isWord(r[len(r)-1])
}

func wordBegins(text string) bool {
	for _, r := range text {
		return isWord(r)
	}
	return false
}

// isWord is \w of the regular expressions of Rust.
func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}
