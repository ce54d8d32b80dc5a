package checker

import (
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/submission/python"
)

// auditFolder is where a compliance test of the result is. Up to v5.1 those that the
// rounds had then lie in a folder of their own.
func (g *judgement) auditFolder(test string) string {
	if g.round.Before6() && slices.Contains([]string{"TEST01", "TEST04", "TEST06"}, test) {
		return strings.Join([]string{g.division, g.submitter, "compliance", g.system, g.benchmark, g.scenario, test}, "/")
	}
	return g.folder + "/" + test
}

// An auditText is the text that a verification wrote.
type auditText struct {
	lines map[string]bool // which of verdicts are lines of it
	has   bool            // "TEST PASS" is somewhere in it
	there bool
}

const testPass = "TEST PASS"

// verdicts are the lines that decide about a test.
var verdicts = []string{
	testPass, "First token check pass: True", "First token check pass: Skipped", "EOS check pass: True", "Sample length check pass: True",
}

func (g *judgement) checkAudits() {
	logs, texts := map[string]*detailLog{}, map[string]auditText{}
	for _, test := range []string{"TEST01", "TEST04"} { // read where they exist, whatever the benchmark
		if path := g.auditFolder(test) + "/performance/run_1/mlperf_log_detail.txt"; g.tree.Exists(path) {
			logs[test] = g.readLog(path)
		}
	}
	for _, test := range []string{"TEST01", "TEST04", "TEST06", "TEST07", "TEST08", "TEST09"} {
		texts[test] = g.readAuditText(g.auditFolder(test) + "/" + verificationOf(test))
	}
	switch {
	case g.endpoints:
		g.checkEndpointsAudits()
	case g.division != "open":
		for _, test := range g.rule.Tests {
			g.checkAudit(test, logs[test], texts[test])
		}
	}
}

func verificationOf(test string) string {
	if test == "TEST09" {
		return "verify_output_len.txt"
	}
	return "verify_accuracy.txt"
}

// readAuditText reads a verification. One that cannot be read is a finding even where
// no test is asked for: the official checker reads them all.
func (g *judgement) readAuditText(path string) auditText {
	a := auditText{lines: map[string]bool{}}
	if !g.tree.Exists(path) {
		return a
	}
	a.there = true
	err := g.eachLine(path, func(_ int, line string) bool {
		a.has = a.has || strings.Contains(line, testPass)
		if text := strings.TrimFunc(line, python.IsSpace); slices.Contains(verdicts, text) {
			a.lines[text] = true
		}
		return true
	})
	if err != nil {
		g.fail("audit-files", problem{path: path, line: lineOf(err), message: "cannot be read: " + plain(err)})
	}
	return a
}

func (g *judgement) checkAudit(test string, log *detailLog, text auditText) {
	folder := g.auditFolder(test)
	if !g.tree.Exists(folder) {
		g.fail("audit-missing", problem{path: folder, message: test + " is missing", wanted: "the files of " + test})
		return
	}
	if path := folder + "/" + verificationOf(test); test != "TEST04" && !text.there {
		g.fail("audit-files", problem{path: path, message: "the verification is missing", wanted: "what the verification script of " + test + " wrote"})
		return
	}
	g.checkVerified(folder, test, text)
	if test == "TEST01" || test == "TEST04" {
		g.checkAuditRun(folder, test, log)
	}
}

// checkVerified judges what the verification says of answers. That of TEST04 says nothing.
func (g *judgement) checkVerified(folder, test string, text auditText) {
	switch {
	case test == "TEST06":
		g.checkTest06(folder, text)
	case test == "TEST01" && !text.lines[testPass]:
		g.checkFallback(folder)
	case test == "TEST08":
		g.auditPasses(folder, test, text.lines[testPass])
	case test == "TEST07", test == "TEST09":
		g.auditPasses(folder, test, text.has)
	}
}

func (g *judgement) auditPasses(folder, test string, passes bool) {
	if !passes {
		g.fail("audit-result", problem{path: folder + "/" + verificationOf(test), message: test + " did not pass", wanted: testPass})
	}
}

func (g *judgement) checkTest06(folder string, text auditText) {
	for _, c := range []struct {
		what string
		pass bool
		want string
	}{
		{"the first token", text.lines["First token check pass: True"] || text.lines["First token check pass: Skipped"], "First token check pass: True"},
		{"the end of the sequence", text.lines["EOS check pass: True"], "EOS check pass: True"},
		{"the length", text.lines["Sample length check pass: True"], "Sample length check pass: True"},
	} {
		if !c.pass {
			g.fail("audit-result", problem{path: folder + "/verify_accuracy.txt", message: "TEST06 did not pass: " + c.what, wanted: c.want})
		}
	}
}

// checkAuditRun judges the performance run of a compliance test as the result's own.
func (g *judgement) checkAuditRun(folder, test string, log *detailLog) {
	runFolder := folder + "/performance/run_1"
	switch path := runFolder + "/mlperf_log_detail.txt"; {
	case log != nil:
		g.checkRun(log)
	case !g.tree.Exists(path):
		g.fail("log-missing", problem{path: path, message: "the log of " + test + " is missing", wanted: "the detail log of LoadGen"})
	}
	g.checkVerifiedPerformance(folder, test)
	files, err := g.tree.Files(runFolder)
	if err != nil {
		g.fail("audit-files", problem{path: runFolder, message: "cannot be listed: " + err.Error(), wanted: "the logs of " + test})
		return
	}
	g.sameFiles("audit-files", runFolder, files, []string{"mlperf_log_summary.txt", "mlperf_log_detail.txt"}, []string{"mlperf_log_accuracy.json"})
}

// sameFiles compares the files of a folder with those that belong there.
func (g *judgement) sameFiles(rule, folder string, have, want, optional []string) bool {
	missing, extra := difference(have, want, optional)
	for _, name := range missing {
		g.fail(rule, problem{path: folder + "/" + name, message: "the file is missing", wanted: strings.Join(want, ", ")})
	}
	for _, name := range extra {
		g.fail(rule, problem{path: folder + "/" + name, message: "the file does not belong here", wanted: strings.Join(want, ", ")})
	}
	return len(missing)+len(extra) == 0
}

// checkVerifiedPerformance looks for the verdict in verify_performance.txt, and reads
// no further.
func (g *judgement) checkVerifiedPerformance(folder, test string) {
	path := folder + "/verify_performance.txt"
	if !g.tree.Exists(path) {
		g.fail("audit-files", problem{path: path, message: "the verification is missing", wanted: "what the verification script of " + test + " wrote"})
		return
	}
	passes, alone := false, false
	err := g.eachLine(path, func(_ int, line string) bool {
		passes = strings.Contains(line, testPass)
		alone = strings.TrimFunc(line, python.IsSpace) == testPass
		return !passes
	})
	switch {
	case err != nil:
		g.fail("audit-files", problem{path: path, line: lineOf(err), message: "cannot be read: " + plain(err)})
	case !passes:
		g.fail("audit-result", problem{path: path, message: "the performance of " + test + " did not pass", wanted: testPass})
	case g.strict && !alone:
		g.fail("audit-line", problem{path: path, message: testPass + " is not a line of its own", wanted: testPass})
	}
}
