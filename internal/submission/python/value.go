package python

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// A Value is a value of Python; the package comment says which types it may have.
type Value = any

// A Dict is a dict with text keys. It keeps the order of its keys.
type Dict struct {
	keys   []string
	values map[string]Value
}

// Get returns a member.
func (d *Dict) Get(key string) (Value, bool) {
	v, ok := d.values[key]
	return v, ok
}

// Keys lists the keys in order. It must not be changed.
func (d *Dict) Keys() []string { return d.keys }

// Set sets a member.
func (d *Dict) Set(key string, v Value) {
	if d.values == nil {
		d.values = map[string]Value{}
	}
	if _, ok := d.values[key]; !ok {
		d.keys = append(d.keys, key)
	}
	d.values[key] = v
}

// Truth is bool(v).
func Truth(v Value) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case []Value:
		return len(v) > 0
	case *Dict:
		return len(v.keys) > 0
	}
	return true // a *big.Int is never 0
}

// Str is str(v).
func Str(v Value) string {
	if s, ok := v.(string); ok {
		return s
	}
	return Repr(v)
}

// Repr is repr(v).
func Repr(v Value) string { return inPython.print(v) }

// quoteOf chooses the quotes of a text, so that few in it need an escape.
func quoteOf(s string) string {
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		return `"`
	}
	return "'"
}

// reprText puts a text into quotes. What cannot be printed is written as a number.
func reprText(s string) string {
	quote := quoteOf(s)
	escapes := map[rune]string{'\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, rune(quote[0]): `\` + quote}
	var b strings.Builder
	b.WriteString(quote)
	for len(s) > 0 {
		r, size := decodeRune(s)
		s = s[size:]
		switch short, ok := escapes[r]; {
		case ok:
			b.WriteString(short)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteString(quote)
	return b.String()
}

func reprFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	_, exponent, _ := strings.Cut(s, "e")
	if n, _ := strconv.Atoi(exponent); n < -4 || n >= 16 {
		return s
	}
	s = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
