package jinja

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A formatting is a text with fields in braces on its way to one with their values.
type formatting struct {
	given
	next   int  // the place of the next field that has none
	places bool // a field has a place
	length int  // of what is written
}

var errBrace = errors.New("a brace of the format stands alone")

// formatted is the method format.
func formatted(of any, a given) (any, error) {
	f := formatting{given: a}
	return f.text(of.(string), 2)
}

// formattedBy is the method format_map.
func formattedBy(of any, a given) (any, error) {
	v, err := a.bind("mapping")
	if err != nil {
		return nil, err
	}
	d, ok := v[0].(*dict)
	if !ok {
		return nil, fmt.Errorf("want a dict, not %s", kindOf(v[0]))
	}
	named := make(map[string]any)
	for _, key := range d.keys {
		if name, ok := key.(string); ok {
			named[name] = d.values[name]
		}
	}
	f := formatting{given: given{named: named}}
	return f.text(of.(string), 2)
}

// text writes a format, whose fields may have formats with fields, so deep.
func (f *formatting) text(format string, depth int) (string, error) {
	if depth < 0 {
		return "", errors.New("formats are too deep within each other")
	}
	var b strings.Builder
	for format != "" {
		at := strings.IndexAny(format, "{}")
		if at < 0 {
			b.WriteString(format)
			break
		}
		b.WriteString(format[:at])
		if strings.HasPrefix(format[at+1:], format[at:at+1]) {
			b.WriteByte(format[at])
			format = format[at+2:]
			continue
		}
		field, rest, err := cutField(format[at:])
		if err != nil {
			return "", err
		}
		text, err := f.field(field, depth)
		if err != nil {
			return "", err
		}
		format = rest
		if b.WriteString(text); f.length+b.Len() > maxText {
			return "", errTooLong
		}
	}
	f.length += b.Len()
	return b.String(), nil
}

// cutField is what is between a brace and the one that belongs to it, and what is behind.
func cutField(text string) (field, rest string, err error) {
	if text[0] == '}' {
		return "", "", errBrace
	}
	open, inName, brackets := 0, true, false
	for i, c := range []byte(text) {
		switch {
		case brackets:
			brackets = c != ']'
		case c == '[' && inName:
			brackets = true
		case c == ':' || c == '!':
			inName = false
		case c == '{':
			open++
		case c == '}':
			open--
		}
		if open == 0 {
			return text[1:i], text[i+1:], nil
		}
	}
	return "", "", errBrace
}

// field is the text of one: name, conversion and format.
func (f *formatting) field(field string, depth int) (string, error) {
	end := strings.IndexAny(nameless(field), ":!")
	name, how, conversion := field, "", byte(0)
	if end >= 0 {
		name, how = field[:end], field[end:]
	}
	if strings.HasPrefix(how, "!") {
		if len(how) < 2 || len(how) > 2 && how[2] != ':' {
			return "", errFormat
		}
		conversion, how = how[1], how[2:]
	}
	if strings.Contains(name, "{") {
		return "", errBrace
	}
	value, err := f.value(name)
	if err != nil {
		return "", err
	}
	how, err = f.text(strings.TrimPrefix(how, ":"), depth-1)
	if err != nil {
		return "", err
	}
	return converted(value, conversion, how)
}

// converted is the text of a value, or of what a conversion makes of it; 0: there is none.
func converted(value any, conversion byte, how string) (string, error) {
	switch conversion {
	case 0:
		return format(value, how)
	case 's':
		return format(str(value), how)
	case 'r':
		return format(repr(value), how)
	case 'a':
		return format(ascii(value), how)
	}
	return "", errFormat
}

// nameless is a field with nothing in the brackets of its name.
func nameless(field string) string {
	b := []byte(field)
	inside := false
	for i, c := range b {
		switch {
		case c == '[':
			inside = true
		case c == ']':
			inside = false
		case inside:
			b[i] = '_'
		case c == ':' || c == '!':
			return string(b)
		}
	}
	return string(b)
}

// value is that of a name: an argument, with attributes and items.
func (f *formatting) value(name string) (any, error) {
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	value, err := f.argument(name[:end], end == len(name))
	for rest := name[end:]; rest != "" && err == nil; {
		if err := checkDefined(value); err != nil {
			return nil, err
		}
		value, rest, err = part(value, rest)
	}
	return value, err
}

// part is what the first attribute or item of a text is of a value, and the text behind it.
func part(of any, text string) (any, string, error) {
	if text[0] == '[' {
		key, rest, ok := strings.Cut(text[1:], "]")
		if !ok || key == "" || rest != "" && rest[0] != '.' && rest[0] != '[' {
			return nil, "", errFormat
		}
		if n, err := strconv.ParseUint(key, 10, 63); err == nil {
			return element(of, int64(n)), rest, nil
		}
		return element(of, key), rest, nil
	}
	key, rest := text[1:], ""
	if end := strings.IndexAny(key, ".["); end >= 0 {
		key, rest = key[:end], key[end:]
	}
	if key == "" {
		return nil, "", errFormat
	}
	if m, ok := methodOf(of, key); ok {
		return m, rest, nil
	}
	return keyed(of, key), rest, nil
}

// argument is one by its name, its place, or the next one. Whether places are counted is asked where the name is all there is.
func (f *formatting) argument(name string, all bool) (any, error) {
	at, err := strconv.ParseUint(name, 10, 31)
	switch {
	case name == "" && all:
		if f.places {
			return nil, errors.New("want places in all fields or in none")
		}
		at = uint64(f.next)
		f.next++
	case err != nil:
		v, ok := f.named[name]
		if !ok {
			return nil, fmt.Errorf("there is no argument %q", name)
		}
		return v, nil
	case all:
		if f.next > 0 {
			return nil, errors.New("want places in all fields or in none")
		}
		f.places = true
	}
	if at >= uint64(len(f.values)) {
		return nil, fmt.Errorf("there is no argument %d", at)
	}
	return f.values[at], nil
}
