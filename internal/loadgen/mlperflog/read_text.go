package mlperflog

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// This file reads the detail logs of LoadGen before v1.0, which were meant for people:
//
//	"pid": 7, "tid": 7, "ts": 32433ns : target_latency (ns): 100
//
// It gives the messages the keys that they have had since.

// A textParser reads such a log. Settings and versions stand below headings.
type textParser struct {
	detail  *Detail
	bad     *problems
	heading string // effective_, requested_ or empty
}

// textLine takes a line apart: its time, its level, its text.
var textLine = regexp.MustCompile(`^"pid": \d+, "tid": \d+, "ts": (-?\d+)ns : (ERROR : |WARNING : )?(.*)$`)

func (p *textParser) parse(text string) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if m := textLine.FindStringSubmatch(line); m != nil {
			p.message(n, m[1], m[2], m[3])
			continue
		}
		if strings.HasPrefix(line, `"pid": `) || !p.continues(line) {
			p.bad.add(n, "want a message of a detail log, got %q", shorten(line))
		}
	}
}

// continues appends a line to a message that may have several: the texts of git and the
// list of check sums.
func (p *textParser) continues(line string) bool {
	entries := p.detail.Entries
	if len(entries) == 0 {
		return false
	}
	last := &entries[len(entries)-1]
	switch v := last.Value.(type) {
	case string:
		if last.Key != "loadgen_git_log_message" && last.Key != "loadgen_git_status_message" {
			return false
		}
		last.Value = v + line + "\n"
		return true
	case map[string]string:
		sum, file, ok := strings.Cut(line, " ")
		if ok {
			v[file] = sum
		}
		return ok || line == ""
	}
	return false
}

func (p *textParser) message(n int, ns, level, text string) {
	ts, err := strconv.ParseFloat(ns, 64)
	if err != nil {
		p.bad.add(n, "%q is no time", shorten(ns))
		return
	}
	e := Entry{Line: n, TimeMS: unwrapped(ts / 1e6), IsError: level == "ERROR : ", IsWarning: level == "WARNING : "}
	add := func(key string, value any) {
		e.Key, e.Value = key, value
		p.detail.add(e)
	}
	switch {
	case e.IsError:
		add("error_runtime", text)
	case e.IsWarning:
		add("warning_generic_message", text)
	default:
		p.plain(text, add)
	}
}

// textKeys are the keys of messages that have a name.
var textKeys = map[string]string{
	"version":                         "loadgen_version",
	"build_date_local":                "loadgen_build_date_local",
	"build_date_utc":                  "loadgen_build_date_utc",
	"git_commit_date":                 "loadgen_git_commit_date",
	"git_log":                         "loadgen_git_log_message",
	"git_status":                      "loadgen_git_status_message",
	"Date + time of test":             "test_datetime",
	"System Under Test (SUT) name":    "sut_name",
	"Query Sample Library (QSL) name": "qsl_name",
	"QSL total size":                  "qsl_reported_total_count",
	"QSL performance size*":           "qsl_reported_performance_count",
}

// textHeadings are lines without a value of their own.
var textHeadings = map[string]string{
	"LoadgenVersionInfo:":      "",
	"Effective Settings:":      "effective_",
	"Requested Settings:":      "requested_",
	"Log Contention Counters:": "",
	"*TestSettings (performance_sample_count_override) can override": "",
	"*Refer to Effective Settings for actual value":                  "",
}

// plain finds out what a message without a level says.
func (p *textParser) plain(text string, add func(string, any)) {
	if heading, ok := textHeadings[text]; ok {
		p.heading = heading
		return
	}
	name, value, _ := cutLabel(text)
	switch {
	case text == "":
	case strings.HasPrefix(text, "SHA1 of files"):
		add("loadgen_file_sha1", map[string]string{})
	case strings.Contains(text, `: "`):
		p.pairs(text, add)
	case strings.HasPrefix(value, "swap_") || strings.HasPrefix(value, "start_reading_") || strings.HasPrefix(value, "tls_"):
		add("logger_"+value, scalarOrText(name))
	case textKeys[name] != "":
		add(textKeys[name], keyed(textKeys[name], value))
	case p.heading != "" && isSetting(name):
		add(p.heading+settingKey(name), settingValue(name, value))
	default:
		p.heading = ""
		add("generic_message", text)
	}
}

// keyed types a value: names and dates are texts even if they look like numbers.
func keyed(key, value string) any {
	if strings.HasPrefix(key, "qsl_reported_") {
		return scalarOrText(value)
	}
	if strings.HasPrefix(key, "loadgen_git_log") || strings.HasPrefix(key, "loadgen_git_status") {
		return "" // it follows on lines of its own
	}
	return value
}

// textPair is a named value among the arguments of a message.
var textPair = regexp.MustCompile(`"([^"]*)" : ("[^"]*"|[^,]*)`)

// pairs reads a message with arguments: GeneratedQueries: "queries" : 288, ….
func (p *textParser) pairs(text string, add func(string, any)) {
	p.heading = ""
	args := map[string]string{}
	for _, m := range textPair.FindAllStringSubmatch(text, -1) {
		args[m[1]] = strings.Trim(m[2], `"`)
	}
	switch title, _, _ := strings.Cut(text, " :"); {
	case strings.HasPrefix(title, "Loading QSL"):
		list := []uint64{}
		if json.Unmarshal([]byte(args["set"]), &list) == nil {
			add("loaded_qsl_set", list)
			return
		}
	case strings.HasPrefix(title, "GeneratedQueries"):
		add("generated_query_count", scalarOrText(args["queries"]))
		add("generated_samples_per_query", scalarOrText(args["samples per query"]))
		add("generated_query_duration", scalarOrText(args["duration"]))
		return
	case strings.HasPrefix(title, "POWER_BEGIN"):
		add("power_begin", args["time"])
		return
	case strings.HasPrefix(title, "POWER_END"):
		add("power_end", args["time"])
		return
	}
	add("generic_message", text)
}

func scalarOrText(s string) any {
	if v, ok := parseScalar(s); ok {
		return v
	}
	return s
}

// isSetting reports whether a label is a name of TestSettings, perhaps with a unit.
func isSetting(label string) bool {
	return label == "Scenario" || label == "Test mode" || settingLabel.MatchString(label)
}

var settingLabel = regexp.MustCompile(`^[a-z0-9_]+( \((ns|ms)\))?$`)

// settingKey turns "target_latency (ns)" into target_latency_ns.
func settingKey(label string) string {
	switch label {
	case "Scenario":
		return "scenario"
	case "Test mode":
		return "test_mode"
	}
	return strings.NewReplacer(" (", "_", ")", "").Replace(label)
}

// settingValue types a value. Scenarios and modes had other names.
func settingValue(label, value string) any {
	switch label {
	case "Scenario":
		return scenarioName(value)
	case "Test mode":
		return modeName(value)
	}
	return scalarOrText(value)
}

// scenarioName returns the name of a scenario as it has been since v1.0.
func scenarioName(name string) string { return strings.ReplaceAll(name, " ", "") }

// modeName returns the name of a mode as it has been since v1.0.
func modeName(name string) string {
	now := map[string]string{
		"Submission": "SubmissionRun", "Accuracy": "AccuracyOnly", "Performance": "PerformanceOnly",
		"Find Peak Performance": "FindPeakPerformance",
	}
	if n, ok := now[name]; ok {
		return n
	}
	return name
}

// cutLabel splits "label : value" and "label: value" at the first colon that ends a
// word.
func cutLabel(text string) (label, value string, ok bool) {
	label, value, ok = strings.Cut(text+" ", ": ")
	return strings.TrimSpace(label), strings.TrimSpace(value), ok
}
