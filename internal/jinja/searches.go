package jinja

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

func cutting(trim func(s, part string) string) method {
	return func(of any, a given) (any, error) {
		part, err := needText(a)
		return trim(of.(string), part), err
	}
}

// finding is the place of a part of a text in characters, -1 if it is not there.
func finding(index func(s, part string) int) method {
	return func(of any, a given) (any, error) {
		part, err := needText(a)
		if err != nil {
			return nil, err
		}
		at := index(of.(string), part)
		if at < 0 {
			return int64(-1), nil
		}
		return int64(utf8.RuneCountInString(of.(string)[:at])), nil
	}
}

// needing is a place that has to be there.
func needing(find method) method {
	return func(of any, a given) (any, error) {
		at, err := find(of, a)
		if err == nil && at == any(int64(-1)) {
			return nil, errors.New("the text is not there")
		}
		return at, err
	}
}

func countText(of any, a given) (any, error) {
	part, err := needText(a)
	return int64(strings.Count(of.(string), part)), err
}

// partitioning cuts in three where a separator is; where it is not, the text is the first part
// or the last.
func partitioning(index func(s, part string) int, last bool) method {
	return func(of any, a given) (any, error) {
		sep, err := needText(a)
		if err != nil {
			return nil, err
		}
		s := of.(string)
		switch at := index(s, sep); {
		case sep == "":
			return nil, errors.New("the separator is empty")
		case at >= 0:
			return tuple{s[:at], sep, s[at+len(sep):]}, nil
		case last:
			return tuple{"", "", s}, nil
		}
		return tuple{s, "", ""}, nil
	}
}

func replaceText(of any, a given) (any, error) {
	v, err := a.bind("old", "new", "count")
	if err != nil {
		return nil, err
	}
	from, ok1 := v[0].(string)
	to, ok2 := v[1].(string)
	if !ok1 || !ok2 {
		return nil, errors.New("want two texts: what is replaced, and by what")
	}
	count, err := wholeOr(v[2], -1)
	if err != nil {
		return nil, err
	}
	s := of.(string)
	if grown := strings.Count(s, from) * (len(to) - len(from)); len(s)+grown > maxText {
		return nil, errTooLong
	}
	return strings.Replace(s, from, to, int(count)), nil
}

func joinTexts(of any, a given) (any, error) {
	v, err := a.bind("parts")
	if err != nil {
		return nil, err
	}
	all, err := elements(v[0])
	if err != nil {
		return nil, err
	}
	for _, part := range all {
		if _, ok := part.(string); !ok {
			return nil, fmt.Errorf("want texts, not %s", kindOf(part))
		}
	}
	return joined(all, of.(string))
}

// joined writes values with a text between.
func joined(all []any, between string) (string, error) {
	var b strings.Builder
	for i, v := range all {
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(str(v))
		if b.Len() > maxText {
			return "", errTooLong
		}
	}
	return b.String(), nil
}

// lineEnds are where Python's splitlines cuts.
const lineEnds = "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029"

func splitLines(s string) any {
	lines := list{}
	for s != "" {
		at := strings.IndexAny(s, lineEnds)
		if at < 0 {
			return append(lines, s)
		}
		lines = append(lines, s[:at])
		_, n := utf8.DecodeRuneInString(s[at:])
		if strings.HasPrefix(s[at:], "\r\n") {
			n = 2
		}
		s = s[at+n:]
	}
	return lines
}

// dictMethods are those of dicts, without those that would change one.
var dictMethods = map[string]method{
	"items":  ofDict(func(d *dict) any { return d.items() }),
	"keys":   ofDict(func(d *dict) any { return list(d.keys) }),
	"values": ofDict(valuesOf),
	"copy":   ofDict(func(d *dict) any { return d }), // nothing changes a dict
	"get":    getKey,
}

func ofDict(f func(*dict) any) method {
	return func(of any, a given) (any, error) {
		_, err := a.bind()
		return f(of.(*dict)), err
	}
}

func valuesOf(d *dict) any {
	all := make(list, len(d.keys))
	for i, k := range d.keys {
		all[i], _ = d.get(k)
	}
	return all
}

func getKey(of any, a given) (any, error) {
	v, err := a.bind("key", "default")
	if err != nil {
		return nil, err
	}
	if found, ok := of.(*dict).get(v[0]); ok {
		return found, nil
	}
	if v[1] == any(missing) {
		return nil, nil
	}
	return v[1], nil
}

// listMethods are those of lists and tuples, without those that would change one.
var listMethods = map[string]method{"index": placeOf, "count": countValue}

func placeOf(of any, a given) (any, error) {
	v, err := a.bind("value")
	if err != nil {
		return nil, err
	}
	all, _ := elements(of) // it is a list
	at := slices.IndexFunc(all, func(e any) bool { return equal(e, v[0]) })
	if at < 0 {
		return nil, errors.New("the value is not there")
	}
	return int64(at), nil
}

func countValue(of any, a given) (any, error) {
	v, err := a.bind("value")
	if err != nil {
		return nil, err
	}
	n := int64(0)
	all, _ := elements(of) // it is a list
	for _, e := range all {
		n += integer(equal(e, v[0]))
	}
	return n, nil
}
