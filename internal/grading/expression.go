package grading

import "strings"

// sameExpression reports whether SymPy finds that the difference of two expressions is 0.
func sameExpression(a, b string) bool {
	text := "(" + b + ")-(" + a + ")"
	if !worthComputing(text) {
		return false
	}
	difference := parse(strings.ReplaceAll(text, "^", "**"))
	switch {
	case difference == nil:
		return false
	case difference.hasDecimals():
		return difference.isRoundedZero() && difference.isNearlyZero()
	}
	return difference.isZero()
}
