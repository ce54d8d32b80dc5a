package build

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/report"
)

// ownSettings are what the settings of a compliance test change, which speaks against a
// result and not against the test (the audit.config of each, in the reference's compliance
// folder).
var ownSettings = map[string][]string{
	"TEST01": {"accuracy_log_rng_seed", "accuracy_log_sampling_target"},
	"TEST04": {"performance_issue_unique", "performance_issue_same", "performance_issue_same_index", "min_query_count"},
	"TEST05": {"test05"},
	"TEST06": {"accuracy_log_rng_seed", "accuracy_log_sampling_target", "min_query_count", "min_duration", "sample_concatenate_permutation"},
	"TEST07": {"performance_sample_count_override", "accuracy_log_rng_seed", "accuracy_log_sampling_target", "min_query_count", "min_duration", "sample_concatenate_permutation", "performance_issue_unique"},
	"TEST08": {"accuracy_log_rng_seed", "accuracy_log_sampling_target"},
	"TEST09": {"accuracy_log_rng_seed", "accuracy_log_sampling_target", "min_query_count", "min_duration", "sample_concatenate_permutation", "performance_issue_unique"},
}

// auditCaveat is a caveat about a setting of an audit.config.
var auditCaveat = regexp.MustCompile(`^closed division: (\w+) is .*audit\.config:\d+\)$`)

// harmless reports whether a caveat does not keep a run out, of a part of a result.
func harmless(caveat, part string) bool {
	if m := auditCaveat.FindStringSubmatch(caveat); m != nil {
		return slices.Contains(ownSettings[part], m[1])
	}
	return caveat == report.CaveatUnofficial || caveat == report.CaveatBuiltInModel // of which more is known
}

// refuse says why a run may not enter a division as a part of a result; empty: it may.
func refuse(r *run, part, division string) string {
	if validity, err := r.log.Text("result_validity"); err == nil && validity != report.Valid {
		reason, _ := r.log.Text("result_invalid_reason")
		return strings.TrimSpace("the run is " + validity + " " + reason)
	}
	if errors := r.log.Errors(); len(errors) > 0 {
		return fmt.Sprintf("%s:%d: the log has %d errors, first %v", r.log.Name, errors[0].Line, len(errors), errors[0].Value)
	}
	if r.results == nil {
		if r.ours() {
			return "this program made the logs, and " + report.FileName + " is gone, which says what speaks against them"
		}
		return ""
	}
	return refuseResults(r.results, part, division)
}

// refuseResults looks at what is known of a run of this program. The caveats name every
// setting that is easier than the rules of its division allow.
func refuseResults(r *report.Results, part, division string) string {
	switch {
	case r.Result != report.Valid:
		return "the run is " + r.Result
	case strings.HasPrefix(r.Backend.Engine, "simulated"):
		return "the engine is simulated"
	case r.Input.BuiltInData:
		return report.CaveatBuiltInData
	case r.Input.BuiltIn && division != "open":
		return report.CaveatBuiltInModel
	}
	for _, caveat := range r.Caveats {
		if !harmless(caveat, part) {
			return "it has a caveat: " + caveat
		}
	}
	return ""
}
