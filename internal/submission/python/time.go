package python

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// stampForm is the pattern that strptime makes of "%m-%d-%Y %H:%M:%S.%f": some digits may
// be of any script, and a day may have a space before it.
var stampForm = regexp.MustCompile(`^(1[0-2]|0[1-9]|[1-9])-(3[01]|[12]\p{Nd}|0[1-9]|[1-9]| [1-9])-(\p{Nd}{4})[\t-\r\x1c-\x20\x{85}\p{Z}]+` +
	`(2[0-3]|[01]\p{Nd}|\p{Nd}):([0-5]\p{Nd}|\p{Nd}):([0-5]\p{Nd}|\p{Nd})\.([0-9]{1,6})$`)

// ParseStamp reads the time stamps of power logs, datetime.strptime with
// "%m-%d-%Y %H:%M:%S.%f".
func ParseStamp(s string) (time.Time, error) {
	parts := stampForm.FindStringSubmatch(s)
	if parts == nil {
		return time.Time{}, fmt.Errorf("%q is not a time as MM-DD-YYYY HH:MM:SS.mmm", clip(s))
	}
	var n [7]int
	for i, part := range parts[1:] {
		n[i], _ = strconv.Atoi(asciiDigits(part)) // the pattern has checked it
	}
	for range 6 - len(parts[7]) {
		n[6] *= 10
	}
	t := time.Date(n[2], time.Month(n[0]), n[1], n[3], n[4], n[5], n[6]*1000, time.UTC)
	switch {
	case n[2] == 0:
		return time.Time{}, fmt.Errorf("%q is not a time: there is no year 0", clip(s))
	case t.Day() != n[1]:
		return time.Time{}, fmt.Errorf("%q is not a time: the month has no day %d", clip(s), n[1])
	}
	return t, nil
}
