package config

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// wholeByHand reads a whole number as C's strtoull with base 0 does, digit by digit.
func wholeByHand(text string) (n *big.Int, ok bool) {
	digits, base := strings.TrimPrefix(text, "+"), int64(10)
	switch lower := strings.ToLower(digits); {
	case strings.HasPrefix(lower, "0x") && len(lower) > 2:
		digits, base = lower[2:], 16
	case strings.HasPrefix(digits, "0"):
		base = 8
	}
	n = new(big.Int)
	for _, c := range strings.ToLower(digits) {
		at := strings.IndexRune("0123456789abcdef"[:base], c)
		if at < 0 {
			return nil, false
		}
		n.Add(n.Mul(n, big.NewInt(base)), big.NewInt(int64(at)))
	}
	return n, digits != ""
}

func TestWholeNumbersAreReadDigitByDigit(t *testing.T) {
	draw := rand.New(rand.NewPCG(7, 11))
	most := new(big.Int).SetUint64(math.MaxUint64)
	for range 20_000 {
		const characters = "00112345678999abcdefABCDEFxX+-_. g"
		text := [...]string{"", "", "+", "0x", "0X", "0", "-"}[draw.IntN(7)]
		for range draw.IntN(22) {
			i := draw.IntN(len(characters))
			if draw.IntN(12) > 0 {
				i = draw.IntN(14)
			}
			text += characters[i : i+1]
		}
		want, ok := wholeByHand(text)
		got, err := parseWhole(text)
		if ok = ok && want.Cmp(most) <= 0; ok != (err == nil) || ok && got != want.Uint64() {
			t.Errorf("parseWhole(%q) = %d, %v, want %v, %t", text, got, err, want, ok)
		}
	}
}

func TestEveryNumberThatIsPrintedIsReadAgain(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 5))
	for range 5_000 {
		want := math.Float64frombits(draw.Uint64())
		if math.IsNaN(want) || math.IsInf(want, 0) {
			continue
		}
		hexadecimal := strconv.FormatFloat(want, 'x', -1, 64)
		for _, text := range []string{
			strconv.FormatFloat(want, 'g', -1, 64), strconv.FormatFloat(want, 'e', -1, 64), strings.ToUpper(strconv.FormatFloat(want, 'e', 20, 64)),
			hexadecimal, strings.ToUpper(hexadecimal),
		} {
			if got, err := parseReal(text); err != nil || got != want {
				t.Errorf("parseReal(%s) = %v, %v, want %v", text, got, err, want)
			}
		}
		n := draw.Uint64() >> draw.IntN(64)
		for _, text := range []string{fmt.Sprint(n), fmt.Sprintf("+%d", n), fmt.Sprintf("0x%x", n), fmt.Sprintf("0X%X", n), fmt.Sprintf("0%o", n), fmt.Sprintf("00%o", n)} {
			if got, err := parseWhole(text); err != nil || got != n {
				t.Errorf("parseWhole(%s) = %d, %v, want %d", text, got, err, n)
			}
		}
	}
}

func TestValuesHaveTheBoundsOfTheirKind(t *testing.T) {
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

func TestTimesAreWrittenWithUnitsOrInMilliseconds(t *testing.T) {
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

// What the command line has is written as a file would have it, and read from that as the same value.
func TestAnOptionIsTheSameInAFile(t *testing.T) {
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

func TestKindsHaveTheirUnits(t *testing.T) {
	for unit, kinds := range map[string][]kind{"ms": {wholeMillis, millis}, "%": {percentile, probability}, "/s": {rate}, "": {count, smallCount, toggle, modeNumber, number}} {
		for _, k := range kinds {
			if got := k.unit(); got != unit {
				t.Errorf("the unit of kind %d is %q, want %q", k, got, unit)
			}
			if k.isTime() != (unit == "ms") {
				t.Errorf("kind %d is a time: %t", k, k.isTime())
			}
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"10", "90s", "1h", "-1", "1e300", "0x1p3", "NaN", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDuration(text)
		if err != nil {
			return
		}
		if again, err := ParseDuration(d.String()); d < 0 || err != nil || again != d {
			t.Fatalf("ParseDuration(%q) = %v, and of its own text %v, %v", text, d, again, err)
		}
	})
}

func TestNamesOfModesAreThoseOfLoadGenToo(t *testing.T) {
	for _, mode := range []loadgen.Mode{loadgen.SubmissionRun, loadgen.AccuracyOnly, loadgen.PerformanceOnly, loadgen.FindPeakPerformance} {
		if got, err := ParseMode(mode.String()); err != nil || got != mode {
			t.Errorf("ParseMode(%v) = %v, %v", mode, got, err)
		}
	}
}
