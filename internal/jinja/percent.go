package jinja

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
)

// A percent is a format with signs % on its way to a text.
type percent struct {
	rest   string
	out    strings.Builder
	values []any // that wait for their signs
	of     any   // what keys are looked for in
}

var errTooFew = errors.New("there are more signs % than values for them")

// percented is format % values: a tuple has one for each sign, and anything else is one.
func percented(format string, values any) (string, error) {
	p := percent{rest: format, values: []any{values}, of: values}
	if all, ok := values.(tuple); ok {
		p.values = all
	}
	for {
		text, rest, ok := strings.Cut(p.rest, "%")
		p.out.WriteString(text)
		if p.rest = rest; !ok {
			break
		}
		if err := p.next(); err != nil {
			return "", err
		}
		if p.out.Len() > maxText {
			return "", errTooLong
		}
	}
	if len(p.values) > 0 && !subscriptable(values) {
		return "", errors.New("there are more values than signs % for them")
	}
	return p.out.String(), nil
}

// subscriptable reports whether a value may be for keys, so that it need not be used itself.
func subscriptable(value any) bool {
	switch value.(type) {
	case *dict, list, undefined:
		return true
	}
	return false
}

// take is the value of the next sign.
func (p *percent) take() (any, error) {
	if len(p.values) == 0 {
		return nil, errTooFew
	}
	v := p.values[0]
	p.values = p.values[1:]
	return v, nil
}

// next reads a sign, from behind the %, and writes its value.
func (p *percent) next() error {
	if strings.HasPrefix(p.rest, "%") {
		p.out.WriteByte('%')
		p.rest = p.rest[1:]
		return nil
	}
	if err := p.key(); err != nil {
		return err
	}
	s := spec{fill: ' ', precision: -1, align: '>'}
	p.flags(&s)
	width, err1 := p.count()
	s.width = max(0, width)
	if strings.HasPrefix(p.rest, ".") {
		p.rest = p.rest[1:]
		var err error
		s.precision, err = p.count()
		s.precision = max(0, s.precision)
		err1 = cmp.Or(err1, err)
	}
	if p.rest != "" && strings.IndexByte("hlL", p.rest[0]) >= 0 {
		p.rest = p.rest[1:]
	}
	if err1 != nil || p.rest == "" {
		return cmp.Or(err1, errFormat)
	}
	if width < 0 && width != noCount {
		s.align, s.width = '<', -width
	}
	s.kind, p.rest = p.rest[0], p.rest[1:]
	v, err := p.take()
	if err != nil {
		return err
	}
	text, err := s.percent(v)
	p.out.WriteString(text)
	return err
}

// key reads one in parentheses, whose value is then that of the sign.
func (p *percent) key() error {
	if !strings.HasPrefix(p.rest, "(") {
		return nil
	}
	open := 0
	for i, c := range []byte(p.rest) {
		switch c {
		case '(':
			open++
		case ')':
			open--
		}
		if open > 0 {
			continue
		}
		d, ok := p.of.(*dict)
		if !ok {
			return fmt.Errorf("want a dict for keys, not %s", kindOf(p.of))
		}
		v, ok := d.get(p.rest[1:i])
		if !ok {
			return fmt.Errorf("there is no key %q", p.rest[1:i])
		}
		p.values, p.rest = []any{v}, p.rest[i+1:]
		return nil
	}
	return errFormat
}

// flags reads those of a sign.
func (p *percent) flags(s *spec) {
	left, zeros := false, false
	for ; p.rest != "" && strings.IndexByte("-+ #0", p.rest[0]) >= 0; p.rest = p.rest[1:] {
		switch c := p.rest[0]; {
		case c == '-':
			left = true
		case c == '+' || c == ' ' && s.sign == 0:
			s.sign = c
		case c == '#':
			s.alternate = true
		case c == '0':
			zeros = true
		}
	}
	if zeros {
		s.fill, s.align = '0', '='
	}
	if left {
		s.fill, s.align = ' ', '<'
	}
}

// noCount is what count returns where there is none.
const noCount = math.MinInt

// count reads a number, or a star that stands for the next value.
func (p *percent) count() (int, error) {
	if !strings.HasPrefix(p.rest, "*") {
		n, rest, err := digitsOf(p.rest)
		p.rest = rest
		if n < 0 {
			return noCount, err
		}
		return n, err
	}
	p.rest = p.rest[1:]
	v, err := p.take()
	if err != nil {
		return 0, err
	}
	n, _, float, ok := number(v)
	switch {
	case !ok || float:
		return 0, fmt.Errorf("want a whole number for a star, not %s", kindOf(v))
	case n > maxSpec || n < -maxSpec:
		return 0, errSpec
	}
	return int(n), nil
}
