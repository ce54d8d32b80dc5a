package python

import (
	"fmt"
	"strings"
	"time"
)

// A stampPart is a number of a time stamp: how many digits it may have, what it may be,
// and what follows.
type stampPart struct {
	fewest, most    int
	least, greatest int
	end             byte // 0: the end of the text
}

var stampParts = [...]stampPart{
	{1, 2, 1, 12, '-'}, {1, 2, 1, 31, '-'}, {4, 4, 1, 9999, ' '},
	{1, 2, 0, 23, ':'}, {1, 2, 0, 59, ':'}, {1, 2, 0, 59, '.'}, {1, 6, 0, 999999, 0},
}

// ParseStamp reads the time stamps of power logs, datetime.strptime with
// "%m-%d-%Y %H:%M:%S.%f".
func ParseStamp(s string) (time.Time, error) {
	var n [len(stampParts)]int
	rest, ok := s, true
	for i, part := range stampParts {
		if n[i], rest, ok = part.cut(rest); !ok {
			return time.Time{}, fmt.Errorf("%q is not a time as MM-DD-YYYY HH:MM:SS.mmm", clip(s))
		}
	}
	for range 6 - len(s[strings.LastIndexByte(s, '.')+1:]) {
		n[6] *= 10
	}
	t := time.Date(n[2], time.Month(n[0]), n[1], n[3], n[4], n[5], n[6]*1000, time.UTC)
	if t.Day() != n[1] {
		return time.Time{}, fmt.Errorf("%q is not a time: the month has no day %d", clip(s), n[1])
	}
	return t, nil
}

// cut takes the number and what must follow it off a text.
func (p stampPart) cut(s string) (n int, rest string, ok bool) {
	digits := 0
	for ; digits < len(s) && digits < p.most && s[digits] >= '0' && s[digits] <= '9'; digits++ {
		n = 10*n + int(s[digits]-'0')
	}
	rest = s[digits:]
	switch {
	case digits < p.fewest || n < p.least || n > p.greatest:
		return 0, "", false
	case p.end == 0:
		return n, "", rest == ""
	case p.end == ' ':
		after := strings.TrimLeft(rest, " \t\n\v\f\r")
		return n, after, len(after) < len(rest)
	}
	return n, strings.TrimPrefix(rest, string(p.end)), strings.HasPrefix(rest, string(p.end))
}
