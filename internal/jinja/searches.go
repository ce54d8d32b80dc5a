package jinja

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/pytext"
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
		v, err := a.bind("text", "start", "end")
		if err != nil {
			return nil, err
		}
		part, err1 := needText(given{values: v[:1]})
		place, err2 := placeOfSlice(of.(string), v[1], v[2])
		if err := cmp.Or(err1, err2); err != nil {
			return nil, err
		}
		at := -1
		if place.there {
			at = index(place.text, part)
		}
		if at < 0 {
			return int64(-1), nil
		}
		return place.from + int64(utf8.RuneCountInString(place.text[:at])), nil
	}
}

// within is a method of a text with an argument, which goes through a part of the text only if there are two more; nil is no such part.
func within(m method) method {
	return func(of any, a given) (any, error) {
		if len(a.values) < 2 {
			return m(of, a)
		}
		v, err := given{values: a.values}.bind("text", "start", "end")
		if err != nil {
			return nil, err
		}
		place, err := placeOfSlice(of.(string), v[1], v[2])
		if err != nil {
			return nil, err
		}
		part := any(place.text)
		if !place.there {
			part = nil
		}
		return m(part, given{values: v[:1], named: a.named})
	}
}

// A textSlice is a part of a text, from a character on. One that would begin behind the text is not there, not even empty.
type textSlice struct {
	text  string
	from  int64
	there bool
}

func placeOfSlice(s string, start, end any) (textSlice, error) {
	from, err1 := wholeOr(start, 0)
	to, err2 := wholeOr(end, math.MaxInt64)
	if err := cmp.Or(err1, err2); err != nil {
		return textSlice{}, err
	}
	if start == any(missing) && end == any(missing) {
		return textSlice{s, 0, true}, nil
	}
	characters := []rune(s)
	n := int64(len(characters))
	if from < 0 {
		from = max(0, from+n)
	}
	if to < 0 {
		to = max(0, to+n)
	}
	if to = min(to, n); from > to {
		return textSlice{}, nil
	}
	return textSlice{string(characters[from:to]), from, true}, nil
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
	if of == nil {
		return int64(0), err
	}
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

// replaceAny is replaceText of what values are written as.
func replaceAny(of any, a given) (any, error) {
	v, err := a.bind("old", "new", "count")
	if err != nil {
		return nil, err
	}
	for i := range 2 {
		if v[i] != any(missing) {
			v[i] = str(v[i])
		}
	}
	return replaceText(of, given{values: v})
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

func linesOf(of any, a given) (any, error) {
	v, err := a.bind("keepends")
	if err != nil {
		return nil, err
	}
	return texts(pytext.Lines(of.(string), flag(v[0]))), nil
}
