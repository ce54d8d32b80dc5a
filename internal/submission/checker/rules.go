package checker

// A rule is one thing that is checked.
type rule struct {
	link   string // to what asks for it
	fix    string // what to do
	strict bool   // only the profile strict asks for it
}

// Link returns the address of what asks for a rule.
func Link(id string) string { return rules[id].link }

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

var rules = map[string]rule{
	"tree-unreadable":     {link: loaderFile, fix: "make the file or folder readable, or take it out"},
	"tree-special-file":   {link: submissionRule, fix: "take the FIFO, device or socket out of the tree"},
	"tree-link-outside":   {link: structure, fix: "copy the file into the tree in place of the link"},
	"tree-link-broken":    {link: structure, fix: "copy the file into the tree in place of the link, or remove the link", strict: true},
	"tree-root-file":      {link: structure, fix: "remove the file", strict: true},
	"tree-folder-unknown": {link: structure, fix: "rename the folder to a division, or take it out", strict: true},
	"tree-division-file":  {link: structure, fix: "remove the file", strict: true},
	"tree-large-file":     {link: submissionRule, fix: "truncate accuracy logs with `mlperf submission pack`; keep other large files out of the tree", strict: true},
	"tree-name":           {link: structure, fix: "rename it or take it out", strict: true},
	"tree-pycache":        {link: structure, fix: "remove __pycache__", strict: true},
	"tree-empty-folder":   {link: structure, fix: "remove the folder, or add its files", strict: true},
	"tree-calibration":    {link: policies + "#quantization", fix: "write documentation/calibration.md: how numerics were chosen, and from which data", strict: true},
	"tree-network":        {link: policies + "#network-division", fix: "write documentation/network_<system>.md: a diagram of all between LoadGen and the nodes, layers 1 to 4, both ends; `mlperf submission build` begins it", strict: true},
	"tree-orphan":         {link: structure, fix: "remove the description, or add the results", strict: true},
	"tree-source":         {link: measurementsFile, fix: "put the code of the benchmark into src/ (code/ up to v5.1)"},
	"tree-results":        {link: loaderFile, fix: "add results/, or take the submitter's folder out"},

	"system-missing":     {link: systemFile, fix: "write systems/<system>.json with the name of the results folder, in the same case"},
	"system-json":        {link: loaderFile, fix: "correct the JSON; the file must be UTF-8 without a byte order mark"},
	"system-status":      {link: systemFile, fix: "set status to the category of the submission"},
	"system-type":        {link: systemFile, fix: `set system_type to "edge", "datacenter", "datacenter,edge" or "edge,datacenter", exactly so`},
	"system-network":     {link: systemFile, fix: `set is_network to the text "true" for the division network; leave it out elsewhere`},
	"system-field":       {link: systemFile, fix: "add the field; write N/A if it does not apply"},
	"system-empty":       {link: systemFile, fix: `fill the field in; write "N/A", or the text "0" for a count of none`},
	"system-submitter":   {link: systemFile, fix: "set submitter to the name of the submitter's folder"},
	"system-division":    {link: systemFile, fix: "set division to the name of the division's folder"},
	"system-number":      {link: resultsFile, fix: `write a whole number, "0" for none`},
	"system-text":        {link: resultsFile, fix: "write plain text"},
	"system-quote":       {link: resultsFile, fix: "write the text without quotation marks and line breaks: the official summary does not escape them", strict: true},
	"system-placeholder": {link: systemFile, fix: "fill in the field; `mlperf system --from FILE` keeps what is filled in", strict: true},
	"system-datacenter":  {link: policies + "#constraints-for-the-closed-division", fix: "describe ECC (also in hw_notes) and the network if the system has them: closed and network ask for both in a datacenter", strict: true},
	"system-nameplate":   {link: systemFile, fix: "correct systems/<system>_power.yaml"},

	"mapping-json":      {link: loaderFile, fix: "write an object from your names of models to official ones"},
	"benchmark-unknown": {link: policies + "#benchmarks", fix: "name the folder as the round names the benchmark, in small letters; in open, map your name in model_mapping.json"},
	"scenario-missing":  {link: performanceFile, fix: "run the missing scenario, or infer it where the rules allow it"},
	"scenario-unknown":  {link: performanceFile, fix: "take the folder out"},
	"scenario-twice":    {link: structure, fix: "keep one of the folders", strict: true},

	"log-missing": {link: loaderFile, fix: "copy the log that LoadGen wrote"},
	"log-format":  {link: officialChecks + "parsers/loadgen_parser.py", fix: "copy the log unchanged; every line that starts with the marker is a JSON object with a key"},
	"log-key":     {link: officialChecks + "parsers/loadgen_parser.py", fix: "copy the log unchanged; a cut one means that the run did not finish"},

	"perf-sample-count":      {link: performanceFile, fix: "run again with performance_sample_count_override unset"},
	"perf-seeds":             {link: policies + "#random-number-generation", fix: "run again with the mlperf.conf of the round"},
	"perf-early-stopping":    {link: policies + "#early-stopping", fix: "run again, longer or at a lower rate"},
	"perf-latency":           {link: policies + "#benchmarks", fix: "run again with the target latency of mlperf.conf"},
	"perf-min-query-count":   {link: performanceFile, fix: "run again with the min_query_count of mlperf.conf"},
	"perf-samples-per-query": {link: performanceFile, fix: "run again with a higher expected rate: samples are 1.1 times the rate times min_duration"},
	"perf-min-duration":      {link: policies + "#test-duration", fix: "run again with min_duration of 600000 ms or more"},
	"perf-network-sut":       {link: policies + "#network-division", fix: `run again with "Network SUT" in the name of the SUT`},
	"perf-token-latency":     {link: policies + "#benchmarks", fix: "run again with use_token_latencies, at a rate that keeps both bounds"},
	"perf-inferred":          {link: policies, fix: "run the scenario itself; on edge, MultiStream and Offline may come from SingleStream, and Offline from MultiStream"},
	"perf-metric":            {link: performanceFile, fix: "run again: the log has no result of this scenario"},
	"perf-endpoints":         {link: performanceFile, fix: "measure with LoadGen: mlperf_log_detail.txt is missing in performance/run_1 and in accuracy"},
	"perf-validity":          {link: policies, fix: "run again; `mlperf explain` says which constraint failed", strict: true},
	"perf-errors":            {link: policies, fix: "remove the cause of the error and run again", strict: true},
	"perf-files":             {link: structure, fix: "keep mlperf_log_summary.txt and mlperf_log_detail.txt (and spl.txt with power), nothing else", strict: true},
	"perf-mode":              {link: policies, fix: "run again in the mode PerformanceOnly", strict: true},
	"perf-percentile":        {link: policies + "#scenarios", fix: "run again with the target_latency_percentile of mlperf.conf", strict: true},
	"perf-issue":             {link: policies, fix: "run again without performance_issue_same and performance_issue_unique, and MultiStream with 8 samples a query", strict: true},
	"perf-equal-issue":       {link: policies, fix: "run again with sample_concatenate_permutation", strict: true},

	"acc-missing": {link: accuracyFile, fix: "write the output of the official accuracy script into accuracy/accuracy.txt"},
	"acc-format":  {link: loaderFile, fix: "write it as UTF-8"},
	"acc-number":  {link: accuracyFile, fix: "keep the output of the official accuracy script unchanged"},
	"acc-target":  {link: policies + "#benchmarks", fix: "raise the accuracy (numerics, preprocessing); in open it may be lower"},
	"acc-limit":   {link: policies + "#benchmarks", fix: "correct the length or the number of the generated texts"},
	"acc-metric":  {link: accuracyFile, fix: "keep the whole output of the official accuracy script"},
	"acc-hash":    {link: accuracyFile, fix: "`mlperf submission pack` writes it: a line hash= and the SHA-256 of mlperf_log_accuracy.json before it was cut"},
	"acc-log":     {link: accuracyFile, fix: "`mlperf submission pack` cuts mlperf_log_accuracy.json to 10 KiB or less"},
	"acc-errors":  {link: accuracyFile, fix: "remove the cause of the error and run again"},
	"acc-samples": {link: accuracyFile, fix: "run again with the whole data set"},
	"acc-images":  {link: accuracyFile, fix: "add the files that the accuracy script saved, under the names of the round"},
	"acc-files":   {link: structure, fix: "keep the summary and detail log, mlperf_log_accuracy.json and accuracy.txt, nothing else", strict: true},
	"acc-mode":    {link: policies, fix: "copy the logs of the run in the mode AccuracyOnly of this scenario", strict: true},
	"acc-value":   {link: policies, fix: "score the accuracy log again", strict: true},
	"acc-digest":  {link: structure, fix: "put the original log back and run `mlperf submission pack`", strict: true},

	"measure-missing": {link: measurementsFile, fix: "write measurements.json (up to v5.1: measurements/<system>/<benchmark>/<scenario>/<system>_<implementation>_<scenario>.json)"},
	"measure-json":    {link: loaderFile, fix: "correct the JSON; the file must be UTF-8 without a byte order mark"},
	"measure-field":   {link: measurementsFile, fix: "fill in input_data_types, retraining, starting_weights_filename, weight_data_types and weight_transformations"},
	"measure-file":    {link: measurementsFile, fix: "add user.conf as used, and a README.md that says how to run it; neither may be empty"},

	"text-placeholder": {link: structure, fix: "replace the placeholder", strict: true},

	"audit-missing":  {link: complianceFile, fix: "run the compliance test of this scenario and verify it"},
	"audit-files":    {link: complianceFile, fix: "keep the files that run_verification.py copies, nothing else"},
	"audit-result":   {link: auditRule, fix: "find out why the test failed, and run it again"},
	"audit-accuracy": {link: complianceFile, fix: "run TEST01 again; its fallback compares the accuracy of the same samples"},
	"audit-line":     {link: auditRule, fix: "keep the output of the verification script unchanged", strict: true},
	"audit-settings": {link: auditRule, fix: "run the test again with its audit.config: `mlperf audit TEST…`", strict: true},
	"audit-log":      {link: structure, fix: "add TEST01/accuracy with mlperf_log_accuracy.json and accuracy.txt", strict: true},

	"power-files":    {link: powerFile, fix: "keep the files that the client of mlcommons/power-dev wrote, nothing else"},
	"power-session":  {link: powerSessionFile, fix: "measure again with mlcommons/power-dev, and copy its folder unchanged"},
	"power-metric":   {link: powerFile, fix: "measure again: spl.txt has no samples between power_begin and power_end"},
	"power-settings": {link: policies, fix: "add analyzer_table.* and power_settings.* beside measurements or up to three folders above", strict: true},
}
