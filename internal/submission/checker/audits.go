package checker

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

const testPass = "TEST PASS"

// auditFolder is where a compliance test of the result is. Up to v5.1 the tests of that time lie in a folder of their own.
func (c *resultCheck) auditFolder(test string) string {
	if c.round.Before6() && slices.Contains([]string{"TEST01", "TEST04", "TEST06"}, test) {
		return strings.Join([]string{c.division, c.submitter, "compliance", c.system, c.benchmark, c.scenario, test}, "/")
	}
	return c.folder + "/" + test
}

// A verification is the text that the verification script of a test wrote.
type verification struct {
	path   string
	exists bool
	lines  []string // without spaces around
}

func (v verification) has(line string) bool { return slices.Contains(v.lines, line) }

// checkAudits judges the compliance tests. Like the official checker, it reads all files that exist, whatever the benchmark.
func (c *resultCheck) checkAudits() {
	logs, texts := map[string]*runLog{}, map[string]verification{}
	for _, test := range []string{"TEST01", "TEST04"} {
		if path := c.auditFolder(test) + "/performance/run_1/mlperf_log_detail.txt"; c.exists(path) {
			logs[test] = c.readLog(path)
		}
	}
	for _, test := range []string{"TEST01", "TEST04", "TEST06", "TEST07", "TEST08", "TEST09"} {
		v := verification{path: c.auditFolder(test) + "/verify_accuracy.txt"}
		if test == "TEST09" {
			v.path = c.auditFolder(test) + "/verify_output_len.txt"
		}
		if v.exists = c.exists(v.path); v.exists {
			if err := c.eachLine(v.path, func(_ int, line string) bool {
				v.lines = append(v.lines, strings.TrimSpace(line))
				return true
			}); err != nil {
				c.unreadable("audit-files", v.path, err, "")
			}
		}
		texts[test] = v
	}
	switch {
	case c.endpoint:
		c.checkEndpointAudits()
	case c.division != "open":
		for _, test := range c.rule.Tests {
			c.checkAudit(test, logs[test], texts[test])
		}
	}
}

func (c *resultCheck) checkAudit(test string, log *runLog, text verification) {
	folder := c.auditFolder(test)
	if !c.exists(folder) {
		c.fail("audit-missing", problem{path: folder, message: test + " is missing", wanted: "the files of " + test})
		return
	}
	if test != "TEST04" && !text.exists { // which needs no verification of answers
		c.fail("audit-files", problem{path: text.path, message: "the verification is missing", wanted: "the output of the verification script of " + test})
		return
	}
	want := func(passes bool, message, wanted string) {
		if !passes {
			c.fail("audit-result", problem{path: text.path, message: test + " did not pass" + message, wanted: wanted})
		}
	}
	switch test {
	case "TEST01":
		if !text.has(testPass) {
			c.checkFallback(folder)
		}
	case "TEST06":
		const first = "First token check pass: True"
		want(text.has(first) || text.has("First token check pass: Skipped"), ": first token", first)
		for _, check := range []string{"EOS", "Sample length"} {
			line := check + " check pass: True"
			want(text.has(line), ": "+check, line)
		}
	case "TEST07", "TEST09":
		want(slices.ContainsFunc(text.lines, func(line string) bool { return strings.Contains(line, testPass) }), "", testPass)
	case "TEST08":
		want(text.has(testPass), "", testPass)
	}
	if test == "TEST01" || test == "TEST04" {
		c.checkAuditRun(folder, test, log)
	}
}

// checkAuditRun judges the performance run of a compliance test as the result's own.
func (c *resultCheck) checkAuditRun(folder, test string, log *runLog) {
	run, path := folder+"/performance/run_1", folder+"/verify_performance.txt"
	if log != nil {
		c.checkRun(log)
	} else if path := run + "/mlperf_log_detail.txt"; !c.exists(path) {
		c.fail("log-missing", problem{path: path, message: "the log of " + test + " is missing", wanted: "the detail log of LoadGen"})
	}
	if !c.exists(path) {
		c.fail("audit-files", problem{path: path, message: "the verification is missing", wanted: "the output of the verification script of " + test})
	} else {
		passes, alone := false, false
		err := c.eachLine(path, func(_ int, line string) bool {
			passes = strings.Contains(line, testPass)
			alone = strings.TrimSpace(line) == testPass
			return !passes
		})
		switch {
		case err != nil:
			c.unreadable("audit-files", path, err, "")
		case !passes:
			c.fail("audit-result", problem{path: path, message: "the performance of " + test + " did not pass", wanted: testPass})
		case c.strict && !alone:
			c.fail("audit-line", problem{path: path, message: testPass + " is not a line of its own", wanted: testPass})
		}
	}
	files, err := c.files(run)
	if err != nil {
		c.fail("audit-files", problem{path: run, message: "cannot be listed: " + err.Error(), wanted: "the logs of " + test})
		return
	}
	c.sameFiles("audit-files", run, files, []string{"mlperf_log_summary.txt", "mlperf_log_detail.txt"}, "mlperf_log_accuracy.json")
}

// checkFallback judges TEST01 where responses differ between runs: the accuracy of the samples that the performance run kept
// must be that of the accuracy run.
func (c *resultCheck) checkFallback(folder string) {
	path := folder + "/accuracy"
	files, err := c.files(path)
	if err != nil {
		c.fail("audit-result",
			problem{path: folder + "/verify_accuracy.txt", message: "TEST01 did not pass, and has no folder accuracy to compare: " + err.Error(),
				wanted: testPass})
		return
	}
	if !c.sameFiles("audit-accuracy", path, files, []string{"mlperf_log_accuracy.json", "accuracy.txt", "baseline_accuracy.txt",
		"compliance_accuracy.txt"}) {
		c.note("audit-accuracy",
			problem{path: folder + "/verify_accuracy.txt",
				message: "responses in performance mode are not those of the accuracy run, so the scores of the same samples are compared",
				wanted:  testPass + ", or the files of a comparison"})
		return
	}
	metrics := c.rule.AccuracyOf(c.scenarioFolder())
	lastValues := func(path string) map[string]float64 { // 0: none
		values := map[string]float64{}
		err := c.eachLine(path, func(n int, line string) bool {
			for _, m := range metrics {
				if _, v, ok := c.metricIn("audit-accuracy", path, n, m.Name, line); ok {
					values[m.Name] = v
				}
			}
			return true
		})
		if err != nil {
			c.unreadable("audit-accuracy", path, err, "")
		}
		return values
	}
	baseline, compliance := lastValues(path+"/baseline_accuracy.txt"), lastValues(path+"/compliance_accuracy.txt")
	for _, m := range metrics {
		a, b := baseline[m.Name], compliance[m.Name]
		most := c.round.Delta(c.model, m.Name)
		percent := math.Abs(1-a/b) * 100
		if a == 0 || b == 0 {
			c.fail("audit-accuracy", problem{path: path, message: m.Name + " is missing in baseline_accuracy.txt or compliance_accuracy.txt",
				wanted: m.Name + " in both"})
		} else if !(percent <= most) { // nor may it be NaN
			c.fail("audit-accuracy", problem{
				path: path, message: fmt.Sprintf("%s differs by %.4g %% between baseline_accuracy.txt and compliance_accuracy.txt", m.Name, percent),
				found: fmt.Sprintf("%v and %v", a, b), wanted: fmt.Sprintf("at most %v %%", most),
			})
		}
	}
}
