package checker

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/truncate"
)

// checkStrictly judges what the rules ask for and the official checker does not look at.
func (c *resultCheck) checkStrictly() {
	if c.performance != nil {
		c.strictRun(c.performance, "PerformanceOnly", "SubmissionRun")
		c.strictPerformance()
	}
	if c.accuracy != nil {
		c.strictAccuracy()
	}
	c.strictFiles()
	if c.division == "open" {
		return
	}
	if c.division == "network" {
		c.strictNetwork()
	}
	for _, test := range []string{"TEST01", "TEST04"} {
		folder := c.auditFolder(test)
		path := folder + "/performance/run_1/mlperf_log_detail.txt"
		if !slices.Contains(c.rule.Tests, test) || !c.exists(folder) { // the check of the test says it
			continue
		}
		if before := len(c.found); c.exists(path) {
			log := c.readLog(path)
			c.found = c.found[:before] // the check of the test has found the same
			if log != nil {
				c.strictRun(log, "PerformanceOnly")
				c.strictAuditSettings(test, log)
			}
		}
		if test != "TEST01" {
			continue
		}
		for _, name := range []string{"mlperf_log_accuracy.json", "accuracy.txt"} {
			if path := folder + "/accuracy/" + name; !c.exists(path) {
				c.fail("audit-log", problem{path: path, message: "the file is missing", wanted: "the responses of TEST01, cut, and their hash"})
			}
		}
		c.strictHash(folder + "/accuracy")
	}
}

// NetworkDocument is the path of the description of a system's network, with its diagram.
func NetworkDocument(home, system string) string {
	return home + "/documentation/network_" + system + ".md"
}

// NetworkNodes returns the nodes that the name of a system under test of this program lists:
// Network SUT: resnet50 on node1, node2.
func NetworkNodes(sutName string) []string {
	_, nodes, ok := strings.Cut(sutName, " on ")
	if !ok || !strings.HasPrefix(sutName, "Network SUT: ") {
		return nil
	}
	return strings.Split(nodes, ", ")
}

// strictNetwork wants the description of the network, with a diagram and all nodes of the run.
func (c *resultCheck) strictNetwork() {
	path := NetworkDocument(c.division+"/"+c.submitter, c.system)
	text, err := c.read(path, 1<<20)
	switch {
	case err != nil:
		c.fail("tree-network", problem{path: path, message: "the network is not described: " + cause(err).Error(), wanted: "the file, with a diagram"})
		return
	case !bytes.Contains(text, []byte("```mermaid")) && !bytes.Contains(text, []byte("![")):
		c.fail("tree-network", problem{path: path, message: "the description of the network has no diagram", wanted: "a block of mermaid, or an image"})
	}
	if c.performance == nil {
		return
	}
	for _, node := range NetworkNodes(c.performance.text("sut_name")) {
		if !bytes.Contains(text, []byte(node)) {
			c.fail("tree-network", problem{path: path, message: "the description of the network does not name a node of the system under test", wanted: node})
		}
	}
}

// strictRun judges what holds for every performance run.
func (c *resultCheck) strictRun(log *runLog, modes ...string) {
	report := func(rule, key, message, wanted string) {
		c.fail(rule, problem{path: log.path, line: log.line(key), message: message, found: log.show(key), wanted: wanted})
	}
	if log.text("result_validity") != "VALID" {
		report("perf-validity", "result_validity", strings.TrimSpace("the run is not VALID "+log.text("result_invalid_reason")), "VALID")
	}
	for _, key := range []string{"result_min_duration_met", "result_min_queries_met", "early_stopping_met"} {
		if e, ok := log.entries[key]; ok && e.Value != true {
			report("perf-validity", key, key+" is not true", "true")
		}
	}
	if !slices.Contains(modes, log.text("effective_test_mode")) {
		report("perf-mode", "effective_test_mode", "the run is of another mode", strings.Join(modes, " or "))
	}
	if n := len(log.errors); n > 0 {
		c.fail("perf-errors", problem{path: log.path, line: log.errors[0].Line, message: fmt.Sprintf("the run has %d errors", n),
			found: str(log.errors[0].Value), wanted: "none"})
	} else if truth(log.value("num_errors")) {
		report("perf-errors", "num_errors", "the run counts errors", "0")
	}
}

// equalIssue are the benchmarks whose samples differ in length, so that all must be
// issued equally often (inference_rules, equal-issue mode; mlperf.conf).
var equalIssue = []string{"3d-unet", "gptj", "llama", "mixtral", "deepseek", "rgat", "whisper", "gpt-oss", "qwen3-vl"}

// Where the tables of the official checker are laxer than inference_rules and mlperf.conf.
var (
	strictLatencyNS = map[string]int64{"dlrm-v3": 80_000_000}   // of Server
	strictSamples   = map[string]int64{"wan-2.2-t2v-a14b": 248} // in memory, and of a query in Offline
)

// strictPerformance finds settings of the result's run that are easier than the rules', and that the official checker does
// not look at.
func (c *resultCheck) strictPerformance() {
	log := c.performance
	if f, err := parseNumber(c.metric); err != nil || !(f > 0) || math.IsInf(f, 0) {
		c.fail("perf-metric", problem{path: log.path, message: "the result is " + str(c.metric), found: str(c.metric), wanted: "a number above 0"})
	}
	scenario := log.text("effective_scenario")
	r := &runCheck{resultCheck: c, log: log, scenario: scenario}
	if scenario == "Server" && rounds.Scenario(c.scenario) == "Interactive" && c.rule.UsesTokens {
		r.checkTokenLimits("Interactive")
	}
	if c.division == "open" {
		return
	}
	const concatenate = "effective_sample_concatenate_permutation"
	if slices.ContainsFunc(equalIssue, func(name string) bool { return strings.HasPrefix(c.model, name) }) && !truth(log.value(concatenate)) {
		r.problem("perf-equal-issue", concatenate, "samples were not issued equally often", "true")
	}
	for key, message := range map[string]string{
		"effective_performance_issue_same":   "the same sample was issued again and again",
		"effective_performance_issue_unique": "every sample was issued at most once",
	} {
		if truth(log.value(key)) {
			r.problem("perf-issue", key, message, "false")
		}
	}
	const percentile = "effective_target_latency_percentile"
	least := map[string]float64{"SingleStream": 0.9, "MultiStream": 0.99, "Server": 0.99}[scenario] // mlperf.conf
	if c.model == "pointpainting" && scenario == "SingleStream" {
		least = 0.999
	}
	if v, ok := number(log.value(percentile)); ok && v < least {
		r.problem("perf-percentile", percentile, "latencies count at a lower percentile than by the rules", fmt.Sprint(least))
	}
	atLeast := func(rule, key string, least int64) {
		if v, ok := number(log.value(key)); ok && v < float64(least) {
			r.problem(rule, key, key+" is "+log.show(key), fmt.Sprintf("≥ %d, as mlperf.conf says", least))
		}
	}
	atLeast("perf-sample-count", "effective_performance_sample_count", strictSamples[c.model])
	switch scenario {
	case "Server":
		const latency = "effective_target_latency_ns"
		if most, ok := strictLatencyNS[c.model]; ok {
			if v, isNumber := number(log.value(latency)); isNumber && v > float64(most) {
				r.problem("perf-latency", latency, latency+" is "+log.show(latency), fmt.Sprintf("≤ %d, as mlperf.conf says", most))
			}
		}
	case "Offline":
		atLeast("perf-samples-per-query", "effective_samples_per_query", strictSamples[c.model])
	case "MultiStream":
		atLeast("perf-issue", "effective_samples_per_query", multiStreamSamples)
	}
}

// strictAuditSettings checks that a compliance test ran under its audit.config.
func (c *resultCheck) strictAuditSettings(test string, log *runLog) {
	want := map[string]string{"effective_accuracy_log_rng_seed": "720381539243781796", "effective_performance_issue_same": "False",
		"effective_performance_issue_unique": "False"}
	if test == "TEST04" {
		want = map[string]string{"effective_performance_issue_same": "True", "effective_performance_issue_unique": "False",
			"effective_performance_issue_same_index": "3"}
	}
	for key, value := range want {
		if have := log.show(key); have != value {
			c.fail("audit-settings", problem{path: log.path, line: log.line(key), message: test + " did not run under its audit.config: " + key,
				found: have, wanted: value})
		}
	}
}

// percentages are the metrics of accuracy that cannot be above 100.
var percentages = []string{"acc", "F1", "mAP", "AUC", "DICE", "ACCURACY", "exact_match"}

func (c *resultCheck) strictAccuracy() {
	log := c.accuracy
	if mode := log.text("effective_test_mode"); mode != "AccuracyOnly" && mode != "SubmissionRun" {
		c.fail("acc-mode", problem{path: log.path, line: log.line("effective_test_mode"), message: "the run is of another mode",
			found: log.show("effective_test_mode"), wanted: "AccuracyOnly"})
	}
	const key = "effective_scenario"
	if c.performance != nil && log.text(key) != c.performance.text(key) {
		c.fail("acc-mode", problem{path: log.path, line: log.line(key), message: "the accuracy run is of another scenario than the performance run",
			found: log.text(key), wanted: c.performance.text(key)})
	}
	for _, accuracy := range c.accuracies {
		name, value, _ := strings.Cut(accuracy, ": ")
		if v, err := parseNumber(value); err == nil && v > 100 && slices.Contains(percentages, name) {
			c.fail("acc-value", problem{path: c.folder + "/accuracy/accuracy.txt", message: name + " is above 100 %", found: value, wanted: "≤ 100"})
		}
	}
	c.strictHash(c.folder + "/accuracy")
}

// inPercent are the metrics that the official scripts print in percent, also where the target is a fraction.
var inPercent = []string{"acc", "mAP"}

// strictTarget judges a metric that accuracy.txt has where the official checker takes it for another quantity than it is.
func (c *resultCheck) strictTarget(path string, line int, m rounds.Metric, text string, v float64) {
	switch {
	case m.Name == "DLRM_NE": // the checker wants 0.999 of the reference or more; lower is better
		most := m.Bound / 0.999 / 0.999
		if !(v <= most) {
			c.fail("acc-target",
				problem{path: path, line: line, message: m.Name + " is above its target; lower is better, although the official checker wants more",
					found: text, wanted: fmt.Sprintf("≤ %.6g", most)})
		} else if v < m.Bound {
			c.note("acc-target",
				problem{path: path, line: line,
					message: m.Name + " keeps the rules, in which lower is better; the official checker judges it backwards and refuses it",
					found:   text, wanted: fmt.Sprintf("≤ %.6g", most)})
		}
	case m.Bound > 1:
	case slices.Contains(inPercent, m.Name):
		if !(v/100 >= m.Bound) {
			c.fail("acc-target",
				problem{path: path, line: line,
					message: m.Name + " is in percent and below its target, which the official checker takes for percent, too", found: text + " %",
					wanted: fmt.Sprintf("≥ %.6g %%", 100*m.Bound)})
		}
	case v > 1:
		c.fail("acc-value", problem{path: path, line: line, message: m.Name + " is above 1: percent in place of a fraction", found: text, wanted: "≤ 1"})
	}
}

// strictFiles compares the folders of a result with the files that belong there, and looks for placeholders in its texts.
func (c *resultCheck) strictFiles() {
	logs := []string{"mlperf_log_summary.txt", "mlperf_log_detail.txt"}
	if c.hasPower() { // both profiles compare the folders of such a run
		c.strictPowerSettings()
	} else if files, err := c.files(c.folder + "/performance/run_1"); err == nil {
		c.sameFiles("perf-files", c.folder+"/performance/run_1", files, logs, "mlperf_log_accuracy.json")
	}
	if files, err := c.files(c.folder + "/accuracy"); err == nil {
		c.sameFiles("acc-files", c.folder+"/accuracy", files, append(logs, "mlperf_log_accuracy.json", "accuracy.txt"))
	}
	source := c.sourceFolder()
	if _, err := c.folders(source); err != nil && c.exists(source) {
		c.fail("tree-source", problem{path: source, message: "the source is not a folder", wanted: "a folder"})
	}
	folder := c.measurementsFolder()
	if files, err := c.files(folder); err == nil {
		for _, name := range []string{"README.md", "user.conf", c.measurementsName(files)} {
			c.placeholder(c.tree, folder+"/"+name)
		}
	}
}

// strictPowerSettings looks for the descriptions of a power run, beside the measurements or up to three folders above.
func (c *resultCheck) strictPowerSettings() {
	for _, name := range []string{"analyzer_table.", "power_settings."} {
		folder, found := c.measurementsFolder(), false
		for range 4 {
			files, _ := c.files(folder)
			found = found || slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(f, name) })
			folder = path.Dir(folder)
		}
		if !found {
			c.fail("power-settings", problem{path: c.measurementsFolder() + "/" + name + "*", message: "the file is missing",
				wanted: "the analyzers, and how the system's power is set up"})
		}
	}
}

var sha256Line = regexp.MustCompile(`^hash=[0-9a-f]{64}$`)

// strictHash compares the last hash of accuracy.txt with the accuracy log, unless that was cut: then only the backup of
// pack can tell.
func (c *resultCheck) strictHash(folder string) {
	text := folder + "/accuracy.txt"
	hash, line := "", 0
	if err := c.eachLine(text, func(n int, s string) bool {
		if _, ok := rounds.MatchHash(s); ok {
			hash, line = s, n
		}
		return true
	}); err != nil || hash == "" { // which the check of the accuracy says
		return
	}
	if !sha256Line.MatchString(hash) {
		c.fail("acc-digest", problem{path: text, line: line, message: "the hash is not a SHA-256", found: hash, wanted: "hash= and 64 hex digits"})
		return
	}
	data, err := c.read(folder+"/mlperf_log_accuracy.json", largestAccuracyLog)
	if err != nil || truncate.WasCut(data) {
		return
	}
	sum := sha256.Sum256(data)
	if want := "hash=" + hex.EncodeToString(sum[:]); hash != want {
		c.fail("acc-digest", problem{path: text, line: line, message: "the hash is not that of mlperf_log_accuracy.json", found: hash, wanted: want})
	}
}
