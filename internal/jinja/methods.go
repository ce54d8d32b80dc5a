package jinja

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

// A method is a function of a value.
type method func(of any, a given) (any, error)

// textMethods are those of texts.
var textMethods = map[string]method{
	"strip":        stripping(strings.TrimFunc),
	"lstrip":       stripping(strings.TrimLeftFunc),
	"rstrip":       stripping(strings.TrimRightFunc),
	"split":        splitting(false),
	"rsplit":       splitting(true),
	"splitlines":   linesOf,
	"partition":    partitioning(strings.Index, false),
	"rpartition":   partitioning(strings.LastIndex, true),
	"replace":      replaceText,
	"startswith":   within(affix(strings.HasPrefix)),
	"endswith":     within(affix(strings.HasSuffix)),
	"removeprefix": cutting(strings.TrimPrefix),
	"removesuffix": cutting(strings.TrimSuffix),
	"find":         finding(strings.Index),
	"rfind":        finding(strings.LastIndex),
	"index":        needing(finding(strings.Index)),
	"rindex":       needing(finding(strings.LastIndex)),
	"count":        within(countText),
	"join":         joinTexts,
	"upper":        ofText(func(s string) any { return upper(s) }),
	"lower":        ofText(func(s string) any { return pytext.Lower(s) }),
	"casefold":     ofText(func(s string) any { return cases.Fold().String(s) }),
	"title":        ofText(func(s string) any { return title(s) }),
	"capitalize":   ofText(func(s string) any { return capitalize(s) }),
	"swapcase":     ofText(func(s string) any { return swapped(s) }),
	"isascii":      ofText(func(s string) any { return strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0 }),
	"isdecimal":    every(unicode.IsDigit),
	"isdigit":      every(func(r rune) bool { return unicode.IsDigit(r) || unicode.Is(otherDigits, r) }),
	"isnumeric":    every(unicode.IsNumber),
	"isalpha":      every(unicode.IsLetter),
	"isalnum":      every(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }),
	"isspace":      every(pytext.IsSpace),
	"center":       justified('^'),
	"ljust":        justified('<'),
	"rjust":        justified('>'),
	"zfill":        zeroFilled,
	"expandtabs":   untabbed,
	"isprintable":  ofText(func(s string) any { return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 }),
	"istitle":      ofText(func(s string) any { return isTitle(s) }),
	"isupper":      ofText(func(s string) any { return isUpper(s) }),
	"islower":      ofText(func(s string) any { return isLower(s) }),
}

// textMethod is a method of texts by its name.
func textMethod(name string) (method, bool) {
	switch name { // these reach for methods themselves
	case "format":
		return formatted, true
	case "format_map":
		return formattedBy, true
	}
	m, ok := textMethods[name]
	return m, ok
}

// ofText is a method without arguments.
func ofText(f func(string) any) method {
	return func(of any, a given) (any, error) {
		_, err := a.bind()
		return f(of.(string)), err
	}
}

func every(is func(rune) bool) method {
	return ofText(func(s string) any {
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !is(r) }) < 0
	})
}

// stripping drops white space, or the characters that are given.
func stripping(trim func(string, func(rune) bool) string) method {
	return func(of any, a given) (any, error) {
		v, err := a.bind("chars")
		if err != nil {
			return nil, err
		}
		if v[0] == any(missing) || v[0] == nil {
			return trim(of.(string), pytext.IsSpace), nil
		}
		chars, err := textOr(v[0], "")
		dropped := make(map[rune]bool, min(len(chars), 100)) // chars may be as long as the text
		for _, r := range chars {
			dropped[r] = true
		}
		return trim(of.(string), func(r rune) bool { return dropped[r] }), err
	}
}

// splitting cuts where a separator is, or else between words, at most so often as is said.
func splitting(fromRight bool) method {
	return func(of any, a given) (any, error) {
		v, err := a.bind("sep", "maxsplit")
		if err != nil {
			return nil, err
		}
		most, err := wholeOr(v[1], -1)
		if err != nil {
			return nil, err
		}
		if v[0] == any(missing) || v[0] == nil {
			return texts(words(of.(string), most, fromRight)), nil
		}
		sep, err := textOr(v[0], "")
		if err != nil || sep == "" {
			return nil, errors.Join(err, errors.New("the separator is empty"))
		}
		return split(of.(string), sep, most, fromRight), nil
	}
}

// words are those between white space, at most so many cut off on one side;
// what is left then keeps the white space on its other side.
func words(s string, most int64, fromRight bool) []string {
	all := pytext.Fields(s)
	if most < 0 || most >= int64(len(all)) {
		return all
	}
	rest := s
	cut, trim := strings.CutPrefix, trimLeft
	if fromRight {
		cut, trim = strings.CutSuffix, pytext.TrimRight
		all = all[int64(len(all))-most:]
		slices.Reverse(all)
	}
	for _, word := range all[:most] {
		rest, _ = cut(trim(rest), word)
	}
	all = append(all[:most:most], trim(rest))
	if fromRight {
		slices.Reverse(all)
	}
	return all
}

// texts is a list of texts.
func texts(all []string) list {
	l := make(list, len(all))
	for i, s := range all {
		l[i] = s
	}
	return l
}

// split cuts a text, at most so often, from the left or from the right.
func split(s, sep string, most int64, fromRight bool) list {
	parts := strings.Split(s, sep)
	n := int64(len(parts))
	if most < 0 || most >= n {
		return texts(parts)
	}
	if fromRight {
		return texts(append([]string{strings.Join(parts[:n-most], sep)}, parts[n-most:]...))
	}
	return texts(append(parts[:most:most], strings.Join(parts[most:], sep)))
}

func affix(has func(s, part string) bool) method {
	return func(of any, a given) (any, error) {
		v, err := a.bind("text")
		if err != nil {
			return nil, err
		}
		if of == nil {
			return false, nil // there is no such place
		}
		parts, several := v[0].(tuple)
		if !several {
			parts = tuple{v[0]}
		}
		for _, part := range parts {
			text, ok := part.(string)
			if !ok {
				return nil, fmt.Errorf("want a text, not %s", kindOf(part))
			}
			if has(of.(string), text) {
				return true, nil
			}
		}
		return false, nil
	}
}

// needText is the only argument, a text.
func needText(a given) (string, error) {
	v, err := a.bind("text")
	if err != nil {
		return "", err
	}
	s, ok := v[0].(string)
	if !ok {
		return "", fmt.Errorf("want a text, not %s", kindOf(v[0]))
	}
	return s, nil
}
