package checker

import "slices"

// A Rule is one thing that is checked.
type Rule struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Link   string `json:"link"`
	Fix    string `json:"fix"`
	Strict bool   `json:"strict"` // only the profile strict asks for it
}

const (
	officialChecks = "https://github.com/mlcommons/inference/blob/master/tools/submission/submission_checker/"
	structure      = "https://github.com/mlcommons/inference/blob/master/tools/submission/submission_structure.md"
	policies       = "https://github.com/mlcommons/inference_policies/blob/master/inference_rules.adoc"
	submissionRule = "https://github.com/mlcommons/policies/blob/master/submission_rules.adoc"
	auditRule      = "https://github.com/mlcommons/inference/tree/master/compliance"

	loaderFile       = officialChecks + "loader.py"
	performanceFile  = officialChecks + "checks/performance_check.py"
	accuracyFile     = officialChecks + "checks/accuracy_check.py"
	systemFile       = officialChecks + "checks/system_check.py"
	measurementsFile = officialChecks + "checks/measurements_checks.py"
	complianceFile   = officialChecks + "checks/compliance_check.py"
	powerFile        = officialChecks + "checks/power_check.py"
	powerSessionFile = officialChecks + "checks/power/power_checker.py"
	resultsFile      = officialChecks + "results.py"
)

// Rules lists all rules by their names.
func Rules() []Rule {
	list := []Rule{}
	for id, r := range rules {
		r.ID = id
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Rule) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return list
}

var rules = map[string]Rule{
	"tree-unreadable":     {Title: "everything can be read", Link: loaderFile, Fix: "make the file or folder readable, or take it out"},
	"tree-special-file":   {Title: "files are files", Link: submissionRule, Fix: "take the FIFO, device or socket out of the tree"},
	"tree-link-outside":   {Title: "links stay in the tree", Link: structure, Fix: "copy the file into the tree in place of the link"},
	"tree-link-broken":    {Title: "links lead somewhere", Link: structure, Fix: "copy the file into the tree in place of the link, or remove the link", Strict: true},
	"tree-root-file":      {Title: "only *.md and *.pdf files lie at the root", Link: structure, Fix: "remove the file", Strict: true},
	"tree-folder-unknown": {Title: "folders at the root are closed, open and network", Link: structure, Fix: "rename the folder to a division, or take it out", Strict: true},
	"tree-division-file":  {Title: "divisions hold submitters, not files", Link: structure, Fix: "remove the file", Strict: true},
	"tree-large-file":     {Title: "files are at most 50 MiB", Link: submissionRule, Fix: "truncate accuracy logs with `mlperf submission pack`; keep other large files out of the tree", Strict: true},
	"tree-name":           {Title: "names neither start with a point nor have spaces", Link: structure, Fix: "rename it or take it out", Strict: true},
	"tree-pycache":        {Title: "there are no compiled Python files", Link: structure, Fix: "remove __pycache__", Strict: true},
	"tree-empty-folder":   {Title: "no folder is empty", Link: structure, Fix: "remove the folder, or put in what belongs there", Strict: true},
	"tree-calibration":    {Title: "closed and network describe calibration", Link: policies + "#quantization", Fix: "write documentation/calibration.md: how numerics were chosen, and from which data", Strict: true},
	"tree-orphan":         {Title: "what is described has results", Link: structure, Fix: "remove the description, or add the results", Strict: true},
	"tree-source":         {Title: "the source is submitted", Link: measurementsFile, Fix: "put the code of the benchmark into src/ (code/ up to v5.1)"},
	"tree-results":        {Title: "a submitter has results", Link: loaderFile, Fix: "add results/, or take the submitter's folder out"},

	"system-missing":     {Title: "a system has a description", Link: systemFile, Fix: "write systems/<system>.json with the name of the results folder, in the same case"},
	"system-json":        {Title: "the description is a JSON object", Link: loaderFile, Fix: "correct the JSON; the file must be UTF-8 without a byte order mark"},
	"system-status":      {Title: "status is available, preview or rdi", Link: systemFile, Fix: "set status to the category of the submission"},
	"system-type":        {Title: "system_type is edge, datacenter or both", Link: systemFile, Fix: `set system_type to "edge", "datacenter", "datacenter,edge" or "edge,datacenter", exactly so`},
	"system-network":     {Title: "is_network fits the division", Link: systemFile, Fix: `set is_network to the text "true" for the division network; leave it out elsewhere`},
	"system-field":       {Title: "a description has all fields", Link: systemFile, Fix: "add the field; write N/A where there is nothing to tell"},
	"system-empty":       {Title: "fields say something", Link: systemFile, Fix: `fill the field in; write "N/A", or the text "0" for a count of none`},
	"system-submitter":   {Title: "submitter is the folder's name", Link: systemFile, Fix: "set submitter to the name of the submitter's folder"},
	"system-division":    {Title: "division is the folder's name", Link: systemFile, Fix: "set division to the name of the division's folder"},
	"system-number":      {Title: "nodes and accelerators are whole numbers", Link: resultsFile, Fix: `write a whole number, "0" for none`},
	"system-text":        {Title: "fields can be written into the summary", Link: resultsFile, Fix: "write plain text"},
	"system-quote":       {Title: "fields of the summary have no quotes", Link: resultsFile, Fix: "write the text without quotation marks and line breaks: the official summary does not escape them", Strict: true},
	"system-placeholder": {Title: "all fields are filled in", Link: systemFile, Fix: "say what the placeholder asks for; `mlperf system --from FILE` keeps what is filled in", Strict: true},
	"system-nameplate":   {Title: "the power description can be read", Link: systemFile, Fix: "correct systems/<system>_power.yaml"},

	"mapping-json":      {Title: "model_mapping.json can be read", Link: loaderFile, Fix: "write an object from your names of models to official ones"},
	"benchmark-unknown": {Title: "the round has the benchmark", Link: policies + "#benchmarks", Fix: "name the folder as the round names the benchmark, in small letters; in open, map your name in model_mapping.json"},
	"scenario-missing":  {Title: "a benchmark has all its scenarios", Link: performanceFile, Fix: "run the missing scenario, or infer it where the rules allow it"},
	"scenario-unknown":  {Title: "a benchmark has no other scenarios", Link: performanceFile, Fix: "take the folder out"},
	"scenario-twice":    {Title: "a scenario has one folder", Link: structure, Fix: "keep one of the folders", Strict: true},

	"log-missing": {Title: "logs are there", Link: loaderFile, Fix: "copy the log that LoadGen wrote"},
	"log-format":  {Title: "logs can be read", Link: officialChecks + "parsers/loadgen_parser.py", Fix: "copy the log unchanged; every line that starts with the marker is a JSON object with a key"},
	"log-key":     {Title: "logs have their keys", Link: officialChecks + "parsers/loadgen_parser.py", Fix: "copy the log unchanged; a cut one means that the run did not finish"},

	"perf-sample-count":      {Title: "enough samples stay in memory", Link: performanceFile, Fix: "run again with performance_sample_count_override unset"},
	"perf-seeds":             {Title: "seeds are those of the round", Link: policies + "#random-number-generation", Fix: "run again with the mlperf.conf of the round"},
	"perf-early-stopping":    {Title: "early stopping is met", Link: policies + "#early-stopping", Fix: "run again, longer or at a lower rate"},
	"perf-latency":           {Title: "the latency bound is the rules'", Link: policies + "#benchmarks", Fix: "run again with the target latency of mlperf.conf"},
	"perf-min-query-count":   {Title: "the least query count is the rules'", Link: performanceFile, Fix: "run again with the min_query_count of mlperf.conf"},
	"perf-samples-per-query": {Title: "an Offline query has enough samples", Link: performanceFile, Fix: "run again with a higher expected rate: samples are 1.1 times the rate times min_duration"},
	"perf-min-duration":      {Title: "a run lasts 600 s", Link: policies + "#test-duration", Fix: "run again with min_duration of 600000 ms or more"},
	"perf-network-sut":       {Title: "a system of the division network says so", Link: policies + "#network-division", Fix: `run again with "Network SUT" in the name of the SUT`},
	"perf-token-latency":     {Title: "tokens arrive in time", Link: policies + "#benchmarks", Fix: "run again with use_token_latencies, at a rate that keeps both bounds"},
	"perf-inferred":          {Title: "results are inferred as the rules allow", Link: policies, Fix: "run the scenario itself; on edge, MultiStream and Offline may come from SingleStream, and Offline from MultiStream"},
	"perf-metric":            {Title: "the log has the metric", Link: performanceFile, Fix: "run again: the log has no result of this scenario"},
	"perf-endpoints":         {Title: "the benchmark may be measured without LoadGen", Link: performanceFile, Fix: "measure with LoadGen: mlperf_log_detail.txt is missing in performance/run_1 and in accuracy"},
	"perf-validity":          {Title: "a run is VALID", Link: policies, Fix: "run again; `mlperf explain` says which constraint failed", Strict: true},
	"perf-errors":            {Title: "a run has no errors", Link: policies, Fix: "run again without what the message says", Strict: true},
	"perf-files":             {Title: "performance/run_1 has its files", Link: structure, Fix: "keep mlperf_log_summary.txt and mlperf_log_detail.txt (and spl.txt with power), nothing else", Strict: true},
	"perf-mode":              {Title: "a performance run is one", Link: policies, Fix: "run again in the mode PerformanceOnly", Strict: true},
	"perf-percentile":        {Title: "the percentile is the rules'", Link: policies + "#scenarios", Fix: "run again with the target_latency_percentile of mlperf.conf", Strict: true},
	"perf-issue":             {Title: "samples are drawn as the rules say", Link: policies, Fix: "run again without performance_issue_same and performance_issue_unique, and MultiStream with 8 samples a query", Strict: true},
	"perf-equal-issue":       {Title: "samples of unequal length are issued equally often", Link: policies, Fix: "run again with sample_concatenate_permutation", Strict: true},

	"acc-missing": {Title: "accuracy.txt is there", Link: accuracyFile, Fix: "write what the official accuracy script prints into accuracy/accuracy.txt"},
	"acc-format":  {Title: "accuracy.txt can be read", Link: loaderFile, Fix: "write it as UTF-8"},
	"acc-number":  {Title: "accuracies are numbers", Link: accuracyFile, Fix: "write what the official accuracy script prints, unchanged"},
	"acc-target":  {Title: "accuracy reaches the target", Link: policies + "#benchmarks", Fix: "raise the accuracy (numerics, preprocessing); in open it may be lower"},
	"acc-limit":   {Title: "accuracy stays below its limit", Link: policies + "#benchmarks", Fix: "correct the length or number of what is generated"},
	"acc-metric":  {Title: "every metric has a line", Link: accuracyFile, Fix: "write what the official accuracy script prints, all of it"},
	"acc-hash":    {Title: "the hash of the accuracy log is there", Link: accuracyFile, Fix: "`mlperf submission pack` writes it: a line hash= and the SHA-256 of mlperf_log_accuracy.json before it was cut"},
	"acc-log":     {Title: "the accuracy log is there and short", Link: accuracyFile, Fix: "`mlperf submission pack` cuts mlperf_log_accuracy.json to 10 KiB or less"},
	"acc-errors":  {Title: "the accuracy run has no errors", Link: accuracyFile, Fix: "run again without what the message says"},
	"acc-samples": {Title: "the accuracy run saw all samples", Link: accuracyFile, Fix: "run again with the whole data set"},
	"acc-images":  {Title: "made images and videos are there", Link: accuracyFile, Fix: "add what the accuracy script saved, under the names of the round"},
	"acc-files":   {Title: "accuracy has its files", Link: structure, Fix: "keep the summary and detail log, mlperf_log_accuracy.json and accuracy.txt, nothing else", Strict: true},
	"acc-mode":    {Title: "an accuracy run is one", Link: policies, Fix: "copy the logs of the run in the mode AccuracyOnly of this scenario", Strict: true},
	"acc-value":   {Title: "accuracies are possible", Link: policies, Fix: "score the accuracy log again", Strict: true},
	"acc-digest":  {Title: "the hash is that of the log", Link: structure, Fix: "put the original log back and run `mlperf submission pack`", Strict: true},

	"measure-missing": {Title: "a result has measurements", Link: measurementsFile, Fix: "write measurements.json (up to v5.1: measurements/<system>/<benchmark>/<scenario>/<system>_<implementation>_<scenario>.json)"},
	"measure-json":    {Title: "measurements are a JSON object", Link: loaderFile, Fix: "correct the JSON; the file must be UTF-8 without a byte order mark"},
	"measure-field":   {Title: "measurements have all fields", Link: measurementsFile, Fix: "fill in input_data_types, retraining, starting_weights_filename, weight_data_types and weight_transformations"},
	"measure-file":    {Title: "user.conf and README.md are there", Link: measurementsFile, Fix: "add user.conf as used, and a README.md that says how to run it; neither may be empty"},

	"text-placeholder": {Title: "nothing is left to fill in", Link: structure, Fix: "replace the placeholder by what it asks for", Strict: true},

	"audit-missing":  {Title: "compliance tests are there", Link: complianceFile, Fix: "run the compliance test of this scenario and verify it"},
	"audit-files":    {Title: "a compliance test has its files", Link: complianceFile, Fix: "keep what run_verification.py copies, nothing else"},
	"audit-result":   {Title: "compliance tests pass", Link: auditRule, Fix: "find out why the test failed, and run it again"},
	"audit-accuracy": {Title: "accuracy in performance mode is that of the accuracy run", Link: complianceFile, Fix: "run TEST01 again; its fallback compares the accuracy of the same samples"},
	"audit-line":     {Title: "TEST PASS is a line of its own", Link: auditRule, Fix: "keep what the verification script wrote", Strict: true},
	"audit-settings": {Title: "compliance tests run under their settings", Link: auditRule, Fix: "run the test again with its audit.config: `mlperf audit TEST…`", Strict: true},
	"audit-log":      {Title: "TEST01 keeps its accuracy log", Link: structure, Fix: "add TEST01/accuracy with mlperf_log_accuracy.json and accuracy.txt", Strict: true},

	"power-files":    {Title: "a power run has its files", Link: powerFile, Fix: "keep what the client of mlcommons/power-dev wrote, nothing else"},
	"power-session":  {Title: "the power session is in order", Link: powerSessionFile, Fix: "measure again with mlcommons/power-dev, and copy its folder unchanged"},
	"power-metric":   {Title: "power was measured during the run", Link: powerFile, Fix: "measure again: spl.txt has no samples between power_begin and power_end"},
	"power-settings": {Title: "analyzer and power settings are described", Link: policies, Fix: "add analyzer_table.* and power_settings.* beside measurements or up to three folders above", Strict: true},
}
