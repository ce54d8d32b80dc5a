package hf

import (
	"fmt"
	"unicode/utf8"
)

// A Tokenizer cuts text into tokens. It may be used by several goroutines.
type Tokenizer struct {
	pieces []string // by number; empty where there is none
	model  model
	added  addedTokens

	normalize     normalizer
	split         preTokenizer
	before, after []int32 // special tokens around a text
	decode        decoder
}

// A model cuts a word into tokens.
type model interface {
	// id returns the number of a token.
	id(token string) (int32, bool)
	// append appends the numbers of a word's tokens.
	append(dst []int32, word string) ([]int32, error)
}

// Special says what happens to special tokens.
type Special bool

// Their values, by what they do.
const (
	AddSpecial  Special = true  // those that the file puts around a text are added
	NoSpecial   Special = false // or not
	SkipSpecial Special = true  // they do not appear in decoded text
	KeepSpecial Special = false // or do
)

// Append appends the numbers of the tokens of a text. Special tokens that stand in the text
// are found in any case. Where the text is no UTF-8, it is read with U+FFFD there.
func (t *Tokenizer) Append(dst []int32, text string, special Special) ([]int32, error) {
	if special {
		dst = append(dst, t.before...)
	}
	if !utf8.ValidString(text) {
		text = validText([]byte(text))
	}
	dst, err := t.appendText(dst, text)
	if err != nil {
		return nil, err
	}
	if special {
		dst = append(dst, t.after...)
	}
	return dst, nil
}

func (t *Tokenizer) appendText(dst []int32, text string) ([]int32, error) {
	for _, raw := range t.added.raw.find(wholeText(text)) {
		if raw.id >= 0 {
			dst = append(dst, raw.id)
			continue
		}
		var err error
		if dst, err = t.appendBetween(dst, raw.piece); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// appendBetween appends the tokens of a text between added tokens.
func (t *Tokenizer) appendBetween(dst []int32, raw piece) ([]int32, error) {
	normal, err := t.normalize(raw)
	if err != nil {
		return nil, err
	}
	for _, s := range t.added.normalized.find(normal) {
		if s.id >= 0 {
			dst = append(dst, s.id)
			continue
		}
		if dst, err = t.appendWords(dst, s.piece); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func (t *Tokenizer) appendWords(dst []int32, p piece) ([]int32, error) {
	words, err := t.split([]piece{p})
	if err != nil {
		return nil, err
	}
	for _, word := range words {
		if word.text == "" {
			continue
		}
		if dst, err = t.model.append(dst, word.text); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// Size is one more than the largest number of a token: what a model needs as the size of its
// vocabulary, at the least.
func (t *Tokenizer) Size() int { return len(t.pieces) }

// ID returns the number of a token as the file writes it, and whether there is one.
func (t *Tokenizer) ID(token string) (int32, bool) {
	if id, ok := t.added.ids[token]; ok {
		return id, true
	}
	return t.model.id(token)
}

// Token returns the token of a number as the file writes it, and whether there is one.
func (t *Tokenizer) Token(id int32) (string, bool) {
	if id < 0 || int(id) >= len(t.pieces) || t.pieces[id] == "" {
		return "", false
	}
	return t.pieces[id], true
}

// IsSpecial reports whether a token is a special one, which decoding can leave out.
func (t *Tokenizer) IsSpecial(id int32) bool { return t.added.special[id] }

// Fits returns an error unless every token has a place in a vocabulary of a size, which a
// model has.
func (t *Tokenizer) Fits(vocabulary int) error {
	if t.Size() > vocabulary {
		return fmt.Errorf("the tokenizer has tokens up to %d, the model a vocabulary of %d: they do not belong together", t.Size()-1, vocabulary)
	}
	return nil
}

// Decode returns the text of tokens. A number that no token has is an error.
func (t *Tokenizer) Decode(ids []int32, special Special) (string, error) {
	tokens := make([]string, 0, len(ids))
	for i, id := range ids {
		token, ok := t.Token(id)
		if !ok {
			return "", fmt.Errorf("token %d is %d, which the vocabulary of %d does not have", i, id, t.Size())
		}
		if !bool(special) || !t.added.special[id] {
			tokens = append(tokens, token)
		}
	}
	return t.decode.text(tokens)
}
