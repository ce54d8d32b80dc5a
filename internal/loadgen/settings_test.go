package loadgen

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNamesOfScenariosAndModes(t *testing.T) {
	for _, s := range Scenarios() {
		for _, name := range []string{s.String(), strings.ToLower(s.String()), strings.ToUpper(s.String())} {
			if got, err := ParseScenario(name); err != nil || got != s {
				t.Errorf("ParseScenario(%q) = %v, %v", name, got, err)
			}
		}
	}
	for m := SubmissionRun; m <= FindPeakPerformance; m++ {
		if got, err := ParseMode(m.String()); err != nil || got != m {
			t.Errorf("ParseMode(%q) = %v, %v", m, got, err)
		}
	}
	for _, name := range []string{"single-stream", "Single_Stream", "single stream"} {
		if got, err := ParseScenario(name); err != nil || got != SingleStream {
			t.Errorf("ParseScenario(%q) = %v, %v", name, got, err)
		}
	}
	_, err := ParseScenario("Sever")
	if want := `unknown scenario "Sever", want one of SingleStream, MultiStream, Server, Offline`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	_, err = ParseMode("")
	if want := `unknown mode "", want one of SubmissionRun, AccuracyOnly, PerformanceOnly, FindPeakPerformance`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if got := Scenario(9).String() + " " + Mode(7).String(); got != "Scenario(9) Mode(7)" {
		t.Errorf("unknown values are called %s", got)
	}
}

// The last set of an accuracy run may be smaller than the others; a performance run does not load it.
func TestTheSameSampleNeedsOnlyToBeInTheSetsThatAreLoaded(t *testing.T) {
	for mode, want := range map[Mode]string{PerformanceOnly: "", FindPeakPerformance: "", AccuracyOnly: "the 2 samples of the smallest set", SubmissionRun: "the 2 samples of the smallest set"} {
		s := quick(Server)
		s.Mode, s.PerformanceIssueSame, s.PerformanceIssueSameIndex = mode, true, 4
		_, err := NewTrace(s, 5, 7)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", mode, err, want)
		}
	}
}

func TestSettingsThatCannotBeRunAreErrors(t *testing.T) {
	in := func(s Scenario, change func(*TestSettings)) TestSettings {
		settings := quick(s)
		change(&settings)
		return settings
	}
	tests := map[string]TestSettings{
		"unknown scenario Scenario(4)":                                 in(4, func(*TestSettings) {}),
		"unknown mode Mode(4)":                                         in(Server, func(s *TestSettings) { s.Mode = 4 }),
		"SingleStream target_latency (expected latency, ns) must be":   in(SingleStream, func(s *TestSettings) { s.SingleStreamExpectedLatencyNS = 0 }),
		"target_latency (expected latency, ns) must be positive, is N": in(MultiStream, func(s *TestSettings) { s.MultiStreamExpectedLatencyNS = math.NaN() }),
		"SingleStream target_latency_percentile must be between":       in(SingleStream, func(s *TestSettings) { s.SingleStreamTargetLatencyPercentile = 90 }),
		"MultiStream target_latency_percentile must be between":        in(MultiStream, func(s *TestSettings) { s.MultiStreamTargetLatencyPercentile = 1 }),
		"samples_per_query must be at least 1":                         in(MultiStream, func(s *TestSettings) { s.MultiStreamSamplesPerQuery = 0 }),
		"samples_per_query must be at most 4294967295":                 in(MultiStream, func(s *TestSettings) { s.MultiStreamSamplesPerQuery = 1 << 32 }),
		"MultiStream target_qps must not be negative, is -1":           in(MultiStream, func(s *TestSettings) { s.MultiStreamQPS = -1 }),
		"Server target_qps must be positive, is 0":                     in(Server, func(s *TestSettings) { s.ServerTargetQPS = 0 }),
		"Server target_qps must be positive, is +Inf":                  in(Server, func(s *TestSettings) { s.ServerTargetQPS = math.Inf(1) }),
		"Server target_latency_percentile must be between 0 and 100 %": in(Server, func(s *TestSettings) { s.ServerTargetLatencyPercentile = 0 }),
		"Server target_latency must not be negative, is -1ns":          in(Server, func(s *TestSettings) { s.ServerTargetLatency = -1 }),
		"server_num_issue_query_threads must be at most 256, is 257":   in(Server, func(s *TestSettings) { s.ServerNumIssueQueryThreads = 257 }),
		"Offline target_qps must be positive, is -3":                   in(Offline, func(s *TestSettings) { s.OfflineExpectedQPS = -3 }),
		"min_duration must not be negative, is -1s":                    in(Offline, func(s *TestSettings) { s.MinDuration = -time.Second }),
		"max_duration must not be negative, is -1s":                    in(Offline, func(s *TestSettings) { s.MaxDuration = -time.Second }),
		"exclude each other":                                           in(Offline, func(s *TestSettings) { s.PerformanceIssueSame, s.PerformanceIssueUnique = true, true }),
		"accuracy_log_probability must be between 0 and 100 %, is 150": in(Offline, func(s *TestSettings) { s.AccuracyLogProbability = 1.5 }),

		// Only a QSL, here of 500 samples of which 100 fit, makes them wrong.
		"would have no samples":                in(Offline, func(s *TestSettings) { s.MinDuration, s.MinQueryCount = 0, 0 }),
		"the settings ask for no query at all": in(Server, func(s *TestSettings) { s.MinDuration, s.MinQueryCount = 0, 0 }),
		"same_index 100 is not below the 100 samples of the smallest set": in(Server, func(s *TestSettings) {
			s.PerformanceIssueSame, s.PerformanceIssueSameIndex = true, 100
		}),
		"same_index 700 is not below the 500 samples of the smallest set": in(Offline, func(s *TestSettings) {
			s.PerformanceIssueSame, s.PerformanceIssueSameIndex, s.PerformanceSampleCountOverride = true, 700, 1000
		}),
		"same_index 80 is not below the 20 samples of the smallest set": in(Server, func(s *TestSettings) { // 480, 20
			s.PerformanceIssueSame, s.PerformanceIssueSameIndex, s.PerformanceSampleCountOverride, s.Mode = true, 80, 480, SubmissionRun
		}),
		"same_index 9 is not below the 7 samples of the smallest set": in(Offline, func(s *TestSettings) {
			s.PerformanceIssueSame, s.PerformanceIssueSameIndex, s.AccuracySampleCountOverride, s.Mode = true, 9, 7, AccuracyOnly
		}),
		"5000000000 queries of 1 samples are more than the 4294967295": in(Server, func(s *TestSettings) { s.MinQueryCount = 5e9 }),
		"1000000000 queries of 8 samples are more than the 4294967295": in(MultiStream, func(s *TestSettings) { s.MinQueryCount = 1e9 }),
		"5000000000 queries of 1 samples are more than the 429496729":  in(Server, func(s *TestSettings) { s.ServerTargetQPS = 1e9 }), // in 5 s
		"must be between 1e-06 and 1e+09, is 2e+09":                    in(Server, func(s *TestSettings) { s.ServerTargetQPS, s.MinDuration = 2e9, 1 }),
		"must be between 1e-06 and 1e+09, is 1e+10":                    in(SingleStream, func(s *TestSettings) { s.SingleStreamExpectedLatencyNS = 0.1 }),
		"must be between 1e-06 and 1e+09, is 1e-291":                   in(SingleStream, func(s *TestSettings) { s.SingleStreamExpectedLatencyNS = 1e300 }),
		"must be between 1e-06 and 1e+09, is 1e+12":                    in(MultiStream, func(s *TestSettings) { s.MultiStreamQPS = 1e12 }),
	}
	for want, s := range tests {
		for name, f := range map[string]func() error{
			"Run": func() error {
				_, err := Run(t.Context(), atOnce(), &fakeQSL{total: 500, performance: 100}, s, timers)
				return err
			},
			"NewTrace": func() error {
				_, err := NewTrace(s, 100, 500)
				return err
			},
		} {
			if err := f(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want …%s…", name, err, want)
			}
		}
	}
}

func TestARateIsSetInTheTermsOfEveryScenario(t *testing.T) {
	for _, scenario := range Scenarios() {
		s := quick(scenario)
		s.SetTargetQPS(250)
		if got := s.Effective(100, 500).TargetQPS; got != 250 {
			t.Errorf("%v has a rate of %g, want 250", scenario, got)
		}
		for _, none := range []float64{0, -1, math.NaN(), math.Inf(1)} {
			s.SetTargetQPS(none)
			if err := s.Validate(); err == nil {
				t.Errorf("%v runs at a rate of %g", scenario, none)
			}
		}
	}
}

func TestAllThatIsWrongIsReportedAtOnce(t *testing.T) {
	s := quick(Server)
	s.ServerTargetQPS, s.ServerTargetLatency, s.MinDuration = 0, -1, -1
	before := s
	err := s.Validate()
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("Validate() = %v, want three errors", err)
	}
	if s != before {
		t.Error("Validate changed the settings")
	}
}

func TestAQSLWithoutSamplesCannotBeRun(t *testing.T) {
	for _, qsl := range []*fakeQSL{{}, {total: 10}, {performance: 10}} {
		if _, err := Run(t.Context(), atOnce(), qsl, quick(SingleStream), timers); err == nil || !strings.Contains(err.Error(), "the query sample library is empty") {
			t.Errorf("a QSL of %d samples of which %d fit: error %v", qsl.total, qsl.performance, err)
		}
	}
}

func TestSampleCountsMayBeOverridden(t *testing.T) {
	for _, test := range []struct {
		performance, accuracy uint64 // overrides
		loads                 []int
	}{{0, 0, []int{100, 100, 50, 100}}, {60, 0, []int{60, 60, 60, 60, 10, 60}}, {1000, 0, []int{250, 250}}, {0, 70, []int{70, 100}}, {0, 900, []int{100, 100, 50, 100}}} {
		inFakeTime(t, func(t *testing.T) {
			s := quick(Offline)
			s.Mode, s.MinDuration = SubmissionRun, 0
			s.PerformanceSampleCountOverride, s.AccuracySampleCountOverride = test.performance, test.accuracy
			qsl := &fakeQSL{total: 250, performance: 100}
			mustRun(t, atOnce(), qsl, s, timers)
			var sizes []int
			for _, load := range qsl.loads {
				sizes = append(sizes, len(load))
			}
			if want := test.loads; !slices.Equal(sizes, want) {
				t.Errorf("overrides %d, %d: loaded sets of %v, want %v", test.performance, test.accuracy, sizes, want)
			}
		})
	}
}

// The next multiple of a number near the largest one is 0, and a test of no queries would be long enough.
func TestEqualIssueNeverAsksForFewerQueriesThanWereAskedFor(t *testing.T) {
	for _, n := range []uint64{math.MaxUint64, math.MaxUint64 - 50, 1 << 32} {
		s := quick(SingleStream)
		s.SampleConcatenatePermutation, s.MinQueryCount = true, n
		e := s.Effective(100, 250)
		if e.MinQueryCount < n {
			t.Errorf("min_query_count %d became %d", n, e.MinQueryCount)
		}
		if err := e.Validate(250); err == nil || !strings.Contains(err.Error(), "samples a test can have") {
			t.Errorf("%d queries: %v", n, err)
		}
	}
}

func TestEqualIssueCoversTwiceTheDurationInWholeSets(t *testing.T) {
	s := quick(SingleStream) // 5 s at 1000 QPS: 10000 queries
	s.SampleConcatenatePermutation = true
	for performance, want := range map[uint64]uint64{100: 10100, 99: 10098, 20000: 20000} {
		if got := s.Effective(performance, 50000).MinQueryCount; got != want {
			t.Errorf("with %d loaded samples %d queries, want %d", performance, got, want)
		}
	}
}

func TestAccuracyModeDoesNotAskHowMuchTrafficPerformanceWouldHave(t *testing.T) {
	for name, set := range map[string]func(*TestSettings){
		"none":                            func(s *TestSettings) { s.MinDuration, s.MinQueryCount = 0, 0 },
		"more than a test can have":       func(s *TestSettings) { s.OfflineExpectedQPS, s.MinDuration = 1e8, 10*time.Minute },
		"more queries than there are ids": func(s *TestSettings) { s.MinQueryCount = math.MaxUint64 },
	} {
		for _, scenario := range Scenarios() {
			s := quick(scenario)
			s.Mode = AccuracyOnly
			set(&s)
			inFakeTime(t, func(t *testing.T) {
				result := mustRun(t, atOnce(), &fakeQSL{total: 50, performance: 20}, s, timers)
				if result.AccuracySamples < 50 {
					t.Errorf("%v, %s: %d samples were answered, want 50", scenario, name, result.AccuracySamples)
				}
			})
			s.Mode = PerformanceOnly
			if _, err := NewTrace(s, 20, 50); scenario == Offline && err == nil {
				t.Errorf("%v, %s: such a performance run has a trace", scenario, name)
			}
		}
	}
}
