package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
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
	if text := r.builtIn(); text != "" {
		caveats = append(caveats, text)
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
	least := neededQueries(e)
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

// neededQueries is how many queries early stopping needs at least; 0: it does not apply.
func neededQueries(e loadgen.EffectiveSettings) uint64 {
	if e.WithoutEarlyStopping || e.FixedInterval {
		return 0
	}
	switch e.Scenario {
	case loadgen.SingleStream, loadgen.MultiStream:
		return loadgen.NeededQueries(1, e.TargetLatencyPercentile)
	case loadgen.Server:
		return loadgen.NeededQueries(0, e.TargetLatencyPercentile)
	}
	return 0
}

// builtInData reports whether the data are made here, or lie in a folder that was.
func (r *Resolved) builtInData() bool {
	return r.Request.DatasetPath == "" || builtin.IsDataset(r.Request.DatasetPath)
}

// builtInModel reports whether the model is made here, or one of the files that was given.
func (r *Resolved) builtInModel() bool {
	q := &r.Request
	if q.ModelPath == "" || q.remote() {
		return !q.remote()
	}
	files, err := r.model.FilesOf(q.ModelPath)
	return err == nil && slices.ContainsFunc(files, func(f workload.File) bool { return builtin.IsModel(f.Path) })
}

// builtIn says what of the request is made here; empty: nothing is.
func (r *Resolved) builtIn() string {
	switch model, data := r.builtInModel(), r.builtInData(); {
	case model && data:
		return "built-in model and data"
	case model:
		return "built-in model"
	case data:
		return "built-in data"
	}
	return ""
}
