package figures

import (
	"math"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/report"
)

// Text writes a number with its unit and about four digits: 460.6 ms, 12 µs, 135.4/s.
func Text(v float64, unit string) string {
	switch {
	case !finite(v):
		return "–"
	case unit == "ns":
		return duration(v)
	case unit == "":
		return digits(v)
	case unit[0] == '/':
		return digits(v) + unit
	}
	return digits(v) + " " + unit
}

func duration(ns float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if math.Abs(ns) >= u.size*0.99995 {
			return digits(ns/u.size) + " " + u.name
		}
	}
	return digits(ns) + " ns"
}

// digits writes four digits, or all of those before the point.
func digits(v float64) string {
	if !finite(v) {
		return "–"
	}
	if math.Abs(v) >= 1000 {
		return grouped(strconv.FormatFloat(math.Round(v), 'f', -1, 64))
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// grouped separates thousands: 1234567 as 1,234,567.
func grouped(s string) string {
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Percentile writes a fraction as p99 or p99.9.
func Percentile(fraction float64) string {
	return "p" + strconv.FormatFloat(math.Round(fraction*1e6)/1e4, 'f', -1, 64)
}

// percent writes a share with two digits behind the point, and 100 only for all. 0.57·10⁴ is less than 5700 in a
// float64: what is as near to a whole number as that is one.
func percent(share float64) string {
	if !finite(share) {
		return "– %"
	}
	hundredths := share * 1e4
	if whole := math.Round(hundredths); math.Abs(hundredths-whole) < 1e-10 {
		hundredths = whole
	}
	return strconv.FormatFloat(math.Floor(hundredths)/100, 'f', -1, 64) + " %"
}

// counted writes a number of things.
func counted(n float64, what string) string { return report.Counted(digits(n), what) }
