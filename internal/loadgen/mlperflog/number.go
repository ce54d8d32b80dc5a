package mlperflog

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// general writes a number as a C++ stream does by default: six significant digits,
// no trailing zeros.
func general(v float64) string {
	if s, ok := nonFinite(v); ok {
		return s
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// fixed writes a number with so many decimals.
func fixed(v float64, decimals int) string {
	if s, ok := nonFinite(v); ok {
		return s
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

func twoDecimals(v float64) string { return fixed(v, 2) }

// nonFinite writes what is no number in the spelling that parsers of JSON usually
// accept. A C++ stream writes nan and inf, which they do not.
func nonFinite(v float64) (string, bool) {
	switch {
	case math.IsNaN(v):
		return "NaN", true
	case math.IsInf(v, 1):
		return "Infinity", true
	case math.IsInf(v, -1):
		return "-Infinity", true
	}
	return "", false
}

// parseReal reads a number in any spelling that a LoadGen or general writes.
func parseReal(text string) (float64, bool) {
	if text == "-nan" {
		return math.NaN(), true
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !strings.ContainsAny(text, "_xX") // those are Go's own
}

// percent writes a fraction as a percentage.
func percent(p float64, decimals int) string { return fixed(p*100, decimals) }

func seconds(d time.Duration) float64 { return float64(d) / 1e9 }

// oneLine replaces what would end a line of a log.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u0085' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
