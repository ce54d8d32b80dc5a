package hf

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
)

// newMatcher makes a matcher of a pattern.
func newMatcher(p *pattern, where string) (matcher, error) {
	if p == nil || p.String == nil && p.Regex == nil {
		return nil, fmt.Errorf("%s: there is no pattern, want a String or a Regex", where)
	}
	var m matcher
	var err error
	if p.String != nil {
		m, err = newLiteralMatcher(*p.String)
	} else {
		m, err = newRegexMatcher(*p.Regex)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return m, nil
}

// newRegexMatcher makes a matcher of a regular expression, without an engine if it is known.
func newRegexMatcher(text string) (matcher, error) {
	if m, ok := knownPatterns[text]; ok {
		return m, nil
	}
	if len(text) > maxPattern {
		return nil, fmt.Errorf("pattern %q… has %d bytes, want at most %d", text[:32], len(text), maxPattern)
	}
	pattern, err := translate(text)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", text, err)
	}
	compiled, err := regexp2.Compile(pattern, regexp2.None)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", text, err)
	}
	compiled.MatchTimeout = patience
	return regexMatcher{compiled}, nil
}

// maxPattern bounds what a file may nest: the longest known pattern has some 400 bytes.
const maxPattern = 1 << 14

// patience bounds the search for one match, and so many times as long that for all of a text: there are patterns that take forever.
const (
	patience   = 5 * time.Second
	ofOneMatch = 6
)

// A literalMatcher matches a text.
type literalMatcher string

func newLiteralMatcher(text string) (matcher, error) {
	if text == "" {
		return nil, errors.New("the pattern is empty")
	}
	return literalMatcher(text), nil
}

func (m literalMatcher) divide(text string, emit func(string, bool)) error {
	for {
		i := strings.Index(text, string(m))
		if i < 0 {
			break
		}
		if i > 0 {
			emit(text[:i], false)
		}
		emit(text[i:i+len(m)], true)
		text = text[i+len(m):]
	}
	if text != "" {
		emit(text, false)
	}
	return nil
}

// A regexMatcher matches what a regular expression of the engine does.
type regexMatcher struct{ *regexp2.Regexp }

// divide finds matches of no length too, unless another match ends there, but for those of an empty text.
func (m regexMatcher) divide(text string, emit func(string, bool)) error {
	if text == "" {
		return nil
	}
	runes, at, matched, begin := []rune(text), 0, false, time.Now()
	match, err := m.FindRunesMatch(runes)
	for ; match != nil && err == nil; match, err = m.FindNextMatch(match) {
		if time.Since(begin) > ofOneMatch*m.MatchTimeout {
			return fmt.Errorf("cutting text by the pattern %q takes more than %s", m.String(), ofOneMatch*m.MatchTimeout)
		}
		if match.Length == 0 && matched && match.Index == at {
			continue
		}
		if at < match.Index {
			emit(string(runes[at:match.Index]), false)
		}
		at, matched = match.Index+match.Length, true
		emit(string(runes[match.Index:at]), true)
	}
	if err != nil { // the engine has no other than that of its clock, and shows the whole text in it
		return fmt.Errorf("cutting text by the pattern %q takes more than %s for one match", m.String(), m.MatchTimeout)
	}
	if at < len(runes) {
		emit(string(runes[at:]), false)
	}
	return nil
}
