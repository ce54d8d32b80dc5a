package pytext

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// What Python 3.11 prints for these.
func TestLowerIsPythons(t *testing.T) {
	for text, want := range map[string]string{
		"":               "",
		"ABC äÖ":         "abc äö",
		"İstanbul":       "i\u0307stanbul",
		"ΟΔΟΣ":           "οδος",
		"Σ":              "σ",
		"ΣΑΣ ΟΔΟΣ.":      "σας οδος.",
		"ΑΣ'Α":           "ασ'α",
		"ΑΣ' Α":          "ας' α",
		"Α\u0301Σ\u0301": "α\u0301ς\u0301",
		"1Σ":             "1σ",
		"ʰΣ":             "ʰσ",
		"ⅧΣ":             "ⅷς",
		"ẞ":              "ß",
		"\xffA":          "\ufffda",
	} {
		if got := Lower(text); got != want {
			t.Errorf("Lower(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestWhiteSpaceIsPythons(t *testing.T) {
	const spaces = "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
	for r := range rune(utf8.MaxRune + 1) {
		if got, want := IsSpace(r), strings.ContainsRune(spaces, r) && r != 0; got != want {
			t.Errorf("IsSpace(%U) = %t, want %t", r, got, want)
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "c\u200bd"}, Fields("\x1ca\u00a0b\u2028c\u200bd\u3000")); diff != "" {
		t.Errorf("Fields (-want +got):\n%s", diff)
	}
	if got := TrimSpace("\x1fa b\u0085"); got != "a b" {
		t.Errorf("TrimSpace = %q", got)
	}
	if got := TrimRight("\x1fa b\u0085"); got != "\x1fa b" {
		t.Errorf("TrimRight = %q", got)
	}
}

// What Python 3.11 prints for these.
func TestFloatsArePythons(t *testing.T) {
	for want, v := range map[string]float64{
		"0.0": 0, "-0.0": math.Copysign(0, -1), "100.0": 100, "19.20731707317073": 19.20731707317073, "0.0001": 1e-4,
		"9.999e-05": 9.999e-5, "1e+16": 1e16, "1234567890123456.0": 1234567890123456, "inf": math.Inf(1), "-inf": math.Inf(-1),
		"nan": math.NaN(), "1e-10": 1e-10, "33.333333333333336": 100.0 / 3,
	} {
		if got := Float(v); got != want {
			t.Errorf("Float(%g) = %s, want %s", v, got, want)
		}
	}
}

func TestRoundIsPythons(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		want   float64
	}{{294.45, 1, 294.4}, {0.25, 1, 0.2}, {0.35, 1, 0.3}, {144.84, 1, 144.8}, {2.675, 2, 2.67}, {-0.05, 1, -0.1}, {math.Inf(1), 1, math.Inf(1)}, {1e300, 1, 1e300}} {
		if got := Round(c.v, c.digits); got != c.want {
			t.Errorf("Round(%v, %d) = %v, want %v", c.v, c.digits, got, c.want)
		}
	}
}

func FuzzFields(f *testing.F) {
	for _, s := range []string{"", " ", "a", " a  bc\t\x1cd\n", "naïve words\u00a0here", "\x80\xff x", "a\x1fb\x85c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := Fields(s), strings.FieldsFunc(s, IsSpace); !slices.Equal(got, want) {
			t.Errorf("%q becomes %q, want %q", s, got, want)
		}
	})
}
