package jinja

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

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
	"splitlines":   ofText(splitLines),
	"partition":    partitioning(strings.Index, false),
	"rpartition":   partitioning(strings.LastIndex, true),
	"replace":      replaceText,
	"startswith":   affix(strings.HasPrefix),
	"endswith":     affix(strings.HasSuffix),
	"removeprefix": cutting(strings.TrimPrefix),
	"removesuffix": cutting(strings.TrimSuffix),
	"find":         finding(strings.Index),
	"rfind":        finding(strings.LastIndex),
	"index":        needing(finding(strings.Index)),
	"rindex":       needing(finding(strings.LastIndex)),
	"count":        countText,
	"join":         joinTexts,
	"upper":        ofText(func(s string) any { return upper(s) }),
	"lower":        ofText(func(s string) any { return pytext.Lower(s) }),
	"casefold":     ofText(func(s string) any { return cases.Fold().String(s) }),
	"title":        ofText(func(s string) any { return title(s) }),
	"capitalize":   ofText(func(s string) any { return capitalize(s) }),
	"isdigit":      every(unicode.IsDigit),
	"isnumeric":    every(unicode.IsNumber),
	"isalpha":      every(unicode.IsLetter),
	"isalnum":      every(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }),
	"isspace":      every(pytext.IsSpace),
	"isupper":      ofText(func(s string) any { return isUpper(s) }),
	"islower":      ofText(func(s string) any { return isLower(s) }),
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

func upper(s string) string { return cases.Upper(language.Und).String(s) }

// capital is a character as a word begins with it: of ß two, Ss.
func capital(r rune) string { return cases.Title(language.Und, cases.NoLower).String(string(r)) }

// title begins each run of letters with a capital.
func title(s string) string {
	inWord := false
	var b strings.Builder
	for _, r := range s {
		switch cased := unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r); {
		case !cased:
			b.WriteRune(r)
			inWord = false
		case inWord:
			b.WriteString(pytext.Lower(string(r)))
		default:
			b.WriteString(capital(r))
			inWord = true
		}
	}
	return b.String()
}

// capitalize begins a text with a capital, and no other letter is one.
func capitalize(s string) string {
	for _, r := range s {
		n := len(string(r))
		return capital(r) + pytext.Lower(s[n:])
	}
	return s
}

func isUpper(s string) bool { return s != pytext.Lower(s) && s == upper(s) }
func isLower(s string) bool { return s != upper(s) && s == pytext.Lower(s) }

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
		return trim(of.(string), func(r rune) bool { return strings.ContainsRune(chars, r) }), err
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
			if most >= 0 {
				return nil, errors.New("want a separator where maxsplit is given")
			}
			return texts(pytext.Fields(of.(string))), nil
		}
		sep, err := textOr(v[0], "")
		if err != nil || sep == "" {
			return nil, errors.Join(err, errors.New("the separator is empty"))
		}
		return split(of.(string), sep, most, fromRight), nil
	}
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
