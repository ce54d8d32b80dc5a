package grading

import (
	"math"
	"math/big"
	"math/cmplx"
)

// precision is that of the numbers with which expressions are compared, in bits.
const precision = 512

// A value is a complex number. A rough one has no more than the digits of a float64.
type value struct {
	re, im *big.Float
	rough  bool
}

func real64(v float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(v) }

func newFloat() *big.Float { return new(big.Float).SetPrec(precision) }

// rough is a value of few digits; nil if it is not finite.
func rough(v complex128) *value {
	if cmplx.IsNaN(v) || cmplx.IsInf(v) {
		return nil
	}
	return &value{real64(real(v)), real64(imag(v)), true}
}

func (v *value) complex128() complex128 {
	re, _ := v.re.Float64()
	im, _ := v.im.Float64()
	return complex(re, im)
}

// exponent is that of 2 of the larger part; very low: the value is 0.
func (v *value) exponent() int {
	return max(exponentOf(v.re), exponentOf(v.im))
}

func exponentOf(v *big.Float) int {
	if v.Sign() == 0 {
		return math.MinInt32
	}
	return v.MantExp(nil)
}

func (v *value) isZero() bool { return v.re.Sign() == 0 && v.im.Sign() == 0 }

func (v *value) negated() *value {
	return &value{newFloat().Neg(v.re), newFloat().Neg(v.im), v.rough}
}

func (v *value) plus(w *value) *value {
	return &value{newFloat().Add(v.re, w.re), newFloat().Add(v.im, w.im), v.rough || w.rough}
}

func (v *value) times(w *value) *value {
	part := func(a, b, c, d *big.Float) *big.Float {
		return newFloat().Add(newFloat().Mul(a, b), newFloat().Mul(c, d))
	}
	return &value{part(v.re, w.re, v.im, newFloat().Neg(w.im)), part(v.re, w.im, v.im, w.re), v.rough || w.rough}
}

// over is a quotient; nil: w is 0.
func (v *value) over(w *value) *value {
	if w.isZero() {
		return nil
	}
	square := newFloat().Add(newFloat().Mul(w.re, w.re), newFloat().Mul(w.im, w.im))
	p := v.times(&value{w.re, newFloat().Neg(w.im), w.rough})
	return &value{newFloat().Quo(p.re, square), newFloat().Quo(p.im, square), p.rough}
}

// raised is a power with a whole exponent; nil: of 0 with a negative one.
func (v *value) raised(n int64) *value {
	if n < 0 {
		if v.isZero() {
			return nil
		}
		return (&value{re: real64(1), im: newFloat()}).over(v).raised(-n)
	}
	p := &value{re: real64(1), im: newFloat()}
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			p = p.times(v)
		}
		v = v.times(v)
	}
	return p
}

// root is the n-th root that is nearest to the positive real numbers, by Newton's method from the one of a float64; nil: there is none.
func (v *value) root(n int64) *value {
	if v.isZero() {
		return v
	}
	shift := v.exponent() / int(n) * int(n) // so that the value fits a float64
	small := &value{newFloat().SetMantExp(v.re, -shift), newFloat().SetMantExp(v.im, -shift), v.rough}
	re, im := real(small.complex128()), imag(small.complex128())
	r := rough(cmplx.Pow(complex(re, im+0), complex(1/float64(n), 0))) // -0 would be below the real numbers
	if r == nil {
		return nil
	}
	r.rough = v.rough
	for range 6 {
		step := small.over(r.raised(n - 1)).plus(r.negated())
		r = r.plus(step.over(&value{re: real64(float64(n)), im: newFloat()}))
	}
	return (&value{newFloat().SetMantExp(r.re, shift/int(n)), newFloat().SetMantExp(r.im, shift/int(n)), v.rough}).cleaned()
}

// cleaned is a value without a part that is nothing but rounding.
func (v *value) cleaned() *value {
	least := v.exponent() - precision + 100
	for _, part := range []*big.Float{v.re, v.im} {
		if exponentOf(part) < least {
			part.SetInt64(0)
		}
	}
	return v
}

func (v *value) floor() *value { return &value{floorOf(v.re), floorOf(v.im), v.rough} }

func floorOf(v *big.Float) *big.Float {
	n, accuracy := v.Int(nil)
	if v.Sign() < 0 && accuracy != big.Exact {
		n.Sub(n, big.NewInt(1))
	}
	return newFloat().SetInt(n)
}

// isWhole reports whether a value is an integer of some digits.
func (v *value) isWhole() (int64, bool) {
	if v.im.Sign() != 0 || !v.re.IsInt() || v.exponent() > 40 {
		return 0, false
	}
	n, _ := v.re.Int64()
	return n, true
}
