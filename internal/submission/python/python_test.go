package python

import (
	"errors"
	"io"
	"math"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func bigInt(s string) *big.Int { n, _ := new(big.Int).SetString(s, 10); return n }

// The right column is what Python 3.11 prints for str(json.loads(text)).
func TestJSONIsReadAsPythonReadsIt(t *testing.T) {
	for text, want := range map[string]string{
		`null`: "None", `true`: "True", ` [1, 2.50, "a"] `: "[1, 2.5, 'a']", `{"a": {"b": []}, "a": 2}`: "{'a': 2}",
		`NaN`: "nan", `-Infinity`: "-inf", `Infinity`: "inf", `1e999`: "inf", `-0`: "0", `-0.0`: "-0.0",
		`18446744073709551615`: "18446744073709551615", `1E3`: "1000.0", `1e16`: "1e+16", `123456789012345680.0`: "1.2345678901234568e+17",
		`0.0001`: "0.0001", `0.00001`: "1e-05", `"\u00e9\ud83d\ude00\n"`: "é😀\n",
	} {
		v, err := DecodeJSON([]byte(text))
		if err != nil || Str(v) != want {
			t.Errorf("DecodeJSON(%s) = %s, %v, want %s", text, Str(v), err, want)
		}
	}
	for _, text := range []string{"", "01", "1.", ".5", "1e", "+1", "-nan", "nan", "inf", "[1,]", `{"a" 1}`, `{1: 2}`, "\"a\tb\"", `"\x"`, `"\u12g4"`, "1 2", "tru", strings.Repeat("9", 4301), strings.Repeat("[", 2000)} {
		if v, err := DecodeJSON([]byte(text)); err == nil {
			t.Errorf("DecodeJSON(%.20s) = %v, want an error", text, v)
		}
	}
}

func TestNumbersAreParsedAsPythonParsesThem(t *testing.T) {
	for text, want := range map[string]float64{
		"1": 1, " 1_000.5\n": 1000.5, "٣٢.٥": 32.5, "1.": 1, ".5": .5, "1e-3": 1e-3, "+1": 1, "inf": math.Inf(1), "-Infinity": math.Inf(-1), "1e999": math.Inf(1), "\u30001\u00a0": 1,
	} {
		if v, err := ParseFloat(text); err != nil || v != want {
			t.Errorf("ParseFloat(%q) = %v, %v, want %v", text, v, err, want)
		}
	}
	for _, text := range []string{"", ".", "1__0", "_1", "1_", "0x10", "1.2.3", "1 2", "infin", "1e", "1_.0"} {
		if v, err := ParseFloat(text); err == nil {
			t.Errorf("ParseFloat(%q) = %v, want an error", text, v)
		}
	}
	for v, want := range map[Value]string{" 1_0 ": "10", 1.9: "1", true: "1", int64(-3): "-3", "٣": "3"} {
		if n, err := Int(v); err != nil || n.String() != want {
			t.Errorf("Int(%v) = %v, %v, want %s", v, n, err, want)
		}
	}
	for _, v := range []Value{"1.0", "two", "", nil, math.NaN(), math.Inf(1)} {
		if n, err := Int(v); err == nil {
			t.Errorf("Int(%v) = %v, want an error", v, n)
		}
	}
}

func TestNumbersOfAllTypesAreComparedExactly(t *testing.T) {
	huge := bigInt("18446744073709551615")
	for _, c := range []struct {
		a, b        Value
		less, equal bool
	}{
		{int64(1), int64(2), true, false},
		{true, int64(1), false, true},
		{int64(1) << 53, float64(1 << 53), false, true},
		{int64(1)<<53 + 1, float64(1 << 53), false, false},
		{huge, 18446744073709551616.0, true, false},
		{huge, bigInt("18446744073709551615"), false, true},
		{math.NaN(), math.NaN(), false, false},
		{math.Inf(-1), int64(0), true, false},
	} {
		if Less(c.a, c.b) != c.less || Equal(c.a, c.b) != c.equal {
			t.Errorf("%v and %v: less %v, equal %v, want %v, %v", c.a, c.b, Less(c.a, c.b), Equal(c.a, c.b), c.less, c.equal)
		}
	}
	if Equal("1", int64(1)) || !Equal("1", "1") || Equal(nil, false) {
		t.Error("texts equal texts, and nothing equals a number but a number")
	}
}

func TestQuotientsAreTheNearestNumber(t *testing.T) {
	if q, err := Div(Mul(int64(math.MaxInt64), 8), int64(1000000)); err != nil || q != 73786976294838.2 {
		t.Errorf("Div = %v, %v, want 73786976294838.2", q, err)
	}
	if _, err := Div(int64(1), 0.0); err == nil {
		t.Error("a division by zero is no error")
	}
}

func TestLinesEndAsInPython(t *testing.T) {
	for text, want := range map[string][]string{
		"":                  {},
		"a\nb":              {"a", "b"},
		"a\r\nb\rc\n\nd\r":  {"a", "b", "c", "", "d"},
		"a\u0085b\u2028c\n": {"a\u0085b\u2028c"},
		strings.Repeat("x", chunkSize-1) + "\r\ny":  {strings.Repeat("x", chunkSize-1), "y"},
		strings.Repeat("x", chunkSize-1) + "é\ny\n": {strings.Repeat("x", chunkSize-1) + "é", "y"},
	} {
		got, err := readAll(text)
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, io.EOF) {
			t.Errorf("%.20q: %v (-want +got)\n%s", text, err, diff)
		}
	}
}

func TestWhatIsNotUTF8IsFoundWithItsChunk(t *testing.T) {
	for text, want := range map[string]int{"a\n\xff\n": 0, "a\n" + strings.Repeat("x", chunkSize) + "\n\xff": 1} {
		got, err := readAll(text)
		var encoding *EncodingError
		if !errors.As(err, &encoding) || len(got) < want || want == 0 && len(got) > 0 {
			t.Errorf("%.10q: %d lines before %v, want %d", text, len(got), err, want)
		}
	}
}

func readAll(text string) ([]string, error) {
	lines := NewLines(strings.NewReader(text))
	got := []string{}
	for {
		line, err := lines.Next()
		if err != nil {
			return got, err
		}
		got = append(got, string(line))
	}
}

func TestStampsAreThoseOfPowerLogs(t *testing.T) {
	for text, want := range map[string]string{
		"07-12-2025 23:21:34.443": "2025-07-12T23:21:34.443000", "7-2-2025 \t3:1:4.5": "2025-07-02T03:01:04.500000", "02-29-2024 00:00:00.000001": "2024-02-29T00:00:00.000001",
	} {
		if v, err := ParseStamp(text); err != nil || v.Format("2006-01-02T15:04:05.000000") != want {
			t.Errorf("ParseStamp(%q) = %v, %v, want %s", text, v, err, want)
		}
	}
	for _, text := range []string{"", "07-12-2025 23:21:34.", "07-12-2025 23:21:34.1234567", "13-12-2025 23:21:34.4", "07-12-0000 23:21:34.4", "7-12-2025  24:21:34.4", "07-12-202 23:21:34.4", "07-12-2025 23:61:34.4", "7-12-2025:1:2:3.4", "2025-07-12 23:21:34.443", "02-30-2025 00:00:00.0", "07-12-2025 23:21:34", "07-12-2025 23:21:34.443 "} {
		if v, err := ParseStamp(text); err == nil {
			t.Errorf("ParseStamp(%q) = %v, want an error", text, v)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, text := range []string{`{"key": "a", "value": [1, -2.5e3, NaN, "\ud800"], "metadata": {"is_error": false}}`, `[`, `"\u12`, "-"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := DecodeJSON(text)
		if err == nil && utf8.Valid(text) {
			written := EncodeJSON(v)
			if again, err := DecodeJSON([]byte(written)); err != nil || EncodeJSON(again) != written {
				t.Errorf("%q is written as %s and read again as %v, %v", text, written, again, err)
			}
		}
		members := 0
		errMembers := Members(text, func([]byte, []byte) { members++ })
		d, isDict := v.(*Dict)
		if (err == nil && isDict) != (errMembers == nil) {
			t.Errorf("as a value: %v, as an object: %v", err, errMembers)
		}
		if errMembers == nil && members < len(d.Keys()) {
			t.Errorf("%d members, want at least %d", members, len(d.Keys()))
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add("a\r\nb\rc\n\xff")
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := readAll(text)
		if errors.Is(err, io.EOF) && len(strings.Join(lines, "")) > len(text) {
			t.Errorf("%q has lines %q", text, lines)
		}
	})
}

func TestLinesOfOneTextAfterTheOtherShareMemory(t *testing.T) {
	lines := NewLines(strings.NewReader("left over\nnot read"))
	if _, err := lines.Next(); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 2*mostKept)
	for _, want := range []string{"a", long, "b"} {
		lines.Reset(strings.NewReader(want + "\n"))
		line, err := lines.Next()
		if err != nil || string(line) != want || lines.Line != 1 {
			t.Errorf("line %d is %.20q, %v, want %.20q", lines.Line, line, err, want)
		}
		if _, err := lines.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("after the last line: %v", err)
		}
	}
	text := strings.NewReader("")
	if n := testing.AllocsPerRun(10, func() {
		text.Reset("a\nb\n")
		lines.Reset(text)
		for err := error(nil); err == nil; _, err = lines.Next() {
		}
	}); n > 0 {
		t.Errorf("%v allocations for a text, want none", n)
	}
}

func TestMembersAreFoundWithoutMemory(t *testing.T) {
	text := []byte(`{"key": "loaded_qsl_set", "value": [0,10,2,30,4,123456,7,8,9,0,1], "metadata": {"is_error": false, "list": [], "line": 12.5}}`)
	sizes := map[string]int{}
	if err := Members(text, func(name, value []byte) { sizes[string(name)] = len(value) }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"key": 16, "value": 30, "metadata": 45}, sizes); diff != "" {
		t.Errorf("lengths of values (-want +got):\n%s", diff)
	}
	seen := 0
	each := func(_, _ []byte) { seen++ }
	if n := testing.AllocsPerRun(10, func() { _ = Members(text, each) }); n > 0 || seen == 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// Lists that are skipped eight bytes at a time are right or wrong as those that are read.
func TestSkippedListsAreJudgedAsReadOnes(t *testing.T) {
	for _, list := range []string{
		"", "0", "1,2,3,4,5,6,7,8,9", "10,20,30,40,50,60,70,80", "1,,2,3,4,5,6,7", "1,2,3,4,5,6,7,,8,9,1", "1,02,3,4,5,6,7,8", "1,2,3,4,5,6,7,08,9",
		"1,0,3,4,5,6,7,8,9,0", "12345678901234567890,1,2,3", "1,2,3,4,5,6,7,8,", ",1,2,3,4,5,6,7,8", "1,2,3;4,5,6,7,8", "1,2,3,4,5,6,7,8,x", "1,2,3,-4,5,6,7,8",
		"1, 2,3,4,5,6,7,8", "1,2,3.5,4,5,6,7,8", "1,2,3,4,5,6,7,\xb18", "/,1,2,3,4,5,6,7", "1,2,3,4,:,6,7,8,9", "100000000,200000000,300000000",
		strings.Repeat("9", maxDigits+1) + ",1,2,3,4,5,6,7,8", "1,2,3,4," + strings.Repeat("9", maxDigits+1) + ",1",
	} {
		text := []byte(`{"value": [` + list + `]}`)
		_, read := DecodeJSON(text)
		skipped := Members(text, func(_, _ []byte) {})
		if (read == nil) != (skipped == nil) {
			t.Errorf("[%.40s]: read %v, skipped %v", list, read, skipped)
		}
	}
}
