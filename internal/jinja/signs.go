package jinja

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"
)

// percent is the text of a value.
func (p spec) percent(value any) (string, error) {
	switch p.kind {
	case 's':
		return p.asText(str(value)), nil
	case 'r':
		return p.asText(repr(value)), nil
	case 'a':
		return p.asText(ascii(value)), nil
	case 'c':
		text, err := characterOf(value)
		p.precision = -1
		return p.asText(text), err
	}
	if strings.IndexByte("diuoxXeEfFgG", p.kind) < 0 {
		return "", fmt.Errorf("%%%c is not one of Python's formats", p.kind)
	}
	return p.percentNumber(value)
}

// percentNumber is the text of a number.
func (p spec) percentNumber(value any) (string, error) {
	n, f, float, ok := number(value)
	switch {
	case !ok:
		return "", fmt.Errorf("want a number for %%%c, not %s", p.kind, kindOf(value))
	case strings.IndexByte("eEfFgG", p.kind) >= 0:
		text := floatDigits(math.Abs(f), p.kind, p.precision, p.alternate)
		return p.padded(p.signOf(math.Signbit(f) && !math.IsNaN(f)), text, '>'), nil
	case float && strings.IndexByte("oxX", p.kind) >= 0:
		return "", fmt.Errorf("want a whole number for %%%c, not float", p.kind)
	case float && (math.IsInf(f, 0) || math.IsNaN(f)):
		return "", errEndless(f)
	case float:
		return p.digits(math.Trunc(f) < 0, new(big.Float).SetFloat64(math.Abs(math.Trunc(f))).Text('f', 0)), nil
	}
	return p.digits(n < 0, wholeDigits(n, p.kind)), nil
}

// digits is a whole number, whose precision is how many digits it has at least.
func (p spec) digits(negative bool, digits string) string {
	before := p.signOf(negative)
	if p.alternate {
		before += bases[p.kind].prefix
	}
	return p.padded(before, strings.Repeat("0", max(0, p.precision-len(digits)))+digits, '>')
}

// asText is a text, of which the precision is how many characters are left. Zeros do not fill it.
func (p spec) asText(text string) string {
	if p.align == '=' {
		p.fill, p.align = ' ', '>'
	}
	return p.padded("", firstRunes(text, p.precision), '>')
}

// characterOf is a character, or the one that a number stands for.
func characterOf(value any) (string, error) {
	if text, ok := value.(string); ok && utf8.RuneCountInString(text) == 1 {
		return text, nil
	}
	n, _, float, ok := number(value)
	if !ok || float || n < 0 || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return "", errors.New("want a character or its number for %c")
	}
	return string(rune(n)), nil
}

// formatFilter is format, of values or of names.
func formatFilter(s *scope, value any, a given) (any, error) {
	if err := s.look(value); err != nil {
		return nil, err
	}
	if len(a.named) == 0 {
		return percented(str(value), tuple(a.values))
	}
	if len(a.values) > 0 {
		return nil, errors.New("want values or values with names, not both")
	}
	d, err := dictOfNames(s, a)
	if err != nil {
		return nil, err
	}
	return percented(str(value), d)
}
