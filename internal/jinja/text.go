package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

// str is how Python writes a value.
func str(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case undefined:
		return ""
	}
	return repr(value)
}

// repr is how Python writes a value within others.
func repr(value any) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return pytext.Float(v)
	case string:
		return quoted(v)
	case list:
		return "[" + joinedRepr(v) + "]"
	case tuple:
		if len(v) == 1 {
			return "(" + repr(v[0]) + ",)"
		}
		return "(" + joinedRepr(v) + ")"
	case *dict:
		return "{" + joinedItems(v) + "}"
	}
	return reprOfMade(value)
}

// reprOfMade is repr of what is no constant.
func reprOfMade(value any) string {
	switch v := value.(type) {
	case undefined:
		return "Undefined"
	case view:
		return v.kind + "([" + joinedRepr(v.elements()) + "])"
	case span:
		return v.repr()
	}
	return "<" + kindOf(value) + ">"
}

func joinedRepr(values []any) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = repr(v)
	}
	return strings.Join(parts, ", ")
}

func joinedItems(d *dict) string {
	parts := make([]string, len(d.keys))
	for i, k := range d.keys {
		v, _ := d.get(k)
		parts[i] = repr(k) + ": " + repr(v)
	}
	return strings.Join(parts, ", ")
}

// reprEscapes are characters that repr writes with a letter.
var reprEscapes = map[rune]string{'\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

// ascii is repr of a value, without characters beyond ASCII.
func ascii(value any) string {
	var b strings.Builder
	for _, r := range repr(value) {
		writeEscaped(&b, r, r < utf8.RuneSelf)
	}
	return b.String()
}

// quoted is repr of a text, in double quotes only if it has single ones and no double ones.
func quoted(text string) string {
	quote := '\''
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range text {
		switch escaped, ok := reprEscapes[r]; {
		case ok:
			b.WriteString(escaped)
		case r == quote:
			b.WriteString(`\` + string(r))
		default:
			writeEscaped(&b, r, unicode.IsPrint(r))
		}
	}
	b.WriteRune(quote)
	return b.String()
}

// writeEscaped writes a character, or its number.
func writeEscaped(b *strings.Builder, r rune, plain bool) {
	switch {
	case plain:
		b.WriteRune(r)
	case r < 0x100:
		fmt.Fprintf(b, `\x%02x`, r)
	case r < 0x10000:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}
