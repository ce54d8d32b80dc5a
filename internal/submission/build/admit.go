package build

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/report"
)

// refuse says why a run may not enter a division; empty: it may.
func refuse(r *run, division string) string {
	if validity, err := r.log.Text("result_validity"); err == nil && validity != report.Valid {
		reason, _ := r.log.Text("result_invalid_reason")
		return strings.TrimSpace("the run is " + validity + " " + reason)
	}
	if errors := r.log.Errors(); len(errors) > 0 {
		return fmt.Sprintf("%s:%d: the log has %d errors, first %v", r.log.Name, errors[0].Line, len(errors), errors[0].Value)
	}
	if r.results == nil {
		if r.ours() && division != "open" {
			return "this program made the logs, and " + report.FileName + " is gone, which says what speaks against them"
		}
		return ""
	}
	return refuseResults(r.results, division)
}

// refuseResults looks at what is known of a run of this program. The caveats name every
// setting that is easier than the rules of its division allow.
func refuseResults(r *report.Results, division string) string {
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
		if caveat != report.CaveatUnofficial && caveat != report.CaveatBuiltInModel {
			return "it has a caveat: " + caveat
		}
	}
	return ""
}
