package loadgen

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestParseNames(t *testing.T) {
	for _, name := range []string{"SingleStream", "singlestream", "SINGLESTREAM", "single-stream", "Single_Stream", "single stream"} {
		if got, err := ParseScenario(name); err != nil || got != SingleStream {
			t.Errorf("ParseScenario(%q) = %v, %v", name, got, err)
		}
	}
	_, err := ParseScenario("Sever")
	if want := `"Sever" … SingleStream … MultiStream … Server … Offline`; !testenv.Names(err, want) {
		t.Errorf("error %v, want %s", err, want)
	}
	_, err = ParseMode("")
	if want := `"" … SubmissionRun … AccuracyOnly … PerformanceOnly … FindPeakPerformance`; !testenv.Names(err, want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestSettingsThatCannotRun(t *testing.T) {
	type set = func(*TestSettings)
	same := func(index, performance, accuracy uint64, mode Mode) set {
		return func(s *TestSettings) {
			s.PerformanceIssueSame, s.PerformanceIssueSameIndex, s.Mode = true, index, mode
			s.PerformanceSampleCountOverride, s.AccuracySampleCountOverride = performance, accuracy
		}
	}
	peak := func(change set) set {
		return func(s *TestSettings) { s.Mode = FindPeakPerformance; change(s) }
	}
	for _, c := range []struct {
		scenario Scenario
		change   set
		want     string
	}{
		{4, func(*TestSettings) {}, "unknown scenario Scenario(4)"},
		{Server, func(s *TestSettings) { s.Mode = 4 }, "unknown mode Mode(4)"},
		{SingleStream, func(s *TestSettings) { s.SingleStreamExpectedLatencyNS = 0 }, "SingleStream target_latency (expected latency, ns) must be"},
		{MultiStream, func(s *TestSettings) { s.MultiStreamExpectedLatencyNS = math.NaN() }, "target_latency (expected latency, ns) must be positive, is N"},
		{SingleStream, func(s *TestSettings) { s.SingleStreamTargetLatencyPercentile = 90 }, "SingleStream target_latency_percentile must be between"},
		{MultiStream, func(s *TestSettings) { s.MultiStreamTargetLatencyPercentile = 1 }, "MultiStream target_latency_percentile must be between"},
		{MultiStream, func(s *TestSettings) { s.MultiStreamSamplesPerQuery = 0 }, "samples_per_query must be at least 1"},
		{MultiStream, func(s *TestSettings) { s.MultiStreamSamplesPerQuery = 1 << 32 }, "samples_per_query must be at most 4294967295"},
		{MultiStream, func(s *TestSettings) { s.MultiStreamQPS = -1 }, "MultiStream target_qps must not be negative, is -1"},
		{Server, func(s *TestSettings) { s.SetTargetQPS(0) }, "Server target_qps must be positive, is 0"},
		{Server, func(s *TestSettings) { s.SetTargetQPS(math.Inf(1)) }, "Server target_qps must be positive, is +Inf"},
		{Server, func(s *TestSettings) { s.ServerTargetLatencyPercentile = 0 }, "Server target_latency_percentile must be between 0 and 100 %"},
		{Server, func(s *TestSettings) { s.ServerTargetLatency = -1 }, "Server target_latency must not be negative, is -1ns"},
		{Server, func(s *TestSettings) { s.ServerNumIssueQueryThreads = 257 }, "server_num_issue_query_threads must be at most 256, is 257"},
		{Offline, func(s *TestSettings) { s.OfflineExpectedQPS = -3 }, "Offline target_qps must be positive, is -3"},
		{Offline, func(s *TestSettings) { s.MinDuration, s.MaxDuration = -time.Second, -time.Second }, // all errors at once
			"min_duration must not be negative, is -1s\nmax_duration must not be negative, is -1s"},
		{Offline, func(s *TestSettings) { s.PerformanceIssueSame, s.PerformanceIssueUnique = true, true }, "exclude each other"},
		{Offline, func(s *TestSettings) { s.AccuracyLogProbability = 1.5 }, "accuracy_log_probability must be between 0 and 100 %, is 150"},
		{Server, peak(func(s *TestSettings) { s.ServerFindPeakQPSBoundaryStepSize = 0 }), "server_find_peak_qps_boundary_step_size must be positive, is 0"},
		{Server, peak(func(s *TestSettings) { s.ServerFindPeakQPSDecimalsOfPrecision = 20 }), "server_find_peak_qps_decimals_of_precision must be at most 6, is 20"},
		{Offline, peak(func(*TestSettings) {}), "FindPeakPerformance mode exists for the Server scenario only, not for Of"},

		// Only a QSL, here of 500 samples with 100 in memory, makes them wrong.
		{Offline, count(0), "would have no samples"},
		{Server, count(0), "the settings ask for no query at all"},
		{Server, same(100, 0, 0, PerformanceOnly), "same_index 100 is not below the 100 samples of the smallest set"},
		{Offline, same(700, 1000, 0, PerformanceOnly), "same_index 700 is not below the 500 samples of the smallest set"},
		{Server, same(80, 480, 0, SubmissionRun), "same_index 80 is not below the 20 samples of the smallest set"}, // 480, 20
		{Offline, same(9, 0, 7, AccuracyOnly), "same_index 9 is not below the 7 samples of the smallest set"},
		{Server, func(s *TestSettings) { s.MinQueryCount = 5e9 }, "5,000,000,000 queries of 1 sample are more than the 4,294,967,295"},
		{MultiStream, func(s *TestSettings) { s.MinQueryCount = 1e9 }, "1,000,000,000 queries of 8 samples are more than the 4,294,967,295"},
		{Server, func(s *TestSettings) { s.ServerTargetQPS = 1e9 }, "5,000,000,000 queries of 1 sample are more than the 4,294,967,29"}, // in 5 s
		{Server, func(s *TestSettings) { s.ServerTargetQPS, s.MinDuration = 2e9, 1 }, "must be between 1e-06 and 1e+09, is 2e+09"},
		{SingleStream, func(s *TestSettings) { s.SingleStreamExpectedLatencyNS = 1e300 }, "must be between 1e-06 and 1e+09, is 1e-291"},
		{MultiStream, func(s *TestSettings) { s.MultiStreamQPS = 1e12 }, "must be between 1e-06 and 1e+09, is 1e+12"},
	} {
		s := quick(c.scenario, c.change)
		_, runErr := Run(t.Context(), atOnce(), samples(), s, timers)
		_, traceErr := NewTrace(t.Context(), s, 100, 500)
		for _, err := range []error{runErr, traceErr} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: error %v, want …%s…", c.scenario, err, c.want)
			}
		}
	}
	// A performance run loads the first set only.
	if _, err := NewTrace(t.Context(), quick(Server, same(80, 480, 0, PerformanceOnly)), 100, 500); err != nil {
		t.Error(err)
	}
	for _, qsl := range []*fakeQSL{{}, {total: 10}, {performance: 10}} {
		if _, err := Run(t.Context(), atOnce(), qsl, quick(SingleStream), timers); !testenv.Names(err, "query sample library … empty") {
			t.Errorf("a QSL of %d samples, %d in memory: error %v", qsl.total, qsl.performance, err)
		}
	}
}

func TestSetTargetQPS(t *testing.T) {
	for _, scenario := range Scenarios() {
		s := quick(scenario)
		s.SetTargetQPS(250)
		if got := s.Effective(100, 500).TargetQPS; got != 250 {
			t.Errorf("%v has a rate of %g, want 250", scenario, got)
		}
	}
}

func TestSampleCountOverrides(t *testing.T) {
	for _, test := range []struct {
		performance, accuracy uint64 // overrides
		loads                 []int
	}{{0, 0, []int{100, 100, 50, 100}}, {60, 0, []int{60, 60, 60, 60, 10, 60}}, {1000, 0, []int{250, 250}}, {0, 70, []int{70, 100}}, {0, 900, []int{100, 100, 50, 100}}} {
		inFakeTime(t, func(t *testing.T) {
			s := quick(Offline, count(100))
			s.Mode = SubmissionRun
			s.PerformanceSampleCountOverride, s.AccuracySampleCountOverride = test.performance, test.accuracy
			qsl := &fakeQSL{total: 250, performance: 100}
			mustRun(t, atOnce(), qsl, s, timers)
			var sizes []int
			for _, load := range qsl.loads {
				sizes = append(sizes, len(load))
			}
			if !slices.Equal(sizes, test.loads) {
				t.Errorf("overrides %d, %d: loaded sets of %v, want %v", test.performance, test.accuracy, sizes, test.loads)
			}
		})
	}
}

func TestEqualIssueCoversTwiceTheDuration(t *testing.T) {
	s := quick(SingleStream) // 5 s at 1000 QPS: 10000 queries
	s.SampleConcatenatePermutation = true
	for performance, want := range map[uint64]uint64{100: 10100, 99: 10098, 20000: 20000} {
		if got := s.Effective(performance, 50000).MinQueryCount; got != want {
			t.Errorf("with %d loaded samples %d queries, want %d", performance, got, want)
		}
	}
}

func TestAccuracyModeIgnoresPerformanceCounts(t *testing.T) {
	for name, set := range map[string]func(*TestSettings){
		"none": count(0),
		"more than a test can have": func(s *TestSettings) {
			s.OfflineExpectedQPS, s.MinDuration, s.MinQueryCount = 1e8, 10*time.Minute, 1e12
		},
	} {
		for _, scenario := range Scenarios() {
			r := runFake(t, atOnce(), quick(scenario, accuracyOnly, set), Options{})
			if r.AccuracySamples < 500 {
				t.Errorf("%v, %s: %d samples were answered, want 500", scenario, name, r.AccuracySamples)
			}
		}
	}
}
