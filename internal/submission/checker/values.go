package checker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
)

// The values of logs, JSON and YAML are nil, bool, string, int64, uint64, float64, mlperflog.Compound, []any and
// map[string]any. The functions below treat them as the official checker, a Python program, does.

const (
	largestJSON = 16 << 20 // bytes; the values may take ten times as much memory
	largestYAML = 1 << 20
)

// readJSON reads a JSON file. Of a name that comes twice, the last value counts.
func (t tree) readJSON(path string) (any, error) {
	data, err := t.read(path, largestJSON)
	if err != nil {
		return nil, err
	}
	return parseJSON(data)
}

func parseJSON(data []byte) (v any, err error) {
	if !utf8.Valid(data) {
		return nil, errors.New("not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err = d.Decode(&v); err == nil {
		if _, err = d.Token(); err == nil {
			err = errors.New("something follows the value")
		} else if errors.Is(err, io.EOF) {
			return typed(v), nil
		}
	}
	at := d.InputOffset()
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		at = syntax.Offset
	}
	return nil, lineError{1 + bytes.Count(data[:min(int(at), len(data))], []byte("\n")), err}
}

// readYAML reads a YAML file. An empty one is nil.
func (t tree) readYAML(path string) (v any, err error) {
	data, err := t.read(path, largestYAML)
	if err != nil {
		return nil, err
	}
	if err = yaml.Unmarshal(data, &v); err != nil {
		return nil, errors.New(strings.Join(strings.Fields(err.Error()), " ")) // which has several lines
	}
	return typed(v), nil
}

// typed gives numbers one of the three types.
func typed(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n
		}
		f, _ := v.Float64() // out of range is ±Inf, as in Python
		return f
	case int:
		return int64(v)
	case []any:
		for i := range v {
			v[i] = typed(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = typed(v[name])
		}
	}
	return v
}

// A lineError is an error of a line of a file.
type lineError struct {
	line int
	err  error
}

func (e lineError) Error() string { return e.err.Error() }
func (e lineError) Unwrap() error { return e.err }

// lineOf returns the line that an error is about, or 0.
func lineOf(err error) int {
	var line lineError
	var logLine *mlperflog.LineError
	switch {
	case errors.As(err, &line):
		return line.line
	case errors.As(err, &logLine):
		return logLine.Line
	}
	return 0
}

// number returns a value that is a number.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// parseNumber returns a value that is a number, or a text of one: Python's float.
func parseNumber(v any) (float64, error) {
	if f, ok := number(v); ok {
		return f, nil
	}
	text, _ := v.(string)
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil && !math.IsInf(f, 0) { // what is too large is ±Inf, as in Python
		return 0, fmt.Errorf("%q is not a number", shorten(str(v)))
	}
	return f, nil
}

// parseWhole returns a number without its decimals, or a text that is a whole number: Python's int.
func parseWhole(v any) (int64, error) {
	f, ok := number(v)
	if text, isText := v.(string); isText {
		if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
			return n, nil
		}
	}
	if !ok || math.IsNaN(f) || math.Abs(f) >= 1<<63 {
		return 0, fmt.Errorf("%q is not a whole number", shorten(str(v)))
	}
	return int64(f), nil
}

// truth reports whether Python takes a value for true: not 0, and not empty.
func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case mlperflog.Compound:
		return v != "[]" && v != "{}"
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	f, _ := number(v)
	return f != 0
}

// str writes a value as Python prints it; lists and objects as JSON.
func str(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case string:
		return v
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case float64:
		return formatFloat(v)
	case []any, map[string]any:
		text, err := json.Marshal(v)
		if err != nil { // NaN of a YAML file
			return fmt.Sprint(v)
		}
		return string(text)
	}
	return fmt.Sprint(v)
}

// formatFloat writes a number as Python does: with an exponent below 1e-4 and from 1e16 on, else with a decimal.
func formatFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+"))
	case f != 0 && (math.Abs(f) < 1e-4 || math.Abs(f) >= 1e16):
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// member returns a member of an object, nil if there is none.
func member(v any, name string) any {
	d, _ := v.(map[string]any)
	return d[name]
}
