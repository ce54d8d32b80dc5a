package npy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A parser reads the Python literal of a header: a dictionary with the keys descr,
// fortran_order and shape, in any order.
type parser struct{ rest string }

type dictionary struct {
	descr   string
	fortran bool
	shape   tensor.Shape
}

func (p *parser) dictionary() (d dictionary, err error) {
	if err := p.expect("{"); err != nil {
		return d, err
	}
	seen := map[string]bool{}
	for !p.accept("}") {
		if err := p.entry(&d, seen); err != nil {
			return d, err
		}
		if !p.accept(",") {
			if err := p.expect("}"); err != nil {
				return d, err
			}
			break
		}
	}
	if p.space(); p.rest != "" {
		return d, fmt.Errorf("unexpected %q behind the dictionary", p.rest)
	}
	return d, wantAll(seen)
}

// wantAll wants each key that a header has.
func wantAll(seen map[string]bool) error {
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return fmt.Errorf("key %q is missing", key)
		}
	}
	return nil
}

// entry reads a key and its value.
func (p *parser) entry(d *dictionary, seen map[string]bool) error {
	key, err := p.text()
	if err != nil {
		return err
	}
	if seen[key] {
		return fmt.Errorf("key %q is there twice", key)
	}
	seen[key] = true
	if err := p.expect(":"); err != nil {
		return err
	}
	if err := p.value(d, key); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

func (p *parser) value(d *dictionary, key string) (err error) {
	switch key {
	case "descr":
		if p.accept("[") {
			return errors.New("structured types are not supported")
		}
		d.descr, err = p.text()
	case "fortran_order":
		switch {
		case p.accept("True"):
			d.fortran = true
		case !p.accept("False"):
			return fmt.Errorf("want True or False, got %q", p.rest)
		}
	case "shape":
		d.shape, err = p.tuple()
	default:
		return errors.New("key is not known")
	}
	return err
}

// tuple reads a tuple of numbers that are not negative.
func (p *parser) tuple() (tensor.Shape, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	shape := tensor.Shape{}
	for !p.accept(")") {
		digits := p.rest[:len(p.rest)-len(strings.TrimLeft(p.rest, "0123456789"))]
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("want a number, got %q", p.rest)
		}
		shape = append(shape, n)
		p.rest = p.rest[len(digits):]
		p.accept("L") // a long integer of Python 2
		if !p.accept(",") {
			if len(shape) == 1 { // a number in brackets is no tuple
				return nil, fmt.Errorf("want a comma, got %q", p.rest)
			}
			return shape, p.expect(")")
		}
	}
	return shape, nil
}

// text reads a quoted string without escapes.
func (p *parser) text() (string, error) {
	p.space()
	if p.rest == "" || p.rest[0] != '\'' && p.rest[0] != '"' {
		return "", fmt.Errorf("want a quoted string, got %q", p.rest)
	}
	value, rest, ok := strings.Cut(p.rest[1:], p.rest[:1])
	if !ok || strings.Contains(value, `\`) {
		return "", fmt.Errorf("string %q has no end", p.rest)
	}
	p.rest = rest
	return value, nil
}

func (p *parser) expect(token string) error {
	if !p.accept(token) {
		return fmt.Errorf("want %q, got %q", token, p.rest)
	}
	return nil
}

// accept passes over the token, if it is next, and the white space around it.
func (p *parser) accept(token string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, token)
	p.rest = rest
	p.space()
	return ok
}

func (p *parser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }
