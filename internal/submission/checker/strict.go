package checker

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/python"
)

// equalIssue are the benchmarks whose samples differ in length, so that all must be
// issued equally often (inference_rules, equal-issue mode; mlperf.conf).
var equalIssue = []string{"3d-unet", "gptj", "llama", "mixtral", "deepseek", "rgat", "whisper", "gpt-oss", "qwen3-vl"}

// checkStrictly judges what the rules ask for and the official checker does not look
// at.
func (g *judgement) checkStrictly() {
	if g.endpoints || g.rule.Accuracy == nil {
		return
	}
	if g.performance != nil {
		g.strictRun(g.performance, "PerformanceOnly", "SubmissionRun")
		g.strictPerformance()
	}
	if g.accuracy != nil {
		g.strictAccuracy()
	}
	g.strictFiles()
	g.strictPlaceholders()
	if g.division != "open" {
		for _, test := range g.rule.Tests {
			g.strictAudit(test)
		}
	}
}

// strictRun judges what holds for every performance run.
func (g *judgement) strictRun(log *detailLog, modes ...string) {
	finding := func(rule, key, message, wanted string) {
		g.fail(rule, problem{path: log.path, line: log.line(key), message: message, found: log.show(key), wanted: wanted})
	}
	if v, _ := log.text("result_validity"); v != "VALID" {
		reason, _ := log.text("result_invalid_reason")
		finding("perf-validity", "result_validity", strings.TrimSpace("the run is not VALID "+reason), "VALID")
	}
	for _, key := range []string{"result_min_duration_met", "result_min_queries_met", "early_stopping_met"} {
		if e, ok := log.values[key]; ok && e.value != true {
			finding("perf-validity", key, key+" is not true", "true")
		}
	}
	if mode, _ := log.text("effective_test_mode"); !slices.Contains(modes, mode) {
		finding("perf-mode", "effective_test_mode", "the run is of another mode", strings.Join(modes, " or "))
	}
	switch {
	case log.errors > 0:
		g.fail("perf-errors", problem{path: log.path, line: log.first.line, message: fmt.Sprintf("the run has %d errors", log.errors), found: log.first.text, wanted: "none"})
	case python.Truth(log.values["num_errors"].value):
		finding("perf-errors", "num_errors", "the run counts errors", "0")
	}
}

func (g *judgement) strictPerformance() {
	log := g.performance
	if !isPositive(g.metric) {
		g.fail("perf-metric", problem{path: log.path, message: "the result is " + str(g.metric), found: str(g.metric), wanted: "a number above 0"})
	}
	r := &run{judgement: g, log: log}
	switch scenario, _ := log.text("effective_scenario"); {
	case scenario == "Server" && rounds.Scenario(g.scenario) == "Interactive" && g.rule.UsesTokens:
		r.checkTokenLimits("Interactive")
	case scenario == "Offline" && g.division == "network":
		r.strictOffline()
	}
	r.strictEqualIssue()
	r.strictSettings()
}

// isPositive reports whether a value is a number above 0.
func isPositive(v python.Value) bool {
	f, err := python.Float(v)
	return err == nil && f > 0 && !math.IsInf(f, 0)
}

// strictEqualIssue checks that samples of unequal length were issued equally often.
func (r *run) strictEqualIssue() {
	const key = "effective_sample_concatenate_permutation"
	if r.division != "open" && r.wantsEqualIssue() && !python.Truth(r.log.values[key].value) {
		r.problem("perf-equal-issue", r.log.line(key), "samples were not issued equally often", r.log.show(key), "true")
	}
}

// strictOffline checks the samples of the one query.
func (r *run) strictOffline() {
	least, v := r.rule.OfflineSamples, r.log.values["effective_samples_per_query"].value
	if least != nil && python.IsNumber(v) && below(v, *least) {
		r.problem("perf-samples-per-query", r.log.line("effective_samples_per_query"), "an Offline query has "+str(v)+" samples", str(v), fmt.Sprintf("≥ %d", *least))
	}
}

// wantsEqualIssue reports whether the rules want all samples issued equally often.
func (g *judgement) wantsEqualIssue() bool {
	return slices.ContainsFunc(equalIssue, func(name string) bool { return strings.HasPrefix(g.model, name) })
}

// percentages are the metrics of accuracy that cannot be above 100.
var percentages = []string{"acc", "F1", "mAP", "AUC", "DICE", "ACCURACY", "exact_match"}

func (g *judgement) strictAccuracy() {
	log := g.accuracy
	if mode, _ := log.text("effective_test_mode"); mode != "AccuracyOnly" && mode != "SubmissionRun" {
		g.fail("acc-mode", problem{path: log.path, line: log.line("effective_test_mode"), message: "the run is of another mode", found: log.show("effective_test_mode"), wanted: "AccuracyOnly"})
	}
	g.strictScenario()
	for _, name := range percentages {
		value, _ := g.accuracies.Get(name)
		if v, err := python.Float(value); err == nil && v > 100 {
			g.fail("acc-value", problem{path: g.folder + "/accuracy/accuracy.txt", message: name + " is above 100 %", found: str(value), wanted: "≤ 100"})
		}
	}
	g.strictDigest(g.folder + "/accuracy")
}

// strictScenario judges whether both runs are of one scenario.
func (g *judgement) strictScenario() {
	if g.performance == nil {
		return
	}
	log := g.accuracy
	a, _ := log.text("effective_scenario")
	if p, _ := g.performance.text("effective_scenario"); a != p {
		g.fail("acc-mode", problem{path: log.path, line: log.line("effective_scenario"), message: "the accuracy run is of another scenario than the performance run", found: a, wanted: p})
	}
}

func (g *judgement) strictAudit(test string) {
	folder := g.auditFolder(test)
	if test != "TEST01" && test != "TEST04" || !g.tree.Exists(folder) { // which the test's own check says
		return
	}
	if log, err := g.readDetail(folder + "/performance/run_1/mlperf_log_detail.txt"); err == nil {
		g.strictRun(log, "PerformanceOnly")
		(&run{judgement: g, log: log}).strictAuditSettings(test)
	}
	if test == "TEST01" {
		g.strictResponses(folder + "/accuracy")
	}
}

// strictResponses looks for the responses of TEST01.
func (g *judgement) strictResponses(folder string) {
	for _, name := range []string{"mlperf_log_accuracy.json", "accuracy.txt"} {
		if path := folder + "/" + name; !g.tree.Exists(path) {
			g.fail("audit-log", problem{path: path, message: "the file is missing", wanted: "the responses of TEST01, cut, and their hash"})
		}
	}
	g.strictDigest(folder)
}
