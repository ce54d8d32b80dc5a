package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// unit returns the unit of a kind in files.
func unit(k loadgen.Kind) string {
	switch k {
	case loadgen.KindWholeMillis, loadgen.KindMillis:
		return "ms"
	case loadgen.KindPercentile, loadgen.KindProbability:
		return "%"
	case loadgen.KindRate:
		return "/s"
	}
	return ""
}

// isWhole reports whether LoadGen reads the kind with strtoull.
func isWhole(k loadgen.Kind) bool { return k <= loadgen.KindWholeMillis }

// A value is the parsed text of a setting: whole or real by its kind, times in
// nanoseconds.
type value struct {
	whole    uint64
	real     float64
	arrivals loadgen.Arrivals
}

// store sets a field of the settings, of whichever type, to a value of its kind.
func (v value) store(k loadgen.Kind, field any) {
	switch f := field.(type) {
	case *uint64:
		*f = v.whole
	case *int:
		*f = int(v.whole)
	case *bool:
		*f = v.whole == 1
	case *time.Duration:
		*f = time.Duration(v.whole)
	case *loadgen.Mode:
		*f = loadgen.Mode(v.whole)
	case *float64:
		*f = v.real
		if k == loadgen.KindPercentile || k == loadgen.KindProbability {
			*f = v.real * 0.01
		}
	case *loadgen.Arrivals:
		*f = v.arrivals
	}
}

// parseValue reads a value of a file as LoadGen does. A value that LoadGen would misread is an
// error.
func parseValue(k loadgen.Kind, text string) (value, error) {
	if !isWhole(k) {
		real, err := parseReal(text)
		if err == nil {
			err = checkReal(k, real)
		}
		if k == loadgen.KindMillis {
			real *= 1e6
		}
		return value{real: real}, err
	}
	whole, err := parseWhole(text)
	if err == nil {
		err = checkWhole(k, whole)
	}
	if k == loadgen.KindWholeMillis {
		whole *= 1e6
	}
	return value{whole: whole}, err
}

// maxMillis is the longest time in milliseconds that nanoseconds can express.
const maxMillis = math.MaxInt64 / 1_000_000

func checkWhole(k loadgen.Kind, v uint64) error {
	switch {
	case k == loadgen.KindSwitch && v > 1:
		return fmt.Errorf("expected 0 or 1, got %d", v)
	case k == loadgen.KindMode && v > uint64(loadgen.FindPeakPerformance):
		return fmt.Errorf("expected 0 (submission), 1 (accuracy), 2 (performance) or 3 (find peak), got %d", v)
	case k == loadgen.KindWholeMillis && v > maxMillis:
		return fmt.Errorf("%d ms are more than a run can last", v)
	case k == loadgen.KindSmallCount && v > math.MaxInt32:
		return fmt.Errorf("expected at most %d, got %d", math.MaxInt32, v)
	}
	return nil
}

// errZero is the error of a rate or a time of 0. Official files have some, of benchmarks without one: it is an error of a run
// of that benchmark only.
var errZero = errors.New("must be above 0")

func checkReal(k loadgen.Kind, v float64) error {
	switch {
	case v < 0:
		return fmt.Errorf("must not be negative, is %g", v)
	case k == loadgen.KindPercentile && (v == 0 || v >= 100):
		return fmt.Errorf("expected a percentile above 0 and below 100, got %g", v)
	case k == loadgen.KindProbability && v > 100:
		return fmt.Errorf("expected a percentage from 0 to 100, got %g", v)
	case (k == loadgen.KindRate || k == loadgen.KindMillis) && v == 0:
		return errZero
	case k == loadgen.KindMillis && v > maxMillis:
		return fmt.Errorf("%g ms are more than a run can last", v)
	}
	return nil
}

// parseWhole reads a number as strtoull with base 0 does: 0x begins a hexadecimal
// number and 0 an octal one.
func parseWhole(text string) (uint64, error) {
	digits, base := strings.TrimPrefix(text, "+"), 10
	switch {
	case len(digits) > 2 && (digits[:2] == "0x" || digits[:2] == "0X"):
		digits, base = digits[2:], 16
	case len(digits) > 1 && digits[0] == '0':
		digits, base = digits[1:], 8
	}
	v, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		return 0, notWhole(text, base)
	}
	return v, nil
}

// notWhole says why a text is not a whole number of 64 bits.
func notWhole(text string, base int) error {
	switch real, notReal := parseReal(text); {
	case notReal != nil:
		return fmt.Errorf("%q is not a number", text)
	case real < 0:
		return fmt.Errorf("must not be negative, is %s", text)
	case real >= 1<<64:
		return fmt.Errorf("%s does not fit into 64 bits", text)
	case base == 8 && real == math.Trunc(real):
		return fmt.Errorf("%s is not an octal number, which is what a leading 0 makes of it", text)
	}
	return fmt.Errorf("expected a whole number, got %s", text)
}

// parseReal reads a number as strtod does, without infinities and NaN.
func parseReal(text string) (float64, error) {
	notNumber := fmt.Errorf("%q is not a number", text)
	if strings.Contains(text, "_") {
		return 0, notNumber // Go allows it, C does not
	}
	unsigned := strings.ToLower(strings.TrimLeft(text, "+-"))
	if strings.HasPrefix(unsigned, "0x") && !strings.Contains(unsigned, "p") {
		text += "p0" // C does not ask for an exponent
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case math.IsInf(v, 0) && err != nil:
		return 0, fmt.Errorf("%s is too large", text)
	case err != nil:
		return 0, notNumber
	case math.IsInf(v, 0) || math.IsNaN(v):
		return 0, fmt.Errorf("expected a finite number, got %s", text)
	}
	return v, nil
}

// parseOption reads the value of a flag: times have a unit, modes names, and switches
// words. It also returns the value as a file would have it.
func parseOption(k loadgen.Kind, text string) (v value, inFile string, err error) {
	switch {
	case k == loadgen.KindWholeMillis || k == loadgen.KindMillis:
		d, err := ParseDuration(text)
		if err != nil {
			return value{}, "", err
		}
		ms := float64(d) / 1e6
		return value{whole: uint64(d), real: float64(d)}, strconv.FormatFloat(ms, 'g', -1, 64), checkReal(k, ms)
	case k == loadgen.KindMode:
		mode, err := ParseMode(text)
		return value{whole: uint64(mode)}, strconv.Itoa(int(mode)), err
	case k == loadgen.KindArrivals:
		a, err := loadgen.ParseArrivals(text)
		return value{arrivals: a}, text, err
	case k == loadgen.KindSwitch:
		on, err := strconv.ParseBool(text)
		switch {
		case err != nil:
			return value{}, "", fmt.Errorf("expected true or false, got %q", text)
		case on:
			return value{whole: 1}, "1", nil
		}
		return value{}, "0", nil
	}
	v, err = parseValue(k, text)
	return v, text, err
}

// Set gives settings the value of a row, as a flag has it.
func Set(s *loadgen.TestSettings, row *loadgen.Setting, text string) error {
	v, _, err := parseOption(row.Kind, text)
	if err == nil {
		v.store(row.Kind, row.Requested(s))
	}
	return err
}

// ParseDuration reads a time with a unit, 90s or 10m; a bare number is milliseconds, as in
// conf files.
func ParseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if ms, bare := strconv.ParseFloat(text, 64); bare == nil {
		if math.IsNaN(ms) || math.Abs(ms) > maxMillis {
			return 0, fmt.Errorf("%q ms are more than a run can last", text)
		}
		d, err = time.Duration(math.Round(ms*1e6)), nil
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a time: expected 90s, 10m, 1h, or milliseconds without a unit", text)
	case d < 0:
		return 0, fmt.Errorf("%q is negative", text)
	}
	return d, nil
}

// ParseMode returns the mode of a name of the command line (performance, accuracy,
// submission) or of LoadGen (PerformanceOnly, …).
func ParseMode(name string) (loadgen.Mode, error) {
	short := map[string]loadgen.Mode{
		"performance": loadgen.PerformanceOnly, "accuracy": loadgen.AccuracyOnly,
		"submission": loadgen.SubmissionRun,
	}
	if mode, ok := short[strings.ToLower(name)]; ok {
		return mode, nil
	}
	mode, err := loadgen.ParseMode(name)
	if err != nil {
		err = fmt.Errorf("unknown mode %q: must be performance, accuracy or submission", name)
	}
	return mode, err
}
