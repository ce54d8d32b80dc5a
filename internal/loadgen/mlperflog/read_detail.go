package mlperflog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Detail is the content of a detail log.
type Detail struct {
	Name    string // of the file
	Entries []Entry
	// Refused is the first line at which the official log parser ends (submission_checker/parsers/loadgen_parser.py): not
	// JSON, or a message without a key or is_error. Such a line may have been read all the same. nil: the parser reads the log.
	Refused *LineError
	first   map[string]int // place in Entries of the first message with a key
}

// An Entry is a message of a detail log.
type Entry struct {
	Line      int // counted from 1
	Key       string
	Value     any // nil, bool, string, int64, uint64 above its range, float64 or Compound
	IsError   bool
	IsWarning bool
}

// A Compound is the JSON of a list or an object, cut: the sets of samples that were loaded may have megabytes.
type Compound string

// A LineError is a line of a log that is not as it should be.
type LineError struct {
	File    string
	Line    int
	Problem string
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Problem) }

// longestLine is the most that is read of a line. The longest that LoadGen writes has the indices of a sample set.
const longestLine = 64 << 20

// ReadDetail reads a detail log of any version of LoadGen. The error names the lines that it cannot read; the Detail has
// the others. Of a file that cannot be opened it is nil.
func ReadDetail(path string) (*Detail, error) {
	f, err := fileio.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading a detail log: %w", err)
	}
	d, err := parseDetail(path, f)
	return d, errors.Join(err, f.Close())
}

func parseDetail(name string, r io.Reader) (*Detail, error) {
	d := &Detail{Name: name, first: map[string]int{}}
	bad := &problems{file: name}
	var old *textParser
	lines, n := bufio.NewScanner(r), 0
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		line := lines.Bytes()
		if n++; n == 1 && bytes.HasPrefix(line, []byte(`"pid": `)) {
			old = &textParser{detail: d, bad: bad}
		}
		if old != nil {
			old.line(n, string(line))
		} else {
			d.parseLine(n, line, bad)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		d.refuse(bad.add(n+1, "the line is longer than %d MiB", longestLine>>20))
	case err != nil:
		d.refuse(bad.add(n+1, "%v", err))
	case n == 0:
		bad.add(1, "the log is empty")
	}
	return d, bad.join()
}

// refuse remembers the first line that the official parser does not read.
func (d *Detail) refuse(at *LineError) {
	if d.Refused == nil {
		d.Refused = at
	}
}

func (d *Detail) add(e Entry) {
	if _, again := d.first[e.Key]; !again {
		d.first[e.Key] = len(d.Entries)
	}
	d.Entries = append(d.Entries, e)
}

// Every message begins with one of these since v1.0: of LoadGen, and of MLCommons' client of endpoints.
const (
	marker          = ":::MLLOG"
	endpointsMarker = ":::ENDPTS"
)

// A message is the JSON of a line.
type message struct {
	Key      *string        `json:"key"`
	Value    jsontext.Value `json:"value"`
	Metadata struct {
		IsError   *bool `json:"is_error"`
		IsWarning bool  `json:"is_warning"`
	} `json:"metadata"`
}

func (m *message) parse(text []byte) error {
	return json.Unmarshal(text, m, jsontext.AllowDuplicateNames(true)) // Python takes the last one
}

func (d *Detail) parseLine(n int, line []byte, bad *problems) {
	text, marked := bytes.CutPrefix(line, []byte(marker))
	if !marked {
		text, marked = bytes.CutPrefix(line, []byte(endpointsMarker))
	}
	if !utf8.Valid(line) {
		d.refuse(bad.at(n, "not UTF-8"))
	}
	if !marked {
		if at := bad.add(n, "expected a line that begins with %s, got %q", marker, shorten(string(line))); n == 1 {
			d.refuse(at) // the parser passes over others
		}
		return
	}
	text = withoutIndices(text)
	var m message
	if err := m.parse(text); err != nil {
		m = message{}
		wrong := "not JSON: " + shorten(strings.TrimPrefix(err.Error(), "jsontext: "))
		if err := m.repair(text); err != nil {
			d.refuse(bad.add(n, "%s", wrong))
			return
		}
		if v := string(m.Value); v != "NaN" && v != "Infinity" && v != "-Infinity" { // which Python reads
			d.refuse(bad.at(n, "%s", wrong))
		}
	}
	if m.Key == nil {
		d.refuse(bad.add(n, "the message has no key"))
		return
	}
	e := Entry{Line: n, Key: *m.Key, Value: parseValue(m.Value), IsWarning: m.Metadata.IsWarning}
	if m.Metadata.IsError == nil {
		d.refuse(bad.at(n, "the message %s does not say whether it is an error", shorten(e.Key)))
	} else {
		e.IsError = *m.Metadata.IsError
	}
	d.add(e)
}

// withoutIndices leaves the numbers out of a long list, the sample set of loaded_qsl_set: they are most of many logs, and
// nothing reads them.
func withoutIndices(text []byte) []byte {
	before := []byte(`"value": [`)
	if start := bytes.Index(text, before); start >= 0 {
		start += len(before)
		if n := bytes.IndexByte(text[start:], ']'); n > 200 {
			return slices.Concat(text[:start], []byte(`"…"`), text[start+n:])
		}
	}
	return text
}

// repair reads a line that LoadGen writes and JSON does not allow: it escapes nothing in strings, and writes nan and inf.
// The value lies between fixed texts there; it is cut out, and the rest is read as JSON.
func (m *message) repair(text []byte) error {
	before, after := []byte(`"value": `), []byte(`, "time_ms": `)
	start, end := bytes.Index(text, before)+len(before), bytes.LastIndex(text, after)
	if start < len(before) || end <= start {
		return errors.New("no value before time_ms")
	}
	value := bytes.Clone(text[start:end])
	if err := m.parse(slices.Concat(text[:start], []byte("0"), text[end:])); err != nil {
		return err
	}
	m.Value = value
	if _, isReal := parseReal(string(value)); !isReal && !(len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"') {
		return errors.New("neither a number nor a text")
	}
	return nil
}

// parseValue gives a JSON value its type.
func parseValue(raw []byte) any {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil
	case raw[0] == '"':
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw[1 : len(raw)-1]) // repaired
		}
		return s
	case raw[0] == '[' || raw[0] == '{':
		return Compound(shorten(string(raw)))
	}
	return parseScalar(string(raw))
}

// parseScalar returns a word as a bool or a number if it is one, else as a string.
func parseScalar(word string) any {
	if word == "true" || word == "false" {
		return word == "true"
	}
	if v, err := strconv.ParseInt(word, 10, 64); err == nil {
		return v
	}
	if v, err := strconv.ParseUint(word, 10, 64); err == nil {
		return v
	}
	if v, ok := parseReal(word); ok {
		return v
	}
	return word
}

// parseReal reads a number in any spelling that a LoadGen or general writes.
func parseReal(text string) (float64, bool) {
	if text == "-nan" {
		return math.NaN(), true
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !strings.ContainsAny(text, "_xX") // those are Go's own
}

// maxErrors is how many errors of a file are reported one by one.
const maxErrors = 20

// A problems collects the errors of a file.
type problems struct {
	file string
	list []error
	more int
}

// at makes the error of a line.
func (p *problems) at(line int, format string, args ...any) *LineError {
	return &LineError{p.file, line, userinput.Cut(fmt.Sprintf(format, args...), 300)}
}

// add collects the error of a line, and returns it.
func (p *problems) add(line int, format string, args ...any) *LineError {
	e := p.at(line, format, args...)
	if len(p.list) == maxErrors {
		p.more++
	} else {
		p.list = append(p.list, e)
	}
	return e
}

func (p *problems) join() error {
	if p.more > 0 {
		p.list = append(p.list, fmt.Errorf("%s: %d more lines are wrong", p.file, p.more))
	}
	return errors.Join(p.list...)
}

// shorten cuts a quotation of a log.
func shorten(s string) string { return userinput.Cut(s, 80) }

// ErrNoKey is the cause of errors about a key that a log does not have.
var ErrNoKey = errors.New("no such key in the log")

// First returns the first message with a key, which is the one that the official parsers take.
func (d *Detail) First(key string) (Entry, bool) {
	i, ok := d.first[key]
	if !ok {
		return Entry{}, false
	}
	return d.Entries[i], true
}

// Errors returns the messages that are errors.
func (d *Detail) Errors() []Entry { return d.filter(func(e Entry) bool { return e.IsError }) }

// Warnings returns the messages that are warnings.
func (d *Detail) Warnings() []Entry { return d.filter(func(e Entry) bool { return e.IsWarning }) }

func (d *Detail) filter(f func(Entry) bool) []Entry {
	var list []Entry
	for _, e := range d.Entries {
		if f(e) {
			list = append(list, e)
		}
	}
	return list
}

func (d *Detail) find(key string) (Entry, error) {
	e, ok := d.First(key)
	if !ok {
		return e, fmt.Errorf("%s: %s: %w", d.Name, key, ErrNoKey)
	}
	return e, nil
}

func (d *Detail) wrong(e Entry, want string) error {
	return &LineError{d.Name, e.Line, fmt.Sprintf("%s is %s: must be %s", shorten(e.Key), shorten(fmt.Sprint(e.Value)), want)}
}

// Ours reports whether this program made the log.
func (d *Detail) Ours() bool {
	version, _ := d.Text("loadgen_version")
	return strings.HasPrefix(version, "mlperf ")
}

// Text returns a text.
func (d *Detail) Text(key string) (string, error) {
	e, err := d.find(key)
	s, ok := e.Value.(string)
	if err == nil && !ok {
		err = d.wrong(e, "a text")
	}
	return s, err
}

// Bool returns a switch.
func (d *Detail) Bool(key string) (bool, error) {
	e, err := d.find(key)
	on, ok := e.Value.(bool)
	if err == nil && !ok {
		err = d.wrong(e, "true or false")
	}
	return on, err
}

// Uint returns a whole number that is not negative. LoadGen writes some as 1e+06.
func (d *Detail) Uint(key string) (uint64, error) {
	e, err := d.find(key)
	if err != nil {
		return 0, err
	}
	switch v := e.Value.(type) {
	case uint64:
		return v, nil
	case int64:
		if v >= 0 {
			return uint64(v), nil
		}
	case float64:
		if v >= 0 && v < 1<<63 && v == math.Trunc(v) {
			return uint64(v), nil
		}
	}
	return 0, d.wrong(e, "a whole number that is not negative")
}

// Float returns a number.
func (d *Detail) Float(key string) (float64, error) {
	e, err := d.find(key)
	v, ok := toFloat(e.Value)
	if err == nil && !ok {
		err = d.wrong(e, "a number")
	}
	return v, err
}

func toFloat(value any) (float64, bool) {
	switch v := value.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	}
	return 0, false
}

// Time returns a time in nanoseconds, or of a key that ends with _duration_ms in milliseconds (early_stopping_latency_ms is
// named for MultiStream).
func (d *Detail) Time(key string) (time.Duration, error) {
	unit := time.Nanosecond
	if strings.HasSuffix(key, "_duration_ms") {
		unit = time.Millisecond
	}
	return d.time(key, unit)
}

func (d *Detail) time(key string, unit time.Duration) (time.Duration, error) {
	v, err := d.Uint(key)
	if err == nil && v > uint64(math.MaxInt64/unit) {
		e, _ := d.First(key)
		v, err = 0, d.wrong(e, "a time below 292 years")
	}
	return time.Duration(v) * unit, err
}

// Valid reports whether the log has a result, and whether that is VALID.
func (d *Detail) Valid() (valid, hasResult bool, err error) {
	text, err := d.Text("result_validity")
	switch {
	case errors.Is(err, ErrNoKey):
		return false, false, nil
	case err != nil:
		return false, false, err
	case text != "VALID" && text != "INVALID":
		e, _ := d.First("result_validity")
		return false, true, d.wrong(e, "VALID or INVALID")
	}
	return text == "VALID", true, nil
}

// Scenario returns the scenario of the test.
func (d *Detail) Scenario() (loadgen.Scenario, error) {
	return parsed(d, loadgen.ParseScenario)("effective_scenario")
}

// parsed returns the reader of a text of a type that has a parser.
func parsed[T any](d *Detail, parse func(string) (T, error)) func(key string) (T, error) {
	return func(key string) (v T, err error) {
		text, err := d.Text(key)
		if err != nil {
			return v, err
		}
		if v, err = parse(text); err != nil {
			e, _ := d.First(key)
			return *new(T), &LineError{d.Name, e.Line, shorten(err.Error())}
		}
		return v, nil
	}
}

// read sets a field to the value of a key. If the key is missing, or has a value of another kind, which is an error, the field
// keeps its value; ifSet: it becomes zero.
func (d *Detail) read(key string, field any, ifSet bool) (err error) {
	switch field := field.(type) {
	case *uint64:
		err = set(field, d.Uint, key, ifSet)
	case *int:
		small := func(key string) (int, error) { v, err := d.Uint(key); return int(min(v, math.MaxInt32)), err }
		err = set(field, small, key, ifSet)
	case *float64:
		err = set(field, d.Float, key, ifSet)
	case *bool:
		err = set(field, d.Bool, key, ifSet)
	case *time.Duration:
		err = set(field, func(key string) (time.Duration, error) { return d.time(key, unitOf(key)) }, key, ifSet)
	case *loadgen.Scenario:
		err = set(field, parsed(d, loadgen.ParseScenario), key, ifSet)
	case *loadgen.Arrivals:
		err = set(field, parsed(d, loadgen.ParseArrivals), key, ifSet)
	case *loadgen.Mode:
		err = set(field, parsed(d, loadgen.ParseMode), key, ifSet)
	}
	if errors.Is(err, ErrNoKey) {
		return nil
	}
	return err
}

func set[T any](field *T, get func(key string) (T, error), key string, ifSet bool) error {
	v, err := get(key)
	if err == nil || ifSet {
		*field = v
	}
	return err
}

// Effective returns the effective settings. Those that LoadGen did not have at the time, or does not log, are zero.
func (d *Detail) Effective() (loadgen.EffectiveSettings, error) {
	var e loadgen.EffectiveSettings
	var errs []error
	for _, row := range loadgen.Settings() {
		switch field := row.Effective(&e); {
		case field == nil:
		case row.EffectiveKey != "":
			errs = append(errs, d.read("effective_"+row.EffectiveKey, field, false))
		case row.RequestedKey != "": // the effective one is not logged
			errs = append(errs, d.read("requested_"+row.RequestedKey, field, false))
		}
	}
	if factor, known := d.inferred(e.Scenario); known {
		e.InferTokenLatencies, e.TokenLatencyScalingFactor = factor > 0, factor
	}
	return e, errors.Join(errs...)
}

// inferred returns how many tokens a sample counts for: 0 if none are inferred. LoadGen logs neither setting, but the rate
// that follows from them, in Server and Offline. Unknown without the result of such a test.
func (d *Detail) inferred(s loadgen.Scenario) (factor uint64, known bool) {
	keys := [2]string{"result_inferred_tokens_per_second", "result_samples_per_second"}
	if s == loadgen.Server {
		keys = [2]string{"result_inferred_completed_tokens_per_second", "result_completed_samples_per_sec"}
	}
	samples, err := d.Float(keys[1])
	if _, has := d.First(keys[0]); !has {
		return 0, err == nil && (s == loadgen.Server || s == loadgen.Offline)
	}
	tokens, err2 := d.Float(keys[0])
	ratio := math.Round(tokens / samples)
	return uint64(ratio), errors.Join(err, err2) == nil && ratio >= 1 && ratio < 1<<53
}

// Requested returns the settings that the test was asked to have. Those that the log does not have, or not as it should,
// keep the value of base, but for those that are logged only if they are set. Whether tokens are inferred follows from the results.
func (d *Detail) Requested(base loadgen.TestSettings) (loadgen.TestSettings, error) {
	s := base
	var errs []error
	for _, row := range loadgen.Settings() {
		if field := row.Requested(&s); field != nil && row.RequestedKey != "" {
			errs = append(errs, d.read("requested_"+row.RequestedKey, field, row.IfSet))
		}
	}
	if factor, known := d.inferred(s.Scenario); known {
		if s.InferTokenLatencies = factor > 0; factor > 0 {
			s.TokenLatencyScalingFactor = factor
		}
	}
	return s, errors.Join(errs...)
}
