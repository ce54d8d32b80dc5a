package checker

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/submission/python"
)

// yamlNumber returns the number that a word is, if it is one.
func yamlNumber(text string) (python.Value, bool) {
	plain := strings.ReplaceAll(strings.ToLower(text), "_", "")
	switch {
	case yamlFloat.MatchString(text), yamlOdd.MatchString(plain):
		f, err := python.ParseFloat(strings.Replace(plain, ".inf", "inf", 1))
		if plain == ".nan" {
			return math.NaN(), true
		}
		return f, err == nil
	case yamlClock.MatchString(text):
		return sexagesimalFloat(plain), true
	case yamlInt.MatchString(text):
		return yamlWhole(plain), true
	case yamlTimes.MatchString(text):
		return sexagesimal(plain), true
	}
	return nil, false
}

// yamlWhole is a whole number whose base is in front: 0b, 0x or 0 for octal.
func yamlWhole(plain string) python.Value {
	v, _ := new(big.Int).SetString(plain, 0)
	return python.Whole(v)
}

// sexagesimal is a number of base 60, as in 1:30.
func sexagesimal(plain string) python.Value {
	digits, negative := strings.CutPrefix(plain, "-")
	v := new(big.Int)
	for _, part := range strings.Split(strings.TrimPrefix(digits, "+"), ":") {
		d, _ := new(big.Int).SetString(part, 10)
		v.Add(v.Mul(v, big.NewInt(60)), d)
	}
	if negative {
		v.Neg(v)
	}
	return python.Whole(v)
}

// sexagesimalFloat is one with a point, as in 1:30.5, added up from behind as Python does.
func sexagesimalFloat(plain string) python.Value {
	digits, negative := strings.CutPrefix(plain, "-")
	parts := strings.Split(strings.TrimPrefix(digits, "+"), ":")
	total, base := 0.0, 1.0
	for _, part := range slices.Backward(parts) {
		f, _ := strconv.ParseFloat(part, 64)
		total, base = total+f*base, base*60
	}
	if negative {
		return -total
	}
	return total
}
