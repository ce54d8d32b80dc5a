package python

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// EncodeJSON is json.dumps(v): in one line, in ASCII, NaN and infinities included.
func EncodeJSON(v Value) string {
	var b strings.Builder
	encode(&b, v)
	return b.String()
}

func encode(b *strings.Builder, v Value) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		fmt.Fprint(b, v)
	case string:
		encodeText(b, v)
	case float64:
		b.WriteString(encodeFloat(v))
	case []Value:
		encodeAll(b, "[]", len(v), func(i int) { encode(b, v[i]) })
	case *Dict:
		encodeAll(b, "{}", len(v.keys), func(i int) {
			encodeText(b, v.keys[i])
			b.WriteString(": ")
			encode(b, v.values[v.keys[i]])
		})
	default:
		b.WriteString(Repr(v)) // a whole number
	}
}

// encodeAll writes n things between two brackets.
func encodeAll(b *strings.Builder, brackets string, n int, each func(i int)) {
	b.WriteByte(brackets[0])
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		each(i)
	}
	b.WriteByte(brackets[1])
}

func encodeFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(fmt.Sprintf("%+v", f), "+") + "inity"
	}
	return reprFloat(f)
}

var encodedRunes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`}

func encodeText(b *strings.Builder, s string) {
	b.WriteByte('"')
	for len(s) > 0 {
		r, size := decodeRune(s)
		s = s[size:]
		switch short, ok := encodedRunes[r]; {
		case ok:
			b.WriteString(short)
		case r >= ' ' && r <= '~':
			b.WriteByte(byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
}

// decodeRune returns the first character of a text, half a surrogate pair too.
func decodeRune(s string) (rune, int) {
	if len(s) >= 3 && s[0] == 0xed && s[1] >= 0xa0 {
		return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), 3
	}
	return utf8.DecodeRuneInString(s)
}
