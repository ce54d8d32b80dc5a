package jinja

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

// justified is a text in the middle of a width, or at one of its sides.
func justified(align byte) method {
	return func(of any, a given) (any, error) {
		v, err := a.bind("width", "fillchar")
		if err != nil {
			return nil, err
		}
		width, err1 := needWhole(v[0])
		fill, err2 := textOr(v[1], " ")
		if err := cmp.Or(err1, err2); err != nil {
			return nil, err
		}
		if utf8.RuneCountInString(fill) != 1 {
			return nil, errors.New("want one character to fill with")
		}
		if width > maxText/4 {
			return nil, errTooLong
		}
		r, _ := utf8.DecodeRuneInString(fill)
		p := spec{fill: r, align: align, width: int(max(0, width))}
		if missing := p.width - utf8.RuneCountInString(of.(string)); align == '^' && missing > 0 && missing&p.width&1 == 1 {
			p.align, p.width = '>', p.width-missing/2 // what is left over is before the text
			return p.padded("", of.(string), 0) + strings.Repeat(fill, missing/2), nil
		}
		return p.padded("", of.(string), 0), nil
	}
}

// zeroFilled is zfill: zeros are behind the sign.
func zeroFilled(of any, a given) (any, error) {
	v, err := a.bind("width")
	if err != nil {
		return nil, err
	}
	width, err := needWhole(v[0])
	if err == nil && width > maxText/4 {
		err = errTooLong
	}
	text := of.(string)
	sign := text[:min(1, len(text))]
	if sign != "+" && sign != "-" {
		sign = ""
	}
	return spec{fill: '0', align: '=', width: int(max(0, min(width, maxText)))}.padded(sign, text[len(sign):], 0), err
}

// untabbed is expandtabs.
func untabbed(of any, a given) (any, error) {
	v, err := a.bind("tabsize")
	if err != nil {
		return nil, err
	}
	size, err := wholeOr(v[0], 8)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	column := int64(0)
	for _, r := range of.(string) {
		switch {
		case r == '\t' && size > 0:
			blanks := size - column%size
			if int64(b.Len())+blanks > maxText {
				return nil, errTooLong
			}
			b.WriteString(strings.Repeat(" ", int(blanks)))
			column += blanks
			continue
		case r == '\t':
			continue
		case r == '\n' || r == '\r':
			column = -1
		}
		b.WriteRune(r)
		column++
	}
	return b.String(), nil
}

// centered is the filter center.
func centered(of any, a given) (any, error) {
	v, err := a.bind("width")
	if err != nil {
		return nil, err
	}
	return justified('^')(of, given{values: []any{orElse(v[0], int64(80))}})
}

// wordCount is how many runs of letters, digits and _ there are.
func wordCount(text string) any {
	n, inside := int64(0), false
	for _, r := range text {
		is := r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
		if is && !inside {
			n++
		}
		inside = is
	}
	return n
}

// truncated is the filter truncate: what is longer than it may be ends with three points.
func truncated(_ *scope, value any, a given) (any, error) {
	v, err := a.bind("length", "killwords", "end", "leeway")
	if err != nil {
		return nil, err
	}
	length, err1 := wholeOr(v[0], 255)
	end, err2 := textOr(v[2], "...")
	leeway, err3 := wholeOr(v[3], 5)
	n, err4 := lengthOf(value)
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	left := length - int64(utf8.RuneCountInString(end))
	if left < 0 || leeway < 0 {
		return nil, errors.New("want a length that the end does not exceed, and a leeway that is not below 0")
	}
	if n := n.(int64); n <= length || n-length <= leeway {
		return value, nil // whatever it is
	}
	text, ok := value.(string)
	if !ok {
		return nil, fmt.Errorf("want a text, not %s", kindOf(value))
	}
	text = firstRunes(text, int(left))
	if at := strings.LastIndexByte(text, ' '); at >= 0 && !flag(v[1]) {
		text = text[:at]
	}
	return text + end, nil
}

// fileSize is the filter filesizeformat: a number of bytes in thousands of them, or in 1024s.
func fileSize(s *scope, value any, a given) (any, error) {
	v, err := a.bind("binary")
	if err != nil {
		return nil, err
	}
	bytes, ok := 0.0, true
	if text, isText := value.(string); isText {
		bytes, ok = pytext.ParseFloat(text)
	} else {
		_, bytes, _, ok = number(value)
	}
	if err := checkDefined(value); err != nil || !ok {
		return nil, cmp.Or(err, fmt.Errorf("want a number, not %s", kindOf(value)))
	}
	base, letters := 1000.0, "kMGTPEZY"
	middle := "B"
	if flag(v[0]) {
		base, letters, middle = 1024, "KMGTPEZY", "iB"
	}
	switch {
	case bytes == 1:
		return "1 Byte", nil
	case bytes < base:
		n, err := cut(bytes)
		return fmt.Sprintf("%v Bytes", n), err
	}
	unit := base
	for i := range letters {
		unit *= base
		if bytes < unit || i == len(letters)-1 {
			return floatDigits(base*bytes/unit, 'f', 1, false) + " " + letters[i:i+1] + middle, nil
		}
	}
	return nil, nil
}
