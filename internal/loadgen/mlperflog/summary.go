package mlperflog

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// writeSummary writes mlperf_log_summary.txt.
func writeSummary(w io.Writer, r *loadgen.Result) error {
	s := &summaryWriter{bufio.NewWriter(w)}
	if p := r.Performance; p != nil {
		s.title("MLPerf Results Summary")
		s.line("SUT name : %s", oneLine(r.SUTName))
		s.line("Scenario : %v", p.Effective.Scenario)
		s.line("Mode     : %v", p.Effective.Mode)
		for _, row := range loadgen.Settings() {
			if row.Label != "" && row.IfSet && row.IsSet(&r.Requested) {
				s.setting(row, &p.Effective)
			}
		}
		s.metrics(p)
		s.verdict(r)
		s.earlyStopping(p)
		s.line("")
		s.title("Additional Stats")
		s.stats(p)
		s.line("")
		s.title("Test Parameters Used")
		s.parameters(p.Effective)
	}
	s.line("\n%s", encountered(r.Warnings(), "No warnings encountered during test.", "warning", "warnings"))
	s.line("\n%s", encountered(r.Errors(), "No errors encountered during test.", "ERROR", "ERRORS"))
	if err := s.Flush(); err != nil {
		return fmt.Errorf("writing the summary log: %w", err)
	}
	return nil
}

// A summaryWriter writes lines; Flush returns the first error of any.
type summaryWriter struct{ *bufio.Writer }

func (s *summaryWriter) line(format string, args ...any) { fmt.Fprintf(s, format+"\n", args...) }

// rate writes a number that was measured.
func (s *summaryWriter) rate(label string, v float64, form func(float64) string) {
	if !math.IsNaN(v) {
		s.line("%s%s", label, form(v))
	}
}

// latency writes the target percentile of latencies that were measured.
func (s *summaryWriter) latency(label string, l loadgen.LatencyStats) {
	if l.Count > 0 {
		s.line("%s%d", label, l.Target)
	}
}

// rule is what titles stand between.
var rule = strings.Repeat("=", 48)

func (s *summaryWriter) title(title string) { s.line("%s\n%s\n%s", rule, title, rule) }

// metrics are the scenario's result.
func (s *summaryWriter) metrics(p *loadgen.Performance) {
	e := p.Effective
	percentile := percent(e.TargetLatencyPercentile, 1)
	switch e.Scenario {
	case loadgen.SingleStream:
		s.latency(percentile+"th percentile latency (ns) : ", p.SampleLatency)
	case loadgen.MultiStream:
		if e.FixedInterval {
			s.line("Samples per query : %d", e.SamplesPerQuery)
			break
		}
		s.latency(percentile+"th percentile latency (ns) : ", p.QueryLatency)
	case loadgen.Server:
		s.rate("Completed samples per second    : ", p.CompletedQPS(), twoDecimals)
	case loadgen.Offline:
		s.rate("Samples per second: ", p.SamplesPerSecond(), general)
	}
	switch {
	case !e.UseTokenLatencies:
	case e.Scenario == loadgen.Server:
		s.rate("Completed tokens per second: ", tokensPer(p, p.FinalQueryCompleted), twoDecimals)
	case e.Scenario == loadgen.Offline:
		s.rate("Tokens per second: ", tokensPer(p, p.SampleLatency.Max), general)
	default:
		s.latency(percentile+"th first token percentile latency (ns) : ", p.FirstToken)
	}
	switch {
	case !e.InferTokenLatencies:
	case e.Scenario == loadgen.Server:
		s.rate("Completed tokens per second (inferred): ", p.InferredTokensPerSecond(), twoDecimals)
	case e.Scenario == loadgen.Offline:
		s.rate("Tokens per second (inferred): ", p.InferredTokensPerSecond(), general)
	}
}

func (s *summaryWriter) verdict(r *loadgen.Result) {
	p := r.Performance
	s.line("Result is : %s", validity(r))
	if p.HasPerfConstraints() {
		s.line("  Performance constraints satisfied : %s", yes(p.PerfConstraintsMet))
	}
	s.line("  Min duration satisfied : %s", yes(p.MinDurationMet))
	s.line("  Min queries satisfied : %s", yes(p.MinQueriesMet))
	s.line("  Early stopping satisfied: %s", yes(p.EarlyStoppingMet()))
	if r.Valid() {
		return
	}
	s.line("Recommendations:")
	for _, text := range advice(r) {
		s.line(" * %s", text)
	}
}

func validity(r *loadgen.Result) string {
	if r.Valid() {
		return "VALID"
	}
	return "INVALID"
}

func yes(met bool) string {
	if met {
		return "Yes"
	}
	return "NO"
}

func (s *summaryWriter) earlyStopping(p *loadgen.Performance) {
	scenario := p.Effective.Scenario
	switch {
	case scenario == loadgen.Offline:
	case p.Effective.UseTokenLatencies:
		s.line("TTFT Early Stopping Result:\n%s", earlyStoppingText(scenario, p.FirstTokenEarlyStopping))
		s.line("TPOT Early Stopping Result:\n%s", earlyStoppingText(scenario, p.EarlyStopping))
	default:
		s.line("Early Stopping Result:\n%s", earlyStoppingText(scenario, p.EarlyStopping))
	}
}

// parameters are some of the effective settings.
func (s *summaryWriter) parameters(e loadgen.EffectiveSettings) {
	for _, row := range loadgen.Settings() {
		switch {
		case row.Label == "", row.IfSet, row.Needs != "":
		case row.Key == "target_latency" && e.UseTokenLatencies: // the bounds of tokens are in its place
			for _, bound := range loadgen.Settings() {
				if bound.Label != "" && bound.Needs != "" {
					s.setting(bound, &e)
				}
			}
		default:
			s.setting(row, &e)
		}
	}
	if e.SampleConcatenatePermutation {
		s.line("WARNING: sample_concatenate_permutation is on (equal issue):\n" +
			"queries may have more samples than the setting samples_per_query says.\n" +
			"The key generated_samples_per_query of the detail log\n" +
			"has the real number.")
	}
}

// setting writes a setting in the unit that its label names; switches are 0 or 1 here.
func (s *summaryWriter) setting(row *loadgen.Setting, e *loadgen.EffectiveSettings) {
	switch v := loadgen.Value(row.Effective(e)).(type) {
	case time.Duration:
		unit := time.Nanosecond
		if strings.HasSuffix(row.Label, "(ms)") {
			unit = time.Millisecond
		}
		s.line("%s: %d", row.Label, v/unit)
	case float64:
		s.line("%s : %s", row.Label, general(v))
	case bool:
		digit := 0
		if v {
			digit = 1
		}
		s.line("%s : %d", row.Label, digit)
	default:
		s.line("%s : %v", row.Label, v)
	}
}

// encountered counts the warnings or errors of the detail log.
func encountered(n int, none, one, more string) string {
	switch n {
	case 0:
		return none
	case 1:
		return fmt.Sprintf("1 %s encountered. See detailed log.", one)
	}
	return fmt.Sprintf("%d %s encountered. See detailed log.", n, more)
}

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
		s.rate("TPS w/o loadgen overhead        : ", rate(float64(p.TokenCount), seconds(p.SampleLatency.Mean)*float64(p.SampleCount)), twoDecimals)
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
