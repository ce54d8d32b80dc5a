package python

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// hardNumbers are those near which types change or digits are lost.
var hardNumbers = []Value{
	false, true, int64(0), int64(1), int64(-1), int64(math.MaxInt64), int64(math.MinInt64), int64(1) << 53, int64(1)<<53 + 1,
	bigInt("9223372036854775808"), bigInt("-9223372036854775809"), bigInt("18446744073709551615"), bigInt("1" + strings.Repeat("0", 400)),
	0.0, math.Copysign(0, -1), 0.5, -2.5, 1e16, float64(1 << 53), 1e300, math.SmallestNonzeroFloat64, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(),
}

func randomNumber(rnd *rand.Rand) Value {
	switch rnd.IntN(4) {
	case 0:
		return hardNumbers[rnd.IntN(len(hardNumbers))]
	case 1:
		return int64(rnd.Uint64())
	case 2:
		n := new(big.Int).SetUint64(rnd.Uint64())
		return Whole(n.Lsh(n, uint(rnd.IntN(80))))
	}
	return math.Float64frombits(rnd.Uint64())
}

// rational is a number as a fraction; nil: it is none.
func rational(v Value) *big.Rat {
	switch v := v.(type) {
	case bool:
		if v {
			return big.NewRat(1, 1)
		}
		return new(big.Rat)
	case int64:
		return new(big.Rat).SetInt64(v)
	case *big.Int:
		return new(big.Rat).SetInt(v)
	case float64:
		return new(big.Rat).SetFloat64(v) // nil of what is no number or infinite
	}
	return nil
}

func TestNumbersAreComparedAsFractions(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		a, b := randomNumber(rnd), randomNumber(rnd)
		x, y := rational(a), rational(b)
		if x == nil || y == nil {
			continue
		}
		if less, equal := Less(a, b), Equal(a, b); less != (x.Cmp(y) < 0) || equal != (x.Cmp(y) == 0) {
			t.Errorf("%s and %s: less %v, equal %v", Repr(a), Repr(b), less, equal)
		}
		if Less(b, a) != (x.Cmp(y) > 0) || Truth(a) != (x.Sign() != 0) {
			t.Errorf("%s and %s: the other way round is less %v; true %v", Repr(a), Repr(b), Less(b, a), Truth(a))
		}
	}
	for _, v := range hardNumbers {
		if nan := math.NaN(); Less(v, nan) || Less(nan, v) || Equal(v, nan) {
			t.Errorf("%s is compared with what is no number", Repr(v))
		}
	}
}

func TestWholeNumbersAreComputedExactly(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 1))
	whole := func() (Value, *big.Int) {
		for {
			v := randomNumber(rnd)
			if r := rational(v); r != nil && r.IsInt() {
				if _, isFloat := v.(float64); !isFloat {
					return v, new(big.Int).Set(r.Num())
				}
			}
		}
	}
	for range 1000 {
		a, x := whole()
		b, y := whole()
		sum, err := Add(a, b)
		if want := new(big.Int).Add(x, y); err != nil || Repr(sum) != want.String() {
			t.Errorf("%s + %s = %s, %v, want %v", Repr(a), Repr(b), Repr(sum), err, want)
		}
		n := int64(rnd.Uint64())
		if want := new(big.Int).Mul(x, big.NewInt(n)); Repr(Mul(a, n)) != want.String() {
			t.Errorf("%s * %d = %s, want %v", Repr(a), n, Repr(Mul(a, n)), want)
		}
		back, err := Int(a)
		if err != nil || back.Cmp(x) != 0 {
			t.Errorf("Int(%s) = %v, %v", Repr(a), back, err)
		}
		switch Whole(x).(type) {
		case int64:
			if !x.IsInt64() {
				t.Errorf("%v is an int64", x)
			}
		case *big.Int:
			if x.IsInt64() {
				t.Errorf("%v, which fits, is a *big.Int", x)
			}
		}
	}
	if Whole(nil) != nil {
		t.Error("no number is one")
	}
}

func TestQuotientsAreRoundedOnce(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 1))
	for range 2000 {
		a, b := int64(rnd.Uint64()>>rnd.IntN(60)), int64(rnd.Uint64()>>rnd.IntN(60))
		if b == 0 {
			continue
		}
		want, _ := new(big.Rat).SetFrac64(a, max(b, -b)).Float64()
		if b < 0 {
			want = -want
		}
		if q, err := Div(a, b); err != nil || q != want {
			t.Errorf("%d / %d = %v, %v, want %v", a, b, q, err, want)
		}
	}
	for _, zero := range []Value{int64(0), 0.0, false, math.Copysign(0, -1)} {
		if _, err := Div(int64(1), zero); err == nil || err.Error() != "division by zero" {
			t.Errorf("by %s: %v", Repr(zero), err)
		}
	}
	if _, err := Div(hardNumbers[12], int64(1)); err == nil || err.Error() != "the quotient is too large" {
		t.Errorf("of 400 digits: %v", err)
	}
}

// randomValue is one that JSON can hold.
func randomValue(rnd *rand.Rand, depth int) Value {
	kind := rnd.IntN(9)
	if depth == 0 {
		kind %= 6
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return rnd.IntN(2) == 0
	case 2, 3:
		return randomNumber(rnd)
	case 4, 5:
		return randomText(rnd)
	case 6:
		list := make([]Value, rnd.IntN(4))
		for i := range list {
			list[i] = randomValue(rnd, depth-1)
		}
		return list
	}
	d := &Dict{}
	for range rnd.IntN(4) {
		d.Set(randomText(rnd), randomValue(rnd, depth-1))
	}
	return d
}

func randomText(rnd *rand.Rand) string {
	letters := []string{"a", "Z", "0", " ", "\"", "'", "\\", "/", "\n", "\r", "\t", "\b", "\f", "\x00", "\x1f", "\x7f", "é", "\u2028", "\u200b", "日", "😀", "\xed\xa0\xbd", "\xed\xb8\x80", "\ufffd", "\U000e0001"}
	var b strings.Builder
	for range rnd.IntN(6) {
		b.WriteString(letters[rnd.IntN(len(letters))])
	}
	return strings.ReplaceAll(b.String(), "\xed\xa0\xbd\xed\xb8\x80", "😀") // halves of a pair that meet are read as one
}

func TestValuesSurviveJSON(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 1))
	for range 2000 {
		v := randomValue(rnd, 3)
		text := EncodeJSON(v)
		back, err := DecodeJSON([]byte(text))
		if err != nil || Repr(back) != Repr(v) || EncodeJSON(back) != text {
			t.Fatalf("%s is read back as %s, %v, want %s", text, Repr(back), err, Repr(v))
		}
		for _, c := range text {
			if c > '~' || c < ' ' {
				t.Fatalf("%q is not ASCII", text)
			}
		}
		if Truth(back) != Truth(v) {
			t.Errorf("%s is true: %v, before: %v", text, Truth(back), Truth(v))
		}
	}
}

// Members and DecodeJSON find the same members, and refuse the same texts.
func TestMembersAreThoseOfTheObject(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 1))
	for range 2000 {
		text := []byte(EncodeJSON(randomValue(rnd, 3)))
		if rnd.IntN(2) == 0 && len(text) > 1 { // damaged
			text[rnd.IntN(len(text))] = `{}[],:"x1e.\`[rnd.IntN(12)]
		}
		v, err := DecodeJSON(text)
		found := &Dict{}
		errMembers := Members(text, func(name, value []byte) {
			member, err := DecodeJSON(value)
			if err != nil {
				t.Errorf("%s: the value %s of %s: %v", text, value, name, err)
			}
			key := string(name)
			found.Set(key, member)
		})
		d, isObject := v.(*Dict)
		switch {
		case (errMembers == nil) != (err == nil && isObject):
			t.Errorf("%s: %v, and by members %v", text, err, errMembers)
		case errMembers == nil && Repr(found) != Repr(d):
			t.Errorf("%s: members %s, want %s", text, Repr(found), Repr(d))
		}
	}
}

func TestLinesDoNotDependOnHowTheyCome(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 1))
	parts := []string{"a", "\n", "\r", "\r\n", "é", "日", "😀", "\u2028", strings.Repeat("x", chunkSize-1), strings.Repeat("y", 100)}
	for range 60 {
		var text strings.Builder
		for range rnd.IntN(12) {
			text.WriteString(parts[rnd.IntN(len(parts))])
		}
		plain := strings.ReplaceAll(strings.ReplaceAll(text.String(), "\r\n", "\n"), "\r", "\n")
		want := strings.Split(strings.TrimSuffix(plain, "\n"), "\n")
		if plain == "" {
			want = nil
		}
		for name, lines := range map[string]*Lines{
			"at once": NewLines(strings.NewReader(text.String())), "by bytes": NewLines(iotest.OneByteReader(strings.NewReader(text.String()))),
			"with the end": NewLines(iotest.DataErrReader(strings.NewReader(text.String()))), "by halves": NewLines(iotest.HalfReader(strings.NewReader(text.String()))),
		} {
			var got []string
			for {
				line, err := lines.Next()
				if err != nil {
					break
				}
				if got = append(got, string(line)); lines.Line != len(got) {
					t.Fatalf("line %d is counted as %d", len(got), lines.Line)
				}
			}
			if fmt.Sprint(len(got), got) != fmt.Sprint(len(want), want) {
				t.Fatalf("%s: %d lines of %.80q, want %d", name, len(got), text.String(), len(want))
			}
		}
	}
}

func TestSyntaxErrorsSayWhereAndWhatIsWanted(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "line 1, byte 0: want a value",
		"\n\n  tru":        "line 3, byte 4: want a value",
		"[1,\n2\n3]":       `line 3, byte 6: want "," or "]"`,
		"{\"a\": 1,\n}":    "line 2, byte 9: want a name in quotes",
		"{\"a\"\n 1}":      `line 2, byte 6: want ":"`,
		"{\"a\": 1 \"b\"}": `line 1, byte 8: want "," or "}"`,
		"\"a\tb\"":         "line 1, byte 2: want no control character in a text",
		"\"a\\x\"":         `line 1, byte 3: want one of "\/bfnrtu after \`,
		"\"abc":            "line 1, byte 4: want a quote at the end of a text",
		"\"a\\n":           "line 1, byte 4: want a quote at the end of a text",
		"1 2":              "line 1, byte 2: want nothing after the value",
		"-":                "line 1, byte 0: want a value",
	} {
		_, err := DecodeJSON([]byte(text))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || err.Error() != want {
			t.Errorf("%q: %v, want %q", text, err, want)
			continue
		}
		if before := text[:min(syntax.Offset, len(text))]; syntax.Line != 1+strings.Count(before, "\n") {
			t.Errorf("%q: line %d at byte %d", text, syntax.Line, syntax.Offset)
		}
	}
	if err := Members([]byte(" [1]"), nil); err == nil || err.Error() != "line 1, byte 1: want an object" {
		t.Errorf("members of a list: %v", err)
	}
}

func TestADictKeepsItsFirstPlaces(t *testing.T) {
	d := &Dict{}
	if v, has := d.Get("a"); has || v != nil || len(d.Keys()) != 0 || Truth(d) {
		t.Error("an empty one has something")
	}
	for _, name := range []string{"b", "a", "b", "", "a"} {
		d.Set(name, int64(len(d.Keys())))
	}
	if got, want := Repr(d), "{'b': 2, 'a': 3, '': 2}"; got != want {
		t.Errorf("%s, want %s: in the order of first places, with last values", got, want)
	}
}

func ExampleDecodeJSON() {
	v, err := DecodeJSON([]byte(`{"met": "false", "seed": 18446744073709551615, "rate": NaN}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	met, _ := v.(*Dict).Get("met")
	fmt.Println(Truth(met), Repr(v))
	// Output: true {'met': 'false', 'seed': 18446744073709551615, 'rate': nan}
}

func ExampleParseFloat() {
	for _, text := range []string{" 1_000.5\n", "٣٢", "1,5"} {
		fmt.Println(ParseFloat(text))
	}
	// Output:
	// 1000.5 <nil>
	// 32 <nil>
	// 0 "1,5" is not a number
}
