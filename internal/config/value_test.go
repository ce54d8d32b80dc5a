package config

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestValues(t *testing.T) {
	const whole, real = true, false
	for _, c := range []struct {
		kind  kind
		text  string
		whole bool
		want  float64 // of the whole or the real part
		err   string  // empty: none
	}{
		{count, "18446744073709551615", whole, math.MaxUint64, ""},
		{smallCount, "2147483647", whole, math.MaxInt32, ""},
		{smallCount, "2147483648", whole, 0, "want at most 2147483647, got 2147483648"},
		{toggle, "0", whole, 0, ""}, {toggle, "0x1", whole, 1, ""}, {toggle, "2", whole, 0, "want 0 or 1, got 2"},
		{count, "0x10", whole, 16, ""}, {count, "010", whole, 8, ""}, {count, "18446744073709551616", whole, 0, "18446744073709551616 does not fit into 64 bits"},
		{count, "-1", whole, 0, "must not be negative, is -1"}, {count, "1_000", whole, 0, `"1_000" is not a number`}, {rate, "1_0.5", real, 0, `"1_0.5" is not a number`},
		{modeNumber, "3", whole, 3, ""}, {modeNumber, "4", whole, 0, "want 0 (submission), 1 (accuracy), 2 (performance) or 3 (find peak), got 4"},
		{wholeMillis, "9223372036854", whole, 9223372036854e6, ""},
		{wholeMillis, "9223372036855", whole, 0, "9223372036855 ms are more than a run can last"},
		{wholeMillis, "0", whole, 0, ""},
		{millis, "9223372036854", real, 9223372036854e6, ""},
		{millis, "9223372036855", real, 0, "9.223372036855e+12 ms are more than a run can last"},
		{millis, "0.0000005", real, 0.5, ""},
		{millis, "0", real, 0, "must be above 0"}, {millis, "-0", real, 0, "must be above 0"}, {millis, "-1", real, 0, "must not be negative, is -1"},
		{percentile, "99.9999", real, 99.9999, ""}, {percentile, "1e-300", real, 1e-300, ""},
		{percentile, "0", real, 0, "want a percentile above 0 and below 100, got 0"}, {percentile, "100", real, 0, "want a percentile above 0 and below 100, got 100"},
		{probability, "0", real, 0, ""}, {probability, "100", real, 100, ""}, {probability, "100.0001", real, 0, "want a percentage from 0 to 100, got 100.0001"},
		{rate, "1e-300", real, 1e-300, ""}, {rate, "1e-400", real, 0, "must be above 0"}, {rate, "0x.8", real, 0.5, ""},
		{number, "0", real, 0, ""}, {number, "1e308", real, 1e308, ""}, {number, "-1", real, 0, "must not be negative, is -1"},
		{number, "1e309", real, 0, "1e309 is too large"}, {number, "infinity", real, 0, "want a finite number, got infinity"}, {number, "NaN", real, 0, "want a finite number, got NaN"},
		{number, "", real, 0, `"" is not a number`}, {count, "", whole, 0, `"" is not a number`},
		{number, "0x1p", real, 0, `"0x1p" is not a number`}, {count, "0x", whole, 0, `"0x" is not a number`},
		{count, "++1", whole, 0, `"++1" is not a number`}, {count, "08", whole, 0, "08 is not an octal number, which is what a leading 0 makes of it"},
		{count, "1e2", whole, 0, "want a whole number, got 1e2"}, {count, "inf", whole, 0, `"inf" is not a number`},
	} {
		got, err := parseValue(c.kind, c.text)
		value := got.real
		if c.whole {
			value = float64(got.whole)
		}
		switch {
		case c.err == "" && (err != nil || value != c.want):
			t.Errorf("%q as %d = %v, %v, want %v", c.text, c.kind, value, err, c.want)
		case c.err != "" && (err == nil || err.Error() != c.err):
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
		"":              `"" is not a time: want 90s, 10m, 1h, or milliseconds without a unit`,
		"soon":          `"soon" is not a time: want 90s, 10m, 1h, or milliseconds without a unit`,
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
		kind       kind
		text, file string
	}{
		{count, "0x10", "0x10"}, {count, "25", "25"}, {smallCount, "2147483647", "2147483647"}, {rate, "2.5e2", "2.5e2"}, {percentile, "99.9", "99.9"}, {probability, "0", "0"},
		{toggle, "true", "1"}, {toggle, "T", "1"}, {toggle, "0", "0"}, {toggle, "False", "0"},
		{modeNumber, "submission", "0"}, {modeNumber, "ACCURACY", "1"}, {modeNumber, "PerformanceOnly", "2"}, {modeNumber, "FindPeakPerformance", "3"},
		{wholeMillis, "10m", "600000"}, {wholeMillis, "1500", "1500"}, {millis, "1.5ms", "1.5"}, {millis, "2s", "2000"},
	} {
		v, inFile, err := parseOption(c.kind, c.text)
		if err != nil || inFile != c.file {
			t.Errorf("parseOption(%d, %q) = %+v, %q, %v, want %q", c.kind, c.text, v, inFile, err, c.file)
			continue
		}
		again, err := parseValue(c.kind, inFile)
		same := again.whole == v.whole
		if !c.kind.isWhole() {
			same = again.real == v.real
		}
		if err != nil || !same {
			t.Errorf("%q is %+v of the command line, and %q, %+v, %v of a file", c.text, v, inFile, again, err)
		}
	}
	for _, c := range []struct {
		kind       kind
		text, want string
	}{
		{toggle, "yes", `want true or false, got "yes"`}, {toggle, "", `want true or false, got ""`}, {toggle, "2", `want true or false, got "2"`},
		{modeNumber, "2", `unknown mode "2", want performance, accuracy or submission`}, {modeNumber, "", `unknown mode ""`},
		{millis, "0", "must be above 0"}, {wholeMillis, "-1s", `"-1s" is negative`}, {percentile, "100", "want a percentile above 0 and below 100"},
	} {
		if _, _, err := parseOption(c.kind, c.text); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("parseOption(%d, %q): %v, want %s", c.kind, c.text, err, c.want)
		}
	}
}
