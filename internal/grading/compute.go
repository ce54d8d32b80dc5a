package grading

import (
	"math"
	"math/big"
	"math/cmplx"
)

const (
	points  = 20   // at which variables have other values
	longest = 1000 // characters of an expression, and tokens
	largest = 2000 // exponent, and number of which a factorial is computed
	exact   = 300  // bits of which a third and the like are whole
	inexact = 40   // bits of values of which few digits are known
	nearly  = 24   // bits that are the same where decimal fractions were rounded on the way
	luck    = 8    // bits beyond a doubt
)

// A computation is one of an expression at a point.
type computation struct{ point int }

// isZero reports whether a difference is 0 wherever it is computed.
func (n *node) isZero() bool {
	return n.everywhere(func(c computation, v *value) bool {
		return v.mayBeZero() && v.doubt+luck < c.size(n)-nearly
	})
}

// isNearlyZero reports whether only few bits of two sides are different, wherever they are computed.
func (n *node) isNearlyZero() bool {
	return n.everywhere(func(c computation, v *value) bool {
		return v.exponent() < c.size(n)-nearly
	})
}

// size is the exponent of 2 of the larger side of a difference, or that of 1.
func (c computation) size(n *node) float64 {
	size := 0.0
	for _, side := range []*node{n.a, n.b} {
		if side != nil {
			if v := c.value(side); v != nil {
				size = max(size, v.exponent())
			}
		}
	}
	return size
}

// everywhere reports whether something holds for the values of an expression at all points.
func (n *node) everywhere(holds func(computation, *value) bool) bool {
	for point := range points {
		if point > 0 && !n.varies() {
			break
		}
		c := computation{point}
		v := c.value(n)
		switch {
		case v == nil && isFar(point): // too large; a division by 0 shows at the others
		case v == nil, !holds(c, v):
			return false
		}
	}
	return true
}

// varies reports whether there is a variable in an expression.
func (n *node) varies() bool {
	return n != nil && (n.kind == variable || n.a.varies() || n.b.varies())
}

// value is nil where there is none, as of a division by 0, or where it is too large.
func (c computation) value(n *node) *value {
	v := c.compute(n)
	if v == nil || v.exponent() > 1<<20 {
		return nil
	}
	return v
}

func (c computation) compute(n *node) *value {
	if n.a == nil {
		return c.leaf(n.token)
	}
	a := c.value(n.a)
	if a == nil {
		return nil
	}
	if n.b == nil {
		return unary(n.text, a)
	}
	b := c.value(n.b)
	if b == nil {
		return nil
	}
	return binary(n.text, a, b)
}

func unary(op string, a *value) *value {
	switch op {
	case negative:
		return a.negated()
	case "sqrt":
		return a.root(2)
	case "ln":
		return rough(cmplx.Log(a.complex128()))
	case "csc":
		return rough(1 / cmplx.Sin(a.complex128()))
	}
	return factorialOf(op, a)
}

func binary(op string, a, b *value) *value {
	switch op {
	case "+":
		return a.plus(b)
	case "-":
		return a.plus(b.negated())
	case "*":
		return a.times(b)
	case "/":
		return a.over(b)
	case floor:
		if q := a.over(b); q != nil {
			return q.floor()
		}
		return nil
	}
	return power(a, b)
}

// leaf is the value of a number, a constant or a variable.
func (c computation) leaf(t token) *value {
	switch {
	case t.kind == variable:
		return variableAt(t.text, c.point)
	case t.text == "pi":
		return computed(piOf(), newFloat())
	case t.text == "j":
		return certain(newFloat(), real64(1))
	}
	r := rational(t.text)
	if r == nil {
		return nil
	}
	return computed(newFloat().SetRat(r), newFloat())
}

// power is what a base is with an exponent: exact if that is a fraction of small numbers.
func power(base, exponent *value) *value {
	if n, ok := nearlyWhole(exponent); ok {
		if max(n, -n) > largest {
			return nil
		}
		return base.raised(n)
	}
	for q := int64(2); q <= 12; q++ {
		times := exponent.times(certain(real64(float64(q)), newFloat()))
		if p, ok := nearlyWhole(times); ok {
			return rootOf(base, p, q)
		}
	}
	if base.isZero() {
		return nil
	}
	return rough(cmplx.Pow(base.complex128(), exponent.complex128()))
}

// nearlyWhole is the integer that a value is, but for the rounding of a third or the like.
func nearlyWhole(v *value) (int64, bool) {
	half := newFloat().Add(v.re, real64(0.5))
	whole := floorOf(half)
	rest := certain(newFloat().Sub(v.re, whole), v.im)
	if rest.exponent() > -exact {
		return 0, false
	}
	return certain(whole, newFloat()).isWhole()
}

func rootOf(base *value, p, q int64) *value {
	r := base.root(q)
	if r == nil || max(p, -p) > largest {
		return nil
	}
	return r.raised(p)
}

// factorialOf is exact of whole numbers; of others the gamma function says it.
func factorialOf(op string, a *value) *value {
	n, whole := a.isWhole()
	switch {
	case whole && (n < 0 || n > largest):
		return nil
	case whole:
		return computed(newFloat().SetInt(product(n, op)), newFloat())
	case op == factorial:
		return rough(gamma(a.complex128() + 1))
	}
	x := a.complex128() // of !!, by its continuation to complex numbers
	return rough(cmplx.Pow(2, x/2) * cmplx.Pow(math.Pi/2, (cmplx.Cos(math.Pi*x)-1)/4) * gamma(x/2+1))
}

// product is n!, or n!! where every second number is left out.
func product(n int64, op string) *big.Int {
	p := big.NewInt(1)
	for ; n > 1; n -= int64(len(op)) {
		p.Mul(p, big.NewInt(n))
	}
	return p
}

// lanczos are coefficients of Lanczos's approximation for g = 7 (Godfrey, 2001).
var lanczos = [...]float64{
	0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
	12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
}

func gamma(z complex128) complex128 {
	if real(z) < 0.5 {
		return math.Pi / (cmplx.Sin(math.Pi*z) * gamma(1-z))
	}
	z--
	sum := complex(lanczos[0], 0)
	for i, c := range lanczos[1:] {
		sum += complex(c, 0) / (z + complex(float64(i+1), 0))
	}
	t := z + 7.5
	return complex(math.Sqrt(2*math.Pi), 0) * cmplx.Pow(t, z+0.5) * cmplx.Exp(-t) * sum
}
