package hf

import (
	"fmt"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
)

// newMatcher makes a matcher of a pattern.
func newMatcher(p *pattern, where string) (matcher, error) {
	switch {
	case p == nil || p.String == nil && p.Regex == nil:
		return nil, fmt.Errorf("%s: there is no pattern, want a String or a Regex", where)
	case p.String != nil && *p.String == "":
		return nil, fmt.Errorf("%s: the pattern is empty", where)
	case p.String != nil:
		return literalMatcher(*p.String), nil
	}
	if m, ok := knownPatterns[*p.Regex]; ok {
		return m, nil
	}
	compiled, err := regexp2.Compile(*p.Regex, regexp2.None)
	if err != nil {
		return nil, fmt.Errorf("%s: pattern %q: %w", where, *p.Regex, err)
	}
	compiled.MatchTimeout = patience
	return regexMatcher{compiled}, nil
}

// patience bounds the search for one match: there are patterns that take forever.
const patience = 5 * time.Second

// A literalMatcher matches a text.
type literalMatcher string

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

// A regexMatcher matches what a regular expression does, with looking ahead.
type regexMatcher struct{ *regexp2.Regexp }

// divide finds matches of no length too, unless another match ends there.
func (m regexMatcher) divide(text string, emit func(string, bool)) error {
	runes, at, matched := []rune(text), 0, false
	match, err := m.FindRunesMatch(runes)
	for ; match != nil && err == nil; match, err = m.FindNextMatch(match) {
		if match.Length == 0 && matched && match.Index == at {
			continue
		}
		if at < match.Index {
			emit(string(runes[at:match.Index]), false)
		}
		at, matched = match.Index+match.Length, true
		emit(string(runes[match.Index:at]), true)
	}
	if err != nil {
		return fmt.Errorf("cutting text by the pattern %q: %w", m.String(), err)
	}
	if at < len(runes) {
		emit(string(runes[at:]), false)
	}
	return nil
}
