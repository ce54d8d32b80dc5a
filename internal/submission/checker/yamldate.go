package checker

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Dates of YAML 1.1: plain words that are one, and what is one behind its tag.
var (
	yamlDate  = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$|^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?$`)
	dateParts = regexp.MustCompile(`^([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?:(?:[Tt]|[ \t]+)([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+]([0-9]{1,2})(?::([0-9]{2}))?))?)?$`)
)

// checkDate refuses dates that are in no calendar, on which Python ends. All others stay texts: nothing
// that is read of these files is a date, and neither is one equal to what is wanted, nor a number.
func checkDate(text string) error {
	m := dateParts.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%q is not a date", shorten(text))
	}
	n := [9]int{}
	for i, part := range m[1:] {
		n[i+1], _ = strconv.Atoi(part) // which digits are, or nothing
	}
	day := time.Date(n[1], time.Month(n[2]), n[3], 0, 0, 0, 0, time.UTC)
	if n[1] < 1 || day.Month() != time.Month(n[2]) || day.Day() != n[3] || n[4] > 23 || n[5] > 59 || n[6] > 59 || n[7]*60+n[8] >= 24*60 {
		return fmt.Errorf("the date %s is in no calendar", text)
	}
	return nil
}
