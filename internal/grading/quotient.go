package grading

import (
	"maps"
	"math/big"
	"slices"
)

// A quotient is one polynomial over another. If it is a root, it says of what.
type quotient struct {
	over, under polynomial
	base        *quotient
	exponent    decimal
}

func wholeQuotient(p polynomial) *quotient {
	return &quotient{over: p, under: constant(fractionOf(1, 1))}
}

// hasDecimals reports whether there is a decimal fraction in an expression.
func (n *node) hasDecimals() bool {
	return n != nil && (n.kind == number && isDecimal(n.text) || n.a.hasDecimals() || n.b.hasDecimals())
}

// isRoundedZero reports whether an expression with decimal fractions is 0, with all that SymPy rounds rounded.
func (n *node) isRoundedZero() bool {
	q := n.quotient()
	return q != nil && q.over.isZero()
}

// quotient multiplies an expression out; nil: that is not possible, or there is a division by 0.
func (n *node) quotient() *quotient {
	if n.a == nil {
		return leafQuotient(n.token)
	}
	a := n.a.quotient()
	if a == nil {
		return nil
	}
	if n.b == nil {
		return a.unary(n.text)
	}
	b := n.b.quotient()
	if b == nil {
		return nil
	}
	return a.binary(n.text, b)
}

func (q *quotient) binary(op string, r *quotient) *quotient {
	switch op {
	case "+":
		return q.plus(r)
	case "-":
		return q.plus(r.unary(negative))
	case "*":
		return q.times(r)
	case "/":
		return q.dividedBy(r)
	case floor:
		return q.dividedBy(r).floor()
	case "**":
		return q.raised(r)
	}
	return opaque(op, q, r)
}

func leafQuotient(t token) *quotient {
	if t.kind != number {
		return wholeQuotient(atom(t.text, fractionOf(1, 1)))
	}
	d := decimalOf(t.text)
	if d.float == nil && d.fraction == nil {
		return nil
	}
	return wholeQuotient(constant(d))
}

func (q *quotient) unary(op string) *quotient {
	switch op {
	case negative:
		return q.times(wholeQuotient(constant(fractionOf(-1, 1))))
	case "sqrt":
		return q.power(fractionOf(1, 2))
	}
	return opaque(op, q)
}

// opaque is an atom that stands for an operation, or what it makes of whole numbers.
func opaque(op string, of ...*quotient) *quotient {
	if v := integral(op, of); v.fraction != nil {
		return wholeQuotient(constant(v))
	}
	name := op
	for _, q := range of {
		name += "(" + q.text() + ")"
	}
	return wholeQuotient(atom(name, fractionOf(1, 1)))
}

// integral is the integer that comes of an operation on numbers; no number: something else comes of it.
func integral(op string, of []*quotient) decimal {
	d, isNumber := of[0].number()
	n, whole := d.isWhole()
	switch {
	case !isNumber:
	case op == floor:
		down, _ := floorOf(d.rounded(precision)).Int(nil)
		return decimal{fraction: new(big.Rat).SetInt(down)}
	case (op == factorial || op == doubleFactorial) && whole && n >= 0 && n <= largest:
		return decimal{fraction: new(big.Rat).SetInt(product(n, op))}
	}
	return decimal{}
}

// number is what a quotient without atoms is.
func (q *quotient) number() (decimal, bool) {
	under, _ := q.under.number()
	d, ok := q.over.number()
	return d, ok && under.isFraction(1)
}

func (q *quotient) text() string { return q.over.text() + "/" + q.under.text() }

func (q *quotient) plus(r *quotient) *quotient {
	if q.under.text() == r.under.text() {
		return (&quotient{over: q.over.plus(r.over), under: q.under}).checked()
	}
	a, b := q.over.times(r.under), r.over.times(q.under)
	if a == nil || b == nil {
		return nil
	}
	return (&quotient{over: a.plus(b), under: q.under.times(r.under)}).checked()
}

func (q *quotient) times(r *quotient) *quotient {
	if r == nil {
		return nil
	}
	return (&quotient{over: q.over.times(r.over), under: q.under.times(r.under)}).checked()
}

// dividedBy is nil if r is 0. SymPy divides a float by a number at once, so that it is rounded once.
func (q *quotient) dividedBy(r *quotient) *quotient {
	d, isNumber := q.number()
	e, byNumber := r.number()
	if isNumber && byNumber && d.float != nil && e.sign() != 0 {
		prec := bits(d, e)
		return wholeQuotient(constant(decimal{float: new(big.Float).SetPrec(prec).Quo(d.float, e.rounded(prec))}))
	}
	return q.times(r.inverse())
}

// floor is what a quotient is rounded down to.
func (q *quotient) floor() *quotient {
	if q == nil {
		return nil
	}
	return opaque(floor, q)
}

// checked is nil where a part of a quotient could not be multiplied out, or has become too large.
func (q *quotient) checked() *quotient {
	if q.over == nil || q.under == nil || q.over.tooLarge() || q.under.tooLarge() {
		return nil
	}
	return q
}

// inverse is nil of 0. One term stays above, with its exponents the other way round.
func (q *quotient) inverse() *quotient {
	if q.over.isZero() {
		return nil
	}
	t, ok := q.over.single()
	if !ok {
		return &quotient{over: q.under, under: q.over}
	}
	turned := term{times: t.times.inverse(), atoms: map[string]decimal{}}
	for _, name := range slices.Sorted(maps.Keys(t.atoms)) {
		turned = turned.raise(name, t.atoms[name].negated())
	}
	return (&quotient{over: q.under.times(polynomial{}.with(turned)), under: constant(fractionOf(1, 1))}).checked()
}

func (q *quotient) raised(exponent *quotient) *quotient {
	if n, ok := exponent.number(); ok {
		return q.power(n)
	}
	return opaque("**", q, exponent)
}
