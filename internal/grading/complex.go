package grading

import (
	"math"
	"math/big"
	"math/cmplx"
	"slices"
)

// precision is that of the numbers with which expressions are compared, in bits.
const precision = 512

// A value is a complex number. How far it may be from what was meant is 2 to the power of doubt, −∞ for not at all.
type value struct {
	re, im *big.Float
	doubt  float64
}

var certainly = math.Inf(-1)

// doubts are several ones together.
func doubts(all ...float64) float64 {
	most := slices.Max(all)
	if most == certainly {
		return most
	}
	sum := 0.0
	for _, d := range all {
		sum += math.Exp2(d - most)
	}
	return most + math.Log2(sum)
}

func real64(v float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(v) }

func newFloat() *big.Float { return new(big.Float).SetPrec(precision) }

// certain is a value without doubt.
func certain(re, im *big.Float) *value { return &value{re, im, certainly} }

// computed is a value with the doubts that its parts leave, and that of rounding.
func computed(re, im *big.Float, left ...float64) *value {
	v := certain(re, im)
	v.doubt = doubts(append(left, v.exponent()-precision)...)
	return v
}

// rough is a value of few digits; nil if it is not finite.
func rough(v complex128) *value {
	if cmplx.IsNaN(v) || cmplx.IsInf(v) {
		return nil
	}
	r := certain(real64(real(v)), real64(imag(v)))
	r.doubt = r.exponent() - inexact
	return r
}

func (v *value) complex128() complex128 {
	re, _ := v.re.Float64()
	im, _ := v.im.Float64()
	return complex(re, im)
}

// exponent is that of 2 of the larger part; −∞: the value is 0.
func (v *value) exponent() float64 { return max(exponentOf(v.re), exponentOf(v.im)) }

func exponentOf(v *big.Float) float64 {
	if v.Sign() == 0 {
		return certainly
	}
	return float64(v.MantExp(nil))
}

func (v *value) isZero() bool { return v.re.Sign() == 0 && v.im.Sign() == 0 }

// mayBeZero reports whether a value is not further from 0 than its doubt, and some bits for luck.
func (v *value) mayBeZero() bool { return v.isZero() || v.exponent() <= v.doubt+luck }

func (v *value) negated() *value {
	return &value{newFloat().Neg(v.re), newFloat().Neg(v.im), v.doubt}
}

func (v *value) plus(w *value) *value {
	return computed(newFloat().Add(v.re, w.re), newFloat().Add(v.im, w.im), v.doubt, w.doubt)
}

func (v *value) times(w *value) *value {
	part := func(a, b, c, d *big.Float) *big.Float {
		return newFloat().Add(newFloat().Mul(a, b), newFloat().Mul(c, d))
	}
	re, im := part(v.re, w.re, v.im, newFloat().Neg(w.im)), part(v.re, w.im, v.im, w.re)
	return computed(re, im, v.doubt+w.exponent(), w.doubt+v.exponent(), v.doubt+w.doubt)
}

// over is a quotient; nil: w is 0, or nobody knows.
func (v *value) over(w *value) *value {
	if w.mayBeZero() {
		return nil
	}
	square := newFloat().Add(newFloat().Mul(w.re, w.re), newFloat().Mul(w.im, w.im))
	p := v.times(certain(w.re, newFloat().Neg(w.im)))
	q := computed(newFloat().Quo(p.re, square), newFloat().Quo(p.im, square), v.doubt-w.exponent()+1)
	q.doubt = doubts(q.doubt, q.exponent()+w.doubt-w.exponent()+1)
	return q
}

// raised is a power with a whole exponent; nil: of 0 with a negative one.
func (v *value) raised(n int64) *value {
	if n < 0 {
		return certain(real64(1), newFloat()).over(v.raised(-n))
	}
	p := certain(real64(1), newFloat())
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
		return &value{v.re, v.im, v.doubt / float64(n)}
	}
	shift := int(v.exponent()) / int(n) * int(n) // so that the value fits a float64
	small := certain(newFloat().SetMantExp(v.re, -shift), newFloat().SetMantExp(v.im, -shift))
	re, im := real(small.complex128()), imag(small.complex128())
	r := rough(cmplx.Pow(complex(re, im+0), complex(1/float64(n), 0))) // -0 would be below the real numbers
	if r == nil {
		return nil
	}
	for range 6 {
		step := small.over(certain(r.re, r.im).raised(n - 1)).plus(r.negated())
		r = r.plus(step.over(certain(real64(float64(n)), newFloat())))
	}
	r = certain(newFloat().SetMantExp(r.re, shift/int(n)), newFloat().SetMantExp(r.im, shift/int(n))).cleaned()
	return computed(r.re, r.im, r.exponent()+v.doubt-v.exponent()+1, r.exponent()+10-precision)
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

// floor is what a value is rounded down to, which one that is nearly whole is not.
func (v *value) floor() *value {
	round := func(part *big.Float) *big.Float {
		whole := floorOf(newFloat().Add(part, real64(0.5)))
		if rest := newFloat().Sub(part, whole); exponentOf(rest) <= v.doubt+luck {
			return whole
		}
		return floorOf(part)
	}
	return certain(round(v.re), round(v.im))
}

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
