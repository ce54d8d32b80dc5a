package hf

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// matchTimeout bounds the search for one match: some patterns take exponential time.
const matchTimeout = 5 * time.Second

// newRegexMatcher makes a matcher of a regular expression, without an engine if it is known.
func newRegexMatcher(text string) (matcher, error) {
	if m, ok := knownPatterns[text]; ok {
		return m, nil
	}
	t := translation{rest: text, atom: -1}
	err := t.all()
	var compiled *regexp2.Regexp
	if err == nil {
		compiled, err = regexp2.Compile(t.out, regexp2.None)
	}
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", text, err)
	}
	compiled.MatchTimeout = matchTimeout
	return regexMatcher{compiled}, nil
}

// A regexMatcher matches what a regular expression of the engine does.
type regexMatcher struct{ *regexp2.Regexp }

// divide also finds matches of no length, unless another match ends there or the text is empty.
func (m regexMatcher) divide(text string, emit func(string, bool)) error {
	if text == "" {
		return nil
	}
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
	if err != nil { // the engine's only error is that of its clock, which shows the whole text
		return fmt.Errorf("cutting text by the pattern %q takes more than %s for one match", m.String(), m.MatchTimeout)
	}
	if at < len(runes) {
		emit(string(runes[at:]), false)
	}
	return nil
}

// A translation translates a pattern of Oniguruma, with Ruby's syntax, which HuggingFace's library uses, into one of regexp2, with
// that of .NET. Patterns of known tokenizers differ in ^ and $, possessive repetitions, and the letter ſ where case is
// ignored. Other differences are refused.
type translation struct {
	rest   string // to be read
	out    string
	atom   int     // where in out the last repeatable item begins; -1: none
	groups []group // open groups
	fold   bool    // case is ignored, (?i:
}

// A group begins at a place of out. After it fold is as before.
type group struct {
	begin int
	fold  bool
}

func (t *translation) all() error {
	for t.rest != "" {
		var err error
		switch t.rest[0] {
		case '\\':
			var text string
			text, err = t.escape()
			t.put(text)
		case '[':
			err = t.set()
		case '(':
			err = t.open()
		case ')':
			t.out += t.take(1)
			if n := len(t.groups); n > 0 {
				t.atom, t.fold, t.groups = t.groups[n-1].begin, t.groups[n-1].fold, t.groups[:n-1]
			}
		case '*', '+', '?', '{':
			err = t.repeat()
		case '^':
			t.take(1)
			t.put(`(?:\A|(?<=\n)(?!\z))`)
		case '$':
			t.take(1)
			t.put(`(?=\n|\z)`)
		case '|':
			t.out += t.take(1)
			t.atom = -1
		default:
			if letter := t.letter(); t.fold && strings.Contains("sSſ", letter) {
				t.put("[sSſ]")
			} else {
				t.put(letter)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// take reads n bytes.
func (t *translation) take(n int) string {
	taken := t.rest[:n]
	t.rest = t.rest[n:]
	return taken
}

// letter reads a character.
func (t *translation) letter() string {
	_, n := utf8.DecodeRuneInString(t.rest)
	return t.take(n)
}

// put writes a repeatable item.
func (t *translation) put(text string) {
	t.atom = len(t.out)
	t.out += text
}

// escape reads a backslash with its letter, and the braces behind \p or \x.
func (t *translation) escape() (string, error) {
	switch {
	case len(t.rest) < 2:
		return "", errors.New("it ends with a backslash")
	case strings.IndexByte("wWbBhHRXKNOyYgGMCczZ", t.rest[1]) >= 0:
		return "", fmt.Errorf("%s is not supported", t.rest[:2])
	case strings.IndexByte("pPx", t.rest[1]) < 0 || !strings.HasPrefix(t.rest[2:], "{"):
		return t.take(1) + t.letter(), nil
	}
	end := strings.IndexByte(t.rest, '}')
	if end < 0 {
		return "", fmt.Errorf("%q has no closing brace", t.rest)
	}
	return t.take(end + 1), nil
}

// set reads a set. The first character in it may be a closing bracket.
func (t *translation) set() error {
	var b strings.Builder
	b.WriteString(t.take(1))
	if strings.HasPrefix(t.rest, "^") {
		b.WriteString(t.take(1))
	}
	for first := true; ; first = false {
		switch {
		case t.rest == "":
			return errors.New("a set has no closing bracket")
		case t.rest[0] == ']' && !first:
			b.WriteString(t.take(1))
			t.put(b.String())
			return nil
		case t.rest[0] == '[', strings.HasPrefix(t.rest, "&&"):
			return errors.New("a set within a set is not supported")
		case t.rest[0] == '\\':
			text, err := t.escape()
			if err != nil {
				return err
			}
			b.WriteString(text)
		default:
			letter := t.letter()
			b.WriteString(letter)
			if t.fold && strings.Contains("sS", letter) {
				b.WriteString("ſ")
			}
		}
	}
}

// open reads the beginning of a group, whose only option may be i.
func (t *translation) open() error {
	t.groups = append(t.groups, group{len(t.out), t.fold})
	t.atom = -1
	for _, beginning := range []string{"(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!", "(?>"} {
		if strings.HasPrefix(t.rest, beginning) {
			t.fold = t.fold || beginning == "(?i:"
			t.out += t.take(len(beginning))
			return nil
		}
	}
	if strings.HasPrefix(t.rest, "(?") {
		return fmt.Errorf("%q is not supported: the only option is (?i: before a group", t.rest[:min(len(t.rest), 5)])
	}
	t.out += t.take(1)
	return nil
}

// repeat reads a repetition. With a plus behind it, *, + and ? give nothing back, while braces are repeated themselves.
func (t *translation) repeat() error {
	count := t.rest[:1]
	if count == "{" {
		end := strings.IndexByte(t.rest, '}')
		if end < 2 || strings.Trim(t.rest[1:end], "0123456789,") != "" || t.rest[1] == ',' {
			return errors.New("the braces are not a count: expected {2} or {1,3}")
		}
		count = t.rest[:end+1]
	}
	if t.atom < 0 {
		return fmt.Errorf("%s repeats nothing", count)
	}
	t.take(len(count))
	what := t.out[t.atom:] + count
	switch {
	case strings.HasPrefix(t.rest, "+") && count[0] == '{':
		t.take(1)
		what = "(?:" + what + ")+"
	case strings.HasPrefix(t.rest, "+"):
		t.take(1)
		what = "(?>" + what + ")"
	case strings.HasPrefix(t.rest, "?") && count[0] == '{' && !strings.Contains(count, ","):
		return fmt.Errorf("%s? is not supported", count)
	case strings.HasPrefix(t.rest, "?"):
		what += t.take(1)
	}
	t.out = t.out[:t.atom] + what
	return nil
}
