package accuracy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// randomJSON writes a value at random, in one of many layouts.
func randomJSON(r *rand.Rand, b *strings.Builder, depth int) {
	space := func() { b.WriteString([]string{"", "", "", " ", "\n", "\r\n\t "}[r.IntN(6)]) }
	space()
	kind := r.IntN(9)
	if depth == 0 {
		kind = r.IntN(7)
	}
	switch kind {
	case 0:
		b.WriteString([]string{"true", "false", "null"}[r.IntN(3)])
	case 1, 2, 3:
		b.WriteString([]string{"0", "-0", "12", "-7", "1.5", "-0.25", "1e5", "2E-3", "1.0e+2", "18446744073709551615", "123456789012345678901234567890", "1e400"}[r.IntN(12)])
	case 4, 5, 6:
		b.WriteString([]string{`""`, `"a"`, `"ä北🙂"`, `"\n\t\"\\\/"`, `"\u00e4\u5317"`, `"\ud83d\ude42"`, `"\ud83d"`, `"x\udc00y"`, `"` + strings.Repeat("long ", 300) + `"`}[r.IntN(9)])
	case 7:
		b.WriteByte('[')
		for i := range r.IntN(4) {
			if i > 0 {
				b.WriteByte(',')
			}
			randomJSON(r, b, depth-1)
		}
		space()
		b.WriteByte(']')
	default:
		b.WriteByte('{')
		for i := range r.IntN(4) {
			if i > 0 {
				b.WriteByte(',')
			}
			space()
			fmt.Fprintf(b, "%q", strconv.Itoa(r.IntN(9)))
			space()
			b.WriteByte(':')
			randomJSON(r, b, depth-1)
		}
		space()
		b.WriteByte('}')
	}
	space()
}

// damaged changes a text in one place.
func damaged(r *rand.Rand, text string) string {
	if text == "" {
		return text
	}
	at := r.IntN(len(text))
	switch r.IntN(4) {
	case 0:
		return text[:at]
	case 1:
		return text[:at] + text[at+1:]
	case 2:
		const others = "[]{},:\"\\0e-+.tx \x00\x1f"
		return text[:at] + string(others[r.IntN(len(others))]) + text[at:]
	}
	const ends = "]},0x \n"
	return text + string(ends[r.IntN(len(ends))])
}

// skipped reads a whole text as one value.
func skipped(in Input) error {
	s := newScanner(in)
	if err := s.skip(); err != nil {
		return err
	}
	return s.atEnd()
}

// What is a text of JSON is what encoding/json says, whole or damaged, and however it comes.
func TestTextsAreJSONIfTheStandardLibrarySaysSo(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	good := 0
	for n := range 900 {
		var b strings.Builder
		randomJSON(r, &b, 3)
		doc := b.String()
		for range r.IntN(3) {
			doc = damaged(r, doc)
		}
		in := text(doc)
		if n%10 == 0 {
			in = Named("test.json", iotest.OneByteReader(strings.NewReader(doc)))
		}
		err := skipped(in)
		want := json.Valid([]byte(doc)) && utf8.ValidString(doc)
		if (err == nil) != want {
			t.Fatalf("%q: error %v, valid %t", doc, err, want)
		}
		if want {
			good++
		} else if !strings.HasPrefix(err.Error(), "test.json: line ") {
			t.Fatalf("%q: error %q does not say where", doc, err)
		}
	}
	if good < 150 || good > 800 {
		t.Errorf("%d of 900 texts are JSON", good)
	}
}

func TestStringsAreThoseOfTheStandardLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 54))
	parts := []string{"a", "ä", "北", "🙂", `\n`, `\"`, `\\`, `\/`, `\b\f\r\t`, `\u0041`, `\u00E4`, `\ud83d\ude42`, `\ud83d`, `\udc00`, `\u0000`, " ", "'", `\x`, `\u12`, `\ud83dx`, "\x7f", "\u2028"}
	for range 500 {
		var b strings.Builder
		for range r.IntN(6) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		quoted := `"` + b.String() + `"`
		var want string
		wantErr := json.Unmarshal([]byte(quoted), &want)
		s := newScanner(text(quoted))
		got, err := s.string()
		if (err == nil) != (wantErr == nil) || got != want {
			t.Fatalf("%s is %q, %v, want %q, %v", quoted, got, err, want, wantErr)
		}
	}
}

func TestNumbersAreThoseOfTheStandardLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(55, 56))
	for range 1500 {
		var b strings.Builder
		for range 1 + r.IntN(7) {
			b.WriteByte("001239.-+eE"[r.IntN(11)])
		}
		number := b.String()
		want, wantErr := strconv.ParseFloat(number, 64)
		s := newScanner(text(number))
		got, err := s.float()
		if err == nil {
			err = s.atEnd()
		}
		if valid := json.Valid([]byte(number)) && wantErr == nil; (err == nil) != valid || valid && got != want {
			t.Fatalf("%s is %v, %v, want %v, a number %t", number, got, err, want, valid)
		}
	}
}

func TestWholeNumbersHaveTheirBounds(t *testing.T) {
	for _, c := range []struct {
		text        string
		signed      int64
		isInt       bool
		isUint      bool
		unsignedToo uint64
	}{
		{"0", 0, true, true, 0},
		{"-0", 0, true, false, 0},
		{"-1", -1, true, false, 0},
		{"9223372036854775807", 1<<63 - 1, true, true, 1<<63 - 1},
		{"-9223372036854775808", -1 << 63, true, false, 0},
		{"9223372036854775808", 0, false, true, 1 << 63},
		{"18446744073709551615", 0, false, true, 1<<64 - 1},
		{"18446744073709551616", 0, false, false, 0},
		{"3.0", 3, true, false, 0},
		{"-3.0e2", -300, true, false, 0},
		{"9007199254740992.0", 1 << 53, true, false, 0},
		{"9007199254740994.0", 0, false, false, 0}, // a float may stand for several whole numbers there
		{"3.5", 0, false, false, 0},
		{"1e-1", 0, false, false, 0},
		{"1e400", 0, false, false, 0},
	} {
		v, err := newScanner(text(c.text)).int()
		if (err == nil) != c.isInt || v != c.signed {
			t.Errorf("int %s = %d, %v, want %d, %t", c.text, v, err, c.signed, c.isInt)
		}
		if err != nil {
			wantError(t, err, c.text+" before this is not a 64-bit integer")
		}
		u, err := newScanner(text(c.text)).uint("count")
		if (err == nil) != c.isUint || u != c.unsignedToo {
			t.Errorf("uint %s = %d, %v, want %d, %t", c.text, u, err, c.unsignedToo, c.isUint)
		}
		if err != nil {
			wantError(t, err, "count before this is "+c.text+", want a whole number from 0")
		}
	}
}

func TestErrorsOfTheScannerSayWhere(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "test.json: line 1, offset 0: the file ends here, in the middle of the JSON text"},
		{"white space", " \n \n", "test.json: line 3, offset 4: the file ends here"},
		{"a word", "nothing", "offset 1: want null, got 'o'"},
		{"half a word", "tru", "offset 3: the file ends here"},
		{"a comma too many", "[1,]", "offset 3: want a number, got ']'"},
		{"no comma", "[1 2]", "offset 3: want ',' or ']', got '2'"},
		{"no colon", "{\"a\"\n1}", "line 2, offset 5: want ':', got '1'"},
		{"a key that is no string", "{1:2}", "offset 1: want '\"', got '1'"},
		{"another end", "[1}", "want ',' or ']', got '}'"},
		{"something behind", "[]\n[]", "line 2, offset 3: want the end of the file, got '['"},
		{"a byte of 0 behind", "[]\x00", "want the end of the file, got '\\x00'"},
		{"a control character", "\"a\x01b\"", "offset 2: control character '\\x01' in a string"},
		{"a line in a string", "\"a\nb\"", "control character '\\n' in a string"},
		{"a string without an end", `["a`, "the file ends here"},
		{"a backslash at the end", `["a\`, "the file ends here"},
		{"a backslash before nothing printable", "[\"a\\\x01\"]", "backslash before '\\x01'"},
		{"an escape that is none", `["\q"]`, "bad escape in the string before this"},
		{"bytes that are no text", "[\"\xff\"]", "string before this is not UTF-8"},
		{"a number with a zero before", "[01]", `"01" before this is not a number`},
		{"a number without digits", "[-]", `"-" before this is not a number`},
		{"a number that is too long", "[" + strings.Repeat("1", maxNumber+1) + "]", "number before this has more than 1000 characters, it begins with 11111111111111111111"},
		{"values that are too deep", strings.Repeat("[", maxDepth+1), "values are nested more than 500 deep"},
		{"what the submission's tool has cut", "[1,\n\n...\n\n2]", "the middle of the file was cut out"},
		{"within a string", "[\"ab\n\n...\n\ncd\"]", "the middle of the file was cut out"},
	} {
		wantError(t, skipped(text(c.text)), c.want)
	}
	if err := skipped(text(strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth))); err != nil {
		t.Errorf("%d deep: %v", maxDepth, err)
	}
	wantError(t, skipped(Named("slow", iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("[1]"))))), "slow: line 1, offset 1: reading: timeout")
}

// Tokens may lie across the end of the buffer, in every possible way.
func TestTokensLieAcrossTheBuffer(t *testing.T) {
	doc := `{"key": [true, null, -12.5e+3, "text \u00e4 \n", "plain"]}`
	for back := range len(doc) + 1 {
		if err := skipped(text(strings.Repeat(" ", scanBuffer-back) + doc)); err != nil {
			t.Errorf("%d bytes before the end of the buffer: %v", back, err)
		}
	}
	long := bytes.Repeat([]byte("x"), 2*scanBuffer+7)
	s := newScanner(Named("long", strings.NewReader(`"`+string(long)+`"`)))
	if got, err := s.string(); err != nil || got != string(long) {
		t.Errorf("a long string has %d bytes, %v, want %d", len(got), err, len(long))
	}
}
