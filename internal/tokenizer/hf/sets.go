package hf

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A set is what stands between brackets: its parts all hold, each of which is one of several.
type set struct {
	negated bool
	all     []string // parts with && between, that are complete
	any     []string // what the last part may be besides its plain members
	plain   strings.Builder
	several []string // texts of more than one letter that members are as good as
}

// set reads a set, in which others may be, and writes it as a group that matches one character.
func (t *translation) set() (string, error) {
	t.take(1)
	var s set
	if strings.HasPrefix(t.rest, "^") {
		t.take(1)
		s.negated = true
	}
	for first := true; ; first = false {
		switch {
		case t.rest == "":
			return "", errors.New("a set has no closing bracket")
		case t.rest[0] == ']' && !first:
			t.take(1)
			return s.withSeveral()
		}
		if err := t.member(&s); err != nil {
			return "", err
		}
	}
}

// member reads what comes next in a set.
func (t *translation) member(s *set) error {
	switch {
	case strings.HasPrefix(t.rest, "[:"):
		return fmt.Errorf("%q: names in sets are not known here", t.rest[:min(len(t.rest), 10)])
	case t.rest[0] == '[':
		inner, err := t.set()
		s.any = append(s.any, inner)
		return err
	case strings.HasPrefix(t.rest, "&&"):
		t.take(2)
		return s.finish()
	case t.rest[0] == '\\':
		return t.memberEscape(s)
	default:
		r, n := utf8.DecodeRuneInString(t.rest)
		if all, ok := severalOf(r); t.fold && ok {
			s.plain.WriteString(strings.Join(t.onesOf(all), ""))
			s.several = append(s.several, t.asGoodAs(all, nil))
		}
		s.plain.WriteString(t.folded(t.take(n)))
	}
	return nil
}

// memberEscape reads an escape in a set, where \b is a backspace.
func (t *translation) memberEscape(s *set) error {
	letter, err := t.escaped()
	if err != nil {
		return err
	}
	switch letter {
	case `\w`:
		letter = wordsInSet
	case `\W`:
		s.any = append(s.any, "[^"+wordsInSet+"]")
		return nil
	}
	s.plain.WriteString(letter)
	return nil
}

// finish completes a part.
func (s *set) finish() error {
	if s.plain.Len() > 0 {
		s.any = append(s.any, "["+s.plain.String()+"]")
	}
	if len(s.any) == 0 {
		return errors.New("a part of a set with && has no members")
	}
	s.all = append(s.all, strings.Join(s.any, "|"))
	s.any = nil
	s.plain.Reset()
	return nil
}

// withSeveral is the set, or a text that one of its members is as good as.
func (s *set) withSeveral() (string, error) {
	text, err := s.text()
	if s.negated || len(s.several) == 0 {
		return text, err
	}
	return "(?:" + text + "|" + strings.Join(s.several, "|") + ")", err
}

// text is the set as the engine reads it.
func (s *set) text() (string, error) {
	if len(s.all) == 0 && len(s.any) == 0 { // as most are
		if s.negated {
			return "[^" + s.plain.String() + "]", nil
		}
		return "[" + s.plain.String() + "]", nil
	}
	if err := s.finish(); err != nil {
		return "", err
	}
	here := "(?=" + strings.Join(s.all, ")(?=") + ")"
	if s.negated {
		here = "(?!" + here + ")"
	}
	return "(?:" + here + `[\s\S])`, nil
}
