package loadgen

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// A Quantity is a number with its unit: "ns", or what is counted, in the plural.
type Quantity struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

const unitNanoseconds = "ns"

func nanosecondsOf(d time.Duration) Quantity { return Quantity{float64(d), unitNanoseconds} }

// String writes times with about four digits, and other numbers with all of theirs.
func (q Quantity) String() string {
	if q.isTime() {
		return Round(time.Duration(q.Value)).String()
	}
	return q.exact()
}

// exact writes the number with all its digits.
func (q Quantity) exact() string {
	if q.isTime() {
		return time.Duration(q.Value).String()
	}
	return strings.TrimSpace(strconv.FormatFloat(q.Value, 'f', -1, 64) + " " + q.unit())
}

// isTime reports whether the number is a time that a time.Duration can hold.
func (q Quantity) isTime() bool {
	return q.Unit == unitNanoseconds && math.Abs(q.Value) < math.MaxInt64
}

var singular = map[string]string{"queries": "query", "samples": "sample", "intervals": "interval"}

func (q Quantity) unit() string {
	if one, ok := singular[q.Unit]; ok && q.Value == 1 {
		return one
	}
	return q.Unit
}

// Round shortens a time to about four digits.
func Round(d time.Duration) time.Duration {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second)
	case d >= time.Second:
		return d.Round(time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond)
	case d >= time.Microsecond:
		return d.Round(10 * time.Nanosecond)
	}
	return d
}

// Ordinal writes a fraction as a percentile's name: 0.9 as 90th, 0.92 as 92nd.
func Ordinal(fraction float64) string {
	x := math.Round(fraction*1e6) / 1e4 // without the digits that floating point adds
	suffix := "th"
	if n := int(x); float64(n) == x && n%100/10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.FormatFloat(x, 'g', -1, 64) + suffix
}
