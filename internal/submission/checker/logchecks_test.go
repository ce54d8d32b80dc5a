package checker

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/submission/python"
)

func readLogText(text string) (*detailLog, error) {
	log := &detailLog{path: "log", values: map[string]entry{}}
	return log, log.read(python.NewLines(strings.NewReader(text)))
}

func TestLinesOfALogThatCannotBeReadAreNamed(t *testing.T) {
	const first = `:::MLLOG {"key": "a", "value": 1}` + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"other lines among messages", first + "hello\n\n", ""},
		{"no marker", "hello\n" + first, `line 1: starts with "hello", want :::MLLOG`},
		{"an empty first line", "\n" + first, `line 1: starts with "", want :::MLLOG`},
		{"a byte order mark", "\ufeff" + first, `line 1: starts with "\ufeff:::MLLOG {\"key\": \"a\", \"value\": 1}", want :::MLLOG`},
		{"a message that is cut", first + first + `:::MLLOG {"key": "a", "val`, "line 3: line 1, byte 18: want a quote at the end of a text"},
		{"a message that is a list", first + ":::MLLOG [1]\n", "line 2: line 1, byte 1: want an object"},
		{"more behind a message", first + ":::MLLOG {} x\n", "line 2: line 1, byte 4: want nothing after the value"},
		{"no key", first + ":::MLLOG {\"value\": 1}\n", "line 2: the message has no key"},
		{"a key that is a list", first + ":::MLLOG {\"key\": [1]}\n", "line 2: the message has no key"},
		{"a key that is an object", first + ":::MLLOG {\"key\": {}}\n", "line 2: the message has no key"},
		{"a key that is a number", first + ":::MLLOG {\"key\": 5}\n", ""},
		{"a key that is null", first + ":::MLLOG {\"key\": null}\n", ""},
		{"the marker of the endpoints", strings.ReplaceAll(first, "MLLOG", "ENDPTS") + ":::MLLOG broken\n", ""},
		{"spaces behind a message", ":::MLLOG {\"key\": 1} \t\u00a0\u2003\n", ""},
		{"a marker that does not begin its line", first + " :::MLLOG broken\n", ""},
		{"not UTF-8", first + "# \xff\n", "line 2: not UTF-8"},
	} {
		_, err := readLogText(c.text)
		wantText(t, c.name, err, c.want)
	}
}

func TestOfAKeyTheFirstMessageCounts(t *testing.T) {
	log, err := readLogText(`:::MLLOG {"key": "x", "value": 0}
:::MLLOG {"key": "effective_\u0073cenario", "value": "Offline", "metadata": {"is_error": false}}
:::MLLOG {"key": "effective_scenario", "value": "Server", "metadata": {"is_error": false}}
:::MLLOG {"key": "result_x", "value": 1, "value": [2, {"a": null}], "key": "result_y", "metadata": {"is_error": false}}
:::MLLOG {"key": "sut_name", "metadata": {"is_error": false}}
:::MLLOG {"key": "sut_name", "value": "later", "metadata": {"is_error": false}}
`)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"effective_scenario": "Offline", "result_x": "no such key", "result_y": "[2, {'a': None}]", "sut_name": "no value", "x": "no such key",
	} {
		if got := log.show(key); got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
	if a, b := log.line("effective_scenario"), log.line("sut_name"); a != 2 || b != 5 || log.line("gone") != 0 {
		t.Errorf("lines %d and %d, want 2 and 5", a, b)
	}
	if text, ok := log.text("result_y"); ok || text != "" {
		t.Errorf("a list is the text %q", text)
	}
}

func TestErrorsAreCountedAsPythonTakesThem(t *testing.T) {
	for metadata, want := range map[string]struct{ errors, unknown int }{
		`{"is_error": false, "is_warning": true}`: {0, 0},
		`{"is_error": false, "is_error": true}`:   {1, 0}, // the last counts
		`{"is_error": true, "is_error": false}`:   {0, 0},
		`{"is_error":false}`:                      {0, 0},
		`{"is_error": 0.0}`:                       {0, 0},
		`{"is_error": ""}`:                        {0, 0},
		`{"is_error": null}`:                      {0, 0},
		`{"is_error": []}`:                        {0, 0},
		`{"is_error": "no"}`:                      {1, 0},
		`{"is_error": NaN}`:                       {1, 0},
		`{"is_error": {"a": 1}}`:                  {1, 0},
		`{"\u0069s_error": true}`:                 {1, 0},
		`{"x": {"is_error": true}}`:               {0, 1},
		`{}`:                                      {0, 1},
		`null`:                                    {0, 1},
		`[{"is_error": true}]`:                    {0, 1},
		`"is_error"`:                              {0, 1},
	} {
		log, err := readLogText(`:::MLLOG {"key": "a", "value": {"why": 1}, "metadata": ` + metadata + "}\n")
		if err != nil || log.errors != want.errors || log.noErrors != want.unknown {
			t.Errorf("%s: %d errors, unknown in line %d, %v, want %+v", metadata, log.errors, log.noErrors, err, want)
		}
		if log.errors > 0 && (log.first.line != 1 || log.first.text != "{'why': 1}") {
			t.Errorf("%s: the first error is %+v", metadata, log.first)
		}
	}
}

// A log without the keys that nobody looks at is read as one with them, whatever the order.
func TestOnlyWantedKeysMatter(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	keys := []string{"effective_a", "result_b", "early_stopping_c", "num_errors", "power_begin", "sut_name", "other", "loadgen_version", "xeffective_a"}
	values := []string{"1", "2.5", `"text"`, "null", "true", "[1, 2]", `{"a": "b"}`}
	for range 200 {
		var all, less []string
		for range rnd.IntN(12) {
			line := keys[rnd.IntN(len(keys))] + " " + values[rnd.IntN(len(values))]
			if all = append(all, line); isWanted([]byte(strings.Fields(line)[0])) {
				less = append(less, line)
			}
		}
		a, b := logOf(t, "log", all...), logOf(t, "log", less...)
		if len(a.values) != len(b.values) {
			t.Fatalf("%v: %d keys, %d without the others", all, len(a.values), len(b.values))
		}
		for key, e := range a.values {
			if python.Repr(e.value) != python.Repr(b.values[key].value) || !isWanted([]byte(key)) {
				t.Errorf("%v: %s is %s, %s without the others", all, key, a.show(key), b.show(key))
			}
		}
	}
}

func TestErrorsSayALineOnce(t *testing.T) {
	for text, want := range map[string]string{
		"line 3: not UTF-8":              "not UTF-8",
		"line 3: line 1, byte 7: want x": "byte 7: want x",
		"line 12, byte 7: want x":        "byte 7: want x",
		"yaml: line 3: mapping values":   "yaml: line 3: mapping values", // which nobody else says
		"line is longer than 64 MiB":     "line is longer than 64 MiB",
		"the line 3: x":                  "the line 3: x",
		"line x: y":                      "line x: y",
		"":                               "",
	} {
		if got := plain(textError(text)); got != want {
			t.Errorf("plain(%q) = %q, want %q", text, got, want)
		}
	}
}

type textError string

func (e textError) Error() string { return string(e) }
