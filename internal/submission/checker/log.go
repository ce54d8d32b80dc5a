package checker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/submission/python"
	"github.com/mlperf-go/mlperf/internal/submission/tree"
)

// A detailLog is what is judged of a detail log: the first message of each key, and how
// many messages are errors.
type detailLog struct {
	path     string
	values   map[string]entry
	errors   int      // how many messages are errors
	first    logError // the first of them
	noErrors int      // line of the first message that does not say whether it is an error, or 0
}

type entry struct {
	line  int
	value python.Value
	whole bool // the message has a value
}

type logError struct {
	line int
	text string
}

// wanted are the keys that a check looks at, or how they start.
var wanted = []string{
	"effective_", "result_", "early_stopping_", "requested_use_token_latencies", "sut_name", "qsl_reported_total_count",
	"power_begin", "power_end", "num_errors",
}

func isWanted(key string) bool {
	for _, w := range wanted {
		if strings.HasPrefix(key, w) {
			return true
		}
	}
	return false
}

const (
	marker          = ":::MLLOG"
	endpointsMarker = ":::ENDPTS"
)

// readDetail reads a detail log as the reference's log parser does.
func readDetail(t tree.Tree, path string) (*detailLog, error) {
	f, err := t.Open(path)
	if err != nil {
		return nil, err
	}
	log := &detailLog{path: path, values: map[string]entry{}}
	err = log.read(f)
	return log, errors.Join(err, f.Close())
}

func (d *detailLog) read(src io.Reader) error {
	lines := python.NewLines(src)
	mark := []byte(nil)
	for {
		line, err := lines.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if mark == nil {
			if mark, err = markOf(line); err != nil {
				return err
			}
		}
		if rest, ok := bytes.CutPrefix(line, mark); ok {
			if err := d.message(trimRight(rest), lines.Line); err != nil {
				return lineError{lines.Line, err}
			}
		}
	}
}

// A lineError is what is wrong in a line of a file.
type lineError struct {
	line int
	err  error
}

func (e lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }

func (e lineError) Unwrap() error { return e.err }

func markOf(line []byte) ([]byte, error) {
	for _, m := range []string{marker, endpointsMarker} {
		if bytes.HasPrefix(line, []byte(m)) {
			return []byte(m), nil
		}
	}
	return nil, lineError{1, fmt.Errorf("starts with %q, want %s", shorten(string(line)), marker)}
}

func trimRight(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] > ' ' && line[n-1] < utf8.RuneSelf {
		return line
	}
	return bytes.TrimRightFunc(line, python.IsSpace)
}

func (d *detailLog) message(text []byte, line int) error {
	var key, value, metadata []byte
	err := python.Members(text, func(name string, v []byte) {
		switch name {
		case "key":
			key = v
		case "value":
			value = v
		case "metadata":
			metadata = v
		}
	})
	if err != nil {
		return err
	}
	if key == nil || key[0] == '[' || key[0] == '{' {
		return errors.New("the message has no key")
	}
	d.countError(value, metadata, line)
	if key[0] != '"' {
		return nil
	}
	return d.keep(key, value, line)
}

func (d *detailLog) keep(key, value []byte, line int) error {
	decoded, err := python.DecodeJSON(key)
	if err != nil {
		return err
	}
	name, _ := decoded.(string)
	if _, twice := d.values[name]; twice || !isWanted(name) {
		return nil
	}
	e := entry{line: line, whole: value != nil}
	if value != nil {
		if e.value, err = python.DecodeJSON(value); err != nil {
			return err
		}
	}
	d.values[name] = e
	return nil
}

// noError is how LoadGen says that a message is none.
var noError = []byte(`{"is_error": false,`)

func (d *detailLog) countError(value, metadata []byte, line int) {
	if bytes.HasPrefix(metadata, noError) && bytes.Count(metadata, []byte("is_error")) == 1 {
		return
	}
	isError := []byte(nil)
	if err := python.Members(metadata, func(name string, v []byte) {
		if name == "is_error" {
			isError = v
		}
	}); err != nil || isError == nil {
		if d.noErrors == 0 {
			d.noErrors = line
		}
		return
	}
	if v, err := python.DecodeJSON(isError); err == nil && python.Truth(v) {
		text := string(value)
		if v, err := python.DecodeJSON(value); err == nil {
			text = python.Str(v)
		}
		if d.errors++; d.errors == 1 {
			d.first = logError{line, shorten(text)}
		}
	}
}

// line returns the line of a key, or 0.
func (d *detailLog) line(key string) int { return d.values[key].line }

// text returns a value that is a text.
func (d *detailLog) text(key string) (string, bool) {
	s, ok := d.values[key].value.(string)
	return s, ok
}

// show returns a value as it is printed.
func (d *detailLog) show(key string) string {
	e, ok := d.values[key]
	switch {
	case !ok:
		return "no such key"
	case !e.whole:
		return "no value"
	}
	return python.Str(e.value)
}
