package checker

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/python"
)

// A judgement is the judging of one result.
type judgement struct {
	*job
	notebook
	rule  *rounds.Model // what the round asks of the benchmark
	lines *python.Lines // of the text that is read; memory of the worker

	performance, accuracy *detailLog
	metric                python.Value // what the result is, as Python has it
	accuracies            python.Dict  // metrics of accuracy.txt by name, as texts
	score                 python.Value // of a system that was measured without LoadGen
	measurements          *python.Dict
	power                 python.Value
	watts                 string // of the nameplate
}

func judge(j *job, lines *python.Lines) Result {
	g := &judgement{job: j, rule: j.round.Model(j.model), lines: lines}
	g.findings = slices.Clone(j.preset)
	g.readLogs()
	if g.rule.Accuracy != nil && g.description.dict != nil {
		if g.performance != nil {
			g.checkPerformance()
			g.checkPower()
		}
		if g.accuracy != nil {
			g.checkAccuracy()
		}
		g.checkAudits()
	}
	g.checkMeasurements()
	if g.strict {
		g.checkStrictly()
	}
	return g.result()
}

// readLogs reads both detail logs. Where neither exists, the result may be that of a
// system that was measured without LoadGen.
func (g *judgement) readLogs() {
	paths := []string{g.performanceLog(), g.accuracyLog()}
	if !g.tree.Exists(paths[0]) && !g.tree.Exists(paths[1]) {
		g.endpointsOrMissing(paths)
		return
	}
	g.performance = g.readLog(paths[0])
	g.accuracy = g.readLog(paths[1])
}

func (g *judgement) performanceLog() string {
	return g.folder + "/performance/run_1/mlperf_log_detail.txt"
}

func (g *judgement) accuracyLog() string { return g.folder + "/accuracy/mlperf_log_detail.txt" }

// readLog reads a detail log that must be there. nil: it cannot be read.
func (g *judgement) readLog(path string) *detailLog {
	if !g.tree.Exists(path) {
		g.fail("log-missing", problem{path: path, message: "the log is missing", wanted: "the detail log of LoadGen"})
		return nil
	}
	log, err := g.readDetail(path)
	if err != nil {
		g.fail("log-format", problem{path: path, line: lineOf(err), message: "cannot be read: " + plain(err)})
		return nil
	}
	return log
}

// ownLine is how an error says the line, which the finding has. In a line of a log that is
// JSON, it would be the first of the JSON.
var ownLine = regexp.MustCompile(`^(?:line \d+(?:: |, ))+`)

// plain is the text of an error without the line.
func plain(err error) string { return ownLine.ReplaceAllString(err.Error(), "") }

func (g *judgement) result() Result {
	r := Result{
		Path: g.folder, Division: g.division, Submitter: g.submitter, System: g.system,
		Benchmark: g.benchmark, Model: g.model, Scenario: g.scenarioFolder(),
	}
	if failing(g.findings) == 0 {
		r.Row = g.row()
	}
	r.Findings = sorted(g.findings)
	r.Passes = failing(r.Findings) == 0
	return r
}

// scenarioFolder is the scenario as the official checker takes it from the folder.
func (g *judgement) scenarioFolder() string {
	if g.endpoints && strings.EqualFold(g.scenario, "online") {
		return "server"
	}
	return g.scenario
}

func str(v python.Value) string { return python.Str(v) }
