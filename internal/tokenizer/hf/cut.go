package hf

import (
	"fmt"
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

func (wordMatcher) divide(text string, emit func(string, bool)) error {
	kind := func(r rune) int {
		switch {
		case isWord(r):
			return 1
		case unicode.IsSpace(r):
			return 0
		}
		return 2
	}
	from, last := 0, -1
	for i, r := range text {
		k := kind(r)
		if k != last && i > 0 {
			emit(text[from:i], last == 0)
			from = i
		}
		last = k
	}
	if from < len(text) {
		emit(text[from:], last == 0)
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

func parseBehavior(name, where string) (behavior, error) {
	switch name {
	case "Removed":
		return removed, nil
	case "Isolated", "":
		return isolated, nil
	case "Contiguous":
		return contiguous, nil
	case "MergedWithPrevious":
		return mergedWithPrevious, nil
	case "MergedWithNext":
		return mergedWithNext, nil
	}
	return 0, fmt.Errorf("%s: behavior %q is not one of Removed, Isolated, Contiguous, MergedWithPrevious, MergedWithNext", where, name)
}

// cut appends the parts of a piece.
func (b behavior) cut(out []piece, m matcher, p piece) ([]piece, error) {
	begin, at, previous, have := 0, 0, false, false
	flush := func(to int) {
		if have && to > begin {
			out = append(out, piece{p.text[begin:to], p.first && begin == 0})
		}
		begin, have = to, true
	}
	err := m.divide(p.text, func(part string, matched bool) {
		if !b.joins(previous, matched, at > 0) {
			flush(at)
		}
		at += len(part)
		if b == removed && matched {
			begin, have = at, false
		}
		have = have || !(b == removed && matched)
		previous = matched
	})
	flush(at)
	return out, err
}

// joins reports whether a part belongs to the one before.
func (b behavior) joins(previous, matched, notFirst bool) bool {
	switch b {
	case contiguous:
		return notFirst && previous == matched
	case mergedWithPrevious:
		return notFirst && matched && !previous
	case mergedWithNext:
		return notFirst && previous && !matched
	}
	return false
}
