package mlperflog

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A Detail is what is in a detail log.
type Detail struct {
	Name    string // of the file
	Entries []Entry
	first   map[string]int
}

// An Entry is a message of a detail log.
type Entry struct {
	Line int // counted from 1
	Key  string
	// Value is a string, a bool, an int64, a uint64 above its range, a float64, a
	// []uint64 or a map[string]string.
	Value     any
	TimeMS    float64 // since the log began; negative for messages of before that
	IsError   bool
	IsWarning bool
}

// ReadDetail reads a detail log of any version of LoadGen. If lines cannot be understood it
// returns what it has read of the others, and an error.
func ReadDetail(path string) (*Detail, error) {
	text, err := fileio.ReadFile(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("reading a detail log: %w", err)
	}
	return parseDetail(path, string(text))
}

// maxFile is how long a log may be. Even with the instants of a million samples it has some
// hundred megabytes.
const maxFile = 1 << 30

// marker begins every line since v1.0.
const marker = ":::MLLOG"

func parseDetail(name, text string) (*Detail, error) {
	d := &Detail{Name: name, first: map[string]int{}}
	bad := &problems{file: name}
	if strings.HasPrefix(text, `"pid": `) {
		(&textParser{detail: d, bad: bad}).parse(text)
		return d, bad.join()
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		d.parseLine(n, strings.TrimRight(line, "\r\n"), bad)
	}
	if n == 0 {
		bad.add(1, "the log is empty")
	}
	return d, bad.join()
}

func (d *Detail) parseLine(n int, line string, bad *problems) {
	message, ok := strings.CutPrefix(line, marker)
	if !ok {
		bad.add(n, "want a line that begins with %s, got %q", marker, shorten(line))
		return
	}
	e, err := parseMessage(message)
	if err != nil {
		bad.add(n, "%v", err)
		return
	}
	e.Line = n
	d.add(e)
}

func (d *Detail) add(e Entry) {
	if _, again := d.first[e.Key]; !again {
		d.first[e.Key] = len(d.Entries)
	}
	d.Entries = append(d.Entries, e)
}

// A message is the JSON of a line.
type message struct {
	Key      *string         `json:"key"`
	Value    json.RawMessage `json:"value"`
	TimeMS   *float64        `json:"time_ms"`
	Metadata struct {
		IsError   bool `json:"is_error"`
		IsWarning bool `json:"is_warning"`
	} `json:"metadata"`
}

func parseMessage(text string) (Entry, error) {
	var m message
	raw, repaired := "", false
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		if raw, repaired = repair(text, &m); !repaired {
			return Entry{}, fmt.Errorf("not JSON: %s", shorten(err.Error()))
		}
	} else {
		raw = string(m.Value)
	}
	if m.Key == nil || m.TimeMS == nil || raw == "" {
		return Entry{}, fmt.Errorf("want a message with key, value and time_ms, got %q", shorten(text))
	}
	value, ok := parseValue(raw)
	if !ok {
		return Entry{}, fmt.Errorf("%s has a value of no known kind: %q", shorten(*m.Key), shorten(raw))
	}
	return Entry{
		Key: *m.Key, Value: value, TimeMS: unwrapped(*m.TimeMS), IsError: m.Metadata.IsError, IsWarning: m.Metadata.IsWarning,
	}, nil
}

// unwrapped undoes what LoadGen does to the times of messages of before its log began: it
// prints negative nanoseconds as unsigned ones, in milliseconds.
func unwrapped(ms float64) float64 {
	const wrap = (1 << 64) / 1e6
	if ms >= wrap/2 && ms < wrap+1 {
		return ms - wrap
	}
	return ms
}

// repair reads a line that LoadGen has written but JSON does not allow: it
// escapes nothing in strings, and writes nan and inf. The value lies between fixed
// texts there; it is cut out, and the rest is read as JSON.
func repair(text string, m *message) (value string, ok bool) {
	const before, after = `"value": `, `, "time_ms": `
	start, end := strings.Index(text, before), strings.LastIndex(text, after)
	if start < 0 || end < start+len(before) {
		return "", false
	}
	value = text[start+len(before) : end]
	if json.Unmarshal([]byte(text[:start]+`"value": 0`+text[end:]), m) != nil {
		return "", false
	}
	_, isReal := parseReal(value)
	isText := len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"'
	return value, isReal || isText
}

// parseValue gives a JSON value its type.
func parseValue(raw string) (any, bool) {
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal([]byte(raw), &s) != nil {
			s = raw[1 : len(raw)-1] // repaired
		}
		return s, true
	case '[':
		list := []uint64{}
		return list, json.Unmarshal([]byte(raw), &list) == nil && list != nil
	case '{':
		m := map[string]string{}
		err := json.Unmarshal([]byte(raw), &m)
		return m, err == nil
	}
	return parseScalar(raw)
}

// parseScalar gives a bare word its type.
func parseScalar(word string) (any, bool) {
	switch word {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	if v, err := strconv.ParseInt(word, 10, 64); err == nil {
		return v, true
	}
	if v, err := strconv.ParseUint(word, 10, 64); err == nil {
		return v, true
	}
	v, ok := parseReal(word)
	return v, ok
}
