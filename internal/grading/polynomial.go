package grading

import (
	"maps"
	"math/big"
	"slices"
	"strings"
)

// A polynomial is a sum of terms by the text of what their numbers multiply. What is no number and is not multiplied out further is an atom: a variable, a root, a function of
// something. Decimal fractions are rounded term by term, as SymPy rounds them.
type polynomial map[string]term

// A term is a number times atoms with exponents.
type term struct {
	times decimal
	atoms map[string]decimal
}

func constant(d decimal) polynomial { return polynomial{}.with(term{times: d}) }

func atom(name string, exponent decimal) polynomial {
	return polynomial{}.with(term{fractionOf(1, 1), map[string]decimal{name: exponent}})
}

func (t term) key() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(t.atoms)) {
		b.WriteString(name + "^" + t.atoms[name].text() + " ")
	}
	return b.String()
}

// with adds a term, in place. A float that is 0 stays if nothing else is there: what it is added to becomes a float.
func (p polynomial) with(t term) polynomial {
	key := t.key()
	if old, ok := p[key]; ok {
		t.times = t.times.plus(old.times)
	}
	p[key] = t
	if last, ok := p[""]; ok && len(p) > 1 && last.times.sign() == 0 {
		delete(p, "")
	}
	if t.times.sign() == 0 && (key != "" || t.times.float == nil) {
		delete(p, key)
	}
	return p
}

// isZero reports whether there is nothing, or a float that is 0.
func (p polynomial) isZero() bool {
	d, ok := p.number()
	return ok && d.sign() == 0
}

func (p polynomial) plus(q polynomial) polynomial {
	sum := maps.Clone(p)
	for _, t := range q {
		sum.with(t)
	}
	return sum
}

// mostTerms bounds a product, so that a power of a sum ends.
const mostTerms = 400

// times is a product; nil: it has too many terms.
func (p polynomial) times(q polynomial) polynomial {
	if len(p)*len(q) > mostTerms {
		return nil
	}
	product := polynomial{}
	for _, a := range slices.Sorted(maps.Keys(p)) {
		for _, b := range slices.Sorted(maps.Keys(q)) {
			product.with(p[a].of(q[b]))
		}
	}
	return product
}

// of is a product of terms. What is whole of roots goes to the number at once, so that it is rounded once.
func (t term) of(u term) term {
	product := term{fractionOf(1, 1), maps.Clone(t.atoms)}
	for _, name := range slices.Sorted(maps.Keys(u.atoms)) {
		exponent := u.atoms[name]
		if old, ok := product.atoms[name]; ok {
			exponent = exponent.plus(old)
		}
		product = product.raise(name, exponent)
	}
	product.times = t.times.times(u.times).times(product.times)
	return product
}

// raise gives an atom an exponent.
func (t term) raise(name string, exponent decimal) term {
	if t.atoms == nil {
		t.atoms = map[string]decimal{}
	}
	if base, ok := new(big.Int).SetString(name, 10); ok {
		return t.raiseNumber(name, decimal{fraction: new(big.Rat).SetInt(base)}, exponent)
	}
	if t.atoms[name] = exponent; exponent.sign() == 0 {
		delete(t.atoms, name)
	}
	return t
}

// raiseNumber gives a positive number an exponent, of which what is whole goes to the other numbers. With a float all of it does.
func (t term) raiseNumber(name string, base, exponent decimal) term {
	delete(t.atoms, name)
	if exponent.float != nil {
		power, _ := base.raised(exponent)
		t.times = t.times.times(power)
		return t
	}
	times := new(big.Int).Div(exponent.fraction.Num(), exponent.fraction.Denom())
	whole := times.Int64()
	if !times.IsInt64() || max(whole, -whole) > mostBits/int64(base.size()) {
		t.atoms[name] = exponent // too large to be written out
		return t
	}
	if whole < 0 {
		base = base.inverse()
	}
	for range max(whole, -whole) {
		t.times = t.times.times(base)
	}
	if rest := exponent.plus(fractionOf(-whole, 1)); exponent.sign() != 0 && rest.sign() != 0 {
		t.atoms[name] = rest
	}
	return t
}

// tooLarge reports whether there is a number that takes long.
func (p polynomial) tooLarge() bool {
	for _, t := range p {
		if t.times.size() > mostBits {
			return true
		}
	}
	return false
}

// single is the only term; false: there are others, or none.
func (p polynomial) single() (term, bool) {
	for _, t := range p {
		return t, len(p) == 1
	}
	return term{}, false
}

// number is what a polynomial without atoms is.
func (p polynomial) number() (decimal, bool) {
	if len(p) == 0 {
		return fractionOf(0, 1), true
	}
	t, ok := p.single()
	return t.times, ok && len(t.atoms) == 0
}

func (p polynomial) text() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(p)) {
		b.WriteString(p[key].times.text() + " " + key + "; ")
	}
	return b.String()
}
