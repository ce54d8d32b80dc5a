package grading

import (
	"math/big"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

// rational is the value of a number as Python writes them, or of digits of any script; nil: it is too large, or none.
func rational(text string) *big.Rat {
	text = strings.ReplaceAll(strings.Map(pytext.ASCIIDigit, text), "_", "")
	if prefixed.MatchString(text) {
		n, _ := new(big.Int).SetString(text, 0)
		return new(big.Rat).SetInt(n)
	}
	_, exponent, _ := strings.Cut(text, "e")
	if len(strings.Trim(exponent, "+-")) > 3 || !isDecimal(text) && len(text) > 1 && text[0] == '0' && strings.Trim(text, "0") != "" {
		return nil // as in Python, a whole number does not begin with a zero
	}
	r, _ := new(big.Rat).SetString(text)
	return r
}

// prefixed is a whole number to the base 2, 8 or 16.
var prefixed = regexp.MustCompile(`^0[xbo]`)

// isDecimal reports whether a number is a decimal fraction, which SymPy rounds.
func isDecimal(text string) bool {
	return strings.ContainsAny(text, ".e") && !prefixed.MatchString(text)
}

// significant counts the digits of a decimal fraction from the first one on that is not zero.
func significant(text string) int {
	mantissa, _, _ := strings.Cut(text, "e")
	digits := strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, mantissa)
	return len(strings.TrimLeft(digits, "0"))
}

// piOf is π, by Machin's formula.
var piOf = sync.OnceValue(func() *big.Float {
	sum := new(big.Float).SetPrec(precision + 64)
	arctan := func(times, x int64) {
		term := new(big.Float).SetPrec(precision+64).Quo(big.NewFloat(float64(times)), big.NewFloat(float64(x)))
		square := big.NewFloat(float64(x * x))
		for n := int64(1); term.MantExp(nil) > -precision-64; n += 2 {
			sum.Add(sum, new(big.Float).Quo(term, big.NewFloat(float64(n))))
			term.Quo(term, square).Neg(term)
		}
	}
	arctan(16, 5)
	arctan(-4, 239)
	return newFloat().Set(sum)
})
