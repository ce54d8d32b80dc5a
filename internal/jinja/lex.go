package jinja

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

// A kind of token.
type kind int

const (
	dataToken kind = iota // text of the template
	beginExpression
	endExpression
	beginStatement
	endStatement
	nameToken
	stringToken
	intToken
	floatToken
	operatorToken
	endOfTemplate
)

// A token is a word of a template.
type token struct {
	kind kind
	text string // of a stringToken: what it stands for
	line int
}

// A lexer cuts a template into tokens.
type lexer struct {
	source    string
	at        int
	tokens    []token
	lineBegin bool // what was read last ended a line, or nothing was read

	lines, counted int // ends of lines before the place up to which they are counted
}

// An Error is what is wrong with a template, and where.
type Error struct {
	Line int
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// line is where the lexer is.
func (l *lexer) line() int {
	l.lines += strings.Count(l.source[l.counted:l.at], "\n")
	l.counted = l.at
	return 1 + l.lines
}

func (l *lexer) fail(format string, args ...any) error {
	return &Error{l.line(), fmt.Errorf(format, args...)}
}

// lex cuts a template. Ends of lines become \n, and the last one is dropped.
func lex(source string) ([]token, error) {
	source = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source)
	l := &lexer{source: strings.TrimSuffix(source, "\n"), lineBegin: true}
	if valid := strings.ToValidUTF8(l.source, ""); valid != l.source {
		l.at = firstDifference(valid, l.source)
		return nil, l.fail("the text is no UTF-8")
	}
	for l.at < len(l.source) {
		if err := l.next(); err != nil {
			return nil, err
		}
	}
	l.emit(endOfTemplate, "")
	return l.tokens, nil
}

// firstDifference is where two texts are no longer the same.
func firstDifference(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// emit appends a token that is of the line where the lexer is.
func (l *lexer) emit(k kind, text string) {
	l.tokens = append(l.tokens, token{k, text, l.line()})
}

// next reads text up to where a tag begins, and the tag.
func (l *lexer) next() error {
	rest := l.source[l.at:]
	begin := -1
	for i := 0; i+1 < len(rest) && begin < 0; i++ {
		if rest[i] == '{' && strings.IndexByte("{%#", rest[i+1]) >= 0 {
			begin = i
		}
	}
	if begin < 0 {
		l.emit(dataToken, rest)
		l.at = len(l.source)
		return nil
	}
	tag, sign := rest[begin:begin+2], l.sign(l.at+begin+2)
	if text := l.before(rest[:begin], tag, sign); text != "" {
		l.emit(dataToken, text)
	}
	l.at += begin + 2 + len(sign)
	l.lineBegin = false
	switch tag {
	case "{#":
		return l.remark()
	case "{{":
		return l.tag(beginExpression, endExpression)
	}
	if after, ok := l.rawBegins(); ok {
		return l.raw(after)
	}
	return l.tag(beginStatement, endStatement)
}

// sign is the - or + at a place, if there is one.
func (l *lexer) sign(at int) string {
	if at < len(l.source) && (l.source[at] == '-' || l.source[at] == '+') {
		return l.source[at : at+1]
	}
	return ""
}

// before is what is left of the text before a tag: without the white space there if the tag
// says so, and without blanks between the beginning of the line and a statement.
func (l *lexer) before(text, tag, sign string) string {
	if sign == "-" {
		return pytext.TrimRight(text)
	}
	if sign == "+" || tag == "{{" {
		return text
	}
	line := strings.LastIndexByte(text, '\n') + 1
	if (line > 0 || l.lineBegin) && pytext.TrimRight(text[line:]) == "" {
		return text[:line]
	}
	return text
}

// after passes over what belongs to the end of a tag: all white space behind a minus, and
// the end of the line behind a statement.
func (l *lexer) after(sign string, statement bool) {
	from := l.at
	switch {
	case sign == "-":
		l.at = len(l.source) - len(trimLeft(l.source[l.at:]))
	case statement && sign == "" && strings.HasPrefix(l.source[l.at:], "\n"):
		l.at++
	}
	l.lineBegin = l.at > from && l.source[l.at-1] == '\n'
}

func trimLeft(text string) string { return strings.TrimLeftFunc(text, pytext.IsSpace) }

// remark passes over a remark.
func (l *lexer) remark() error {
	n := strings.Index(l.source[l.at:], "#}")
	if n < 0 {
		return l.fail("a remark has no end")
	}
	sign := ""
	if n > 0 {
		sign = l.sign(l.at + n - 1)
	}
	l.at += n + 2
	l.after(sign, true)
	return nil
}

// rawBegins reports whether the statement is raw, and where what it holds begins.
func (l *lexer) rawBegins() (int, bool) {
	rest, ok := strings.CutPrefix(trimLeft(l.source[l.at:]), "raw")
	if !ok {
		return 0, false
	}
	rest = trimLeft(rest)
	if after, ok := strings.CutPrefix(rest, "-%}"); ok {
		return len(l.source) - len(trimLeft(after)), true
	}
	after, ok := strings.CutPrefix(rest, "%}")
	return len(l.source) - len(after), ok
}

// raw reads text up to {% endraw %}.
func (l *lexer) raw(from int) error {
	for at := from; ; at += 2 {
		n := strings.Index(l.source[at:], "{%")
		if n < 0 {
			return l.fail("raw has no endraw")
		}
		at += n
		sign := l.sign(at + 2)
		rest, ok := strings.CutPrefix(trimLeft(l.source[at+2+len(sign):]), "endraw")
		if !ok {
			continue
		}
		rest = trimLeft(rest)
		end := l.sign(len(l.source) - len(rest))
		if rest, ok = strings.CutPrefix(rest[len(end):], "%}"); !ok {
			continue
		}
		l.lineBegin = false
		l.emit(dataToken, l.before(l.source[from:at], "{%", sign))
		l.at = len(l.source) - len(rest)
		l.after(end, true)
		return nil
	}
}
