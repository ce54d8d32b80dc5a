package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// none stands for what is no number.
const none = "–"

// Digits is how many significant digits a number has.
const Digits = 4

// Text writes a number with its unit: 460.6 ms, 135.4/s, 23,090 samples/s. Numbers of a unit of time (ns, µs, us, ms, s) get the
// unit that fits.
func Text(v float64, unit string) string {
	size, isTime := times[unit]
	switch {
	case !Finite(v):
		return none
	case isTime:
		return duration(v * size)
	}
	return With(Number(v), unit)
}

// With puts a unit behind the text of a number: 12 samples/s, 12/s, 12.
func With(number, unit string) string {
	if unit == "" || unit[0] == '/' {
		return number + unit
	}
	return number + " " + unit
}

// Number writes a number: 0.0234, 12, 999.9, 23,090.
func Number(v float64) string {
	if !Finite(v) {
		return none
	}
	return grouped(Exact(Rounded(v, Digits)))
}

// Score writes an accuracy, or a bound of one: 75.6954, 3,615,190.
func Score(v float64) string {
	if !Finite(v) {
		return none
	}
	return grouped(Exact(Rounded(v, 6)))
}

// Exact writes a number with all its digits for files and command lines: 23090.25, never 2.309e+04.
func Exact(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Rounded is a number with so many significant digits, or all of those before the point.
func Rounded(v float64, digits int) float64 {
	if math.Abs(v) >= math.Pow10(digits-1) {
		return math.Round(v)
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	return v
}

// grouped separates thousands: 1234567.5 as 1,234,567.5.
func grouped(s string) string {
	whole, rest, _ := strings.Cut(s, ".")
	sign, whole := s[:len(whole)-len(strings.TrimPrefix(whole, "-"))], strings.TrimPrefix(whole, "-")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		rest = "." + rest
	}
	return sign + whole + rest
}

// Finite reports whether all are numbers, and none is infinite.
func Finite[T float32 | float64](list ...T) bool {
	for _, v := range list {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// times are the units of time, in nanoseconds.
var times = map[string]float64{"ns": 1, "µs": 1e3, "us": 1e3, "ms": 1e6, "s": 1e9}

// Duration writes a duration: 980 ns, 15 ms, 59.9 s, 10 min, 2 h 5 min.
func Duration(d time.Duration) string { return duration(float64(d)) }

// ExactDuration writes a duration with all its digits, in the unit that Duration takes below two minutes: 60.000000001 s.
func ExactDuration(d time.Duration) string {
	size, name := unitOf(float64(d))
	return grouped(Exact(float64(d)/size)) + " " + name
}

func duration(ns float64) string {
	size, name := unitOf(ns)
	if n := Rounded(ns/size, Digits); size < 1e9 || math.Abs(n) < 120 {
		return Number(n) + " " + name
	}
	sign, seconds := "", math.Round(math.Abs(ns)/1e9)
	if ns < 0 {
		sign = "-"
	}
	if minutes := math.Round(seconds / 60); minutes >= 120 {
		return sign + parts(minutes, "h", "min")
	}
	return sign + parts(seconds, "min", "s")
}

// parts writes a number of small units as large ones, sixty small ones each, and the rest.
func parts(n float64, large, small string) string {
	text := grouped(Exact(math.Floor(n/60))) + " " + large
	if rest := math.Mod(n, 60); rest > 0 {
		text += " " + Exact(rest) + " " + small
	}
	return text
}

// unitOf is the unit of which a duration, rounded, is at least one, up to seconds. That of no time is the second.
func unitOf(ns float64) (size float64, name string) {
	switch a := math.Abs(ns); {
	case a == 0 || a >= 0.99995e9:
		return 1e9, "s"
	case a >= 0.99995e6:
		return 1e6, "ms"
	case a >= 0.99995e3:
		return 1e3, "µs"
	}
	return 1, "ns"
}

// Count writes a number of things, which are named in the singular: 1 query, 2 queries, 24,576 samples.
func Count[T int | int64 | uint64 | float64](n T, what string) string {
	number := Number(float64(n))
	if number == "1" {
		return "1 " + what
	}
	return number + " " + plural(what)
}

func plural(what string) string {
	switch {
	case strings.HasSuffix(what, "y") && !strings.HasSuffix(what, "ay"):
		return strings.TrimSuffix(what, "y") + "ies"
	case strings.HasSuffix(what, "ch"):
		return what + "es"
	}
	return what + "s"
}

// Percent writes a share with two digits behind the point, rounded down: 100 % is all.
func Percent(share float64) string {
	if !Finite(share) {
		return none + " %"
	}
	hundredths := share * 1e4
	// 0.57·10⁴ is less than 5700 in a float64: what is as near to a whole number as that is one.
	if whole := math.Round(hundredths); math.Abs(hundredths-whole) < 1e-10 {
		hundredths = whole
	}
	return Exact(math.Floor(hundredths)/100) + " %"
}

// percentile is a fraction as a percentile, without the digits that floating point adds.
func percentile(fraction float64) float64 { return math.Round(fraction*1e6) / 1e4 }

// Percentile writes a fraction as p99 or p99.9.
func Percentile(fraction float64) string { return "p" + Exact(percentile(fraction)) }

// Ordinal writes a fraction as a percentile's name: 0.9 as 90th, 0.92 as 92nd.
func Ordinal(fraction float64) string {
	x := percentile(fraction)
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
	return Exact(x) + suffix
}

// Bytes writes the size of a file or of what is sent, with three digits and in powers of a thousand: 816 MB.
func Bytes[T int | int64 | uint64](n T) string { return humanize.BytesN(uint64(max(n, 0)), 3) }

// Memory writes the size of memory, with three digits and in powers of 1,024: 128 GiB.
func Memory[T int | int64 | uint64](n T) string { return humanize.IBytesN(uint64(max(n, 0)), 3) }

// SI writes a large number with three digits, its SI prefix and its unit: 4.09 GMAC, 25.6 M.
func SI(v float64, unit string) string {
	for _, prefix := range []struct {
		size float64
		name string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= 0.9995*prefix.size {
			return fmt.Sprintf("%.3g %s%s", v/prefix.size, prefix.name, unit)
		}
	}
	return With(fmt.Sprintf("%.3g", v), unit)
}
