package grading

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// symbols are macros that stand for a text. Those that are not there stand for nothing, as what only
// changes how something looks.
var symbols = map[string]string{
	"pi": "pi", "infty": "inf", "cup": "U", "cdot": "*", "times": "*", "div": "÷", "pm": "±", "mp": "∓", "circ": "∘",
	"le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "neq": "≠", "in": "∈", "cap": "∩", "emptyset": "∅", "to": "→",
	"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "theta": "θ", "phi": "ϕ", "lambda": "λ", "mu": "μ", "sigma": "σ", "omega": "ω", "angle": "∠",
	"ldots": "…", "dots": "…", "sin": "sin", "cos": "cos", "tan": "tan", "cot": "cot", "sec": "sec", "csc": "csc",
	"log": "log", "ln": "ln", "exp": "exp", "arcsin": "arcsin", "arccos": "arccos", "arctan": "arctan",
	",": " ", ";": " ", ":": " ", " ": " ", "quad": "  ", "qquad": "    ", "{": "{", "}": "}", "%": "%", "$": "$", "_": "_", "#": "#", "&": "&",
	"begin": "", "end": "",
}

// latexText writes LaTeX as a text: \frac{a}{b} as a/b, \sqrt{a} as sqrt(a), and names of symbols as what
// they stand for (pylatexenc's latex_to_text, as far as answers have it).
func latexText(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, `\tfrac`, `\frac`), `\dfrac`, `\frac`)
	l := latex{rest: strings.ReplaceAll(text, `\frac`, ` \frac`)}
	var b strings.Builder
	for l.rest != "" {
		b.WriteString(l.node(0))
	}
	return strings.TrimSpace(strings.NewReplacer("√", "sqrt", "π", "pi", "∞", "inf", "∪", "U", "·", "*", "×", "*").Replace(b.String()))
}

// A latex is what is left to be read.
type latex struct{ rest string }

// deepest bounds how deep groups are read.
const deepest = 50

// node takes the next macro, group or character.
func (l *latex) node(depth int) string {
	switch r, n := utf8.DecodeRuneInString(l.rest); {
	case r == '\\':
		l.rest = l.rest[1:]
		return l.macro(depth)
	case r == '{' && depth < deepest:
		return l.group(depth)
	case r == '$':
		l.rest = l.rest[1:]
		return ""
	default:
		l.rest = l.rest[n:]
		return string(r)
	}
}

// group takes what is between braces.
func (l *latex) group(depth int) string {
	l.rest = l.rest[1:]
	var b strings.Builder
	for l.rest != "" && l.rest[0] != '}' {
		b.WriteString(l.node(depth + 1))
	}
	l.rest = strings.TrimPrefix(l.rest, "}")
	return b.String()
}

// argument takes a macro's argument: a group, a macro, or one character.
func (l *latex) argument(depth int) string {
	l.rest = strings.TrimLeft(l.rest, " ")
	if l.rest == "" || l.rest[0] == '}' {
		return ""
	}
	return l.node(depth)
}

func (l *latex) macro(depth int) string {
	name := l.name()
	if depth > deepest {
		return ""
	}
	switch name {
	case "frac":
		return l.argument(depth+1) + "/" + l.argument(depth+1)
	case "mbox":
		l.argument(depth + 1) // nothing, there too
		return ""
	case "sqrt":
		if i := strings.IndexByte(l.rest, ']'); strings.HasPrefix(l.rest, "[") && i > 0 {
			l.rest = l.rest[i+1:]
		}
		return "sqrt(" + l.argument(depth+1) + ")"
	}
	return symbols[name]
}

// name takes the name of a macro, and the spaces behind letters.
func (l *latex) name() string {
	end := strings.IndexFunc(l.rest, func(r rune) bool { return !unicode.IsLetter(r) })
	switch {
	case end < 0:
		end = len(l.rest)
	case end == 0:
		_, end = utf8.DecodeRuneInString(l.rest)
		name := l.rest[:end]
		l.rest = l.rest[end:]
		return name
	}
	name := l.rest[:end]
	l.rest = strings.TrimLeft(l.rest[end:], " ")
	return name
}
