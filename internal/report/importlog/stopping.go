package importlog

import (
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// sure is the highest percentile for which early stopping is calculated: a log may have any.
const sure = 0.99999

// stopping are the criteria of early stopping. LoadGen does not log how many queries they
// wanted; without token latencies that can be calculated.
func (f *figures) stopping(met bool) {
	p, e := f.performance, f.performance.Effective
	p.EarlyStopping = loadgen.EarlyStopping{Met: met, Processed: p.QueryCount, Percentile: e.TargetLatencyPercentile}
	p.FirstTokenEarlyStopping = p.EarlyStopping
	if e.UseTokenLatencies && !met { // the verdict is one for both criteria
		p.EarlyStopping.Met = f.metPerToken()
	}
	over := uint64(1)
	if e.Scenario == loadgen.Server {
		over = p.Overlatency
	}
	if f.withoutNeeded = e.UseTokenLatencies || !f.calculable(over); !f.withoutNeeded {
		p.EarlyStopping.Needed = loadgen.NeededQueries(over, e.TargetLatencyPercentile)
	}
	f.estimates()
}

// calculable reports whether the needed queries can be calculated for so many above the limit.
func (f *figures) calculable(over uint64) bool {
	n, percentile := f.performance.QueryCount, f.performance.Effective.TargetLatencyPercentile
	return !f.withoutCount && over <= n && n <= 1<<40 && percentile > 0 && percentile <= sure
}

// estimates are what early stopping says of latencies.
func (f *figures) estimates() {
	p, e := f.performance, f.performance.Effective
	key := "early_stopping_latency_ss"
	if e.Scenario == loadgen.MultiStream {
		key = "early_stopping_latency_ms"
	}
	if v, err := f.detail.Time(key); err == nil {
		p.EarlyStopping.Estimate = v
	} else if v, ok := f.summary.Estimate(e.TargetLatencyPercentile * 100); ok {
		p.EarlyStopping.Estimate = time.Duration(v)
	}
	if e.Scenario == loadgen.SingleStream {
		p.EarlyStopping.MultiStreamEstimate, _ = f.detail.Time("early_stopping_latency_ms")
	}
}

// metPerToken reports whether the criterion of the time per output token was met, which comes first.
func (l *logs) metPerToken() bool {
	said, met := l.criteria("early_stopping_tpot_result")
	return said && met
}

// withoutCriterion reports whether a verdict of early stopping that is good follows from no criterion: our own tests under
// rules before v2.0 have it all the same.
func (l *logs) withoutCriterion(s loadgen.Scenario, met bool) bool {
	said, reached := l.criteria("early_stopping_result", "early_stopping_ttft_result", "early_stopping_tpot_result")
	return l.hasIntervals() || s != loadgen.Offline && met && said && !reached
}

// hasIntervals reports whether queries were issued at fixed intervals, as before v2.0.
func (l *logs) hasIntervals() bool {
	_, ok := l.detail.First("result_50.00_percentile_num_intervals_between_queries")
	return ok
}

// succeeded are parts of the texts of criteria that were met: LoadGen's and ours in Server, and both in the streams.
var succeeded = []string{"Run successful", "There were enough queries", "percentile estimate"}

// criteria reports whether the logs have texts of criteria of early stopping, and whether one says that it was met.
func (l *logs) criteria(keys ...string) (said, met bool) {
	for _, key := range keys {
		text, err := l.detail.Text(key)
		said = said || err == nil
		met = met || slices.ContainsFunc(succeeded, func(part string) bool { return strings.Contains(text, part) })
	}
	return said, met
}
