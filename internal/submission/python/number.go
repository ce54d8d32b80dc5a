package python

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// IsNumber reports whether a value can be compared with a number. bool can.
func IsNumber(v Value) bool {
	switch v.(type) {
	case bool, int64, *big.Int, float64:
		return true
	}
	return false
}

// Less is a < b for numbers, exactly. It is false if one is NaN.
func Less(a, b Value) bool { return compare(a, b) == -1 }

// Equal is a == b. Numbers of different types are compared exactly.
func Equal(a, b Value) bool {
	if IsNumber(a) && IsNumber(b) {
		return compare(a, b) == 0
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		s, ok := b.(string)
		return ok && s == a
	}
	return false // no caller compares lists
}

const unordered = 2

func compare(a, b Value) int {
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	}
	if isNaN(a) || isNaN(b) {
		return unordered
	}
	return exact(a).Cmp(exact(b))
}

func isNaN(v Value) bool {
	f, ok := v.(float64)
	return ok && math.IsNaN(f)
}

// exact returns a number as it is, infinities included.
func exact(v Value) *big.Float {
	f := new(big.Float)
	switch v := v.(type) {
	case bool:
		if v {
			f.SetInt64(1)
		}
	case int64:
		f.SetInt64(v)
	case *big.Int:
		f.SetInt(v)
	case float64:
		f.SetFloat64(v)
	}
	return f
}

// Float is float(v).
func Float(v Value) (float64, error) {
	switch v := v.(type) {
	case string:
		return ParseFloat(v)
	case bool, int64, *big.Int, float64:
		if f, isFloat := v.(float64); isFloat {
			return f, nil
		}
		f, _ := exact(v).Float64()
		if math.IsInf(f, 0) {
			return 0, fmt.Errorf("%s is too large", clip(Str(v)))
		}
		return f, nil
	}
	return 0, fmt.Errorf("%s is not a number", clip(Str(v)))
}

var (
	floatForm = regexp.MustCompile(`^[+-]?(?:(?:[0-9]+(?:_[0-9]+)*\.?|[0-9]+(?:_[0-9]+)*\.[0-9]+(?:_[0-9]+)*|\.[0-9]+(?:_[0-9]+)*)(?:[eE][+-]?[0-9]+(?:_[0-9]+)*)?|(?i:inf|infinity|nan))$`)
	intForm   = regexp.MustCompile(`^[+-]?[0-9]+(?:_[0-9]+)*$`)
)

// ParseFloat is float(s) of a text: digits of any script, and underscores between them.
func ParseFloat(s string) (float64, error) {
	plain := asciiDigits(s)
	if !floatForm.MatchString(plain) {
		return 0, fmt.Errorf("%q is not a number", clip(s))
	}
	if strings.EqualFold(strings.TrimLeft(plain, "+-"), "nan") {
		return math.NaN(), nil
	}
	f, _ := strconv.ParseFloat(strings.ReplaceAll(plain, "_", ""), 64) // out of range is ±Inf, as in Python
	return f, nil
}

// Int is int(v): what is behind a point is cut off, and a text must be a whole number.
func Int(v Value) (*big.Int, error) {
	if s, isText := v.(string); isText {
		return parseInt(s)
	}
	if f, isFloat := v.(float64); !IsNumber(v) || isFloat && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return nil, fmt.Errorf("%s is not a whole number", clip(Str(v)))
	}
	n, _ := exact(v).Int(nil)
	return n, nil
}

func parseInt(s string) (*big.Int, error) {
	plain := asciiDigits(s)
	if intForm.MatchString(plain) && len(plain) <= maxDigits {
		if n, ok := new(big.Int).SetString(strings.ReplaceAll(plain, "_", ""), 10); ok {
			return n, nil
		}
	}
	return nil, fmt.Errorf("%q is not a whole number", clip(s))
}

// asciiDigits writes digits of other scripts as ours and spaces of other scripts as a space, and
// takes the spaces of C off both ends, as Python does: those that only Unicode takes for spaces stay.
func asciiDigits(s string) string {
	plain := strings.Map(func(r rune) rune {
		if d, ok := digit(r); ok {
			return rune('0' + d)
		}
		if r >= utf8.RuneSelf && IsSpace(r) {
			return ' '
		}
		return r
	}, s)
	return strings.Trim(plain, " \t\n\v\f\r")
}

// clip shortens what an error quotes.
func clip(s string) string {
	if len(s) <= 60 {
		return s
	}
	return strings.ToValidUTF8(s[:57], "") + "…"
}
