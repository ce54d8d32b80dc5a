package hf

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A matcher divides a text into parts that match and parts between them. It calls emit for
// each, in order; together they are the text.
type matcher interface {
	divide(text string, emit func(part string, matched bool)) error
}

// matches is m.divide, for callers that read better so.
func matches(m matcher, text string, emit func(part string, matched bool)) error {
	return m.divide(text, emit)
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
		_, n := utf8.DecodeRuneInString(text[i:])
		emit(text[i:i+n], true)
		from = i + n
	}
	if from < len(text) {
		emit(text[from:], false)
	}
	return nil
}

// A wordMatcher matches what is between words and runs of marks: \w+|[^\w\s]+, inverted.
type wordMatcher struct{}

// The kinds of characters that a wordMatcher tells apart.
const (
	wordBlank = iota
	wordPart
	wordMark
)

func wordKind(r rune) int {
	switch {
	case isWord(r):
		return wordPart
	case unicode.IsSpace(r):
		return wordBlank
	}
	return wordMark
}

func (wordMatcher) divide(text string, emit func(string, bool)) error {
	for text != "" {
		first, _ := utf8.DecodeRuneInString(text)
		kind := wordKind(first)
		rest := strings.TrimLeftFunc(text, func(r rune) bool { return wordKind(r) == kind })
		emit(text[:len(text)-len(rest)], kind == wordBlank)
		text = rest
	}
	return nil
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

var behaviors = map[string]behavior{
	"": isolated, "Removed": removed, "Isolated": isolated, "Contiguous": contiguous, "MergedWithPrevious": mergedWithPrevious, "MergedWithNext": mergedWithNext,
}

func parseBehavior(name, where string) (behavior, error) {
	if b, ok := behaviors[name]; ok {
		return b, nil
	}
	return 0, fmt.Errorf("%s: behavior %q is not one of Removed, Isolated, Contiguous, MergedWithPrevious, MergedWithNext", where, name)
}

// cut appends the parts of a piece.
func (b behavior) cut(out []piece, m matcher, p piece) ([]piece, error) {
	begin, at, previous := 0, 0, false
	flush := func() {
		if at > begin {
			out = append(out, p.part(begin, at))
		}
		begin = at
	}
	err := m.divide(p.text, func(part string, matched bool) {
		if !b.joins(previous, matched, at > 0) {
			flush()
		}
		at += len(part)
		if b == removed && matched {
			begin = at
		}
		previous = matched
	})
	flush()
	return out, err
}

// joins reports whether a part belongs to the one before.
func (b behavior) joins(previous, matched, notFirst bool) bool {
	if !notFirst {
		return false
	}
	switch b {
	case contiguous:
		return previous == matched
	case mergedWithPrevious:
		return matched && !previous
	case mergedWithNext:
		return previous && !matched
	}
	return false
}
