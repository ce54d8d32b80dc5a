package grading

import (
	"errors"
	"math"
	"math/cmplx"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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
		switch {
		case errors.Join(errX, errY) != nil:
			return false
		case !finite(x) || !finite(y):
			continue
		case !near(x, y):
			return false
		}
		compared++
	}
	return compared > 0
}

// near reports whether the difference of two values is nothing but rounding.
func near(x, y complex128) bool {
	return cmplx.Abs(x-y) <= nearlyZero*max(1, cmplx.Abs(x), cmplx.Abs(y))
}

func finite(v complex128) bool { return !cmplx.IsNaN(v) && !cmplx.IsInf(v) }

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
		case e.factorFollows():
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
	negative := false
	for {
		switch {
		case e.eat("-"):
			negative = !negative
		case e.eat("+"):
		default:
			v, err := e.power()
			if negative {
				v = 0 - v // and not -v: the root of a number with the imaginary part -0 is another
			}
			return v, err
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

func isDigit(r rune) bool { return r >= '0' && r <= '9' || r == '.' }

// next is the character that comes next.
func (e *expression) next() (r rune, size int) { return utf8.DecodeRuneInString(e.rest) }

// factorFollows reports whether what comes next is multiplied, without a sign for it.
func (e *expression) factorFollows() bool {
	r, _ := e.next()
	return r == '(' || unicode.IsLetter(r) || isDigit(r)
}

func (e *expression) atom() (complex128, error) {
	switch {
	case e.eat("("):
		return e.group()
	case e.eat("sqrt"):
		v, err := e.atom()
		return cmplx.Sqrt(v), err
	case e.eat("pi"):
		return math.Pi, nil
	}
	if name, n := e.next(); unicode.IsLetter(name) {
		e.rest = e.rest[n:]
		return complex(math.Sin(float64(name)*12.9898+float64(e.point)*78.233)*3+4, 0), nil
	}
	return e.number()
}

// group takes what is before a closing parenthesis, and that.
func (e *expression) group() (complex128, error) {
	v, err := e.sum()
	if err == nil && !e.eat(")") {
		err = errNoExpression
	}
	return v, err
}

// number takes digits. As in Python, a whole number does not begin with a zero.
func (e *expression) number() (complex128, error) {
	after := strings.TrimLeftFunc(e.rest, isDigit)
	digits := e.rest[:len(e.rest)-len(after)]
	e.rest = after
	if digits != "" && digits[0] == '0' && !strings.Contains(digits, ".") && strings.Trim(digits, "0") != "" {
		return 0, errNoExpression
	}
	v, err := strconv.ParseFloat(digits, 64)
	return complex(v, 0), err
}
