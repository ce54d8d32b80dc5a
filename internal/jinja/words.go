package jinja

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

// What the words of expressions look like (jinja2/lexer.py).
var (
	floatPattern  = regexp.MustCompile(`^[0-9](_?[0-9])*(\.[0-9](_?[0-9])*([eE][+-]?[0-9](_?[0-9])*)?|[eE][+-]?[0-9](_?[0-9])*)`)
	intPattern    = regexp.MustCompile(`^(0[bB](_?[01])+|0[oO](_?[0-7])+|0[xX](_?[0-9a-fA-F])+|[1-9](_?[0-9])*|0(_?0)*)`)
	namePattern   = regexp.MustCompile(`^[\pL_][\pL\pN\pM_]*`)
	stringPattern = regexp.MustCompile(`^(?s:'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")`)
)

var wordPatterns = []struct {
	kind    kind
	pattern *regexp.Regexp
}{{floatToken, floatPattern}, {intToken, intPattern}, {nameToken, namePattern}}

// operators from the longest.
var operators = []string{"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ","}

// closing are the brackets that belong together.
var closing = map[string]string{"(": ")", "[": "]", "{": "}"}

// tag reads the words of an expression or a statement, and its end.
func (l *lexer) tag(begin, end kind) error {
	l.emit(begin, "")
	from := len(l.tokens)
	var open []string // brackets that wait for their others
	for {
		l.at = len(l.source) - len(trimLeft(l.source[l.at:]))
		if len(open) == 0 && l.ends(end) {
			return nil
		}
		if l.at == len(l.source) {
			return l.fail("a tag has no end")
		}
		if len(l.tokens)-from >= maxWords {
			return l.fail("a tag has more than %d words", maxWords)
		}
		if err := l.word(&open); err != nil {
			return err
		}
	}
}

// ends reads the end of a tag, if it is there.
func (l *lexer) ends(end kind) bool {
	text, statement := "}}", end == endStatement
	if statement {
		text = "%}"
	}
	sign := l.sign(l.at)
	if sign == "+" && !statement || !strings.HasPrefix(l.source[l.at+len(sign):], text) {
		return false
	}
	l.emit(end, "")
	l.at += len(sign) + len(text)
	l.after(sign, statement)
	return true
}

// word reads a word.
func (l *lexer) word(open *[]string) error {
	rest := l.source[l.at:]
	for _, p := range wordPatterns {
		if p.kind == floatToken && l.source[l.at-1] == '.' {
			continue // a.0.1 has two whole numbers
		}
		if text := p.pattern.FindString(rest); text != "" {
			l.emit(p.kind, text)
			l.at += len(text)
			return nil
		}
	}
	if text := stringPattern.FindString(rest); text != "" {
		value, err := unquote(text[1 : len(text)-1])
		if err != nil {
			return l.fail("%s: %w", text, err)
		}
		l.emit(stringToken, value)
		l.at += len(text)
		return nil
	}
	return l.operator(open)
}

// operator reads an operator or a bracket.
func (l *lexer) operator(open *[]string) error {
	for _, o := range operators {
		if !strings.HasPrefix(l.source[l.at:], o) {
			continue
		}
		if other, ok := closing[o]; ok {
			*open = append(*open, other)
		} else if strings.Contains(")]}", o) {
			n := len(*open)
			if n == 0 || (*open)[n-1] != o {
				return l.fail("%q closes nothing", o)
			}
			*open = (*open)[:n-1]
		}
		l.emit(operatorToken, o)
		l.at += len(o)
		return nil
	}
	r, _ := utf8.DecodeRuneInString(l.source[l.at:])
	return l.fail("%q has no meaning here", r)
}

// simpleEscapes are those of one letter in Python's texts.
var simpleEscapes = map[byte]string{
	'\\': `\`, '\'': "'", '"': `"`, 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v", '\n': "",
}

// codeEscapes are how many digits follow those that have the number of a character.
var codeEscapes = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// unquote is the text that the inside of a quoted one stands for. An escape that Python does
// not know is left as it is.
func unquote(text string) (string, error) {
	var b strings.Builder
	for text != "" {
		n := strings.IndexByte(text, '\\')
		if n < 0 || n+1 == len(text) {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:n])
		text = text[n:]
		value, size, err := escape(text)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		text = text[size:]
	}
	return b.String(), nil
}

// escape is what the escape at the beginning of a text stands for, and its length.
func escape(text string) (string, int, error) {
	c := text[1]
	if value, ok := simpleEscapes[c]; ok {
		return value, 2, nil
	}
	digits, base, from := codeEscapes[c], 16, 2
	if c >= '0' && c <= '7' {
		for digits < 3 && 1+digits < len(text) && text[1+digits] >= '0' && text[1+digits] <= '7' {
			digits++
		}
		base, from = 8, 1
	}
	if digits == 0 {
		return text[:2], 2, nil
	}
	if from+digits > len(text) {
		return "", 0, strconv.ErrSyntax
	}
	code, err := strconv.ParseUint(text[from:from+digits], base, 32)
	if err != nil || !utf8.ValidRune(rune(code)) {
		return "", 0, strconv.ErrRange
	}
	return string(rune(code)), from + digits, nil
}

// whole reads a whole number, as a template or Python's int() has it.
func whole(text string) (int64, error) {
	return strconv.ParseInt(strings.ReplaceAll(strings.Map(pytext.ASCIIDigit, text), "_", ""), 0, 64)
}
