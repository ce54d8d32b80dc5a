package jinja

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxSpec bounds widths and precisions of formats.
const maxSpec = 100_000

var errSpec = fmt.Errorf("want widths and precisions up to %d", maxSpec)

// A spec is how a value is set out, as Python's formats say it: [[fill]align][sign][z][#][0][width][,][.precision][type].
type spec struct {
	fill      rune
	align     byte // < > ^ =, or 0: as values of the kind are
	sign      byte // + or a blank, for numbers that are not below zero; - for none
	positive  bool // a zero below zero, as rounding leaves it, has no sign
	alternate bool
	width     int
	group     string // between thousands
	precision int    // -1: none
	kind      byte   // 0: as values are
}

var errFormat = errors.New("the format is not one of Python's")

// parseSpec reads what is behind the colon.
func parseSpec(text string) (spec, error) {
	p := spec{fill: ' ', precision: -1}
	text, filled := p.parseAlign(text)
	take := func(chars string) byte {
		if text == "" || strings.IndexByte(chars, text[0]) < 0 {
			return 0
		}
		c := text[0]
		text = text[1:]
		return c
	}
	p.sign = take("+- ")
	p.positive = take("z") != 0
	p.alternate = take("#") != 0
	if !filled && take("0") != 0 {
		p.zeros()
	}
	var err1, err2 error
	if p.width, text, err1 = digitsOf(text); p.width < 0 {
		p.width = 0
	}
	if c := take(",_"); c != 0 {
		p.group = string(c)
	}
	if take(".") != 0 {
		if p.precision, text, err2 = digitsOf(text); p.precision < 0 {
			err2 = errFormat
		}
	}
	if len(text) == 1 {
		p.kind, text = text[0], ""
	}
	if text != "" {
		return p, errFormat
	}
	return p, errors.Join(err1, err2)
}

// zeros are the fill of a number, behind its sign.
func (p *spec) zeros() {
	p.fill = '0'
	if p.align == 0 {
		p.align = '0' // which is = for numbers, and the usual place for texts
	}
}

// parseAlign reads the fill and the place, and reports whether there is a fill.
func (p *spec) parseAlign(text string) (rest string, filled bool) {
	fill, n := utf8.DecodeRuneInString(text)
	if len(text) > n && strings.IndexByte("<>^=", text[n]) >= 0 {
		p.fill, p.align = fill, text[n]
		return text[n+1:], true
	}
	if text != "" && strings.IndexByte("<>^=", text[0]) >= 0 {
		p.align = text[0]
		return text[1:], false
	}
	return text, false
}

// digitsOf is the number with which a text begins, and what is behind it; -1: there is none.
func digitsOf(text string) (int, string, error) {
	n := 0
	rest := strings.TrimLeft(text, "0123456789")
	for _, c := range []byte(text[:len(text)-len(rest)]) {
		if n = 10*n + int(c-'0'); n > maxSpec {
			return 0, rest, errSpec
		}
	}
	if len(rest) == len(text) {
		return -1, rest, nil
	}
	return n, rest, nil
}

// padded is a text at its place in the width; what is before it, as a sign, stays in front where the fill is between.
func (p spec) padded(before, text string, usual byte) string {
	missing := p.width - utf8.RuneCountInString(before) - utf8.RuneCountInString(text)
	if missing <= 0 {
		return before + text
	}
	fill := func(n int) string { return strings.Repeat(string(p.fill), n) }
	align := p.align
	if align == 0 || align == '0' {
		align = usual
	}
	switch align {
	case '<':
		return before + text + fill(missing)
	case '^':
		return fill(missing/2) + before + text + fill(missing-missing/2)
	case '=':
		return before + fill(missing) + text
	}
	return fill(missing) + before + text
}

// format is Python's format(value, text).
func format(value any, text string) (string, error) {
	if text == "" {
		return str(value), nil
	}
	p, err := parseSpec(text)
	if err != nil {
		return "", err
	}
	if s, ok := value.(string); ok {
		return p.text(s)
	}
	n, f, float, ok := number(value)
	switch {
	case !ok:
		return "", fmt.Errorf("a value of type %s has no formats", kindOf(value))
	case float:
		return p.float(f)
	}
	return p.whole(n)
}

// text sets out a text.
func (p spec) text(s string) (string, error) {
	if p.kind != 0 && p.kind != 's' || p.sign != 0 || p.positive || p.alternate || p.group != "" || p.align == '=' {
		return "", errFormat
	}
	return p.padded("", firstRunes(s, p.precision), '<'), nil
}

// firstRunes are so many characters of a text; -1: all of it.
func firstRunes(s string, n int) string {
	for at := range s {
		if n == 0 {
			return s[:at]
		}
		n--
	}
	return s
}
