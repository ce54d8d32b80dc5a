package jinja

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"net/url"
	"strings"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

// urlEncoded is the filter urlencode: of a text, or of names with their values.
func urlEncoded(s *scope, value any, a given) (any, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	if _, isText := value.(string); isText || !iterable(value) {
		return strings.ReplaceAll(quotedForURL(value), "%2F", "/"), nil
	}
	if d, ok := value.(*dict); ok {
		value = d.items()
	}
	all, err := s.elements(value)
	if err != nil {
		return nil, err
	}
	parts := make([]string, len(all))
	for i, e := range all {
		pair, err := s.elements(e)
		if err != nil || len(pair) != 2 {
			return nil, cmp.Or(err, errors.New("want names with their values"))
		}
		parts[i] = strings.ReplaceAll(quotedForURL(pair[0])+"="+quotedForURL(pair[1]), "%20", "+")
	}
	return strings.Join(parts, "&"), nil
}

// quotedForURL has % and two digits in the place of what may not be in an address.
func quotedForURL(value any) string {
	return strings.ReplaceAll(url.QueryEscape(str(value)), "+", "%20")
}

// xmlAttributes is the filter xmlattr: names with their values in quotes, but for None.
func xmlAttributes(_ *scope, value any, a given) (any, error) {
	v, err := a.bind("autospace")
	if err != nil {
		return nil, err
	}
	d, ok := value.(*dict)
	if !ok {
		return nil, cmp.Or(checkDefined(value), fmt.Errorf("want a dict, not %s", kindOf(value)))
	}
	var parts []string
	for _, key := range d.keys {
		of, _ := d.get(key)
		if _, not := of.(undefined); not || of == nil {
			continue
		}
		name, ok := key.(string)
		if !ok || strings.ContainsAny(name, " \t\n\r\f\v/>=") {
			return nil, fmt.Errorf("want the name of an attribute, not %s", repr(key))
		}
		parts = append(parts, escaper.Replace(name)+`="`+escaper.Replace(str(of))+`"`)
	}
	text := strings.Join(parts, " ")
	if text != "" && truth(orElse(v[0], true)) {
		text = " " + text
	}
	return text, nil
}

// withoutTags is the filter striptags: neither remarks nor tags are left, and one blank for all white space.
func withoutTags(s *scope, value any, a given) (any, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	text := str(value)
	for _, tag := range [...][2]string{{"<!--", "-->"}, {"<", ">"}} {
		for {
			from := strings.Index(text, tag[0])
			if from < 0 {
				break
			}
			n := strings.Index(text[from:], tag[1])
			if n < 0 {
				break
			}
			if err := s.spend(1 + len(text)/bytesOfStep); err != nil {
				return nil, err
			}
			text = text[:from] + text[from+n+len(tag[1]):]
		}
	}
	return html.UnescapeString(strings.Join(pytext.Fields(text), " ")), nil
}
