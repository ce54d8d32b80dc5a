package mlperflog

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// requestedLog is the detail log of a test that was asked to have settings.
func requestedLog(t *testing.T, s loadgen.TestSettings) *Detail {
	t.Helper()
	r := judged()
	r.Requested, r.Effective.Scenario = s, s.Scenario
	return mustReadDetail(t, "detail.txt", detailOf(t, r))
}

// settingsAtRandom are settings whose times are whole milliseconds where the log has them so.
func settingsAtRandom(r *rand.Rand) loadgen.TestSettings {
	s := loadgen.DefaultSettings()
	s.Scenario, s.Mode = loadgen.Scenarios()[r.IntN(4)], []loadgen.Mode{loadgen.SubmissionRun, loadgen.AccuracyOnly, loadgen.PerformanceOnly, loadgen.FindPeakPerformance}[r.IntN(4)]
	ms := func() time.Duration { return time.Duration(r.IntN(1<<30)) * time.Millisecond }
	ns := func() time.Duration { return time.Duration(r.Uint64() >> (2 + r.IntN(60))) }
	s.MinDuration, s.MaxDuration = ms(), ms()
	s.MinQueryCount, s.MaxQueryCount = r.Uint64()>>r.IntN(64), r.Uint64()>>r.IntN(64)
	s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = r.Uint64(), r.Uint64(), r.Uint64()
	s.PerformanceIssueUnique, s.PerformanceIssueSame = r.IntN(2) == 0, r.IntN(2) == 0
	s.PerformanceSampleCountOverride, s.AccuracySampleCountOverride = r.Uint64()>>40, r.Uint64()>>40
	s.SampleConcatenatePermutation, s.UseTokenLatencies = r.IntN(2) == 0, r.IntN(2) == 0
	s.SingleStreamTargetLatencyPercentile, s.MultiStreamTargetLatencyPercentile, s.ServerTargetLatencyPercentile = r.Float64(), r.Float64(), r.Float64()
	s.MultiStreamSamplesPerQuery, s.ServerTargetLatency = r.Uint64()>>50, ns()
	s.ServerCoalesceQueries, s.ServerMaxAsyncQueries = r.IntN(2) == 0, r.Uint64()>>50
	s.ServerTTFTLatency, s.ServerTPOTLatency = ns(), ns()
	return s
}

// asLogged keeps of settings what a log of their scenario has of them, and has the rest from elsewhere.
func asLogged(s, base loadgen.TestSettings) loadgen.TestSettings {
	if s.Scenario != loadgen.SingleStream {
		s.SingleStreamTargetLatencyPercentile = base.SingleStreamTargetLatencyPercentile
	}
	if s.Scenario != loadgen.MultiStream {
		s.MultiStreamTargetLatencyPercentile, s.MultiStreamSamplesPerQuery = base.MultiStreamTargetLatencyPercentile, base.MultiStreamSamplesPerQuery
	}
	if s.Scenario != loadgen.Server {
		s.ServerTargetLatency, s.ServerTargetLatencyPercentile = base.ServerTargetLatency, base.ServerTargetLatencyPercentile
		s.ServerCoalesceQueries, s.ServerMaxAsyncQueries = base.ServerCoalesceQueries, base.ServerMaxAsyncQueries
	}
	if !s.UseTokenLatencies || s.Scenario == loadgen.Offline {
		s.ServerTTFTLatency, s.ServerTPOTLatency = base.ServerTTFTLatency, base.ServerTPOTLatency
	}
	return s
}

func TestSettingsAreReadAsTheyWereAskedFor(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 82))
	for range 150 {
		s, base := settingsAtRandom(r), settingsAtRandom(r)
		got, err := requestedLog(t, s).Requested(base)
		if err != nil {
			t.Fatal(err)
		}
		want := asLogged(s, base)
		// What is of no interest in a log of somebody else, where it comes from.
		for _, of := range []*loadgen.TestSettings{&got, &want} {
			of.InferTokenLatencies = false
		}
		if diff := cmp.Diff(want, got, about); diff != "" {
			t.Fatalf("settings (-want +got):\n%s", diff)
		}
	}
}

// Two switches are logged only if they are on, so that a log without them says that they are off.
func TestSwitchesThatAreNotLoggedAreOff(t *testing.T) {
	base := loadgen.DefaultSettings()
	base.UseTokenLatencies, base.InferTokenLatencies, base.ServerCoalesceQueries = true, true, true
	s := loadgen.DefaultSettings()
	s.Scenario = loadgen.Offline
	got, err := requestedLog(t, s).Requested(base)
	if err != nil || got.UseTokenLatencies || got.InferTokenLatencies || !got.ServerCoalesceQueries {
		t.Errorf("token latencies %t, inferred %t, coalescing %t, %v", got.UseTokenLatencies, got.InferTokenLatencies, got.ServerCoalesceQueries, err)
	}
}

// logOf is a detail log with messages of keys and values.
func logOf(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, ":::MLLOG {\"key\": %q, \"value\": %s, \"time_ms\": %d.5, \"namespace\": \"mlperf::logging\", \"event_type\": \"POINT_IN_TIME\", \"metadata\": {\"is_error\": false, \"is_warning\": false, \"file\": \"x.cc\", \"line_no\": 1, \"pid\": 1, \"tid\": 1}}\n", pairs[i], pairs[i+1], i)
	}
	return b.String()
}

func TestSettingsOfOddLogs(t *testing.T) {
	base := loadgen.DefaultSettings()
	base.Scenario, base.MinQueryCount, base.MinDuration = loadgen.Server, 5, time.Second
	for _, c := range []struct {
		name  string
		pairs []string
		want  func(*loadgen.TestSettings)
		err   string
	}{
		{"an empty one says nothing", []string{"x", "1"}, func(*loadgen.TestSettings) {}, ""},
		{"of two values the first counts", []string{"requested_min_query_count", "7", "requested_min_query_count", "8"}, func(s *loadgen.TestSettings) { s.MinQueryCount = 7 }, ""},
		{"a count as a float", []string{"requested_min_query_count", "1e+06"}, func(s *loadgen.TestSettings) { s.MinQueryCount = 1e6 }, ""},
		{"a count that is none", []string{"requested_min_query_count", "1.5"}, func(*loadgen.TestSettings) {}, "d.txt:1: requested_min_query_count is 1.5, want a whole number that is not negative"},
		{"a negative one", []string{"x", "1", "requested_max_query_count", "-3"}, func(*loadgen.TestSettings) {}, "d.txt:2: requested_max_query_count is -3, want a whole number that is not negative"},
		{"a text as a count", []string{"requested_qsl_rng_seed", `"7"`}, func(*loadgen.TestSettings) {}, "requested_qsl_rng_seed is 7, want a whole number"},
		{"a switch that is a number", []string{"requested_performance_issue_same", "1"}, func(*loadgen.TestSettings) {}, "requested_performance_issue_same is 1, want true or false"},
		{"a fraction that is a text", []string{"requested_server_target_latency_percentile", `"0.99"`}, func(*loadgen.TestSettings) {}, "requested_server_target_latency_percentile is 0.99, want a number"},
		{"a fraction that is whole", []string{"requested_server_target_latency_percentile", "1"}, func(s *loadgen.TestSettings) { s.ServerTargetLatencyPercentile = 1 }, ""},
		{"milliseconds", []string{"requested_min_duration_ms", "600000"}, func(s *loadgen.TestSettings) { s.MinDuration = 10 * time.Minute }, ""},
		{"nanoseconds", []string{"requested_server_target_latency_ns", "15000000"}, func(s *loadgen.TestSettings) { s.ServerTargetLatency = 15 * time.Millisecond }, ""},
		{"a time without an end", []string{"requested_min_duration_ms", "9223372036855"}, func(*loadgen.TestSettings) {}, "requested_min_duration_ms is 9223372036855, want a time below 292 years"},
		{"the longest time", []string{"requested_min_duration_ms", "9223372036854"}, func(s *loadgen.TestSettings) { s.MinDuration = 9223372036854 * time.Millisecond }, ""},
		{"a mode of long ago", []string{"requested_test_mode", `"Find Peak Performance"`}, func(s *loadgen.TestSettings) { s.Mode = loadgen.FindPeakPerformance }, ""},
		{"a mode that nobody knows", []string{"requested_test_mode", `"Warmup"`}, func(*loadgen.TestSettings) {}, `"Warmup"`},
		{"a mode", []string{"requested_test_mode", `"AccuracyOnly"`}, func(s *loadgen.TestSettings) { s.Mode = loadgen.AccuracyOnly }, ""},
		{"a scenario that nobody knows", []string{"effective_scenario", `"Cloud"`}, func(*loadgen.TestSettings) {}, "d.txt:1: "},
		{"the scenario that there was", []string{"effective_scenario", `"Offline"`}, func(s *loadgen.TestSettings) { s.Scenario = loadgen.Offline }, ""},
		{"all that is wrong is said", []string{"requested_min_query_count", "true", "requested_max_query_count", "{}"}, func(*loadgen.TestSettings) {}, "requested_max_query_count is map[], want a whole number"},
	} {
		d, err := parseDetail("d.txt", logOf(c.pairs...))
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Requested(base)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		}
		want := base
		c.want(&want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestValuesOfADetailLogHaveTypes(t *testing.T) {
	d := mustReadDetail(t, "d.txt", logOf(
		"text", `"a \"b\" \u00e4"`, "yes", "true", "no", "false", "whole", "-7", "large", "18446744073709551615", "real", "0.25", "small", "1.5e-05",
		"nan", "nan", "inf", "inf", "minus", "-inf", "own", "NaN", "list", "[1, 2, 18446744073709551615]", "none", "[]", "map", `{"a": "b"}`, "spoiled", `"a "b" c"`))
	for key, want := range map[string]any{
		"text": `a "b" ä`, "yes": true, "no": false, "whole": int64(-7), "large": uint64(math.MaxUint64), "real": 0.25, "small": 1.5e-05,
		"inf": math.Inf(1), "minus": math.Inf(-1), "list": []uint64{1, 2, math.MaxUint64}, "none": []uint64{}, "map": map[string]string{"a": "b"}, "spoiled": `a "b" c`,
	} {
		e, ok := d.First(key)
		if diff := cmp.Diff(want, e.Value); !ok || diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	for _, key := range []string{"nan", "own"} {
		if e, _ := d.First(key); !math.IsNaN(e.Value.(float64)) {
			t.Errorf("%s is %v", key, e.Value)
		}
	}
	if e, ok := d.First("missing"); ok || e.Key != "" {
		t.Errorf("what is not there is %v", e)
	}
	if e, _ := d.First("yes"); e.Line != 2 || e.TimeMS != 2.5 {
		t.Errorf("the second message is in line %d at %v ms", e.Line, e.TimeMS)
	}
}

func TestVerdictsOfADetailLog(t *testing.T) {
	for _, c := range []struct {
		name          string
		log           string
		valid, result bool
		err           string
	}{
		{"valid", logOf("result_validity", `"VALID"`), true, true, ""},
		{"invalid", logOf("result_validity", `"INVALID"`), false, true, ""},
		{"of a run that was killed", logOf("x", "1"), false, false, ""},
		{"the first counts", logOf("result_validity", `"INVALID"`, "result_validity", `"VALID"`), false, true, ""},
		{"in other letters", logOf("result_validity", `"valid"`), false, true, "result_validity is valid, want VALID or INVALID"},
		{"a switch", logOf("result_validity", "true"), false, false, "result_validity is true, want a text"},
	} {
		valid, result, err := mustReadDetail(t, "d.txt", c.log).Valid()
		if valid != c.valid || result != c.result || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: valid %t, a result %t, %v", c.name, valid, result, err)
		}
	}
}

// A log of Windows, one that was cut off, and one with something between.
func TestLogsThatWentThroughHandsAreReadAsFarAsTheyGo(t *testing.T) {
	whole := logOf("a", "1", "b", "2", "c", "3")
	for _, c := range []struct {
		name, text string
		keys       int
		err        string
	}{
		{"as it was", whole, 3, ""},
		{"with other ends of lines", strings.ReplaceAll(whole, "\n", "\r\n"), 3, ""},
		{"without its last end", strings.TrimSuffix(whole, "\n"), 3, ""},
		{"cut off", whole[:len(whole)-40], 2, "d.txt:3: not JSON"},
		{"with an empty line", strings.Replace(whole, "\n", "\n\n", 1), 3, `d.txt:2: want a line that begins with :::MLLOG, got ""`},
		{"with a mark of its bytes' order", "\ufeff" + whole, 2, "d.txt:1: want a line that begins with :::MLLOG"},
		{"twice", whole + whole, 6, ""},
		{"of another program", "{\"key\": 1}\n", 0, `d.txt:1: want a line that begins with :::MLLOG, got "{\"key\": 1}"`},
		{"empty", "", 0, "d.txt:1: the log is empty"},
		{"a message without a time", ":::MLLOG {\"key\": \"a\", \"value\": 1}\n", 0, "want a message with key, value and time_ms"},
		{"a message without a value", ":::MLLOG {\"key\": \"a\", \"time_ms\": 1}\n", 0, "want a message with key, value and time_ms"},
		{"a value that is nothing", logOf("a", "null"), 0, `a has a value of no known kind: "null"`},
		{"a list of texts", logOf("a", `["x"]`), 0, "a has a value of no known kind"},
		{"a list of negative numbers", logOf("a", "[-1]"), 0, "a has a value of no known kind"},
	} {
		d, err := parseDetail("d.txt", c.text)
		if len(d.Entries) != c.keys || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %d messages, error %v, want %d, %q", c.name, len(d.Entries), err, c.keys, c.err)
		}
	}
}

func ExampleDetail_Float() {
	d, err := parseDetail("mlperf_log_detail.txt", logOf("result_validity", `"VALID"`, "result_samples_per_second", "1234.5"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Valid())
	fmt.Println(d.Float("result_samples_per_second"))
	_, err = d.Float("result_tokens_per_second")
	fmt.Println(err)
	// Output:
	// true true <nil>
	// 1234.5 <nil>
	// mlperf_log_detail.txt: result_tokens_per_second: no such key in the log
}
