package mlperflog

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// advice says, for each constraint that is not met, what to do, in the reference's
// order; then what only we check. Early stopping has a text of its own. A text may
// have two lines.
func advice(r *loadgen.Result) []string {
	p := r.Performance
	var list []string
	say := func(met bool, format string, args ...any) {
		if !met {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	switch {
	case p.Effective.FixedInterval:
		say(p.PerfConstraintsMet, "Too many queries made the next interval be skipped: lower the samples per query.")
	case p.Effective.UseTokenLatencies:
		say(p.TTFTMet, "TTFT is above its limit: lower the target QPS.")
		say(p.TPOTMet, "TPOT is above its limit: lower the target QPS.")
	default:
		say(p.PerfConstraintsMet, "The latency is above its limit: lower the target QPS.")
	}
	say(p.MinDurationMet, "%s", durationAdvice(p.Effective.Scenario))
	say(p.MinQueriesMet, "The test ended before enough queries were issued.\n   The detail log says why.")
	say(p.GeneratorMet, "The generator issued queries %v late (at the target percentile), more than %v: "+
		"this machine was too busy, which says nothing about the SUT.", p.IssueDelay.Target, p.MaxIssueDelay)
	for _, fault := range r.Faults {
		say(false, "The SUT or a log failed: %s.", oneLine(fault.Error()))
	}
	if r.Interrupted != nil {
		say(false, "The test was stopped before its end: %s.", oneLine(r.Interrupted.Error()))
	}
	return list
}

func durationAdvice(s loadgen.Scenario) string {
	switch s {
	case loadgen.Server:
		return "The run was too short: raise the target QPS, so that more queries are prepared."
	case loadgen.Offline:
		return "The run was too short: raise the expected QPS, so that the query has more samples."
	}
	return "The run was too short: lower the expected latency, so that more queries are prepared."
}

// earlyStoppingText says how the criterion came out, a line for each fact. Programs
// read the lines with estimates (compliance/TEST04); the first line of a sentence has
// a bullet.
func earlyStoppingText(s loadgen.Scenario, e loadgen.EarlyStopping) string {
	if s == loadgen.Offline || e.Needed == 0 {
		return "" // it does not apply, or was not looked at any more
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
		if s == loadgen.SingleStream {
			say("%s", multiStreamEstimate(e))
		}
	}
	return strings.Join(lines, "\n")
}

// multiStreamPercentile is that of the second estimate of SingleStream.
const multiStreamPercentile = 0.99

func multiStreamEstimate(e loadgen.EarlyStopping) string {
	p := percent(multiStreamPercentile, 1)
	if e.MultiStreamEstimate == 0 {
		return fmt.Sprintf(" * There are too few queries for an estimate\n of the %sth percentile: at least %d\n are needed in all.", p, e.MultiStreamNeeded)
	}
	return fmt.Sprintf(" * Early stopping %sth percentile estimate: %d", p, int64(e.MultiStreamEstimate))
}
