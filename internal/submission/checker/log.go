package checker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/submission/python"
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

// A message is what is looked at of a line, as its text.
type message struct{ key, value, metadata []byte }

func (m *message) take(name, value []byte) {
	switch string(name) {
	case "key":
		m.key = value
	case "value":
		m.value = value
	case "metadata":
		m.metadata = value
	}
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

func isWanted(key []byte) bool {
	return slices.ContainsFunc(wanted, func(w string) bool { return len(key) >= len(w) && string(key[:len(w)]) == w })
}

const (
	marker          = ":::MLLOG"
	endpointsMarker = ":::ENDPTS"
)

// readDetail reads a detail log as the reference's log parser does.
func (g *judgement) readDetail(path string) (*detailLog, error) {
	f, err := g.tree.Open(path)
	if err != nil {
		return nil, err
	}
	log := &detailLog{path: path, values: map[string]entry{}}
	g.lines.Reset(f)
	err = log.read(g.lines)
	return log, errors.Join(err, f.Close())
}

func (d *detailLog) read(lines *python.Lines) error {
	var m message
	take := m.take // once, not for each line
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
			m = message{}
			if err := python.Members(trimRight(rest), take); err != nil {
				return lineError{lines.Line, err}
			}
			if err := d.message(m, lines.Line); err != nil {
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

func (d *detailLog) message(m message, line int) error {
	if m.key == nil || m.key[0] == '[' || m.key[0] == '{' {
		return errors.New("the message has no key")
	}
	d.countError(m.value, m.metadata, line)
	if m.key[0] != '"' {
		return nil
	}
	return d.keep(m.key, m.value, line)
}

func (d *detailLog) keep(key, value []byte, line int) error {
	name, err := nameOf(key)
	if _, twice := d.values[string(name)]; err != nil || twice || !isWanted(name) {
		return err
	}
	e := entry{line: line, whole: value != nil}
	if value != nil {
		if e.value, err = python.DecodeJSON(value); err != nil {
			return err
		}
	}
	d.values[string(name)] = e
	return nil
}

// nameOf returns what a text in quotes says.
func nameOf(key []byte) ([]byte, error) {
	if !bytes.ContainsRune(key, '\\') {
		return key[1 : len(key)-1], nil
	}
	v, err := python.DecodeJSON(key)
	name, _ := v.(string)
	return []byte(name), err
}

// noError is how LoadGen says that a message is none.
var noError = []byte(`{"is_error": false,`)

func (d *detailLog) countError(value, metadata []byte, line int) {
	if bytes.HasPrefix(metadata, noError) && bytes.Count(metadata, []byte("is_error")) == 1 {
		return
	}
	isError, known := isErrorOf(metadata)
	switch {
	case !known && d.noErrors == 0:
		d.noErrors = line
	case python.Truth(isError):
		if d.errors++; d.errors == 1 {
			d.first = logError{line, shorten(valueText(value))}
		}
	}
}

// isErrorOf returns what metadata say of a message, if they do.
func isErrorOf(metadata []byte) (isError python.Value, known bool) {
	text := []byte(nil)
	err := python.Members(metadata, func(name, v []byte) {
		if string(name) == "is_error" {
			text = v
		}
	})
	if err != nil || text == nil {
		return nil, false
	}
	isError, err = python.DecodeJSON(text)
	return isError, err == nil
}

// valueText is a value for people.
func valueText(value []byte) string {
	v, err := python.DecodeJSON(value)
	if err != nil {
		return string(value)
	}
	return python.Str(v)
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
