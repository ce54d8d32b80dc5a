package jinja

import (
	"cmp"
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
	if v[0] == any(missing) {
		return "", nil
	}
	return v[0], nil
}

// toWhole is int: what is no number becomes 0, or another value.
func toWhole(_ *scope, value any, a given) (any, error) {
	v, err := a.bind("default")
	if err := cmp.Or(err, checkDefined(value)); err != nil {
		return nil, err
	}
	fallback := v[0]
	if fallback == any(missing) {
		fallback = int64(0)
	}
	if text, ok := value.(string); ok {
		text = strings.Map(pytext.ASCIIDigit, pytext.TrimSpace(text))
		if n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64); err == nil {
			return n, nil
		}
		if value, err = strconv.ParseFloat(text, 64); err != nil {
			return fallback, nil
		}
	}
	n, f, float, ok := number(value)
	switch {
	case !ok || math.IsNaN(f) || math.IsInf(f, 0):
		return fallback, nil
	case float && math.Abs(f) >= 1<<63:
		return nil, errOverflow
	case float:
		return int64(f), nil
	}
	return n, nil
}

// toFloat is float: what is no number becomes 0.0, or another value.
func toFloat(_ *scope, value any, a given) (any, error) {
	v, err := a.bind("default")
	if err := cmp.Or(err, checkDefined(value)); err != nil {
		return nil, err
	}
	if text, ok := value.(string); ok {
		if f, err := strconv.ParseFloat(strings.Map(pytext.ASCIIDigit, pytext.TrimSpace(text)), 64); err == nil {
			return f, nil
		}
	} else if _, f, _, ok := number(value); ok {
		return f, nil
	}
	if v[0] == any(missing) {
		return 0.0, nil
	}
	return v[0], nil
}

// rounded is round: common, ceil or floor.
func rounded(_ *scope, value any, a given) (any, error) {
	v, err := a.bind("precision", "method")
	if err != nil {
		return nil, err
	}
	digits, err1 := wholeOr(v[0], 0)
	how, err2 := textOr(v[1], "common")
	_, f, _, ok := number(value)
	if err := cmp.Or(err1, err2); err != nil {
		return nil, err
	}
	if !ok || digits < 0 || digits > 15 {
		return nil, fmt.Errorf("want a number, and 0 to 15 digits of it, not %s and %d", kindOf(value), digits)
	}
	scale := math.Pow(10, float64(digits))
	if n, _, float, _ := number(value); !float && how == "common" {
		return n, nil
	}
	switch how {
	case "common":
		return pytext.Round(f, int(digits)), nil
	case "ceil":
		return math.Ceil(f*scale) / scale, nil
	case "floor":
		return math.Floor(f*scale) / scale, nil
	}
	return nil, fmt.Errorf("want common, ceil or floor, not %q", how)
}
