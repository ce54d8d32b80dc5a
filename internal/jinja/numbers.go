package jinja

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

func absolute(value any) (any, error) {
	n, f, float, ok := number(value)
	switch {
	case !ok:
		return nil, fmt.Errorf("want a number, not %s", kindOf(value))
	case float:
		return math.Abs(f), nil
	case n < 0:
		return calculate("*", n, int64(-1))
	}
	return n, nil
}

// otherwise is default: what is undefined becomes another value, and what is empty too if
// that is said.
func otherwise(_ *scope, value any, a given) (any, error) {
	v, err := a.bind("default_value", "boolean")
	if err != nil {
		return nil, err
	}
	_, not := value.(undefined)
	if !not && !(flag(v[1]) && !truth(value)) {
		return value, nil
	}
	return orElse(v[0], ""), nil
}

// orElse is an argument, or another value where it is not given.
func orElse(value, otherwise any) any {
	if value == any(missing) {
		return otherwise
	}
	return value
}

// toWhole is int: what is no number becomes 0, or another value.
func toWhole(_ *scope, value any, a given) (any, error) {
	v, err := a.bind("default", "base")
	if err := cmp.Or(err, checkDefined(value)); err != nil {
		return nil, err
	}
	fallback := orElse(v[0], int64(0))
	text, isText := value.(string)
	if isText {
		base, err := wholeOr(v[1], 10)
		if err != nil || len(text) > longestNumber {
			return fallback, err
		}
		if n, err := wholeOfText(text, base); err == nil || errors.Is(err, errOverflow) {
			return n, err
		}
		f, ok := pytext.ParseFloat(text)
		if !ok || math.IsInf(f, 0) {
			return fallback, nil
		}
		value = f
	}
	n, f, float, ok := number(value)
	switch {
	case !ok || math.IsNaN(f):
		return fallback, nil
	case float:
		return cut(f)
	}
	return n, nil
}

// longestNumber is how many bytes of a text are read as a number.
const longestNumber = 4 << 10

// cut is a float without what is behind its point.
func cut(f float64) (any, error) {
	switch {
	case math.IsInf(f, 0):
		return nil, errEndless(f)
	case f >= 1<<63 || f < -1<<63:
		return nil, errOverflow
	}
	return int64(f), nil
}

func errEndless(f float64) error {
	return fmt.Errorf("want a number that has an end, not %s", pytext.Float(f))
}

var errNoWhole = errors.New("the text is no whole number")

// wholeOfText is int(text, base).
func wholeOfText(text string, base int64) (int64, error) {
	text = strings.ToLower(strings.Map(pytext.ASCIIDigit, pytext.TrimSpace(text)))
	digits := strings.TrimLeft(text, "+-")
	sign := text[:len(text)-len(digits)] // of which there is one at most
	digits, base = withoutPrefix(digits, base)
	parts := strings.Split(digits, "_")
	for _, part := range parts {
		if part == "" || strings.ContainsAny(part, "+-") {
			return 0, errNoWhole
		}
	}
	n, err := strconv.ParseInt(sign+strings.Join(parts, ""), int(max(-1, min(base, 37))), 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, errOverflow
	}
	return n, err
}

// withoutPrefix is a number without what says its base, which may be there where it is that base, or none is said (0).
func withoutPrefix(digits string, base int64) (string, int64) {
	for prefix, of := range map[string]int64{"0x": 16, "0o": 8, "0b": 2} {
		if rest, ok := strings.CutPrefix(digits, prefix); ok && (base == of || base == 0) {
			return strings.TrimPrefix(rest, "_"), of
		}
	}
	if base == 0 {
		base = 10
	}
	return digits, base
}

// toFloat is float: what is no number becomes 0.0, or another value.
func toFloat(_ *scope, value any, a given) (any, error) {
	v, err := a.bind("default")
	if err := cmp.Or(err, checkDefined(value)); err != nil {
		return nil, err
	}
	if text, ok := value.(string); ok {
		if f, ok := pytext.ParseFloat(text); ok && len(text) <= longestNumber {
			return f, nil
		}
	} else if _, f, _, ok := number(value); ok {
		return f, nil
	}
	return orElse(v[0], 0.0), nil
}

// rounded is round: common, ceil or floor.
func rounded(_ *scope, value any, a given) (any, error) {
	v, err := a.bind("precision", "method")
	if err != nil {
		return nil, err
	}
	digits, err1 := wholeOr(v[0], 0)
	how, err2 := textOr(v[1], "common")
	if err := cmp.Or(err1, err2); err != nil {
		return nil, err
	}
	n, f, float, ok := number(value)
	if !ok || digits < -maxDigits || digits > maxDigits {
		return nil, fmt.Errorf("want a number, and up to %d digits of it, not %s and %d", maxDigits, kindOf(value), digits)
	}
	switch how {
	case "common":
		if !float {
			return roundedWhole(n, digits)
		}
		return roundedFloat(f, digits), nil
	case "ceil":
		return roundedBy(math.Ceil, f, digits)
	case "floor":
		return roundedBy(math.Floor, f, digits)
	}
	return nil, fmt.Errorf("want common, ceil or floor, not %q", how)
}

// maxDigits are as many as floats have behind the point, and more.
const maxDigits = 300

// roundedFloat is round(f, digits); below 0 they are before the point.
func roundedFloat(f float64, digits int64) float64 {
	if digits >= 0 {
		return pytext.Round(f, int(digits))
	}
	scale := math.Pow(10, float64(-digits))
	return math.RoundToEven(f/scale) * scale
}

// roundedWhole is round(n, digits), of two the one whose last digit is even.
func roundedWhole(n, digits int64) (any, error) {
	if digits >= 0 {
		return n, nil
	}
	if digits < -18 {
		return int64(0), nil
	}
	scale := int64(math.Pow(10, float64(-digits)))
	quotient, rest := n/scale, n%scale
	switch half := scale / 2; {
	case rest > half || rest == half && quotient%2 != 0:
		quotient++
	case rest < -half || rest == -half && quotient%2 != 0:
		quotient--
	}
	return multiplied(quotient, scale)
}

func roundedBy(round func(float64) float64, f float64, digits int64) (any, error) {
	scale := math.Pow(10, float64(digits))
	result := round(f*scale)/scale + 0 // whole numbers have no zero below zero
	if math.IsInf(result, 0) || math.IsNaN(result) {
		return nil, errEndless(result)
	}
	return result, nil
}
