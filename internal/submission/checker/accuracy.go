package checker

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
)

const largestAccuracyLog = 10 << 10 // bytes; constants.py, MAX_ACCURACY_LOG_SIZE

func (c *resultCheck) checkAccuracy() {
	log := c.accuracy
	if c.endpoint {
		c.checkEndpointAccuracy()
	} else {
		c.checkAccuracyText()
		path := c.folder + "/accuracy/mlperf_log_accuracy.json"
		if info, err := os.Stat(c.at(path)); err != nil {
			c.fail("acc-log", problem{path: path, message: "the accuracy log is missing", wanted: "the log, cut to 10 KiB or less"})
		} else if info.Size() > largestAccuracyLog {
			c.fail("acc-log", problem{path: path, message: "the accuracy log is not cut", found: fmt.Sprintf("%d bytes", info.Size()),
				wanted: fmt.Sprintf("≤ %d bytes", largestAccuracyLog)})
		}
	}
	if n := len(log.errors); n > 0 {
		c.fail("acc-errors", problem{path: log.path, line: log.errors[0].Line, message: fmt.Sprintf("the accuracy run has %d errors", n),
			found: str(log.errors[0].Value), wanted: "none"})
	}
	key := "effective_accuracy_sample_count"
	if _, ok := log.entries[key]; !ok {
		key = "qsl_reported_total_count"
	}
	want, known := c.rule.AccuracySamplesOf(c.scenarioFolder())
	if v, ok := number(log.value(key)); !known || !ok || v != float64(want) {
		c.fail("acc-samples", problem{path: log.path, line: log.line(key), message: "the accuracy run did not use the whole data set",
			found: log.show(key), wanted: fmt.Sprint(want)})
	}
	for folder, want := range c.rule.Files { // images and videos that the round wants to see
		path := c.folder + "/accuracy/" + folder
		files, err := c.files(path)
		if err != nil {
			c.fail("acc-images", problem{path: path, message: "the folder is missing", wanted: strings.Join(want, ", ")})
			continue
		}
		missing := slices.DeleteFunc(slices.Clone(want), func(name string) bool {
			return slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(f+".", name+".") })
		})
		if len(missing) > 0 {
			c.fail("acc-images", problem{path: path, message: "files are missing: " + strings.Join(missing, ", "), wanted: strings.Join(want, ", ")})
		}
	}
}

// checkAccuracyText reads accuracy.txt line by line. What is wrong with a line counts only until all metrics and the hash
// were seen, as in the official checker. In the open division values are recorded and not judged.
func (c *resultCheck) checkAccuracyText() {
	path := c.folder + "/accuracy/accuracy.txt"
	if !c.exists(path) {
		c.fail("acc-missing", problem{path: path, message: "the accuracy is missing", wanted: "what the official accuracy script prints"})
		return
	}
	judge := c.fail
	if c.division == "open" {
		judge = c.note
	}
	metrics := c.rule.AccuracyOf(c.scenarioFolder())
	reached := make([]bool, len(metrics)) // by a line
	values := map[string]string{}         // the last ones
	var order []string                    // of the metrics in the file
	hasHash := false
	err := c.eachLine(path, func(n int, line string) bool {
		if hasHash && !slices.Contains(reached, false) {
			return true // what is not UTF-8 matters to the end
		}
		if _, ok := rounds.MatchHash(line); ok {
			hasHash = true
		}
		for i, m := range metrics {
			if text, v, ok := c.metricIn("acc-number", path, n, m.Name, line); ok {
				if values[m.Name] == "" {
					order = append(order, m.Name)
				}
				values[m.Name] = text
				if c.strict && c.division != "open" {
					c.strictTarget(path, n, m, text, v)
				}
				if v >= m.Bound {
					reached[i] = true
				} else {
					judge("acc-target", problem{path: path, line: n, message: m.Name + " is below its target", found: text, wanted: fmt.Sprintf("≥ %.12g", m.Bound)})
				}
			}
		}
		for _, limit := range c.rule.Limits {
			if text, v, ok := c.metricIn("acc-number", path, n, limit.Name, line); ok && v > limit.Bound {
				judge("acc-limit", problem{path: path, line: n, message: limit.Name + " is above its limit", found: text,
					wanted: fmt.Sprintf("≤ %v", limit.Bound)})
			}
		}
		return true
	})
	if err != nil {
		c.unreadable("acc-format", path, err, "")
		return
	}
	for _, name := range order {
		c.accuracies = append(c.accuracies, name+": "+values[name])
	}
	for _, m := range metrics {
		if values[m.Name] == "" && c.division != "open" {
			c.fail("acc-metric", problem{path: path, message: "no line has " + m.Name, wanted: fmt.Sprintf("%s ≥ %v", m.Name, m.Bound)})
		}
	}
	if !hasHash && c.division != "open" {
		c.fail("acc-hash", problem{path: path, message: "no line has the hash of the accuracy log", wanted: "hash= and 64 hex digits"})
	}
}

// metricIn returns the number of a metric in a line. What has the form of one and is not a number fails in every division.
func (c *resultCheck) metricIn(rule, path string, n int, name, line string) (text string, v float64, ok bool) {
	text, ok = rounds.Match(name, line)
	if !ok {
		return "", 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		c.fail(rule, problem{path: path, line: n, message: name + " is not a number", found: text, wanted: "a number"})
	}
	return text, v, err == nil
}
