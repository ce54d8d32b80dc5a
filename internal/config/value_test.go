package config

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestValues(t *testing.T) {
	const whole, real = true, false
	for _, c := range []struct {
		kind  loadgen.Kind
		text  string
		whole bool
		want  float64 // of the whole or the real part
		err   string  // empty: none
	}{
		{loadgen.KindCount, "18446744073709551615", whole, math.MaxUint64, ""},
		{loadgen.KindSmallCount, "2147483647", whole, math.MaxInt32, ""},
		{loadgen.KindSmallCount, "2147483648", whole, 0, "2147483647 … 2147483648"},
		{loadgen.KindSwitch, "0", whole, 0, ""}, {loadgen.KindSwitch, "0x1", whole, 1, ""}, {loadgen.KindSwitch, "2", whole, 0, "0 … 1 … 2"},
		{loadgen.KindCount, "0x10", whole, 16, ""}, {loadgen.KindCount, "010", whole, 8, ""}, {loadgen.KindCount, "18446744073709551616", whole, 0, "18446744073709551616 … 64 bits"},
		{loadgen.KindCount, "-1", whole, 0, "negative … -1"}, {loadgen.KindCount, "1_000", whole, 0, `"1_000" … not a number`}, {loadgen.KindRate, "1_0.5", real, 0, `"1_0.5" … not a number`},
		{loadgen.KindMode, "3", whole, 3, ""}, {loadgen.KindMode, "4", whole, 0, "0 … submission … 1 … accuracy … 2 … performance … 3 … find peak … 4"},
		{loadgen.KindWholeMillis, "9223372036854", whole, 9223372036854e6, ""},
		{loadgen.KindWholeMillis, "9223372036855", whole, 0, "9223372036855 ms"},
		{loadgen.KindWholeMillis, "0", whole, 0, ""},
		{loadgen.KindMillis, "9223372036854", real, 9223372036854e6, ""},
		{loadgen.KindMillis, "9223372036855", real, 0, "9.223372036855e+12 ms"},
		{loadgen.KindMillis, "0.0000005", real, 0.5, ""},
		{loadgen.KindMillis, "0", real, 0, "above 0"}, {loadgen.KindMillis, "-0", real, 0, "above 0"}, {loadgen.KindMillis, "-1", real, 0, "negative … -1"},
		{loadgen.KindPercentile, "99.9999", real, 99.9999, ""}, {loadgen.KindPercentile, "1e-300", real, 1e-300, ""},
		{loadgen.KindPercentile, "0", real, 0, "percentile … above 0 … 100 … 0"}, {loadgen.KindPercentile, "100", real, 0, "percentile … above 0 … 100 … 100"},
		{loadgen.KindProbability, "0", real, 0, ""}, {loadgen.KindProbability, "100", real, 100, ""}, {loadgen.KindProbability, "100.0001", real, 0, "percentage … 0 … 100 … 100.0001"},
		{loadgen.KindRate, "1e-300", real, 1e-300, ""}, {loadgen.KindRate, "1e-400", real, 0, "above 0"}, {loadgen.KindRate, "0x.8", real, 0.5, ""},
		{loadgen.KindNumber, "0", real, 0, ""}, {loadgen.KindNumber, "1e308", real, 1e308, ""}, {loadgen.KindNumber, "-1", real, 0, "negative … -1"},
		{loadgen.KindNumber, "1e309", real, 0, "1e309 … large"}, {loadgen.KindNumber, "infinity", real, 0, "finite … infinity"}, {loadgen.KindNumber, "NaN", real, 0, "finite … NaN"},
		{loadgen.KindNumber, "", real, 0, `"" … not a number`}, {loadgen.KindCount, "", whole, 0, `"" … not a number`},
		{loadgen.KindNumber, "0x1p", real, 0, `"0x1p" … not a number`}, {loadgen.KindCount, "0x", whole, 0, `"0x" … not a number`},
		{loadgen.KindCount, "++1", whole, 0, `"++1" … not a number`}, {loadgen.KindCount, "08", whole, 0, "08 … octal"},
		{loadgen.KindCount, "1e2", whole, 0, "whole number … 1e2"}, {loadgen.KindCount, "inf", whole, 0, `"inf" … not a number`},
	} {
		got, err := parseValue(c.kind, c.text)
		value := got.real
		if c.whole {
			value = float64(got.whole)
		}
		switch {
		case c.err == "" && (err != nil || value != c.want):
			t.Errorf("%q as %d = %v, %v, want %v", c.text, c.kind, value, err, c.want)
		case c.err != "" && !testenv.Names(err, c.err):
			t.Errorf("%q as %d: error %v, want %q", c.text, c.kind, err, c.err)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "10": 10 * time.Millisecond, "1.5": 1500 * time.Microsecond, "1e3": time.Second, "90s": 90 * time.Second, "1h30m": 90 * time.Minute,
		"250us": 250 * time.Microsecond, "250µs": 250 * time.Microsecond, "5ns": 5, "0.000001": 1, "+2s": 2 * time.Second, ".5s": 500 * time.Millisecond,
		"8.29": 8290 * time.Microsecond, "1.001": 1001 * time.Microsecond, "9007199254": 9007199254 * time.Millisecond, "2562047h": 2562047 * time.Hour,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":              `"" is not a time: expected 90s, 10m, 1h, or milliseconds without a unit`,
		"soon":          `"soon" is not a time: expected 90s, 10m, 1h, or milliseconds without a unit`,
		"1 s":           `"1 s" is not a time`,
		"10 m":          `"10 m" is not a time`,
		"1d":            `"1d" is not a time`,
		"-1":            `"-1" is negative`,
		"-1ns":          `"-1ns" is negative`,
		"NaN":           `"NaN" ms are more than a run can last`,
		"Inf":           `"Inf" ms are more than a run can last`,
		"-inf":          `"-inf" ms are more than a run can last`,
		"9223372036855": `"9223372036855" ms are more than a run can last`,
		"1e300":         `"1e300" ms are more than a run can last`,
		"1e999":         `"1e999" is not a time`,
		"2562048h":      `"2562048h" is not a time`,
	} {
		if got, err := ParseDuration(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("ParseDuration(%q) = %v, %v, want the error %s", text, got, err, want)
		}
	}
}

// An option is written as a file would have it, and read from there as the same value.
func TestOptionInAFile(t *testing.T) {
	for _, c := range []struct {
		kind       loadgen.Kind
		text, file string
	}{
		{loadgen.KindCount, "0x10", "0x10"}, {loadgen.KindCount, "25", "25"}, {loadgen.KindSmallCount, "2147483647", "2147483647"}, {loadgen.KindRate, "2.5e2", "2.5e2"}, {loadgen.KindPercentile, "99.9", "99.9"}, {loadgen.KindProbability, "0", "0"},
		{loadgen.KindSwitch, "true", "1"}, {loadgen.KindSwitch, "T", "1"}, {loadgen.KindSwitch, "0", "0"}, {loadgen.KindSwitch, "False", "0"},
		{loadgen.KindMode, "submission", "0"}, {loadgen.KindMode, "ACCURACY", "1"}, {loadgen.KindMode, "PerformanceOnly", "2"}, {loadgen.KindMode, "FindPeakPerformance", "3"},
		{loadgen.KindWholeMillis, "10m", "600000"}, {loadgen.KindWholeMillis, "1500", "1500"}, {loadgen.KindMillis, "1.5ms", "1.5"}, {loadgen.KindMillis, "2s", "2000"},
	} {
		v, inFile, err := parseOption(c.kind, c.text)
		if err != nil || inFile != c.file {
			t.Errorf("parseOption(%d, %q) = %+v, %q, %v, want %q", c.kind, c.text, v, inFile, err, c.file)
			continue
		}
		again, err := parseValue(c.kind, inFile)
		same := again.whole == v.whole
		if !isWhole(c.kind) {
			same = again.real == v.real
		}
		if err != nil || !same {
			t.Errorf("%q is %+v of the command line, and %q, %+v, %v of a file", c.text, v, inFile, again, err)
		}
	}
	for _, c := range []struct {
		kind       loadgen.Kind
		text, want string
	}{
		{loadgen.KindSwitch, "yes", `expected true or false, got "yes"`}, {loadgen.KindSwitch, "", `expected true or false, got ""`}, {loadgen.KindSwitch, "2", `expected true or false, got "2"`},
		{loadgen.KindMode, "2", `unknown mode "2": must be performance, accuracy or submission`}, {loadgen.KindMode, "", `unknown mode ""`},
		{loadgen.KindMillis, "0", "must be above 0"}, {loadgen.KindWholeMillis, "-1s", `"-1s" is negative`}, {loadgen.KindPercentile, "100", "expected a percentile above 0 and below 100"},
	} {
		if _, _, err := parseOption(c.kind, c.text); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("parseOption(%d, %q): %v, want %s", c.kind, c.text, err, c.want)
		}
	}
}
