package mlperflog

import (
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// atIntervals are the settings of a MultiStream test of rules before v2.0.
func atIntervals() loadgen.TestSettings {
	s := loadgen.DefaultSettings()
	s.Scenario, s.Mode = loadgen.MultiStream, loadgen.PerformanceOnly
	s.MultiStreamQPS, s.MultiStreamSamplesPerQuery = 100, 4
	s.MultiStreamTargetLatencyPercentile = 0.99
	s.MinQueryCount, s.MinDuration = 100, 300*time.Millisecond
	s.WithoutEarlyStopping = true
	return s
}

func TestTheResultAtFixedIntervalsIsTheSamplesPerQuery(t *testing.T) {
	for _, c := range []struct {
		name     string
		nap      time.Duration
		valid    bool
		interval string
	}{
		{"answers within an interval", time.Millisecond, true, "1"},
		{"answers that take longer than one", 15 * time.Millisecond, false, "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			logs := runInFakeTime(t, sleepingSUT{nap: c.nap}, atIntervals())
			s := mustReadSummary(t, c.name, logs.summary)
			if n, ok := s.Float("Samples per query"); !ok || n != 4 || s.Valid != c.valid || s.Scenario != "MultiStream" {
				t.Errorf("%v samples per query, valid %v", n, s.Valid)
			}
			for _, line := range []string{
				`Intervals between each IssueQuery:  "qps" : 100, "ms" : 10`,
				"99.00 percentile : " + c.interval,
				`Per-query latency:  "target_ns" : 10000000, "target_ms" : 10`,
				"Per-sample latency:",
			} {
				if !strings.Contains(logs.summary, "\n"+line+"\n") {
					t.Errorf("no line %q in\n%s", line, logs.summary)
				}
			}
			if want := `"result_99.00_percentile_num_intervals_between_queries", "value": ` + c.interval; !strings.Contains(logs.detail, want) {
				t.Errorf("no %s in the detail log", want)
			}
			if says := strings.Contains(logs.summary, "lower the samples per query"); says == c.valid {
				t.Errorf("advice: %v", says)
			}
		})
	}
}
