package session

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// Foretold says before a run what its result will be at best: what it will be marked with, or
// that it cannot be VALID. Empty: it may be a result under the rules, as far as is known before
// anything is opened.
func (r *Resolved) Foretold() string {
	if doom := r.doom(); doom != "" {
		return "this run cannot be VALID: " + doom
	}
	caveats, _ := r.judge(r.Settings, r.resolved.Origin)
	caveats = append(caveats, r.caveats()...)
	q := &r.Request
	switch builtIn := q.ModelPath == "" && !q.remote(); {
	case builtIn && q.DatasetPath == "":
		caveats = append(caveats, "built-in model and data")
	case builtIn:
		caveats = append(caveats, "built-in model")
	case q.DatasetPath == "":
		caveats = append(caveats, "built-in data")
	}
	if q.Count > 0 {
		caveats = append(caveats, fmt.Sprintf("the first %d samples", q.Count))
	}
	if len(caveats) == 0 {
		return ""
	}
	return "this will not be a result under the rules: " + strings.Join(caveats, "; ")
}

// doom names settings that exclude each other; empty: there are none.
func (r *Resolved) doom() string {
	s := r.Settings
	if s.Mode != loadgen.PerformanceOnly {
		return ""
	}
	n := uint64(r.model.PerformanceSampleCount)
	e := s.Effective(n, n)
	least := uint64(0)
	switch e.Scenario {
	case loadgen.SingleStream, loadgen.MultiStream:
		least = loadgen.NeededQueries(1, e.TargetLatencyPercentile)
	case loadgen.Server:
		least = loadgen.NeededQueries(0, e.TargetLatencyPercentile)
	}
	if e.WithoutEarlyStopping || e.FixedInterval {
		least = 0
	}
	switch most := e.MaxQueryCount; {
	case most > 0 && most < e.MinQueryCount:
		return fmt.Sprintf("at most %d queries are issued, and min_query_count is %d", most, e.MinQueryCount)
	case most > 0 && most < least:
		return fmt.Sprintf("at most %d queries are issued, and early stopping needs %d", most, least)
	case e.MaxDuration > 0 && e.MaxDuration < e.MinDuration:
		return fmt.Sprintf("max_duration is %v, and min_duration %v", e.MaxDuration, e.MinDuration)
	}
	return ""
}
