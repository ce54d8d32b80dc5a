package grading

import (
	"math"
	"math/big"
	"strings"
)

// A decimal is a number as SymPy has it: a fraction, or a float of some bits, to which a fraction is rounded when both meet.
type decimal struct {
	fraction *big.Rat
	float    *big.Float
}

func fractionOf(n, d int64) decimal { return decimal{fraction: big.NewRat(n, d)} }

// decimalOf is the number that a text of Python is; nil in both: it is none.
func decimalOf(text string) decimal {
	r := rational(text)
	if r == nil || !isDecimal(text) {
		return decimal{fraction: r}
	}
	digits := max(15, significant(text))
	bits := uint(math.RoundToEven(float64(digits+1) * math.Log2(10)))
	return decimal{float: new(big.Float).SetPrec(bits).SetRat(r)}
}

// mostBits bounds the fractions that are computed with.
const mostBits = 20000

// size is how many bits a fraction has, and that of a float 1.
func (d decimal) size() int {
	if d.fraction == nil {
		return 1
	}
	return d.fraction.Num().BitLen() + d.fraction.Denom().BitLen()
}

func (d decimal) sign() int {
	if d.float != nil {
		return d.float.Sign()
	}
	return d.fraction.Sign()
}

// bits is the larger precision of two numbers; 0: both are fractions.
func bits(a, b decimal) uint {
	var most uint
	for _, d := range []decimal{a, b} {
		if d.float != nil {
			most = max(most, d.float.Prec())
		}
	}
	return most
}

// rounded is a number as a float.
func (d decimal) rounded(prec uint) *big.Float {
	if d.float != nil {
		return d.float
	}
	return new(big.Float).SetPrec(prec).SetRat(d.fraction)
}

func (d decimal) plus(e decimal) decimal {
	if prec := bits(d, e); prec > 0 {
		return decimal{float: new(big.Float).SetPrec(prec).Add(d.rounded(prec), e.rounded(prec))}
	}
	return decimal{fraction: new(big.Rat).Add(d.fraction, e.fraction)}
}

func (d decimal) times(e decimal) decimal {
	if d.isFraction(0) || e.isFraction(0) {
		return fractionOf(0, 1)
	}
	if prec := bits(d, e); prec > 0 {
		return decimal{float: new(big.Float).SetPrec(prec).Mul(d.rounded(prec), e.rounded(prec))}
	}
	return decimal{fraction: new(big.Rat).Mul(d.fraction, e.fraction)}
}

// inverse is 1 over a number that is not 0.
func (d decimal) inverse() decimal {
	if d.float != nil {
		return decimal{float: new(big.Float).SetPrec(d.float.Prec()).Quo(big.NewFloat(1), d.float)}
	}
	return decimal{fraction: new(big.Rat).Inv(d.fraction)}
}

func (d decimal) negated() decimal { return d.times(fractionOf(-1, 1)) }

func (d decimal) isFraction(n int64) bool {
	return d.fraction != nil && d.fraction.Cmp(big.NewRat(n, 1)) == 0
}

// isWhole is the integer that a fraction is.
func (d decimal) isWhole() (int64, bool) {
	if d.fraction == nil || !d.fraction.IsInt() || !d.fraction.Num().IsInt64() {
		return 0, false
	}
	return d.fraction.Num().Int64(), true
}

// whole is the integer that a number is, whether as a fraction or as a float.
func (d decimal) whole() (int64, bool) {
	if d.float == nil {
		return d.isWhole()
	}
	n, accuracy := d.float.Int64()
	return n, accuracy == big.Exact
}

// raised is a float with a whole exponent, or whatever number with a float; false: it is no real number.
func (d decimal) raised(exponent decimal) (decimal, bool) {
	prec := bits(d, exponent)
	base := d.rounded(prec)
	if n, ok := exponent.whole(); ok && max(n, -n) <= largest {
		p := new(big.Float).SetPrec(precision).SetInt64(1)
		for range max(n, -n) {
			p.Mul(p, base)
		}
		if n < 0 {
			p.Quo(big.NewFloat(1), p)
		}
		return decimal{float: new(big.Float).SetPrec(prec).Set(p)}, true
	}
	if base.Sign() < 0 {
		return decimal{}, false
	}
	if exponent.fraction != nil && exponent.fraction.Cmp(big.NewRat(1, 2)) == 0 {
		return decimal{float: new(big.Float).SetPrec(prec).Sqrt(base)}, true
	}
	b, _ := base.Float64()
	e, _ := exponent.rounded(prec).Float64()
	v := math.Pow(b, e)
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return decimal{}, false
	}
	return decimal{float: new(big.Float).SetPrec(prec).SetFloat64(v)}, true
}

// text is a number so that two that are the same have the same text, and a float is no fraction.
func (d decimal) text() string {
	if d.float != nil {
		return "~" + strings.TrimPrefix(d.float.Text('p', 0), "+")
	}
	return d.fraction.RatString()
}
