package python

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A golden is what Python says, see testdata/make_python.py. nil is an exception.
type golden struct {
	Decoded map[string]*struct {
		Str, Repr, Dumps string
		Truth            bool
	}
	Parsed map[string]struct{ Float, Int *string }
	Pairs  []struct {
		A, B                   string
		Less, Equal            bool
		Sum, Quotient, Product *string
	}
	Single []struct {
		Value      string
		Int, Float *string
	}
	Times  map[string]*string
	Spaces string
	Lines  map[string][]string
	Broken map[string][]int // by their hexadecimal digits
}

func readGolden(t *testing.T) *golden {
	t.Helper()
	g := testenv.JSON[golden](t, "testdata/python.json")
	return &g
}

// agree compares a value, or an error, with what Python has.
func agree(t *testing.T, what, got string, err error, want *string) {
	t.Helper()
	switch {
	case want == nil && err == nil:
		t.Errorf("%.80s = %.80s, want an error", what, got)
	case want != nil && (err != nil || got != *want):
		t.Errorf("%.80s = %.80s, %v, want %.80s", what, got, err, *want)
	}
}

func TestJSONIsReadPrintedAndWrittenAsPythonDoes(t *testing.T) {
	for text, want := range readGolden(t).Decoded {
		v, err := DecodeJSON([]byte(text))
		if (err == nil) != (want != nil) {
			t.Errorf("DecodeJSON(%.80q): %v, Python's answer is %v", text, err, want)
		}
		if err != nil || want == nil {
			continue
		}
		for _, c := range []struct{ what, got, want string }{
			{"Str", string([]rune(Str(v))), want.Str}, {"Repr", Repr(v), want.Repr}, {"EncodeJSON", EncodeJSON(v), want.Dumps},
		} {
			if c.got != c.want {
				t.Errorf("%s of %.80q = %.80q, want %.80q", c.what, text, c.got, c.want)
			}
		}
		if Truth(v) != want.Truth {
			t.Errorf("Truth of %.80q = %v", text, Truth(v))
		}
	}
}

func TestTextsAreNumbersWherePythonSaysSo(t *testing.T) {
	for text, want := range readGolden(t).Parsed {
		f, err := ParseFloat(text)
		agree(t, "ParseFloat("+text+")", Repr(f), err, want.Float)
		f, err = Float(text)
		agree(t, "Float("+text+")", Repr(f), err, want.Float)
		n, err := Int(text)
		agree(t, "Int("+text+")", n.String(), err, want.Int)
	}
}

func TestValuesBecomeNumbersWherePythonSaysSo(t *testing.T) {
	for _, c := range readGolden(t).Single {
		v := decode(t, c.Value)
		n, err := Int(v)
		agree(t, "Int("+c.Value+")", n.String(), err, c.Int)
		f, err := Float(v)
		agree(t, "Float("+c.Value+")", Repr(f), err, c.Float)
	}
}

func TestNumbersAreComparedAndComputedAsInPython(t *testing.T) {
	for _, c := range readGolden(t).Pairs {
		a, b := decode(t, c.A), decode(t, c.B)
		if less, equal := Less(a, b), Equal(a, b); less != c.Less || equal != c.Equal {
			t.Errorf("%s and %s: less %v, equal %v, want %v, %v", c.A, c.B, less, equal, c.Less, c.Equal)
		}
		sum, err := Add(a, b)
		agree(t, c.A+" + "+c.B, Repr(sum), err, c.Sum)
		quotient, err := Div(a, b)
		agree(t, c.A+" / "+c.B, Repr(quotient), err, c.Quotient)
		if n, isInt := b.(int64); isInt && c.Product != nil {
			agree(t, c.A+" * "+c.B, Repr(Mul(a, n)), nil, c.Product)
		}
	}
}

func decode(t *testing.T, text string) Value {
	t.Helper()
	v, err := DecodeJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTimesOfPowerLogsAreReadAsStrptimeReadsThem(t *testing.T) {
	for text, want := range readGolden(t).Times {
		v, err := ParseStamp(text)
		agree(t, "ParseStamp("+text+")", v.Format("2006-01-02T15:04:05.000000"), err, want)
	}
}

func TestSpacesAreThoseThatStripTakesOff(t *testing.T) {
	spaces := ""
	for r := rune(0); r <= 0x10ffff; r++ {
		if IsSpace(r) {
			spaces += string(r)
		}
	}
	if want := readGolden(t).Spaces; spaces != want {
		t.Errorf("spaces are %q, want %q", spaces, want)
	}
}

func TestLinesAreThoseThatOpenFinds(t *testing.T) {
	for text, want := range readGolden(t).Lines {
		got, _ := readAll(text)
		if !cmp.Equal(got, want) {
			t.Errorf("lines of %q are %q, want %q", text, got, want)
		}
	}
}

func TestErrorsSayWhereAndWhatWouldBeRight(t *testing.T) {
	deep := strings.Repeat("[", 2000)
	for text, want := range map[string]string{
		"[1,\n 2,]":                    "line 2, byte 7: want a value",
		"":                             "line 1, byte 0: want a value",
		"{\"a\" 1}":                    "line 1, byte 5: want \":\"",
		"\"a":                          "line 1, byte 2: want a quote at the end of a text",
		"\"a\nb\"":                     "line 1, byte 2: want no control character in a text",
		"\"\\nb\n":                     "line 1, byte 4: want no control character in a text",
		"1 2":                          "line 1, byte 2: want nothing after the value",
		deep:                           "line 1, byte 990: want fewer values inside each other",
		strings.Repeat("9", 4301):      "line 1, byte 4301: want at most 4300 digits",
		"\"\\x\"":                      "line 1, byte 2: want one of \"\\/bfnrtu after \\",
		"[" + strings.Repeat("1 ", 50): "line 1, byte 3: want \",\" or \"]\"",
	} {
		if _, err := DecodeJSON([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("DecodeJSON(%.20q): %v, want %s", text, err, want)
		}
	}
	for _, c := range []struct {
		v    Value
		want string
	}{
		{"x", `"x" is not a number`}, {nil, "None is not a number"}, {[]Value{true}, "[True] is not a number"},
		{strings.Repeat("é", 60), `"` + strings.Repeat("é", 28) + `…" is not a number`},
		{bigInt("1" + strings.Repeat("0", 400)), "1" + strings.Repeat("0", 56) + "… is too large"},
	} {
		if _, err := Float(c.v); err == nil || err.Error() != c.want {
			t.Errorf("Float: %v, want %s", err, c.want)
		}
	}
	for text, want := range map[string]string{
		"13-01-2026 1:1:1.0": `"13-01-2026 1:1:1.0" is not a time as MM-DD-YYYY HH:MM:SS.mmm`, "02-30-2026 1:1:1.0": `"02-30-2026 1:1:1.0" is not a time: the month has no day 30`,
	} {
		if _, err := ParseStamp(text); err == nil || err.Error() != want {
			t.Errorf("ParseStamp(%s): %v, want %s", text, err, want)
		}
	}
}
