package jinja

import (
	"errors"
	"math"
)

func calculateFloats(op string, x, y float64) (any, error) {
	switch op {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	case "**":
		return powerOfFloats(x, y)
	}
	if y == 0 {
		return nil, errZero
	}
	if op == "/" {
		return x / y, nil
	}
	quotient, rest := dividedFloats(x, y)
	if op == "//" {
		return quotient, nil
	}
	return rest, nil
}

// dividedFloats are a quotient that is whole and what is left, which has the sign of the divisor. The quotient is made of what
// is left, as in Python: 1.0 // 0.1 is 9.0, though 1.0 / 0.1 is 10.0.
func dividedFloats(x, y float64) (quotient, rest float64) {
	rest = math.Mod(x, y)
	quotient = (x - rest) / y
	switch {
	case rest == 0:
		rest = math.Copysign(0, y)
	case (rest < 0) != (y < 0):
		rest += y
		quotient--
	}
	if quotient == 0 {
		return math.Copysign(0, x/y), rest
	}
	return math.Round(quotient), rest // it is whole but for what rounding did
}

func powerOfFloats(x, y float64) (any, error) {
	result := math.Pow(x, y)
	finite := !math.IsInf(x, 0) && !math.IsInf(y, 0)
	switch {
	case x == 0 && y < 0:
		return nil, errors.New("zero has no power below 0")
	case math.IsNaN(result) && finite && x < 0:
		return nil, errors.New("a number below 0 has no power of a fraction here")
	case math.IsInf(result, 0) && finite:
		return nil, errors.New("a power is too large for a float")
	}
	return result, nil
}
