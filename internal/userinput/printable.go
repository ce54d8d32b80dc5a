package userinput

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf16"
)

// PrintableLine is a text in one line, in which characters that cannot be printed are numbers.
func PrintableLine(s string) string { return escape(s, printable) }

// printable reports whether a character has a shape or is a space, as in names that were copied from a text processor.
func printable(r rune) bool { return unicode.IsPrint(r) || unicode.Is(unicode.Zs, r) }

// PrintableText is PrintableLine of each line of a text.
func PrintableText(s string) string {
	return escape(s, func(r rune) bool { return r == '\n' || printable(r) })
}

// maxLine is how many bytes a text of others may have in one line.
const maxLine = 4 << 10

// Line is a text of others as it may enter results: PrintableLine, cut at 4 KiB.
func Line(s string) string {
	line := PrintableLine(s[:min(len(s), maxLine+1)])
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine-len("…")], "") + "…"
	}
	return line
}

// A Text of a document has several lines: Lines makes it a PrintableText.
type Text string

// Lines makes each text in what v points to a Line, keys of maps too. What has such a text behind a pointer, slice or map is
// copied: others may share it. A document has no cycles.
func Lines[T any](v *T) {
	if changed, ok := lines(reflect.ValueOf(v).Elem()); ok {
		reflect.ValueOf(v).Elem().Set(changed)
	}
}

// lines is a value with printable texts; false: its texts are printable.
func lines(v reflect.Value) (reflect.Value, bool) {
	var copied reflect.Value // of v, once a part of it changes
	set := func(part reflect.Value, put func(reflect.Value)) {
		changed, ok := lines(part)
		if !ok {
			return
		}
		if !copied.IsValid() {
			copied = shallow(v)
		}
		put(changed)
	}
	switch v.Kind() {
	case reflect.String:
		line := Line(v.String())
		if v.Type() == reflect.TypeFor[Text]() {
			line = PrintableText(v.String())
		}
		if line != v.String() {
			copied = shallow(v)
			copied.SetString(line)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			set(v.Elem(), func(x reflect.Value) {
				if v.Kind() == reflect.Pointer {
					p := reflect.New(x.Type())
					p.Elem().Set(x)
					x = p
				}
				copied.Set(x)
			})
		}
	case reflect.Slice, reflect.Array:
		if k := v.Type().Elem().Kind(); k != reflect.String && k <= reflect.Complex128 {
			break // numbers
		}
		for i := range v.Len() {
			set(v.Index(i), func(x reflect.Value) { copied.Index(i).Set(x) })
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				set(v.Field(i), func(x reflect.Value) { copied.Field(i).Set(x) })
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := v.MapIndex(key)
			set(value, func(x reflect.Value) { copied.SetMapIndex(key, x) })
			set(key, func(x reflect.Value) {
				value = copied.MapIndex(key)
				copied.SetMapIndex(key, reflect.Value{})
				copied.SetMapIndex(x, value)
			})
		}
	}
	return copied, copied.IsValid()
}

// shallow is a copy of a value, with elements of its own.
func shallow(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	switch {
	case v.Kind() == reflect.Slice:
		c.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
	case v.Kind() == reflect.Map:
		c.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for _, key := range v.MapKeys() {
			c.SetMapIndex(key, v.MapIndex(key))
		}
	}
	return c
}

// ErrorLines is the text of an error: one Line, and of joined errors one for each, or for all workers that met the same one. What an error
// quotes cannot begin a line.
func ErrorLines(err error) []string {
	text, parts := err.Error(), []error{errors.Unwrap(err)}
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		parts = list.Unwrap()
		if text == errors.Join(parts...).Error() {
			var all []string
			met := map[string]bool{}
			for _, part := range parts {
				if text := part.Error(); !met[text] {
					all, met[text] = append(all, ErrorLines(part)...), true
				}
			}
			return all
		}
	}
	all := []string{""}
	for _, part := range parts {
		if part == nil {
			continue
		}
		if before, after, ok := strings.Cut(text, part.Error()); ok {
			inner := ErrorLines(part)
			all[len(all)-1] += Line(before) + inner[0]
			all, text = append(all, inner[1:]...), after
		}
	}
	all[len(all)-1] += Line(text)
	return all
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

// PrintableJSON is the same document with numbers for characters that cannot be printed. Those of ASCII are numbers in any JSON.
func PrintableJSON(document []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(document) {
		switch {
		case r < 0x20 || printable(r): // line breaks between fields
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
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
	return Cut(s, most)
}

// Cut shortens a text to so many bytes, and marks that it did.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…" // a letter may have been cut
}
