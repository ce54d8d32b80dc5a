package mlperflog

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// advice has the reasons of an INVALID result and their remedies: the constraints that were not met, in the reference's
// order, then those of this program only. Early stopping has a text of its own.
func advice(r *loadgen.Result) []string {
	var list []string
	for _, c := range broken(r.Performance.Constraints()) {
		text := strings.ReplaceAll(c.String(), "µ", "u") + "."                      // the logs of the reference are ASCII
		if c.ID == loadgen.ConstraintQueries || c.ID == loadgen.ConstraintSamples { // two lines in the reference
			text = strings.Replace(text, "; ", ";\n   ", 1)
		}
		list = append(list, text)
	}
	for _, fault := range r.Faults {
		list = append(list, fmt.Sprintf("The SUT or a log failed: %s.", oneLine(fault.Error())))
	}
	if r.Interrupted != nil {
		list = append(list, fmt.Sprintf("The test was stopped before its end: %s.", oneLine(r.Interrupted.Error())))
	}
	return list
}

// broken returns the constraints that make a result INVALID, as the reference has lines for them: it has one for too few
// queries and too few samples.
func broken(constraints []loadgen.Constraint) []loadgen.Constraint {
	var list []loadgen.Constraint
	counted := false
	for _, c := range constraints {
		if c.Met || c.ReferenceOnly {
			continue
		}
		switch c.ID {
		case loadgen.ConstraintEarlyStopping, loadgen.ConstraintFirstTokenStopping:
			continue
		case loadgen.ConstraintQueries, loadgen.ConstraintSamples:
			if counted {
				continue
			}
			counted = true
		}
		list = append(list, c)
	}
	return list
}

// earlyStoppingText says how early stopping came out, with a bullet for each fact. Programs read the lines with estimates
// (compliance/TEST04).
func earlyStoppingText(s loadgen.Scenario, e loadgen.EarlyStopping) string {
	if s == loadgen.Offline || e.Needed == 0 {
		return "" // it does not apply, or was not evaluated
	}
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch {
	case s == loadgen.Server && e.Met:
		say(" * There were enough queries.")
	case s == loadgen.Server:
		say(" * There were not enough queries.")
		say(" * Processed %d queries.", e.Processed)
		say(" * At least %d more queries are needed,", e.Needed-e.Processed)
		say(" and the run will do if all of those")
		say(" meet the latency limit.")
	case !e.Met:
		say(" * Processed no more than %d queries.", e.Processed)
		say(" * At least %d queries are needed.", e.Needed)
	default:
		say(" * Processed %d queries, of at least %d.", e.Processed, e.Needed)
		say(" * Left out the %d slowest queries.", e.Discarded)
		say(" * Early stopping %sth percentile estimate: %d", percent(e.Percentile, 1), int64(e.Estimate))
		if p := percent(0.99, 1); s == loadgen.SingleStream && e.MultiStreamEstimate == 0 { // the percentile of MultiStream
			say(" * There are too few queries for an estimate\n of the %sth percentile: at least %d\n are needed in all.", p, e.MultiStreamNeeded)
		} else if s == loadgen.SingleStream {
			say(" * Early stopping %sth percentile estimate: %d", p, int64(e.MultiStreamEstimate))
		}
	}
	return strings.Join(lines, "\n")
}
