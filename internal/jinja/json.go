package jinja

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
)

// jsonStyle is how a value is written: what is between parts, and the blanks before lines.
type jsonStyle struct {
	item, key string
	indent    string
	lines     bool // each part has one
	sorted    bool
	ascii     bool
}

// maxIndent is how many blanks, or bytes of a text, may be before a line for each value around it.
const maxIndent = 100

var errIndent = fmt.Errorf("want an indent up to %d", maxIndent)

// toJSON writes a value as HuggingFace does, which is json.dumps of Python with all characters
// as they are.
func toJSON(_ *scope, value any, a given) (any, error) {
	v, err := a.bind("ensure_ascii", "indent", "separators", "sort_keys")
	if err != nil {
		return nil, err
	}
	style := jsonStyle{item: ", ", key: ": ", sorted: flag(v[3]), ascii: flag(v[0])}
	switch indent := v[1].(type) {
	case undefined, nil:
	case string:
		style.item, style.indent, style.lines = ",", indent, true
	default:
		n, err := wholeOr(indent, 0)
		if err != nil || n > maxIndent {
			return nil, errors.Join(err, errIndent)
		}
		style.item, style.indent, style.lines = ",", strings.Repeat(" ", int(max(0, n))), true
	}
	if separators, err := elements(v[2]); v[2] != any(missing) && v[2] != nil {
		if err != nil || len(separators) != 2 {
			return nil, errors.New("want two separators")
		}
		style.item, style.key = str(separators[0]), str(separators[1])
	}
	if len(style.indent) > maxIndent {
		return nil, errIndent
	}
	var b strings.Builder
	err = style.write(&b, value, 0)
	return b.String(), err
}

func (j jsonStyle) write(b *strings.Builder, value any, depth int) error {
	if b.Len() > maxText {
		return errTooLong
	}
	switch v := value.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strings.ToLower(repr(v)))
	case int64, float64:
		b.WriteString(jsonNumber(repr(v)))
	case string:
		j.quote(b, v)
	case list:
		return j.writeAll(b, '[', ']', v, depth)
	case tuple:
		return j.writeAll(b, '[', ']', v, depth)
	case *dict:
		return j.writeDict(b, v, depth)
	default:
		return fmt.Errorf("a value of type %s is no JSON", kindOf(value))
	}
	return nil
}

// jsonNumber is what Python writes of numbers that are none.
func jsonNumber(text string) string {
	return strings.NewReplacer("inf", "Infinity", "nan", "NaN").Replace(text)
}

// line begins one, where there are any.
func (j jsonStyle) line(b *strings.Builder, depth int) {
	if j.lines {
		b.WriteString("\n" + strings.Repeat(j.indent, depth))
	}
}

func (j jsonStyle) writeAll(b *strings.Builder, begin, end byte, all []any, depth int) error {
	b.WriteByte(begin)
	for i, v := range all {
		if i > 0 {
			b.WriteString(j.item)
		}
		j.line(b, depth+1)
		if err := j.write(b, v, depth+1); err != nil {
			return err
		}
	}
	if len(all) > 0 {
		j.line(b, depth)
	}
	b.WriteByte(end)
	return nil
}

// keys are those of a dict as they are written; sorted are the keys themselves, and not what they are written as.
func (j jsonStyle) keys(d *dict) ([]any, error) {
	if !j.sorted {
		return d.keys, nil
	}
	return inOrder(d.keys, d.keys, false)
}

func (j jsonStyle) writeDict(b *strings.Builder, d *dict, depth int) error {
	keys, err := j.keys(d)
	if err != nil {
		return err
	}
	b.WriteByte('{')
	for i, key := range keys {
		text, err := jsonKey(key)
		if err != nil {
			return err
		}
		value, _ := d.get(key)
		if i > 0 {
			b.WriteString(j.item)
		}
		j.line(b, depth+1)
		j.quote(b, text)
		b.WriteString(j.key)
		if err := j.write(b, value, depth+1); err != nil {
			return err
		}
	}
	if len(keys) > 0 {
		j.line(b, depth)
	}
	b.WriteByte('}')
	return nil
}

// jsonKey is a key as a text.
func jsonKey(key any) (string, error) {
	switch k := key.(type) {
	case string:
		return k, nil
	case nil:
		return "null", nil
	case bool:
		return strings.ToLower(repr(k)), nil
	case int64, float64:
		return jsonNumber(repr(k)), nil
	}
	return "", fmt.Errorf("want keys that are texts or numbers, not %s", kindOf(key))
}

// jsonEscapes are characters that have a letter.
var jsonEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`}

func (j jsonStyle) quote(b *strings.Builder, text string) {
	b.WriteByte('"')
	for _, r := range text {
		switch escaped, ok := jsonEscapes[r]; {
		case ok:
			b.WriteString(escaped)
		case r < ' ' || j.ascii && r > '~' && r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		case j.ascii && r >= 0x10000:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}
