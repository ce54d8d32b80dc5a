package checker

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/submission/python"
)

var (
	activated = regexp.MustCompile(`Uncertainty checking for Yokogawa[^\t-\r\x1c-\x20\x{85}\p{Z}]+ is activated`)
	uncertain = regexp.MustCompile(`Uncertainty \p{Nd}+.\p{Nd}+%, which is above 1.00% limit for the last sample!`)
	rangingOK = []string{
		"Can't evaluate uncertainty of this sample!", "Bad watts reading nan from ", "Bad amps reading nan from ",
		"Bad pf reading nan from ", "Bad volts reading nan from ", "Current appears to be too high for set range",
	}
)

// A daemonRun is the time of ranging and of the run under test in the daemon's log.
type daemonRun struct{ startRanging, stopRanging, startLoad, stopLoad float64 }

// daemonLog reads what the power daemon says of the measurement.
func (s *session) daemonLog() error {
	r := daemonRun{}
	var err error
	if r.startLoad, r.stopLoad, err = s.window("run_1"); err != nil {
		return err
	}
	lines := []string{}
	if err := s.eachLine(s.folder+"/power/ptd_logs.txt", func(_ int, line string) bool {
		lines = append(lines, line)
		return true
	}); err != nil {
		return err
	}
	zone, _ := s.server.Get("timezone")
	if _, err := python.Int(zone); err != nil {
		return fmt.Errorf("timezone: %w", err)
	}
	name, _ := s.server.Get("session_name")
	if err := r.findRanging(lines, ": Go with mark "+python.Repr(str(name)+"_ranging")); err != nil {
		return err
	}
	if err := r.uncertaintyChecked(lines); err != nil {
		return err
	}
	return r.complaints(lines)
}

// complaints judges warnings and errors, up to the first that is worth a warning.
func (r *daemonRun) complaints(lines []string) error {
	for i, line := range lines {
		err := r.warning(line)
		if err == nil {
			err = r.failure(line)
		}
		switch {
		case errors.Is(err, errStop):
			return err
		case err != nil:
			return lineError{i + 1, err}
		}
	}
	return nil
}

// cutStamp takes a time off the start of a line, as the pattern
// \d{2}-\d{2}-\d{4} \d{2}:\d{2}:\d{2}.\d{3} does with all the digits of Unicode.
func cutStamp(line string) (stamp, rest string, found bool) {
	rest = line
	for _, want := range "00-00-0000 00:00:00.000" {
		r, size := utf8.DecodeRuneInString(rest)
		if size == 0 || !fits(r, want) {
			return "", line, false
		}
		rest = rest[size:]
	}
	return line[:len(line)-len(rest)], rest, true
}

// fits compares a character with what is wanted of it: 0 stands for every digit, a point for
// every character.
func fits(r, want rune) bool {
	switch want {
	case '0':
		return unicode.IsDigit(r)
	case '.':
		return true
	}
	return r == want
}

func lineTime(line string) (t float64, rest string, has bool, err error) {
	stamp, rest, has := cutStamp(line)
	if has {
		t, err = seconds(stamp)
	}
	return t, rest, has, err
}

func (r *daemonRun) findRanging(lines []string, mark string) error {
	for i, line := range lines {
		t, rest, has, err := lineTime(line)
		if err != nil {
			return lineError{i + 1, err}
		}
		if !has {
			continue
		}
		rest = strings.TrimFunc(rest, python.IsSpace)
		if r.startRanging == 0 && rest == mark {
			r.startRanging = t
		}
		if r.startRanging != 0 && rest == ": Completed test" {
			r.stopRanging = t
			return nil
		}
	}
	return errors.New("the time of ranging is not in the log")
}

func (r *daemonRun) uncertaintyChecked(lines []string) error {
	i := slices.IndexFunc(lines, activated.MatchString)
	if i < 0 {
		return errors.New("the check of uncertainty was not activated")
	}
	t, _, has, err := lineTime(lines[i])
	if err == nil && (!has || t >= r.startRanging) {
		err = errors.New("the check of uncertainty was activated after ranging began")
	}
	if err != nil {
		return lineError{i + 1, err}
	}
	return nil
}

// after returns what follows a mark in a line.
func after(line, mark string) (text string, t float64, found bool, err error) {
	_, rest, found := strings.Cut(line, mark)
	if !found || rest == "" {
		return "", 0, false, nil
	}
	t, _, has, err := lineTime(line)
	if err == nil && !has {
		err = fmt.Errorf("%q has no time", shorten(line))
	}
	return strings.TrimFunc(rest, python.IsSpace), t, true, err
}

func (r *daemonRun) warning(line string) error {
	text, t, found, err := after(line, "WARNING:")
	if err != nil || !found || !(r.startLoad+clockTolerance < t && t < r.stopLoad-clockTolerance) {
		return err
	}
	if uncertain.MatchString(text) {
		return fmt.Errorf("during the test: %s", shorten(text))
	}
	return errStop
}

func (r *daemonRun) failure(line string) error {
	text, t, found, err := after(line, "ERROR:")
	switch {
	case err != nil || !found:
		return err
	case text == "USB.":
		return errStop
	case !(r.startRanging < t && t < r.stopRanging):
		return fmt.Errorf("an error outside of ranging: %s", shorten(text))
	case !slices.ContainsFunc(rangingOK, func(ok string) bool { return strings.HasPrefix(text, ok) }):
		return errStop
	}
	return nil
}
