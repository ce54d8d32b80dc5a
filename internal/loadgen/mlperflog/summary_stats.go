package mlperflog

import "github.com/mlperf-go/mlperf/internal/loadgen"

// stats are the figures below "Additional Stats".
func (s *summaryWriter) stats(p *loadgen.Performance) {
	latency := p.SampleLatency
	switch p.Effective.Scenario {
	case loadgen.SingleStream:
		s.rate("QPS w/ loadgen overhead         : ", p.QPSWithOverhead(), twoDecimals)
		s.rate("QPS w/o loadgen overhead        : ", p.QPSWithoutOverhead(), twoDecimals)
		s.line("")
	case loadgen.Server:
		s.rate("Scheduled samples per second : ", p.ScheduledQPS(), twoDecimals)
	case loadgen.MultiStream:
		if p.Effective.FixedInterval {
			s.intervals(p)
			break
		}
		s.line("Per-query latency:  ")
		latency = p.QueryLatency
	}
	if latency.Count == 0 {
		return
	}
	s.line("Min latency (ns)                : %d", latency.Min)
	s.line("Max latency (ns)                : %d", latency.Max)
	s.line("Mean latency (ns)               : %d", latency.Mean)
	s.percentiles(latency, "latency (ns)  ")
	if p.Effective.UseTokenLatencies {
		s.tokenStats(p)
	}
}

// intervals are the statistics of queries at fixed intervals (loadgen/loadgen.cc at
// v1.0.1, LogSummary).
func (s *summaryWriter) intervals(p *loadgen.Performance) {
	e := p.Effective
	s.line("Intervals between each IssueQuery:  \"qps\" : %s, \"ms\" : %s", general(e.TargetQPS), general(1000/e.TargetQPS))
	for i, fraction := range loadgen.Percentiles() {
		s.line("%s percentile : %d", percent(fraction, 2), p.Intervals[i])
	}
	s.line("")
	s.line("Per-query latency:  \"target_ns\" : %d, \"target_ms\" : %s", e.TargetLatency, general(float64(e.TargetLatency)/1e6))
	s.percentiles(p.QueryLatency, "latency (ns)  ")
	s.line("")
	s.line("Per-sample latency:")
}

func (s *summaryWriter) tokenStats(p *loadgen.Performance) {
	s.line("")
	switch p.Effective.Scenario {
	case loadgen.Offline:
		return
	case loadgen.SingleStream:
		s.rate("TPS w/ loadgen overhead         : ", tokensPer(p, p.FinalQueryIssued), twoDecimals)
		s.rate("TPS w/o loadgen overhead        : ", tokensWithoutOverhead(p), twoDecimals)
	case loadgen.Server:
		s.rate("Completed tokens per second                 : ", tokensPer(p, p.FinalQueryCompleted), twoDecimals)
	}
	s.line("Min First Token latency (ns)                : %d", p.FirstToken.Min)
	s.line("Max First Token latency (ns)                : %d", p.FirstToken.Max)
	s.line("Mean First Token latency (ns)               : %d", p.FirstToken.Mean)
	s.percentiles(p.FirstToken, "first token latency (ns)  ")
	s.line("")
	s.line("Min Time per Output Token (ns)                : %d", p.TimePerOutputToken.Min)
	s.line("Max Time per Output Token (ns)                : %d", p.TimePerOutputToken.Max)
	s.line("Mean Time per Output Token (ns)               : %d", p.TimePerOutputToken.Mean)
	s.percentiles(p.TimePerOutputToken, "time to output token (ns)  ")
}

func (s *summaryWriter) percentiles(l loadgen.LatencyStats, of string) {
	for i, p := range loadgen.Percentiles() {
		s.line("%s percentile %s : %d", percent(p, 2), of, l.Percentiles[i])
	}
}
