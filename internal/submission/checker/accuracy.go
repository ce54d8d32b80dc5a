package checker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/python"
)

const largestAccuracyLog = 10 << 10 // bytes; constants.py, MAX_ACCURACY_LOG_SIZE

func (g *judgement) checkAccuracy() {
	log := g.accuracy
	if g.endpoints {
		g.checkEndpointsAccuracy()
	} else {
		g.checkAccuracyText()
		g.checkAccuracyLog()
	}
	switch {
	case log.noErrors > 0:
		g.fail("log-format", problem{path: log.path, line: log.noErrors, message: "a message does not say whether it is an error", wanted: "metadata with is_error"})
	case log.errors > 0:
		g.fail("acc-errors", problem{path: log.path, line: log.first.line, message: fmt.Sprintf("the accuracy run has %d errors", log.errors), found: log.first.text, wanted: "none"})
	}
	g.checkAccuracySamples()
	g.checkMadeFiles()
}

func (g *judgement) checkAccuracyLog() {
	path := g.folder + "/accuracy/mlperf_log_accuracy.json"
	size, err := g.tree.Size(path)
	if err != nil {
		g.fail("acc-log", problem{path: path, message: "the accuracy log is missing", wanted: "the log, cut to 10 KiB or less"})
	} else if size > largestAccuracyLog {
		g.fail("acc-log", problem{path: path, message: "the accuracy log is not cut", found: fmt.Sprintf("%d bytes", size), wanted: fmt.Sprintf("≤ %d bytes", largestAccuracyLog)})
	}
}

func (g *judgement) checkAccuracySamples() {
	key := "effective_accuracy_sample_count"
	if _, ok := g.accuracy.values[key]; !ok {
		key = "qsl_reported_total_count"
	}
	want, known := g.rule.AccuracySamplesOf(g.scenarioFolder())
	e := g.accuracy.values[key]
	if !known || !e.whole || !python.Equal(e.value, want) {
		g.fail("acc-samples", problem{path: g.accuracy.path, line: e.line, message: "the accuracy run did not see the whole data set", found: g.accuracy.show(key), wanted: fmt.Sprint(want)})
	}
}

// checkMadeFiles looks for images and videos that the round wants to see.
func (g *judgement) checkMadeFiles() {
	for folder, want := range g.rule.Files {
		path := g.folder + "/accuracy/" + folder
		files, err := g.tree.Files(path)
		if err != nil {
			g.fail("acc-images", problem{path: path, message: "the folder is missing", wanted: strings.Join(want, ", ")})
			continue
		}
		have := map[string]bool{}
		for _, f := range files {
			stem, _, _ := strings.Cut(f, ".")
			have[stem] = true
		}
		missing := slices.DeleteFunc(slices.Clone(want), func(name string) bool { return have[name] })
		if len(missing) > 0 {
			g.fail("acc-images", problem{path: path, message: "files are missing: " + strings.Join(missing, ", "), wanted: strings.Join(want, ", ")})
		}
	}
}

// An accuracyText reads accuracy.txt line by line. What is wrong with a line counts
// only until all metrics and the hash were seen, as in the official checker.
type accuracyText struct {
	*judgement
	path    string
	metrics []rounds.Metric
	seen    []bool
	hash    string
	open    bool // values are recorded, not judged
}

func (g *judgement) checkAccuracyText() {
	a := &accuracyText{judgement: g, path: g.folder + "/accuracy/accuracy.txt", open: strings.ToLower(g.division) == "open"}
	if !g.tree.Exists(a.path) {
		g.fail("acc-missing", problem{path: a.path, message: "the accuracy is missing", wanted: "what the official accuracy script prints"})
		return
	}
	a.metrics = g.rule.AccuracyOf(g.scenarioFolder())
	a.seen = make([]bool, len(a.metrics))
	err := g.eachLine(a.path, func(n int, line string) bool {
		if a.hash == "" || slices.Contains(a.seen, false) {
			a.line(n, line)
		}
		return true // what is not UTF-8 matters to the end
	})
	if err != nil {
		g.fail("acc-format", problem{path: a.path, line: lineOf(err), message: "cannot be read: " + plain(err)})
		return
	}
	if !a.open {
		a.missing()
	}
}

func (a *accuracyText) line(n int, line string) {
	if hash, ok := rounds.MatchHash(line); ok {
		a.hash = hash
	}
	for i, metric := range a.metrics {
		if v, ok := a.value(n, metric.Name, line); ok {
			a.accuracies.Set(metric.Name, v.text)
			if v.number >= metric.Bound {
				a.seen[i] = true
			} else {
				a.judge("acc-target", n, metric.Name+" is below its target", v.text, fmt.Sprintf("≥ %.12g", metric.Bound))
			}
		}
	}
	for _, limit := range a.rule.Limits {
		if v, ok := a.value(n, limit.Name, line); ok && v.number > limit.Bound {
			a.judge("acc-limit", n, limit.Name+" is above its limit", v.text, fmt.Sprintf("≤ %v", limit.Bound))
		}
	}
}

type parsed struct {
	text   string
	number float64
}

// value returns the number of a metric in a line. What looks like one and is none fails
// in every division.
func (a *accuracyText) value(n int, name, line string) (parsed, bool) {
	text, ok := rounds.Match(name, line)
	if !ok {
		return parsed{}, false
	}
	v, err := python.ParseFloat(text)
	if err != nil {
		a.fail("acc-number", problem{path: a.path, line: n, message: name + " is not a number", found: text, wanted: "a number"})
		return parsed{}, false
	}
	return parsed{text, v}, true
}

// judge is a finding in closed and network, and worth a note in open.
func (a *accuracyText) judge(rule string, n int, message, found, wanted string) {
	p := problem{path: a.path, line: n, message: message, found: found, wanted: wanted}
	if a.open {
		a.note(rule, p)
		return
	}
	a.fail(rule, p)
}

// missing reports metrics that no line reached, and the hash.
func (a *accuracyText) missing() {
	for i, metric := range a.metrics {
		if _, known := a.accuracies.Get(metric.Name); !a.seen[i] && !known {
			a.fail("acc-metric", problem{path: a.path, message: "no line has " + metric.Name, wanted: fmt.Sprintf("%s ≥ %v", metric.Name, metric.Bound)})
		}
	}
	if a.hash == "" {
		a.fail("acc-hash", problem{path: a.path, message: "no line has the hash of the accuracy log", wanted: "hash= and 64 hex digits"})
	}
}
