package power

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// readFile reads the file of a meter, after the test.
func readFile(s Source) (*Record, error) {
	f, err := fileio.Open(s.Path)
	if err != nil {
		return nil, fmt.Errorf("the meter's file: %w", err)
	}
	defer f.Close()
	series, err := parseCSV(f, s.Offset)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	series.Name = "file " + s.Path
	return &Record{Series: []Series{series}, Offset: s.Offset}, nil
}

// checkFile reads the first line of a meter's file, if it is there already.
func checkFile(path string) error {
	f, err := fileio.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	const longest = 1 << 16 // of the line
	head, err := bufio.NewReader(io.LimitReader(f, longest)).ReadString('\n')
	if errors.Is(err, io.EOF) && len(head) < longest {
		return nil // the meter has not written it yet
	}
	fields, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(head, byteOrderMark))).Read()
	if err == nil {
		_, _, _, err = columns(fields)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// The names of the columns of times and of watts.
var (
	timeColumns = []string{"time", "timestamp", "datetime", "date", "t"}
	wattColumns = []string{"watts", "watt", "power", "w", "power_w", "power(w)", "power [w]", "watts (w)"}
)

// byteOrderMark is the beginning of texts of some programs on Windows.
const byteOrderMark = "\ufeff"

// parseCSV reads times and watts. The first line names the columns; one of PTDaemon's begins
// with Time and names its fields in every line. Times are those of the meter plus offset, and must
// not go back.
func parseCSV(r io.Reader, offset time.Duration) (Series, error) {
	var s Series
	text := bufio.NewReader(r)
	if mark, _ := text.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = text.Discard(len(byteOrderMark)) // it was there
	}
	c := csv.NewReader(text)
	c.FieldsPerRecord, c.TrimLeadingSpace, c.ReuseRecord = -1, true, true
	at, watts := -1, -1
	for {
		fields, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s, err
		}
		header := false
		if at < 0 {
			at, watts, header, err = columns(fields)
		}
		if err == nil && !header {
			err = s.addLine(fields, at, watts, offset)
		}
		if err != nil {
			line, _ := c.FieldPos(0)
			return s, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if len(s.Points) < 2 {
		return s, fmt.Errorf("%d lines with watts, expected two or more", len(s.Points))
	}
	return s, nil
}

// columns finds where times and watts are.
func columns(fields []string) (at, watts int, header bool, err error) {
	if isSample(fields) { // of PTDaemon
		return 1, 3, false, nil
	}
	find := func(names []string) int {
		return slices.IndexFunc(fields, func(f string) bool { return slices.Contains(names, strings.ToLower(strings.TrimSpace(f))) })
	}
	at, watts = find(timeColumns), find(wattColumns)
	if at < 0 || watts < 0 {
		return -1, -1, false, fmt.Errorf("%q: must be columns named time and watts", strings.Join(fields, ","))
	}
	return at, watts, true, nil
}

func (s *Series) addLine(fields []string, at, watts int, offset time.Duration) error {
	if len(fields) <= max(at, watts) {
		return fmt.Errorf("%d fields, expected %d", len(fields), max(at, watts)+1)
	}
	t, err := parseTime(strings.TrimSpace(fields[at]))
	if err != nil {
		return err
	}
	w, err := parseWatts(fields[watts])
	if err != nil {
		return err
	}
	t = t.Add(offset)
	if n := len(s.Points); n > 0 && !t.After(s.Points[n-1].At) {
		return fmt.Errorf("the time %s is not after the one before", fields[at])
	}
	s.addWatts(t, w)
	return nil
}

func parseWatts(text string) (float64, error) {
	w, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(w >= 0) || math.IsInf(w, 0) {
		return 0, fmt.Errorf("%q is not a power in watts", text)
	}
	return w, nil
}

// ptdTime is PTDaemon's form of times. Like other forms without a zone it stands for UTC.
const ptdTime = "01-02-2006 15:04:05.000"

// parseTime reads a time as meters write it: RFC 3339, with a space, PTDaemon's, or seconds or
// milliseconds since 1970.
func parseTime(text string) (time.Time, error) {
	for _, form := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", ptdTime} {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	n, _ := strconv.ParseFloat(text, 64) // of a text that is not a number, 0 or infinity
	const year2001, year2286 = 1e9, 1e10 // in seconds; the same in milliseconds is a thousand times later
	switch {
	case n >= year2001 && n < year2286:
		return time.UnixMicro(int64(math.Round(n * 1e6))), nil
	case n >= year2001*1e3 && n < year2286*1e3:
		return time.UnixMicro(int64(math.Round(n * 1e3))), nil
	}
	return time.Time{}, fmt.Errorf("%q is not a time, expected 2026-01-31T12:00:00.5Z, 2026-01-31 12:00:00.5 (UTC) or seconds since 1970", text)
}
