package quantize

import (
	"strings"
	"testing"
)

func TestParseMethod(t *testing.T) {
	for text, want := range map[string]Method{
		"min-max":          {Name: MinMax},
		"entropy":          {Name: Entropy},
		"percentile":       {Percentile, defaultPercentile},
		"percentile:99.9":  {Percentile, 99.9},
		"percentile:100":   {Percentile, 100},
		"percentile:99.99": {Percentile, 99.99},
	} {
		if got, err := ParseMethod(text); got != want || err != nil {
			t.Errorf("ParseMethod(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestParseMethodNamesTheOffender(t *testing.T) {
	for text, want := range map[string]string{
		"":                `unknown calibration method ""`,
		"max":             "methods are min-max, percentile and entropy",
		"percentile:":     `"" is no number`,
		"percentile:many": `"many" is no number`,
		"percentile:50":   "must be above 50",
		"percentile:101":  "at most 100",
		"percentile:NaN":  "must be above 50",
		"entropy:3":       "only percentile takes a number",
	} {
		if _, err := ParseMethod(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseMethod(%q) fails with %v, want %q", text, err, want)
		}
	}
}

func FuzzParseMethod(f *testing.F) {
	for _, text := range []string{"min-max", "entropy", "percentile", "percentile:99.9", "percentile:1e2", ":", "percentile:0x63"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMethod(text)
		if err != nil {
			return
		}
		if again, err := ParseMethod(m.String()); again != m || err != nil {
			t.Errorf("ParseMethod(%q) = %v, %v, want %v", m.String(), again, err, m)
		}
	})
}
