package jinja

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
)

// integer is 1 or 0.
func integer(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// number is a value as a whole number or a float, and whether it is one.
func number(value any) (n int64, f float64, float, ok bool) {
	switch v := value.(type) {
	case bool:
		return integer(v), float64(integer(v)), false, true
	case int64:
		return v, float64(v), false, true
	case float64:
		return 0, v, true, true
	}
	return 0, 0, false, false
}

// checkDefined is an error for what is undefined, which says what it is that is not there.
func checkDefined(values ...any) error {
	for _, v := range values {
		if u, ok := v.(undefined); ok {
			return errors.New(string(u))
		}
	}
	return nil
}

// exactFloats is up to where all whole numbers are floats.
const exactFloats = 1 << 53

var errOverflow = errors.New("a whole number has more than 64 bits")

// calculate is a value of two: a sum, a product and the like.
func calculate(op string, left, right any) (any, error) {
	if text, ok := left.(string); ok && op == "%" {
		return percented(text, right)
	}
	if err := checkDefined(left, right); err != nil {
		return nil, err
	}
	a, x, float1, ok1 := number(left)
	b, y, float2, ok2 := number(right)
	if !ok1 || !ok2 {
		return combine(op, left, right)
	}
	if float1 || float2 {
		return calculateFloats(op, x, y)
	}
	return calculateIntegers(op, a, b)
}

// combine is calculate where not both are numbers: texts and lists are joined and repeated.
func combine(op string, left, right any) (any, error) {
	if op == "+" {
		if sum, ok := appended(left, right); ok {
			return sum, nil
		}
	}
	if op == "*" {
		if times, _, float, ok := number(left); ok && !float {
			return repeated(right, times)
		}
		if times, _, float, ok := number(right); ok && !float {
			return repeated(left, times)
		}
	}
	return nil, errOperands(op, left, right)
}

func errOperands(op string, left, right any) error {
	return fmt.Errorf("%s is not for %s and %s", op, kindOf(left), kindOf(right))
}

// appended is the sum of two texts, lists or tuples.
func appended(left, right any) (any, bool) {
	switch l := left.(type) {
	case string:
		r, ok := right.(string)
		return l + r, ok
	case list:
		r, ok := right.(list)
		return slices.Concat(l, r), ok
	case tuple:
		r, ok := right.(tuple)
		return slices.Concat(l, r), ok
	}
	return nil, false
}

// repeated is a text or a list as often as is said.
func repeated(value any, times int64) (any, error) {
	times = max(0, times)
	switch v := value.(type) {
	case string:
		if v != "" && times > int64(maxText/len(v)) {
			return nil, errTooLong
		}
		return strings.Repeat(v, int(min(times, maxText))), nil
	case list:
		all, err := repeatedParts(v, times)
		return list(all), err
	case tuple:
		all, err := repeatedParts(v, times)
		return tuple(all), err
	}
	return nil, errOperands("*", value, times)
}

func repeatedParts(parts []any, times int64) ([]any, error) {
	if len(parts) > 0 && times > int64(maxElements/len(parts)) {
		return nil, errTooMany
	}
	return slices.Repeat(parts, int(min(times, maxElements))), nil
}

var errZero = errors.New("division by zero")

func calculateIntegers(op string, a, b int64) (any, error) {
	switch op {
	case "+":
		if sum := a + b; (sum > a) == (b > 0) {
			return sum, nil
		}
	case "-":
		if difference := a - b; (difference < a) == (b > 0) {
			return difference, nil
		}
	case "*":
		return multiplied(a, b)
	case "//", "%":
		return divided(op, a, b)
	case "/":
		return quotientOf(a, b)
	default:
		return power(a, b)
	}
	return nil, errOverflow
}

func multiplied(a, b int64) (any, error) {
	product := a * b
	if a != 0 && (product/a != b || a == -1 && b == math.MinInt64) {
		return nil, errOverflow
	}
	return product, nil
}

// divided is the quotient or what is left: the quotient is the next whole number below.
func divided(op string, a, b int64) (any, error) {
	switch {
	case b == 0:
		return nil, errZero
	case a == math.MinInt64 && b == -1 && op == "//":
		return nil, errOverflow
	}
	quotient, rest := a/b, a%b
	if rest != 0 && (rest < 0) != (b < 0) {
		quotient--
		rest += b
	}
	if op == "%" {
		return rest, nil
	}
	return quotient, nil
}

// quotientOf is the float that is nearest to a quotient.
func quotientOf(a, b int64) (any, error) {
	if x, y := float64(a), float64(b); b == 0 || max(math.Abs(x), math.Abs(y)) < exactFloats {
		return calculateFloats("/", x, y)
	}
	quotient, _ := big.NewRat(a, b).Float64()
	return quotient, nil
}

func power(a, b int64) (any, error) {
	if b < 0 {
		return powerOfFloats(float64(a), float64(b))
	}
	result := any(int64(1))
	for range min(b, 64) {
		var err error
		if result, err = multiplied(result.(int64), a); err != nil {
			return nil, err
		}
	}
	switch {
	case b <= 64 || a == 0 || a == 1:
		return result, nil
	case a == -1:
		return 1 - 2*(b%2), nil
	}
	return nil, errOverflow
}
