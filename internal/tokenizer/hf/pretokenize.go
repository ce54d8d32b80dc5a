package hf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A piece is a part of a text on its way to the model.
type piece struct {
	text  string
	first int // how many bytes at its beginning stand where the text begins, for its first character; 0: it begins later
}

// wholeText is a piece that is all of a text.
func wholeText(text string) piece {
	_, n := utf8.DecodeRuneInString(text)
	return piece{text, n}
}

// part is a part of a piece.
func (p piece) part(from, to int) piece {
	return piece{p.text[from:to], max(0, min(p.first, to)-from)}
}

// behind is a piece with a text before it, which stands where it begins. An empty one stays so.
func (p piece) behind(text string) piece {
	if p.text == "" {
		return p
	}
	if p.first > 0 {
		p.first += len(text)
	}
	p.text = text + p.text
	return p
}

// each is a piece of whose characters each becomes something.
func (p piece) each(become func(string) string) piece {
	text := become(p.text)
	return piece{text, min(len(become(p.text[:p.first])), len(text))}
}

// A preTokenizer cuts pieces into words.
type preTokenizer func([]piece) ([]piece, error)

// preTokenizerKinds make pre-tokenizers, by the type of their component; where is the place in the file.
var preTokenizerKinds = map[string]func(c *component, where string) (preTokenizer, error){
	"ByteLevel":          func(c *component, _ string) (preTokenizer, error) { return newByteLevel(c), nil },
	"Split":              newSplit,
	"Metaspace":          newMetaspace,
	"BertPreTokenizer":   always(chain(cutting(runeMatcher(unicode.IsSpace), removed), cutting(runeMatcher(isPunctuation), isolated))),
	"Whitespace":         always(cutting(wordMatcher{}, removed)),
	"WhitespaceSplit":    always(cutting(runeMatcher(unicode.IsSpace), removed)),
	"Punctuation":        newPunctuation,
	"Digits":             newDigits,
	"CharDelimiterSplit": newDelimiter,
}

func always(p preTokenizer) func(*component, string) (preTokenizer, error) {
	return func(*component, string) (preTokenizer, error) { return p, nil }
}

// newPreTokenizer makes one; where is the place in the file. A nil component cuts nothing.
func newPreTokenizer(c *component, where string) (preTokenizer, error) {
	if c == nil {
		return chain(), nil
	}
	if c.Type == "Sequence" {
		return preTokenizers(c.PreTokenizers, where+".pretokenizers")
	}
	if made, ok := preTokenizerKinds[c.Type]; ok {
		return made(c, where)
	}
	return nil, fmt.Errorf("%s: type %q is not known, want Sequence, ByteLevel, Split, Metaspace, BertPreTokenizer, Whitespace, WhitespaceSplit, "+
		"Punctuation, Digits or CharDelimiterSplit", where, c.Type)
}

func newPunctuation(c *component, where string) (preTokenizer, error) {
	behavior, err := parseBehavior(c.Behavior, where)
	return cutting(runeMatcher(isPunctuation), behavior), err
}

func newDigits(c *component, _ string) (preTokenizer, error) {
	if c.Individual {
		return cutting(runeMatcher(unicode.IsNumber), isolated), nil
	}
	return cutting(runeMatcher(unicode.IsNumber), contiguous), nil
}

func preTokenizers(parts []component, where string) (preTokenizer, error) {
	steps := make([]preTokenizer, len(parts))
	for i := range parts {
		var err error
		if steps[i], err = newPreTokenizer(&parts[i], fmt.Sprintf("%s[%d]", where, i)); err != nil {
			return nil, err
		}
	}
	return chain(steps...), nil
}

func chain(steps ...preTokenizer) preTokenizer {
	return func(p []piece) ([]piece, error) {
		var err error
		for _, step := range steps {
			if p, err = step(p); err != nil {
				return nil, err
			}
		}
		return p, nil
	}
}

// cutting cuts pieces where m matches.
func cutting(m matcher, behavior behavior) preTokenizer {
	return func(pieces []piece) ([]piece, error) {
		var out []piece
		for _, p := range pieces {
			var err error
			if out, err = behavior.cut(out, m, p); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

// isPunctuation reports whether a character is a mark: all of ASCII but letters, digits and
// blanks, and elsewhere what Unicode takes for one.
func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return unicode.In(r, unicode.P, unicode.S)
	}
	return unicode.Is(unicode.P, r)
}

func newSplit(c *component, where string) (preTokenizer, error) {
	m, err := newMatcher(c.Pattern, where)
	if err != nil {
		return nil, err
	}
	behavior, err := parseBehavior(c.Behavior, where)
	if c.Invert {
		m = inverted{m}
	}
	return cutting(m, behavior), err
}

func newDelimiter(c *component, where string) (preTokenizer, error) {
	delimiter, n := utf8.DecodeRuneInString(c.Delimiter)
	if n == 0 || n != len(c.Delimiter) {
		return nil, fmt.Errorf("%s: delimiter %q is not one character", where, c.Delimiter)
	}
	return cutting(runeMatcher(func(r rune) bool { return r == delimiter }), removed), nil
}

// newByteLevel cuts as GPT-2 does, and writes each byte as a character.
func newByteLevel(c *component) preTokenizer {
	prefix := c.PrefixSpace == nil || *c.PrefixSpace
	cut := chain()
	if c.UseRegex == nil || *c.UseRegex {
		cut = cutting(gpt2Matcher, isolated)
	}
	return func(pieces []piece) ([]piece, error) {
		if prefix {
			prependBlanks(pieces)
		}
		pieces, err := cut(pieces)
		for i := range pieces {
			pieces[i] = pieces[i].each(toByteCharacters)
		}
		return pieces, err
	}
}

// prependBlanks puts a blank before pieces that have none there.
func prependBlanks(pieces []piece) {
	for i, p := range pieces {
		if p.text != "" && p.text[0] != ' ' {
			pieces[i] = p.behind(" ")
		}
	}
}

// newMetaspace writes blanks as another character, often ▁, and cuts before it.
func newMetaspace(c *component, where string) (preTokenizer, error) {
	mark, err := c.mark(where)
	if err != nil {
		return nil, err
	}
	scheme, err := c.scheme(where)
	if err != nil {
		return nil, err
	}
	cut := chain()
	if c.Split == nil || *c.Split {
		cut = cutting(runeMatcher(func(r rune) bool { return r == mark }), mergedWithNext)
	}
	return func(pieces []piece) ([]piece, error) {
		for i, p := range pieces {
			pieces[i] = scheme.marked(p, c.Replacement)
		}
		return cut(pieces)
	}, nil
}

// mark is the character that a Metaspace writes for a blank.
func (c *component) mark(where string) (rune, error) {
	mark, n := utf8.DecodeRuneInString(c.Replacement)
	if n == 0 || n != len(c.Replacement) {
		return 0, fmt.Errorf("%s: replacement %q is not one character", where, c.Replacement)
	}
	return mark, nil
}

// A prependScheme says before which pieces a Metaspace puts a blank.
type prependScheme string

func (s prependScheme) wants(p piece) bool { return s == "always" || s == "first" && p.first > 0 }

// marked is a piece with marks in the place of blanks.
func (s prependScheme) marked(p piece, mark string) piece {
	p = p.each(func(text string) string { return strings.ReplaceAll(text, " ", mark) })
	if s.wants(p) && !strings.HasPrefix(p.text, mark) {
		return p.behind(mark)
	}
	return p
}

// scheme is that of a Metaspace.
func (c *component) scheme(where string) (prependScheme, error) {
	scheme := cmp.Or(c.PrependScheme, "always")
	if !slices.Contains([]string{"always", "first", "never"}, scheme) {
		return "", fmt.Errorf("%s: prepend_scheme %q is not one of always, first, never", where, scheme)
	}
	if c.PrefixSpace != nil && !*c.PrefixSpace && scheme != "never" {
		return "", fmt.Errorf("%s: add_prefix_space is false, but prepend_scheme is %s", where, scheme)
	}
	return prependScheme(scheme), nil
}
