package python

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

var stamp = regexp.MustCompile(`^(1[0-2]|0[1-9]|[1-9])-(3[01]|[12][0-9]|0[1-9]|[1-9])-([0-9]{4})[ \t-\r]+(2[0-3]|[01][0-9]|[0-9]):([0-5][0-9]|[0-9]):([0-5][0-9]|[0-9])\.([0-9]{1,6})$`)

// ParseStamp reads the time stamps of power logs, datetime.strptime with
// "%m-%d-%Y %H:%M:%S.%f".
func ParseStamp(s string) (time.Time, error) {
	m := stamp.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}, fmt.Errorf("%q is not a time as MM-DD-YYYY HH:MM:SS.mmm", clip(s))
	}
	m[7] += strings.Repeat("0", 6-len(m[7]))
	t, err := time.Parse("1-2-2006 15:4:5.000000", fmt.Sprintf("%s-%s-%s %s:%s:%s.%s", m[1], m[2], m[3], m[4], m[5], m[6], m[7]))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time: %w", clip(s), err)
	}
	return t, nil
}
