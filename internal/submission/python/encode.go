package python

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// EncodeJSON is json.dumps(v): in one line, in ASCII, NaN and infinities included.
func EncodeJSON(v Value) string { return inJSON.print(v) }

// A notation is how values are written.
type notation struct {
	null, yes, no string
	text          func(string) string
	float         func(float64) string
}

var (
	inPython = &notation{"None", "True", "False", reprText, reprFloat}
	inJSON   = &notation{"null", "true", "false", encodeText, encodeFloat}
)

func (n *notation) print(v Value) string {
	switch v := v.(type) {
	case []Value:
		parts := make([]string, len(v))
		for i, member := range v {
			parts[i] = n.print(member)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *Dict:
		parts := make([]string, len(v.keys))
		for i, key := range v.keys {
			parts[i] = n.text(key) + ": " + n.print(v.values[key])
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return n.one(v)
}

// one writes a value that has no others in it.
func (n *notation) one(v Value) string {
	switch v := v.(type) {
	case bool:
		if v {
			return n.yes
		}
		return n.no
	case string:
		return n.text(v)
	case float64:
		return n.float(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case *big.Int:
		return v.String()
	}
	return n.null // there are no other types
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

func encodeText(s string) string {
	var b strings.Builder
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
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// decodeRune returns the first character of a text, half a surrogate pair too.
func decodeRune(s string) (rune, int) {
	if len(s) >= 3 && s[0] == 0xed && s[1] >= 0xa0 {
		return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), 3
	}
	return utf8.DecodeRuneInString(s)
}
