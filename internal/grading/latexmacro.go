package grading

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

// macro takes the arguments of a macro. If the text ends before them, it has none.
func (l *latex) macro(name string) (latexNode, error) {
	spec, before := latexKnown().macros[name], l.rest
	arguments, err := l.arguments(spec.arguments)
	if errors.Is(err, errEnds) {
		arguments, l.rest, err = nil, before, nil
	}
	if err != nil {
		return latexNode{}, err
	}
	text, err := spec.write(arguments)
	return latexNode{text, name}, err
}

// arguments takes arguments; those that may be there and are not are empty.
func (l *latex) arguments(kinds string) ([]string, error) {
	var all []string
	for _, kind := range []byte(kinds) {
		before, argument, err := l.rest, "", error(nil)
		if kind != ']' {
			l.skipSpace()
		}
		switch {
		case kind == '{':
			argument, err = l.argument()
		case kind != '*' && strings.HasPrefix(l.rest, "["):
			argument, err = l.group('[')
		case kind == '*' && strings.HasPrefix(l.rest, "*"):
			argument = l.character()
		default:
			l.rest = before
		}
		if err != nil {
			return nil, err
		}
		all = append(all, argument)
	}
	return all, nil
}

// argument takes a group, a macro without arguments of its own, or one character.
func (l *latex) argument() (string, error) {
	switch {
	case l.rest == "":
		return "", errEnds
	case l.rest[0] == '{':
		return l.group('{')
	case l.rest[0] == '}':
		return "", nil
	case l.rest[0] == '\\':
		before := l.rest
		name := l.name()
		switch name {
		case "":
			return "", errEnds
		case "end":
			l.rest = before
			return "", nil
		case "begin":
			l.skipSpace()
			return "", nil
		}
		return latexKnown().macros[name].write(nil)
	}
	if s := l.special(); s != "" {
		return s, nil
	}
	return l.character(), nil
}

// write is the text of a macro with its arguments.
func (s latexSpec) write(arguments []string) (string, error) {
	switch s.kind {
	case "join":
		return strings.Join(arguments, ""), nil
	case "style":
		return styled(strings.Join(arguments, ""), []rune(latexKnown().styles[s.text].text)), nil
	case "accent":
		if len(arguments) == 0 {
			return accented(" ", s.text), nil
		}
		return accented(pytext.TrimSpace(arguments[0]), s.text), nil
	case "text":
		return s.fill(arguments)
	}
	return "", nil
}

// fill puts arguments where the text has %s, or %(1)s and so on. If it has places for others than there are, they stay, and where they have numbers, the reader fails.
func (s latexSpec) fill(arguments []string) (string, error) {
	text := s.text
	if strings.Contains(text, "%(") {
		if len(arguments) == 0 {
			return "", errLaTeX
		}
		for i, a := range arguments {
			text = strings.ReplaceAll(text, "%("+strconv.Itoa(i+1)+")s", a)
		}
		return text, nil
	}
	parts := strings.Split(text, "%s")
	if len(parts) != len(arguments)+1 {
		return text, nil
	}
	var b strings.Builder
	for i, a := range arguments {
		b.WriteString(parts[i] + a)
	}
	return b.String() + parts[len(arguments)], nil
}

// styled writes letters in a style: letters has it from A to Z and a to z.
func styled(text string, letters []rune) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return letters[r-'A']
		case r >= 'a' && r <= 'z':
			return letters[r-'a'+26]
		}
		return r
	}, text)
}

// accented writes an accent on each character.
func accented(text, accent string) string {
	var b strings.Builder
	for _, r := range strings.NewReplacer("ı", "i", "ȷ", "j").Replace(text) {
		b.WriteString(norm.NFC.String(string(r) + accent))
	}
	return b.String()
}
