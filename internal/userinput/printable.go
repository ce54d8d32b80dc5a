package userinput

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// PrintableLine is a text in one line, in which characters that cannot be printed are numbers.
func PrintableLine(s string) string { return escape(s, unicode.IsPrint) }

// PrintableText is PrintableLine of each line of a text.
func PrintableText(s string) string {
	return escape(s, func(r rune) bool { return r == '\n' || unicode.IsPrint(r) })
}

// maxLine is how many bytes a text of others may have in one line.
const maxLine = 4 << 10

// Line is a text of others as it may enter results: PrintableLine, cut at 4 KiB.
func Line(s string) string {
	if len(s) > maxLine {
		s = s[:maxLine] + "…"
	}
	return PrintableLine(s)
}

// Lines makes each text in what v points to a Line, keys of maps too. v has been read from a document of others: it has no cycles.
func Lines(v any) { lines(reflect.ValueOf(v)) }

func lines(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(Line(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			lines(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			inner := reflect.New(v.Elem().Type()).Elem()
			inner.Set(v.Elem())
			lines(inner)
			if v.CanSet() {
				v.Set(inner)
			}
		}
	case reflect.Slice, reflect.Array:
		if k := v.Type().Elem().Kind(); k != reflect.String && k <= reflect.Complex128 {
			return // numbers
		}
		for i := range v.Len() {
			lines(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				lines(v.Field(i))
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			name, value := reflect.New(key.Type()).Elem(), reflect.New(v.Type().Elem()).Elem()
			name.Set(key)
			value.Set(v.MapIndex(key))
			lines(name)
			lines(value)
			v.SetMapIndex(key, reflect.Value{})
			v.SetMapIndex(name, value)
		}
	}
}

func escape(s string, stays func(rune) bool) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case stays(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, "\\x%02x", r)
		case r < 0x10000:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			fmt.Fprintf(&b, "\\U%08x", r)
		}
	}
	return b.String()
}

// Quote is a text of others for an error: one line of at most so many bytes, with single blanks between words, and question marks for
// characters that cannot be printed.
func Quote(s string, most int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…" // a letter may have been cut
}
