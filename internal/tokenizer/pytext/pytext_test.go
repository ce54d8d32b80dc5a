package pytext

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
)

// The results are those of Python 3.11.
func TestLower(t *testing.T) {
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
		"\u00adΣ":        "\u00adσ",
		"A\u00adΣ\u00ad": "a\u00adς\u00ad",
		"AΣ日":            "aς日",
		"AΣ\u200da":      "aσ\u200da",
		"ǅΣ":             "ǆς",
		"ªΣ":             "ªς",
		"AΣⓐ":            "aσⓐ",
	} {
		if got := Lower(text); got != want {
			t.Errorf("Lower(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestIsSpace(t *testing.T) {
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

// The results are those of Python 3.11.
func TestFloat(t *testing.T) {
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

func TestRound(t *testing.T) {
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

// zeros are the characters for which unicodedata.digit of Python 3.11 is 0.
var zeros = []rune{0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0,
	0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30,
	0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0,
	0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0}

func TestASCIIDigit(t *testing.T) {
	for _, zero := range zeros {
		for n := range rune(10) {
			if got := ASCIIDigit(zero + n); got != '0'+n {
				t.Errorf("ASCIIDigit(%U) = %q, want %q", zero+n, got, '0'+n)
			}
		}
	}
	for _, other := range "a²½Ⅷ①十٫/: \x00" {
		if got := ASCIIDigit(other); got != other {
			t.Errorf("ASCIIDigit(%q) = %q", other, got)
		}
	}
}

// The results are those of float() of Python 3.11; NaN: it fails.
func TestParseFloat(t *testing.T) {
	for text, want := range map[string]float64{
		"1": 1, " 1.5\n": 1.5, "\u00a01\u2003": 1, "-.5": -.5, "+5.": 5, "1e3": 1000, "1E-3": 0.001, "1_000.2_5": 1000.25, "1_0e1_0": 1e11, "٣": 3, "１２.５": 12.5, "𝟑": 3,
		"inf": math.Inf(1), "-Infinity": math.Inf(-1), "1e400": math.Inf(1), "-1e400": math.Inf(-1), "1e-400": 0, "-0": 0,
		"": math.NaN(), "_1": math.NaN(), "1_": math.NaN(), "1__0": math.NaN(), "1_.5": math.NaN(), "1._5": math.NaN(), "0x10": math.NaN(), "0x1p4": math.NaN(), "1,000": math.NaN(), "1 2": math.NaN(), "½": math.NaN(), "²": math.NaN(), "−1": math.NaN(),
		"1e": math.NaN(), "e1": math.NaN(), ".": math.NaN(), "\ufeff1": math.NaN(), "1\x00": math.NaN(),
	} {
		if got, ok := ParseFloat(text); ok == math.IsNaN(want) || ok && got != want {
			t.Errorf("ParseFloat(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
	if got, ok := ParseFloat("nan"); !ok || !math.IsNaN(got) {
		t.Errorf("ParseFloat(nan) = %v, %v", got, ok)
	}
}

// The results are those of splitlines of Python 3.11.
func TestLines(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "a": {"a"}, "\n": {""}, "a\n\nb": {"a", "", "b"}, "a\r\nb\r": {"a", "b"}, "a\n\rb": {"a", "", "b"}, "a\vb\fc": {"a", "b", "c"},
		"a\x1cb\x1dc\x1ed\x1fe": {"a", "b", "c", "d\x1fe"}, "é\u0085b\u2028c\u2029": {"é", "b", "c"}, "\u2027\u202a\u0084\u0086": {"\u2027\u202a\u0084\u0086"},
	} {
		if got := Lines(text, false); !slices.Equal(got, want) {
			t.Errorf("Lines(%q) = %q, want %q", text, got, want)
		}
	}
	if got, want := Lines("a\r\nb\u2028\rc", true), []string{"a\r\n", "b\u2028", "\r", "c"}; !slices.Equal(got, want) {
		t.Errorf("Lines with ends = %q, want %q", got, want)
	}
}

// Long runs of marks, as unicodedata.normalize of Python has them.
func TestNormalizeLongRuns(t *testing.T) {
	acute, mixed := strings.Repeat("\u0301", 40), strings.Repeat("\u0301\u0323", 20)
	for _, c := range []struct {
		form norm.Form
		text string
		want string
	}{
		{norm.NFC, "e" + acute, "é" + acute[2:]},
		{norm.NFD, "é" + acute, "e\u0301" + acute},
		{norm.NFKC, "ﬁe" + mixed, "fi\u1eb9" + strings.Repeat("\u0323", 19) + acute[:40]},
		{norm.NFKD, "ﬁ" + mixed + "\u034f", "fi" + strings.Repeat("\u0323", 20) + acute[:40] + "\u034f"},
	} {
		if got := Normalize(c.form, c.text); got != c.want {
			t.Errorf("%d of %q: %q, want %q", c.form, c.text, got, c.want)
		}
	}
}

// Values of Python 3.11: repr and json.dumps.
func TestLiterals(t *testing.T) {
	for _, c := range []struct{ text, repr, json string }{
		{"plain", "'plain'", "\"plain\""},
		{"it's", "\"it's\"", "\"it's\""},
		{"say \"x\"", "'say \"x\"'", "\"say \\\"x\\\"\""},
		{"both ' and \"", "'both \\' and \"'", "\"both ' and \\\"\""},
		{"back\\slash", "'back\\\\slash'", "\"back\\\\slash\""},
		{"tab\u0009nl\ncr\u000d", "'tab\\tnl\\ncr\\r'", "\"tab\\tnl\\ncr\\r\""},
		{"\u0000\u001f\u007f\u0080\u00a0\u00ad", "'\\x00\\x1f\\x7f\\x80\\xa0\\xad'", "\"\\u0000\\u001f\\u007f\\u0080\\u00a0\\u00ad\""},
		{"gr\u00f6\u00dfe \u2013 \u201cq\u201d", "'gr\u00f6\u00dfe \u2013 \u201cq\u201d'", "\"gr\\u00f6\\u00dfe \\u2013 \\u201cq\\u201d\""},
		{"\U0001f600\U000e0001", "'\U0001f600\\U000e0001'", "\"\\ud83d\\ude00\\udb40\\udc01\""},
		{"\u2028\u200b\u3000\ufeff", "'\\u2028\\u200b\\u3000\\ufeff'", "\"\\u2028\\u200b\\u3000\\ufeff\""},
		{"\u0008\u000c/", "'\\x08\\x0c/'", "\"\\b\\f/\""},
		{"", "''", "\"\""},
	} {
		if got := Repr(c.text); got != c.repr {
			t.Errorf("Repr(%q) = %s, want %s", c.text, got, c.repr)
		}
		if got := JSON(c.text); got != c.json {
			t.Errorf("JSON(%q) = %s, want %s", c.text, got, c.json)
		}
	}
}
