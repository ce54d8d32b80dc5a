package grading

import (
	"maps"
	"math/big"
	"slices"
	"strings"
)

// power is a quotient with a number as its exponent.
func (q *quotient) power(exponent decimal) *quotient {
	n, whole := exponent.isWhole()
	d, isNumber := q.number()
	switch {
	case whole && q.base != nil:
		return q.base.power(q.exponent.times(exponent))
	case isNumber && (!whole || bits(d, exponent) > 0):
		return d.power(exponent)
	case whole && n < 0:
		return q.repeated(-n).inverted()
	case whole:
		return q.repeated(n)
	}
	return q.monomial(exponent)
}

// power is a number with a number as its exponent, of which at least one is no integer.
func (d decimal) power(exponent decimal) *quotient {
	switch {
	case d.isFraction(1):
		return wholeQuotient(constant(d))
	case d.sign() == 0:
		return powerOfZero(d, exponent)
	}
	if bits(d, exponent) == 0 {
		return rootQuotient(d, exponent)
	}
	if v, isReal := d.raised(exponent); isReal {
		return wholeQuotient(constant(v))
	}
	if exponent.fraction != nil && exponent.fraction.Cmp(big.NewRat(1, 2)) == 0 {
		return d.negated().power(exponent).times(wholeQuotient(atom("j", fractionOf(1, 1))))
	}
	return opaque("**", wholeQuotient(constant(d)), wholeQuotient(constant(exponent)))
}

// powerOfZero is 0, or nothing if the exponent is negative.
func powerOfZero(zero, exponent decimal) *quotient {
	switch exponent.sign() {
	case -1:
		return nil
	case 0:
		return wholeQuotient(constant(fractionOf(1, 1)))
	}
	return wholeQuotient(constant(zero))
}

func (q *quotient) inverted() *quotient {
	if q == nil {
		return nil
	}
	return q.inverse()
}

func (q *quotient) repeated(n int64) *quotient {
	p := wholeQuotient(constant(fractionOf(1, 1)))
	if n > largest {
		return nil
	}
	for range n {
		if p = p.times(q); p == nil {
			return nil
		}
	}
	return p
}

// monomial is a power of one variable, with a positive number taken out, or of something that stays together.
func (q *quotient) monomial(exponent decimal) *quotient {
	t, ok := q.over.single()
	if !ok || q.under.text() != constant(fractionOf(1, 1)).text() || t.times.sign() < 0 {
		root := wholeQuotient(atom("("+q.text()+")", exponent))
		root.base, root.exponent = q, exponent
		return root
	}
	root := wholeQuotient(constant(t.times)).power(exponent)
	if t.splits() {
		for _, name := range slices.Sorted(maps.Keys(t.atoms)) {
			root = root.times(wholeQuotient(atom(name, t.atoms[name].times(exponent))))
		}
		return root
	}
	rest := polynomial{}.with(term{fractionOf(1, 1), maps.Clone(t.atoms)})
	if root = root.times(wholeQuotient(atom("("+rest.text()+")", exponent))); root != nil && t.times.float == nil {
		root.base, root.exponent = q, exponent
	}
	return root
}

// splits reports whether the root of a product is the product of roots: of one variable, or of what is positive.
func (t term) splits() bool {
	for name, exponent := range t.atoms {
		if !(len(t.atoms) == 1 && exponent.isFraction(1)) && name != "pi" && strings.Trim(name, "0123456789") != "" {
			return false
		}
	}
	return true
}

// rootQuotient is a fraction with a fraction as its exponent: a product of primes with exponents.
func rootQuotient(d, exponent decimal) *quotient {
	t := term{times: fractionOf(1, 1)}
	for _, part := range []struct {
		of   *big.Int
		sign int64
	}{{d.fraction.Num(), 1}, {d.fraction.Denom(), -1}} {
		for prime, times := range primes(new(big.Int).Abs(part.of)) {
			t = t.of(term{fractionOf(1, 1), nil}.raise(prime, exponent.times(fractionOf(part.sign*times, 1))))
		}
	}
	if d.sign() >= 0 {
		return wholeQuotient(polynomial{}.with(t))
	}
	if exponent.fraction.Cmp(big.NewRat(1, 2)) != 0 {
		return opaque("**", wholeQuotient(constant(d)), wholeQuotient(constant(exponent)))
	}
	return wholeQuotient(polynomial{}.with(t.of(term{fractionOf(1, 1), map[string]decimal{"j": fractionOf(1, 1)}})))
}

// primes are the prime factors of a number, each with how often it is one. A large one may be a product.
func primes(n *big.Int) map[string]int64 {
	all := make(map[string]int64)
	for p, rest := int64(2), new(big.Int); p < 1<<15 && n.Cmp(big.NewInt(1)) > 0; p++ {
		for {
			quotient, _ := new(big.Int).QuoRem(n, big.NewInt(p), rest)
			if rest.Sign() != 0 {
				break
			}
			all[big.NewInt(p).String()]++
			n = quotient
		}
	}
	if n.Cmp(big.NewInt(1)) > 0 {
		all[n.String()]++
	}
	return all
}
