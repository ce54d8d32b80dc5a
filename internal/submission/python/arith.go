package python

import (
	"errors"
	"math"
	"math/big"
)

// Mul is a * n for a number.
func Mul(a Value, n int64) Value {
	if f, ok := a.(float64); ok {
		return f * float64(n)
	}
	product, _ := exact(a).Int(nil)
	return Whole(product.Mul(product, big.NewInt(n)))
}

// Add is a + b for numbers.
func Add(a, b Value) (Value, error) {
	_, aIsFloat := a.(float64)
	_, bIsFloat := b.(float64)
	if aIsFloat || bIsFloat {
		x, err := Float(a)
		y, errY := Float(b)
		return x + y, errors.Join(err, errY)
	}
	x, _ := exact(a).Int(nil)
	y, _ := exact(b).Int(nil)
	return Whole(x.Add(x, y)), nil
}

// Div is a / b for numbers: of whole numbers the nearest float64 to the true quotient.
func Div(a, b Value) (float64, error) {
	if !Truth(b) {
		return 0, errors.New("division by zero")
	}
	_, aIsFloat := a.(float64)
	_, bIsFloat := b.(float64)
	if aIsFloat || bIsFloat {
		x, err := Float(a)
		y, errY := Float(b)
		return x / y, errors.Join(err, errY)
	}
	x, _ := exact(a).Int(nil)
	y, _ := exact(b).Int(nil)
	if x.Sign() == 0 {
		return math.Copysign(0, float64(y.Sign())), nil
	}
	q, _ := new(big.Rat).SetFrac(x, y).Float64()
	if math.IsInf(q, 0) {
		return 0, errors.New("the quotient is too large")
	}
	return q, nil
}

// Whole is a whole number; nil is None.
func Whole(n *big.Int) Value {
	if n == nil {
		return nil
	}
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}
