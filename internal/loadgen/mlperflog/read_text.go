package mlperflog

import (
	"regexp"
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

// textLine takes a line apart: its level, its text.
var textLine = regexp.MustCompile(`^"pid": \d+, "tid": \d+, "ts": -?\d+ns : (ERROR : |WARNING : )?(.*)$`)

func (p *textParser) line(n int, line string) {
	if m := textLine.FindStringSubmatch(line); m != nil {
		p.message(n, m[1], m[2])
		return
	}
	// The texts of git and the list of check sums have several lines.
	if entries := p.detail.Entries; len(entries) > 0 && !strings.HasPrefix(line, `"pid": `) {
		last := &entries[len(entries)-1]
		if text, isText := last.Value.(string); isText && severalLines[last.Key] {
			last.Value = text + line + "\n"
			return
		}
	}
	p.detail.refuse(p.bad.add(n, "expected a message of a detail log, got %q", shorten(line)))
}

var severalLines = map[string]bool{"loadgen_git_log_message": true, "loadgen_git_status_message": true, "loadgen_file_sha1": true}

// textKeys are today's keys of the messages of text logs.
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

func (p *textParser) message(n int, level, text string) {
	add := func(key string, value any) {
		p.detail.add(Entry{Line: n, Key: key, Value: value, IsError: level == "ERROR : ", IsWarning: level == "WARNING : "})
	}
	heading, isHeading := textHeadings[text]
	name, value, _ := cutLabel(text)
	key := textKeys[name]
	switch {
	case level == "ERROR : ":
		add("error_runtime", text)
	case level == "WARNING : ":
		add("warning_generic_message", text)
	case isHeading:
		p.heading = heading
	case text == "":
	case strings.HasPrefix(text, "SHA1 of files"):
		add("loadgen_file_sha1", "")
	case strings.Contains(text, `: "`):
		p.heading = ""
		p.arguments(text, add)
	case strings.HasPrefix(value, "swap_") || strings.HasPrefix(value, "start_reading_") || strings.HasPrefix(value, "tls_"):
		add("logger_"+value, parseScalar(name))
	case strings.HasPrefix(key, "qsl_reported_"):
		add(key, parseScalar(value))
	case key == "loadgen_git_log_message" || key == "loadgen_git_status_message":
		add(key, "") // the text follows on lines of its own
	case key != "":
		add(key, value) // names and dates are texts even if they look like numbers
	case p.heading != "" && name == "Scenario":
		add(p.heading+"scenario", scenarioName(value))
	case p.heading != "" && name == "Test mode":
		add(p.heading+"test_mode", modeName(value))
	case p.heading != "" && settingLabel.MatchString(name):
		add(p.heading+strings.NewReplacer(" (", "_", ")", "").Replace(name), parseScalar(value)) // target_latency (ns)
	default:
		p.heading = ""
		add("generic_message", text)
	}
}

// settingLabel is the name of a field of TestSettings, perhaps with a unit.
var settingLabel = regexp.MustCompile(`^[a-z0-9_]+( \((ns|ms)\))?$`)

// textPair is a named value among the arguments of a message.
var textPair = regexp.MustCompile(`"([^"]*)" : ("[^"]*"|[^,]*)`)

// arguments reads a message with arguments: GeneratedQueries: "queries" : 288, ….
func (p *textParser) arguments(text string, add func(string, any)) {
	args := map[string]string{}
	for _, m := range textPair.FindAllStringSubmatch(text, -1) {
		args[m[1]] = strings.Trim(m[2], `"`)
	}
	switch {
	case strings.HasPrefix(text, "GeneratedQueries"):
		add("generated_query_count", parseScalar(args["queries"]))
		add("generated_samples_per_query", parseScalar(args["samples per query"]))
		add("generated_query_duration", parseScalar(args["duration"]))
	case strings.HasPrefix(text, "POWER_BEGIN"):
		add("power_begin", args["time"])
	case strings.HasPrefix(text, "POWER_END"):
		add("power_end", args["time"])
	case strings.HasPrefix(text, "Loading QSL"):
		add("loaded_qsl_set", Compound(shorten(args["set"])))
	default:
		add("generic_message", text)
	}
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

// cutLabel splits "label : value" and "label: value" at the first colon that ends a word.
func cutLabel(text string) (label, value string, ok bool) {
	label, value, ok = strings.Cut(text+" ", ": ")
	return strings.TrimSpace(label), strings.TrimSpace(value), ok
}
