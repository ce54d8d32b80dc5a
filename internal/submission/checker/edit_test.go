package checker

import (
	"regexp"
	"strings"
)

// set gives a key of a log another value, as JSON.
func (e *edit) set(path, key, value string) {
	e.t.Helper()
	re := regexp.MustCompile(`("key": "` + regexp.QuoteMeta(key) + `", "value": ).*?(, "time_ms")`)
	have := e.read(path)
	if !re.MatchString(have) {
		e.t.Fatalf("%s has no key %s", path, key)
	}
	e.write(path, re.ReplaceAllString(have, "${1}"+strings.ReplaceAll(value, "$", "$$")+"${2}"))
}

// drop takes a key out of a log.
func (e *edit) drop(path, key string) {
	e.t.Helper()
	re := regexp.MustCompile(`(?m)^.*"key": "` + regexp.QuoteMeta(key) + `".*\n`)
	have := e.read(path)
	if !re.MatchString(have) {
		e.t.Fatalf("%s has no key %s", path, key)
	}
	e.write(path, re.ReplaceAllString(have, ""))
}

// add adds a message to a log.
func (e *edit) add(path, key, value string) {
	e.t.Helper()
	e.message(path, key, value, "false")
}

func (e *edit) message(path, key, value, isError string) {
	e.t.Helper()
	e.appendTo(path, `:::MLLOG {"key": "`+key+`", "value": `+value+`, "time_ms": 1.0, "namespace": "mlperf::logging", "event_type": "POINT_IN_TIME", "metadata": {"is_error": `+isError+`, "is_warning": false, "file": "x.cc", "line_no": 1, "pid": 1, "tid": 1}}`+"\n")
}

// field gives a member of a JSON file, which has one a line, another value.
func (e *edit) field(path, name, value string) {
	e.t.Helper()
	re := regexp.MustCompile(`("` + regexp.QuoteMeta(name) + `": ).*?(,?\n)`)
	have := e.read(path)
	if !re.MatchString(have) {
		e.sub(path, "{\n", "{\n  \""+name+"\": "+value+",\n")
		return
	}
	e.write(path, re.ReplaceAllString(have, "${1}"+strings.ReplaceAll(value, "$", "$$")+"${2}"))
}

// system changes a field of the system's description.
func (e *edit) system(name, value string) {
	e.t.Helper()
	e.field(home+"/systems/board1.json", name, value)
}

func (e *edit) dropField(path, name string) {
	e.t.Helper()
	re := regexp.MustCompile(`  "` + regexp.QuoteMeta(name) + `": .*?\n`)
	have := re.ReplaceAllString(e.read(path), "")
	e.write(path, regexp.MustCompile(`,(\s*\})`).ReplaceAllString(have, "$1"))
}
