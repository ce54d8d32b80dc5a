package jinja

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

// A filterFunc is a filter or a test.
type filterFunc = func(s *scope, value any, a given) (any, error)

// filters are those that need no others.
var filters = map[string]filterFunc{
	"trim":        onText(textMethods["strip"]),
	"upper":       onText(textMethods["upper"]),
	"lower":       onText(textMethods["lower"]),
	"capitalize":  onText(textMethods["capitalize"]),
	"title":       onText(ofText(titled)),
	"replace":     onText(replaceAny),
	"string":      onText(ofText(func(s string) any { return s })),
	"safe":        onText(ofText(func(s string) any { return s })),
	"e":           onText(ofText(func(s string) any { return escaper.Replace(s) })),
	"escape":      onText(ofText(func(s string) any { return escaper.Replace(s) })),
	"forceescape": onText(ofText(func(s string) any { return escaper.Replace(s) })),
	"length":      onValue(lengthOf),
	"count":       onValue(lengthOf),
	"first":       firstOf,
	"last":        lastOf,
	"list":        onElements(func(all []any) any { return list(all) }),
	"reverse":     backwards,
	"batch":       batched,
	"slice":       cutInto,
	"items":       itemsOf,
	"abs":         onValue(absolute),
	"default":     otherwise,
	"d":           otherwise,
	"int":         toWhole,
	"float":       toFloat,
	"round":       rounded,
	"indent":      indented,
	"attr":        attributeOnly,
	"groupby":     throughout(grouped),
	"truncate":    truncated,
	"center":      onText(centered),
	"wordcount":   onText(ofText(wordCount)),
	"striptags":   throughout(withoutTags),
	"urlencode":   throughout(urlEncoded),
	"xmlattr":     throughout(xmlAttributes),

	"filesizeformat": fileSize,
	"format":         formatFilter,
	"join":           throughout(joinElements),
	"sort":           throughout(sortElements),
	"unique":         throughout(uniqueElements),
	"min":            throughout(extreme(-1)),
	"max":            throughout(extreme(1)),
	"sum":            throughout(sumElements),
	"dictsort":       throughout(sortDict),
	"tojson":         throughout(toJSON),
}

// filterOf is a filter by its name.
func filterOf(name string) (filterFunc, bool) {
	if f, ok := filters[name]; ok {
		return f, true
	}
	f, ok := choosing()[name]
	return f, ok
}

// onText is a filter of what a value is written as.
func onText(m method) filterFunc {
	return throughout(func(_ *scope, value any, a given) (any, error) { return m(str(value), a) })
}

// onElements is a filter of the elements of a value, without arguments.
func onElements(f func([]any) any) filterFunc {
	return func(s *scope, value any, a given) (any, error) {
		if _, err := a.bind(); err != nil {
			return nil, err
		}
		all, err := s.elements(value)
		if err != nil {
			return nil, err
		}
		return f(all), nil
	}
}

// onValue is a filter of a value without arguments.
func onValue(f func(any) (any, error)) filterFunc {
	return func(_ *scope, value any, a given) (any, error) {
		if _, err := a.bind(); err != nil {
			return nil, err
		}
		return f(value)
	}
}

func lengthOf(value any) (any, error) {
	n, err := length(value)
	return int64(n), err
}

func firstOf(s *scope, value any, a given) (any, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	next, err := s.puller(value)
	if err != nil {
		return nil, err
	}
	v, ok, err := next()
	if !ok {
		return undefined("there is no first element"), err
	}
	return v, nil
}

func lastOf(s *scope, value any, a given) (any, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	if _, err := length(value); err != nil {
		return nil, err
	}
	all, err := s.elements(value)
	if err != nil || len(all) == 0 {
		return undefined("there is no last element"), err
	}
	return all[len(all)-1], nil
}

func itemsOf(s *scope, value any, a given) (any, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	return s.iterator(value, func() (puller, error) {
		switch v := value.(type) {
		case undefined:
			return pullerOf(nil), nil
		case *dict:
			return pullerOf(v.items()), s.spend(len(v.keys))
		}
		return nil, errors.New("want a dict")
	})
}

// titled begins every word with a capital; words begin behind blanks, hyphens and brackets.
func titled(s string) any {
	between := func(r rune) bool { return strings.ContainsRune("-({[<", r) || pytext.IsSpace(r) }
	var b strings.Builder
	for s != "" {
		word := s[:len(s)-len(strings.TrimLeftFunc(s, between))]
		if end := strings.IndexFunc(s, between); word == "" && end >= 0 {
			word = s[:end]
		} else if word == "" {
			word = s
		}
		s = s[len(word):]
		_, first := utf8.DecodeRuneInString(word)
		b.WriteString(upper(word[:first]) + pytext.Lower(word[first:]))
	}
	return b.String()
}

// indented sets blanks before lines, but for the first and for empty ones.
func indented(_ *scope, value any, a given) (any, error) {
	v, err := a.bind("width", "first", "blank")
	if err != nil {
		return nil, err
	}
	text, ok := value.(string)
	if !ok {
		return nil, fmt.Errorf("want a text, not %s", kindOf(value))
	}
	indent, err := indentOf(v[0])
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for i, line := range pytext.Lines(text+"\n", false) {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == 0 && flag(v[1]) || i > 0 && (flag(v[2]) || line != "") {
			b.WriteString(indent)
		}
		if b.WriteString(line); b.Len() > maxText {
			return nil, errTooLong
		}
	}
	return b.String(), nil
}

// indentOf is what comes before a line: a text, or so many blanks.
func indentOf(width any) (string, error) {
	if text, ok := width.(string); ok {
		return text, nil
	}
	n, err := wholeOr(width, 4)
	if err != nil || n > 1000 {
		return "", errors.Join(err, errors.New("want a width up to 1000"))
	}
	return strings.Repeat(" ", int(max(0, n))), nil
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;")
