package grading

import (
	"errors"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

// latexText writes LaTeX as a text, as pylatexenc's latex_to_text does: \frac{a}{b} as a/b, \sqrt{a} as sqrt(a), a matrix as [ 1 2; 3 4 ], and names of symbols
// as what they stand for. What is not known stands for nothing. False: pylatexenc fails, as of a root of nothing.
func latexText(text string) (string, bool) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, `\tfrac`, `\frac`), `\dfrac`, `\frac`)
	l := latex{rest: strings.ReplaceAll(text, `\frac`, ` \frac`)}
	nodes, err := l.nodes("")
	if err != nil {
		return "", false
	}
	return pytext.TrimSpace(strings.NewReplacer("√", "sqrt", "π", "pi", "∞", "inf", "∪", "U", "·", "*", "×", "*").Replace(join(nodes))), true
}

// A latex is what is left to be read.
type latex struct {
	rest  string
	depth int
}

// A latexNode is what a macro, a group, or a run of characters becomes.
type latexNode struct{ text, macro string }

func join(nodes []latexNode) string {
	var b strings.Builder
	for _, n := range nodes {
		b.WriteString(n.text)
	}
	return b.String()
}

var (
	errLaTeX = errors.New("no text") // the official reader fails as a whole
	errEnds  = errors.New("the text ends where an argument is expected")
)

// deepest bounds how deep groups and parentheses are read.
const deepest = 50

// specials are characters that become others.
var specials = []struct{ name, text string }{
	{"---", "—"}, {"--", "–"}, {"``", "“"}, {"''", "”"}, {"!`", "¡"}, {"?`", "¿"}, {"&", "   "}, {"~", "\u00a0"},
}

// nodes takes what is before an end, and that: "}", "]", `\)`, `\]`, or the name of an environment. An end that is missing is
// where the text ends, and one too many is skipped.
func (l *latex) nodes(end string) ([]latexNode, error) {
	if l.depth++; l.depth > deepest {
		return nil, errLaTeX
	}
	defer func() { l.depth-- }()
	var nodes []latexNode
	for l.rest != "" {
		if closed := l.closing(end); closed == "" {
			n, err := l.node(end)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, n)
		} else if closed == end {
			break
		}
	}
	return nodes, nil
}

var (
	environmentEnd  = regexp.MustCompile(`^\\end` + space + `*\{([\pL\p{Nd}_* .-]+)\}`)
	environmentName = regexp.MustCompile(`^` + space + `*\{([\pL\p{Nd}_* .-]+)\}`)
)

// closing takes an end, whether of what is read or not. Empty: there is none.
func (l *latex) closing(end string) (closed string) {
	n := 1
	switch m := environmentEnd.FindStringSubmatch(l.rest); {
	case l.rest[0] == '}', l.rest[0] == ']' && end == "]":
		closed = l.rest[:1]
	case strings.HasPrefix(l.rest, `\)`), strings.HasPrefix(l.rest, `\]`):
		closed, n = l.rest[:2], 2
	case m != nil:
		closed, n = m[1], len(m[0])
	default:
		return ""
	}
	l.rest = l.rest[n:]
	return closed
}

// node takes what comes next.
func (l *latex) node(end string) (n latexNode, err error) {
	switch c := l.rest[0]; {
	case c == '\\':
		return l.backslash()
	case c == '{', c == '[' && end == "]":
		n.text, err = l.group(c)
		return n, err
	}
	if s := l.special(); s != "" {
		return latexNode{s, ""}, nil
	}
	return latexNode{l.character(), ""}, nil
}

// special takes a special character. Empty: there is none.
func (l *latex) special() string {
	for _, s := range specials {
		if after, ok := strings.CutPrefix(l.rest, s.name); ok {
			l.rest = after
			return s.text
		}
	}
	return ""
}

func (l *latex) character() string {
	_, n := utf8.DecodeRuneInString(l.rest)
	c := l.rest[:n]
	l.rest = l.rest[n:]
	return c
}

// group takes what is between braces or brackets.
func (l *latex) group(open byte) (string, error) {
	l.rest = l.rest[1:]
	nodes, err := l.nodes(map[byte]string{'{': "}", '[': "]"}[open])
	return join(nodes), err
}

// backslash takes what begins with a backslash.
func (l *latex) backslash() (n latexNode, err error) {
	name := l.name()
	switch name {
	case "": // a backslash at the very end
	case "(", "[":
		n.text, err = l.formula(name)
	case "begin", "end":
		m := environmentName.FindStringSubmatch(l.rest)
		if m == nil {
			return latexNode{`\` + name, ""}, nil
		}
		l.rest = l.rest[len(m[0]):]
		n.text, err = l.environment(m[1])
	default:
		return l.macro(name)
	}
	return n, err
}

// name takes the name of a macro. The spaces behind letters go with it.
func (l *latex) name() string {
	l.rest = l.rest[1:]
	end := strings.IndexFunc(l.rest, func(r rune) bool { return !unicode.IsLetter(r) })
	switch {
	case end < 0:
		end = len(l.rest)
	case end == 0:
		return l.character()
	}
	name := l.rest[:end]
	l.rest = l.rest[end:]
	if name != "begin" && name != "end" {
		l.skipSpace()
	}
	return name
}

func (l *latex) skipSpace() { l.rest = strings.TrimLeftFunc(l.rest, pytext.IsSpace) }

// formula takes what is between \( and \), or \[ and \], which stands on lines of its own.
func (l *latex) formula(open string) (string, error) {
	nodes, err := l.nodes(map[string]string{"(": `\)`, "[": `\]`}[open])
	text := pytext.TrimSpace(join(nodes))
	if open == "[" {
		text = block(text)
	}
	return text, err
}

func block(text string) string { return "\n    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n" }

func (l *latex) environment(name string) (string, error) {
	spec, before := latexKnown().environments[name], l.rest
	_, err := l.arguments(spec.arguments)
	if errors.Is(err, errEnds) {
		l.rest, err = before, nil
	}
	nodes, errNodes := l.nodes(name)
	switch err = errors.Join(err, errNodes); {
	case err != nil:
		return "", err
	case spec.kind == "matrix":
		return matrix(nodes)
	case spec.kind == "equation":
		return block(pytext.TrimSpace(join(nodes))), nil
	case spec.kind == "lines":
		return "\n" + join(nodes) + "\n", nil
	}
	return join(nodes), nil
}

// matrix writes rows, in which nothing between two & is no element, with all elements as wide as the widest.
func matrix(nodes []latexNode) (string, error) {
	rows, element, widest := [][]string{nil}, []latexNode(nil), -1
	add := func() {
		if element != nil {
			text := pytext.TrimSpace(join(element))
			widest = max(widest, utf8.RuneCountInString(text))
			rows[len(rows)-1] = append(rows[len(rows)-1], text)
		}
		element = nil
	}
	for _, n := range nodes {
		switch {
		case n.text == "   " && n.macro == "":
			add()
		case n.macro == `\`:
			add()
			rows = append(rows, nil)
		default:
			element = append(element, n)
		}
	}
	if add(); widest < 0 {
		return "", errLaTeX
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		for j, text := range row {
			row[j] = strings.Repeat(" ", widest-utf8.RuneCountInString(text)) + text
		}
		lines[i] = strings.Join(row, " ")
	}
	return "[ " + strings.Join(lines, "; ") + " ]", nil
}
