package python

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
)

// eachDigit calls f with the digits of every script, ten at a time as Unicode has them.
func eachDigit(f func(zero rune)) {
	for _, r := range unicode.Nd.R16 {
		for zero := rune(r.Lo); zero+9 <= rune(r.Hi); zero += 10 {
			f(zero)
		}
	}
	for _, r := range unicode.Nd.R32 {
		for zero := rune(r.Lo); zero+9 <= rune(r.Hi); zero += 10 {
			f(zero)
		}
	}
}

// inScript writes digits in another script.
func inScript(text string, zero rune) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return zero + r - '0'
		}
		return r
	}, text)
}

func TestDigitsOfEveryScriptAreNumbers(t *testing.T) {
	scripts := 0
	eachDigit(func(zero rune) {
		scripts++
		for text, want := range map[string]float64{"0123456789": 123456789, "-12.5": -12.5, "+1e2": 100, " 7 ": 7, "1_000.25": 1000.25} {
			if v, err := ParseFloat(inScript(text, zero)); err != nil || v != want {
				t.Errorf("%q in the script of %U is %v, %v, want %v", text, zero, v, err, want)
			}
		}
		if n, err := Int(inScript("9876543210", zero)); err != nil || n.Int64() != 9876543210 {
			t.Errorf("in the script of %U: %v, %v", zero, n, err)
		}
		if n, err := Int("1" + string(zero+2) + "3"); err != nil || n.Int64() != 123 { // scripts may be mixed
			t.Errorf("123 with the 2 of %U is %v, %v", zero, n, err)
		}
	})
	if scripts < 50 {
		t.Errorf("there are %d scripts", scripts)
	}
	for _, odd := range []string{"²", "½", "Ⅷ", "三", "①", "१.२.३", "٣x"} {
		if v, err := ParseFloat(odd); err == nil {
			t.Errorf("%s is the number %v", odd, v)
		}
	}
}

func TestUnderscoresStandBetweenDigits(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		digits := strconv.FormatUint(rnd.Uint64(), 10)
		var b strings.Builder
		for i, c := range digits {
			if i > 0 && rnd.IntN(3) == 0 {
				b.WriteByte('_')
			}
			b.WriteRune(c)
		}
		text := b.String()
		if n, err := Int(text); err != nil || n.String() != digits {
			t.Errorf("Int(%q) = %v, %v, want %s", text, n, err, digits)
		}
		want, _ := strconv.ParseFloat(digits, 64)
		if v, err := ParseFloat(text); err != nil || v != want {
			t.Errorf("ParseFloat(%q) = %v, %v, want %v", text, v, err, want)
		}
		for _, bad := range []string{"_" + text, text + "_", text[:1] + "__" + text[1:], text + "_.5"} {
			if n, err := Int(bad); err == nil {
				t.Errorf("Int(%q) = %v", bad, n)
			}
			if v, err := ParseFloat(bad); err == nil {
				t.Errorf("ParseFloat(%q) = %v", bad, v)
			}
		}
	}
}

// Any reader of JSON has what EncodeJSON writes of what JSON can hold.
func TestOtherReadersOfJSONHaveTheSame(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	plainText := func() string {
		letters := []rune("aZ0 \"'\\/\n\t\x00\x1fé日😀\u2028")
		text := make([]rune, rnd.IntN(6))
		for i := range text {
			text[i] = letters[rnd.IntN(len(letters))]
		}
		return string(text)
	}
	for range 500 {
		d, want := &Dict{}, map[string]any{}
		for range rnd.IntN(5) {
			key := plainText()
			switch rnd.IntN(4) {
			case 0:
				v := plainText()
				d.Set(key, v)
				want[key] = v
			case 1:
				v := rnd.NormFloat64() * math.Pow(10, float64(rnd.IntN(30)-15))
				d.Set(key, v)
				want[key] = v
			case 2:
				v := int64(rnd.IntN(1 << 50))
				d.Set(key, v)
				want[key] = float64(v)
			default:
				d.Set(key, []Value{nil, true})
				want[key] = []any{nil, true}
			}
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(EncodeJSON(d)), &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is read as %v, %v, want %v", EncodeJSON(d), got, err, want)
		}
	}
}

// Numbers are written with the fewest digits that are read back as they were.
func TestNumbersAreWrittenShortAndExactly(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 2))
	for range 3000 {
		v := math.Float64frombits(rnd.Uint64())
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		text := Repr(v)
		back, err := strconv.ParseFloat(text, 64)
		if err != nil || math.Float64bits(back) != math.Float64bits(v) {
			t.Errorf("%v is written as %s", v, text)
		}
		digits := func(s string) int {
			s, _, _ = strings.Cut(strings.TrimLeft(s, "-"), "e")
			return len(strings.Trim(strings.ReplaceAll(s, ".", ""), "0"))
		}
		if shortest := strconv.FormatFloat(v, 'e', -1, 64); digits(text) != digits(shortest) {
			t.Errorf("%s has more digits than %s", text, shortest)
		}
		if exponent := strings.Contains(text, "e"); exponent != (math.Abs(v) >= 1e16 || math.Abs(v) < 1e-4 && v != 0) || !exponent && !strings.Contains(text, ".") {
			t.Errorf("%v is written as %s", v, text)
		}
	}
}

func TestStampsOfAnyTimeAreReadInAnyForm(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 2))
	for range 500 {
		at := time.Date(1+rnd.IntN(9998), time.Month(1+rnd.IntN(12)), 1+rnd.IntN(28), rnd.IntN(24), rnd.IntN(60), rnd.IntN(60), 1000*rnd.IntN(1e6), time.UTC)
		for _, form := range []string{"01-02-2006 15:04:05.000000", "1-2-2006 15:4:5.000000", "01-_2-2006\t 15:04:05.000000"} {
			text := at.Format(form)
			if got, err := ParseStamp(text); err != nil || !got.Equal(at) {
				t.Errorf("ParseStamp(%q) = %v, %v, want %v", text, got, err, at)
			}
			short := strings.TrimRight(text, "0")
			if strings.HasSuffix(short, ".") {
				short += "0"
			}
			if got, err := ParseStamp(short); err != nil || !got.Equal(at) {
				t.Errorf("ParseStamp(%q) = %v, %v, want %v", short, got, err, at)
			}
		}
	}
	for text, want := range map[string]string{
		"02-30-2026 00:00:00.0": `"02-30-2026 00:00:00.0" is not a time: the month has no day 30`, "01-01-0000 00:00:00.0": `"01-01-0000 00:00:00.0" is not a time: there is no year 0`,
		"now": `"now" is not a time as MM-DD-YYYY HH:MM:SS.mmm`, strings.Repeat("x", 100): `"` + strings.Repeat("x", 57) + `…" is not a time as MM-DD-YYYY HH:MM:SS.mmm`,
	} {
		if _, err := ParseStamp(text); err == nil || err.Error() != want {
			t.Errorf("ParseStamp(%.20q): %v, want %q", text, err, want)
		}
	}
}

func TestWhatErrorsQuoteIsShort(t *testing.T) {
	long := strings.Repeat("é", 100)
	for _, err := range []error{errorOf(ParseFloat(long)), errorOf(Int(long)), errorOf(Float([]Value{long})), errorOf(Float(&Dict{})), errorOf(Int(nil))} {
		if err == nil || len([]rune(err.Error())) > 90 || strings.Contains(err.Error(), "\ufffd") {
			t.Errorf("error %v", err)
		}
	}
	if got := clip(strings.Repeat("x", 60)); len(got) != 60 {
		t.Errorf("60 characters become %q", got)
	}
	if _, err := Float(bigInt("1" + strings.Repeat("0", 400))); err == nil || !strings.HasSuffix(err.Error(), "… is too large") {
		t.Errorf("of 400 digits: %v", err)
	}
}

func errorOf[T any](_ T, err error) error { return err }
