package grading

import (
	"errors"
	"math"
	"math/cmplx"
	"strconv"
	"strings"
)

// sameExpression reports whether two expressions are equal wherever they are computed.
func sameExpression(a, b string) bool {
	if !worthComputing("(" + b + ")-(" + a + ")") {
		return false
	}
	compared := 0
	for point := range points {
		x, errX := evaluate(a, point)
		y, errY := evaluate(b, point)
		if errX != nil || errY != nil {
			return false
		}
		if cmplx.IsNaN(x) || cmplx.IsInf(x) || cmplx.IsNaN(y) || cmplx.IsInf(y) {
			continue
		}
		if cmplx.Abs(x-y) > nearlyZero*max(1, cmplx.Abs(x), cmplx.Abs(y)) {
			return false
		}
		compared++
	}
	return compared > 0
}

const (
	points     = 4     // at which variables have other values
	nearlyZero = 1e-11 // of the values; a number of as many digits as answers have differs by more
	longest    = 1000  // characters of an expression
)

// An expression is read from left to right, as SymPy's parser does with implicit multiplication:
// letters are variables, of which several side by side are multiplied.
type expression struct {
	rest  string
	point int
	depth int
}

var errNoExpression = errors.New("no expression")

func evaluate(text string, point int) (complex128, error) {
	if len(text) > longest {
		return 0, errNoExpression
	}
	e := expression{rest: strings.ReplaceAll(text, "**", "^"), point: point}
	v, err := e.sum()
	if err == nil && e.rest != "" {
		err = errNoExpression
	}
	return v, err
}

// eat takes a text if it comes next.
func (e *expression) eat(text string) bool {
	after, ok := strings.CutPrefix(e.rest, text)
	if ok {
		e.rest = after
	}
	return ok
}

func (e *expression) sum() (complex128, error) {
	if e.depth++; e.depth > deepest {
		return 0, errNoExpression
	}
	defer func() { e.depth-- }()
	v, err := e.product()
	for err == nil {
		var w complex128
		switch {
		case e.eat("+"):
			w, err = e.product()
			v += w
		case e.eat("-"):
			w, err = e.product()
			v -= w
		default:
			return v, nil
		}
	}
	return 0, err
}

func (e *expression) product() (complex128, error) {
	v, err := e.signed()
	for err == nil {
		var w complex128
		switch {
		case e.eat("*"):
			w, err = e.signed()
			v *= w
		case e.eat("/"):
			w, err = e.signed()
			v /= w
		case e.rest != "" && (e.rest[0] == '(' || isLetter(e.rest[0]) || isDigit(e.rest[0])):
			w, err = e.power()
			v *= w
		default:
			return v, nil
		}
	}
	return 0, err
}

// signed takes a power with its signs.
func (e *expression) signed() (complex128, error) {
	sign := complex(1, 0)
	for {
		switch {
		case e.eat("-"):
			sign = -sign
		case e.eat("+"):
		default:
			v, err := e.power()
			return sign * v, err
		}
	}
}

func (e *expression) power() (complex128, error) {
	base, err := e.atom()
	if err == nil && e.eat("^") {
		if e.depth++; e.depth > deepest {
			return 0, errNoExpression
		}
		exponent, err := e.signed()
		e.depth--
		return cmplx.Pow(base, exponent), err
	}
	return base, err
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' || c == '.' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }

func (e *expression) atom() (complex128, error) {
	switch {
	case e.eat("("):
		v, err := e.sum()
		if err == nil && !e.eat(")") {
			err = errNoExpression
		}
		return v, err
	case e.eat("sqrt"):
		v, err := e.atom()
		return cmplx.Sqrt(v), err
	case e.eat("pi"):
		return math.Pi, nil
	case e.rest != "" && isLetter(e.rest[0]):
		name := e.rest[0]
		e.rest = e.rest[1:]
		return complex(math.Sin(float64(name)*12.9898+float64(e.point)*78.233)*3+4, 0), nil
	}
	n := 0
	for n < len(e.rest) && isDigit(e.rest[n]) {
		n++
	}
	v, err := strconv.ParseFloat(e.rest[:n], 64)
	e.rest = e.rest[n:]
	return complex(v, 0), err
}
