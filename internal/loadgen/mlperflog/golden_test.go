package mlperflog

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a text with a file, or writes the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		testenv.Must(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	testenv.Must(t, err)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got; run the tests with -update after a review):\n%s", name, diff)
	}
}

// unevenly runs a test whose latencies depend on the sample, so that no two statistics
// are equal.
func unevenly(t *testing.T, scenario loadgen.Scenario, change func(*loadgen.TestSettings)) logs {
	t.Helper()
	s := loadgen.DefaultSettings()
	s.Scenario = scenario
	s.MinDuration, s.MinQueryCount = 100*time.Millisecond, 100
	s.ServerTargetQPS, s.OfflineExpectedQPS = 1000, 1000
	s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = 1, 2, 3
	sut := sleepingSUT{nap: 100 * time.Microsecond, perIndex: 17 * time.Microsecond, firstToken: true, tokens: 5}
	if scenario == loadgen.Offline {
		sut.nap, sut.firstToken = 150*time.Millisecond, false
	}
	change(&s)
	if !s.UseTokenLatencies {
		sut.firstToken, sut.tokens = false, 0
	}
	return runInFakeTime(t, sut, s)
}

func asIs(*loadgen.TestSettings) {}

func withTokens(s *loadgen.TestSettings) { s.UseTokenLatencies = true }

func TestGoldenSummaries(t *testing.T) {
	for _, s := range loadgen.Scenarios() {
		golden(t, "summary-"+strings.ToLower(s.String())+".txt", unevenly(t, s, asIs).summary)
	}
	golden(t, "summary-server-tokens.txt", unevenly(t, loadgen.Server, withTokens).summary)
}

func TestGoldenDetail(t *testing.T) {
	golden(t, "detail-server-tokens.txt", unevenly(t, loadgen.Server, withTokens).detail)
}

func TestGoldenTrace(t *testing.T) {
	few := func(s *loadgen.TestSettings) { s.MinQueryCount, s.MaxQueryCount, s.MinDuration = 3, 3, 0 }
	for _, s := range []loadgen.Scenario{loadgen.Server, loadgen.MultiStream} {
		trace := unevenly(t, s, few).trace
		if !json.Valid([]byte(trace)) {
			t.Errorf("the trace of %v is not JSON", s)
		}
		golden(t, "trace-"+strings.ToLower(s.String())+".json", trace)
	}
}

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

func TestFixedIntervals(t *testing.T) {
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
			s := readSummary(t, c.name, logs.summary)
			scenario, _ := s.Field("Scenario")
			if n, ok := s.Float("Samples per query"); !ok || n != 4 || s.Valid != c.valid || scenario != "MultiStream" {
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
