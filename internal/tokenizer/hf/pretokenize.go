package hf

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A piece is a part of a text on its way to the model.
type piece struct {
	text  string
	first bool // it begins where the whole text begins
}

// part is a part of a piece.
func (p piece) part(from, to int) piece { return piece{p.text[from:to], p.first && from == 0} }

// A preTokenizer cuts pieces into words. It may change the slice that it gets.
type preTokenizer func([]piece) ([]piece, error)

// newPreTokenizer makes one; where is the place in the file. A nil component cuts nothing.
func newPreTokenizer(c *component, where string) (preTokenizer, error) {
	if c == nil {
		return func(pieces []piece) ([]piece, error) { return pieces, nil }, nil
	}
	switch c.Type {
	case "Sequence":
		var steps []preTokenizer
		for i := range c.PreTokenizers {
			step, err := newPreTokenizer(&c.PreTokenizers[i], fmt.Sprintf("%s.pretokenizers[%d]", where, i))
			if err != nil {
				return nil, err
			}
			steps = append(steps, step)
		}
		return func(pieces []piece) (_ []piece, err error) {
			for _, step := range steps {
				if pieces, err = step(pieces); err != nil {
					return nil, err
				}
			}
			return pieces, nil
		}, nil
	case "ByteLevel":
		return newByteLevel(c), nil
	case "Split":
		m, err := newMatcher(c.Pattern, where)
		if err != nil {
			return nil, err
		}
		if c.Invert {
			m = inverted{m}
		}
		behavior, err := parseBehavior(c.Behavior, where)
		return cutting(m, behavior), err
	case "Metaspace":
		return newMetaspace(c, where)
	case "Punctuation":
		behavior, err := parseBehavior(c.Behavior, where)
		return cutting(runeMatcher(func(r rune) bool {
			return unicode.Is(unicode.P, r) || r < utf8.RuneSelf && unicode.Is(unicode.S, r)
		}), behavior), err
	case "Digits":
		if c.Individual {
			return cutting(runeMatcher(unicode.IsNumber), isolated), nil
		}
		return cutting(runeMatcher(unicode.IsNumber), contiguous), nil
	}
	return nil, fmt.Errorf("%s: type %q is not supported, expected Sequence, ByteLevel, Split, Metaspace, Punctuation or Digits", where, c.Type)
}

// newByteLevel cuts as GPT-2 does, and writes each byte as a character.
func newByteLevel(c *component) preTokenizer {
	prefix := c.PrefixSpace == nil || *c.PrefixSpace
	cut := cutting(gpt2Matcher, isolated)
	return func(pieces []piece) (_ []piece, err error) {
		for i, p := range pieces {
			if prefix && p.text != "" && p.text[0] != ' ' {
				pieces[i].text = " " + p.text
			}
		}
		if c.UseRegex == nil || *c.UseRegex {
			if pieces, err = cut(pieces); err != nil {
				return nil, err
			}
		}
		for i := range pieces {
			pieces[i].text = toByteCharacters(pieces[i].text)
		}
		return pieces, nil
	}
}

// newMetaspace writes blanks as another character, often ▁, and cuts before it.
func newMetaspace(c *component, where string) (preTokenizer, error) {
	scheme, err := c.metaspace(where)
	cut := cutting(literalMatcher(c.Replacement), mergedWithNext)
	return func(pieces []piece) ([]piece, error) {
		for i, p := range pieces {
			text := strings.ReplaceAll(p.text, " ", c.Replacement)
			if (scheme == "always" || scheme == "first" && p.first) && text != "" && !strings.HasPrefix(text, c.Replacement) {
				text = c.Replacement + text
			}
			pieces[i].text = text
		}
		if c.Split == nil || *c.Split {
			return cut(pieces)
		}
		return pieces, nil
	}, err
}

// metaspace returns before which pieces a Metaspace puts a blank: always, first or never.
func (c *component) metaspace(where string) (scheme string, err error) {
	scheme = cmp.Or(c.PrependScheme, "always")
	switch {
	case utf8.RuneCountInString(c.Replacement) != 1:
		return "", fmt.Errorf("%s: replacement %q is not one character", where, c.Replacement)
	case !slices.Contains([]string{"always", "first", "never"}, scheme):
		return "", fmt.Errorf("%s: prepend_scheme %q is not one of always, first, never", where, scheme)
	case c.PrefixSpace != nil && !*c.PrefixSpace && scheme != "never":
		return "", fmt.Errorf("%s: add_prefix_space is false, but prepend_scheme is %s", where, scheme)
	}
	return scheme, nil
}

// A behavior says what becomes of the parts of a text that match.
type behavior int

const (
	removed behavior = iota
	isolated
	contiguous
	mergedWithPrevious
	mergedWithNext
)

func parseBehavior(name, where string) (behavior, error) {
	known := []string{"Removed", "Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext"}
	i := slices.Index(known, cmp.Or(name, "Isolated"))
	if i < 0 {
		return 0, fmt.Errorf("%s: behavior %q is not one of %s", where, name, strings.Join(known, ", "))
	}
	return behavior(i), nil
}

// cutting cuts pieces where m matches.
func cutting(m matcher, behavior behavior) preTokenizer {
	return func(pieces []piece) ([]piece, error) {
		var out []piece
		for _, p := range pieces {
			begin, at, previous := 0, 0, false
			flush := func() {
				if at > begin {
					out = append(out, p.part(begin, at))
				}
				begin = at
			}
			err := m.divide(p.text, func(part string, matched bool) {
				if !(behavior == contiguous && previous == matched ||
					behavior == mergedWithPrevious && matched && !previous ||
					behavior == mergedWithNext && previous && !matched) {
					flush()
				}
				at += len(part)
				if behavior == removed && matched {
					begin = at
				}
				previous = matched
			})
			if err != nil {
				return nil, err
			}
			flush()
		}
		return out, nil
	}
}

// A matcher divides a text into parts that match and parts between them. It calls emit for
// each, in order; together they are the text.
type matcher interface {
	divide(text string, emit func(part string, matched bool)) error
}

// A pattern is a text or a regular expression.
type pattern struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

// newMatcher makes a matcher of a pattern.
func newMatcher(p *pattern, where string) (m matcher, err error) {
	switch {
	case p == nil || p.String == nil && p.Regex == nil:
		err = errors.New("there is no pattern, expected a String or a Regex")
	case p.Regex != nil:
		m, err = newRegexMatcher(*p.Regex)
	case *p.String == "":
		err = errors.New("the pattern is empty")
	default:
		m = literalMatcher(*p.String)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return m, nil
}

// inverted matches what is between the matches of another.
type inverted struct{ matcher }

func (i inverted) divide(text string, emit func(string, bool)) error {
	return i.matcher.divide(text, func(part string, matched bool) { emit(part, !matched) })
}

// A runeMatcher matches single characters.
type runeMatcher func(rune) bool

func (m runeMatcher) divide(text string, emit func(string, bool)) error {
	from := 0
	for i, r := range text {
		if !m(r) {
			continue
		}
		if from < i {
			emit(text[from:i], false)
		}
		from = i + utf8.RuneLen(r)
		emit(text[i:from], true)
	}
	if from < len(text) {
		emit(text[from:], false)
	}
	return nil
}

// A literalMatcher matches a text.
type literalMatcher string

func (m literalMatcher) divide(text string, emit func(string, bool)) error {
	for {
		before, after, found := strings.Cut(text, string(m))
		if before != "" {
			emit(before, false)
		}
		if !found {
			return nil
		}
		emit(string(m), true)
		text = after
	}
}
