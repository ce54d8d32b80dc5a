package mlperflog

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func readDetail(t testing.TB, name, text string) *Detail {
	t.Helper()
	d, err := parseDetail(name, strings.NewReader(text))
	testenv.Must(t, err)
	return d
}

func readSummary(t testing.TB, name, text string) *Summary {
	t.Helper()
	s, err := parseSummary(name, text)
	testenv.Must(t, err)
	return s
}

// messageOf returns a line of a detail log.
func messageOf(key string, value any) string {
	var b strings.Builder
	d := &detailWriter{w: bufio.NewWriter(&b)}
	d.log(key, value)
	if err := d.w.Flush(); err != nil {
		panic(err)
	}
	return b.String()
}

// rawMessage returns a line of a detail log whose value is as given.
func rawValue(key, value string) string {
	return fmt.Sprintf(":::MLLOG {\"key\": %q, \"value\": %s, \"time_ms\": 0.5, \"namespace\": \"mlperf::logging\", \"event_type\": \"POINT_IN_TIME\", \"metadata\": {\"is_error\": false, \"is_warning\": false, \"file\": \"x.cc\", \"line_no\": 1, \"pid\": 1, \"tid\": 1}}\n", key, value)
}

// rounded compares numbers that a log rounds to six digits.
var rounded = cmpopts.EquateApprox(1e-5, 0)

func TestLogsSayWhatTheTestDid(t *testing.T) {
	for _, c := range readCases(t) {
		t.Run(c.name, func(t *testing.T) {
			l := c.run(t)
			d, s := readDetail(t, "detail.txt", l.detail), readSummary(t, "summary.txt", l.summary)
			want := l.result.Effective
			want.FixedInterval, want.IssueQueryThreads = false, 0                                                  // follow from others
			if !want.InferTokenLatencies || want.Scenario == loadgen.SingleStream || l.result.Performance == nil { // logged by their result only
				want.InferTokenLatencies, want.TokenLatencyScalingFactor = false, 0
			}
			if !want.UseTokenLatencies || want.Scenario == loadgen.Offline {
				want.ServerTTFTLatency, want.ServerTPOTLatency = 0, 0
			}
			got, err := d.Effective()
			if diff := cmp.Diff(want, got, rounded); diff != "" || err != nil {
				t.Errorf("effective settings: %v (-want +got):\n%s", err, diff)
			}
			if len(d.Errors()) != l.result.Errors() || len(d.Warnings()) != l.result.Warnings() || d.Refused != nil {
				t.Errorf("%d errors and %d warnings, want %d and %d; refused: %v", len(d.Errors()), len(d.Warnings()), l.result.Errors(), l.result.Warnings(), d.Refused)
			}
			valid, hasResult, err := d.Valid()
			p := l.result.Performance
			if err != nil || hasResult != (p != nil) || s.HasResult != hasResult || valid != s.Valid || p != nil && valid != l.result.Valid() {
				t.Errorf("valid %v, result %v, %v; summary: valid %v, result %v", valid, hasResult, err, s.Valid, s.HasResult)
			}
			if p == nil {
				return
			}
			latency := p.SampleLatency
			if p.Effective.Scenario == loadgen.MultiStream {
				latency = p.QueryLatency
			}
			for label, want := range map[string]any{
				"SUT name": "sleeping SUT", "Scenario": p.Effective.Scenario.String(), "Mode": p.Effective.Mode.String(),
				"Min duration satisfied": p.MinDurationMet, "Min latency (ns)": int64(latency.Min), "99.90 percentile latency (ns)": int64(latency.Percentiles[5]),
			} {
				if got, ok := s.Field(label); !ok || got != want {
					t.Errorf("summary: %s = %v, want %v", label, got, want)
				}
			}
		})
	}
}

func TestLogsOfAllVersionsAreRead(t *testing.T) {
	for _, dir := range []string{"reference", "old"} {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txt*"))
		if err != nil || len(files) < 50 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		for _, file := range files {
			name := filepath.Base(file)
			text := readTestdata(t, dir, name)
			switch {
			case strings.Contains(name, ".summary."):
				s := readSummary(t, name, text)
				if hasResult := !strings.Contains(name, "accuracy"); s.HasResult != hasResult {
					t.Errorf("%s has a result: %v", name, s.HasResult)
				}
			case strings.Contains(name, ".detail."):
				d := readDetail(t, name, text)
				if _, err := d.Effective(); err != nil {
					t.Error(err)
				}
				if sut, err := d.Text("sut_name"); err != nil || sut != "sleeping SUT" {
					t.Errorf("%s: sut_name = %q, %v", name, sut, err)
				}
			}
		}
	}
}

func TestOldDetailLogsHaveTodaysKeys(t *testing.T) {
	for _, version := range []string{"v0.5", "v0.7", "v1.0", "v2.0", "v4.0"} {
		d := readDetail(t, version, readTestdata(t, "old", version+"-server.detail.txt.gz"))
		e, err := d.Effective()
		testenv.Must(t, err)
		want := loadgen.EffectiveSettings{
			Scenario: loadgen.Server, Mode: loadgen.PerformanceOnly, SamplesPerQuery: 1, TargetQPS: 1000, TargetLatency: 100,
			TargetLatencyPercentile: 0.99, TargetDuration: 300 * time.Millisecond, MinSampleCount: 100, PerformanceSampleCount: 10,
			Common: loadgen.Common{MinDuration: 300 * time.Millisecond, MinQueryCount: 100, QSLRNGSeed: 1, SampleIndexRNGSeed: 2, ScheduleRNGSeed: 3},
		}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
		for key, want := range map[string]any{
			"loadgen_version": "OLDVER @ 0123456789", "qsl_name": "null QSL", "qsl_reported_total_count": int64(20),
			"qsl_reported_performance_count": int64(10), "requested_scenario": "Server", "requested_test_mode": "PerformanceOnly",
			"requested_server_target_qps": int64(1000), "requested_server_coalesce_queries": false,
			"generated_samples_per_query": int64(1), "logger_start_reading_entries_retry_count": int64(0),
		} {
			if got, ok := d.First(key); !ok || got.Value != want {
				t.Errorf("%s: %s = %#v, %v, want %#v", version, key, got.Value, ok, want)
			}
		}
		for key, want := range map[string]string{
			"power_begin": "11-20-2026 11:", "loadgen_git_status_message": "nothing to commit", "loadgen_file_sha1": "012aad77e5206c89d50718c46c119d1f3cb056b2",
			"loaded_qsl_set": "[9,10,16,12,18,4,6,3,17,19]",
		} {
			if e, ok := d.First(key); !ok || !strings.Contains(fmt.Sprint(e.Value), want) {
				t.Errorf("%s: %s = %q, want …%s…", version, key, e.Value, want)
			}
		}
		if errs := d.Errors(); len(errs) != 1 || errs[0].Value != "Loadgen built with uncommitted changes!" {
			t.Errorf("%s: errors = %v", version, errs)
		}
	}
}

func TestOldSummaries(t *testing.T) {
	for _, c := range []struct {
		file, scenario, mode, label string
		valid                       bool
		want                        float64
	}{
		{"v0.5-singlestream", "SingleStream", "PerformanceOnly", "90th percentile latency (ns)", true, 622892},
		{"v0.7-multistream", "MultiStream", "PerformanceOnly", "Samples per query", true, 4},
		{"v0.7-offline", "Offline", "PerformanceOnly", "Samples per second", true, 249.886},
		{"v1.0-multistream", "MultiStream", "PerformanceOnly", "target_qps", true, 100},
		{"v4.0-singlestream", "SingleStream", "PerformanceOnly", "90th percentile latency (ns)", true, 591984},
	} {
		s := readSummary(t, c.file, readTestdata(t, "old", c.file+".summary.txt"))
		scenario, _ := s.Field("Scenario")
		mode, _ := s.Field("Mode")
		if got, ok := s.Float(c.label); scenario != c.scenario || mode != c.mode || s.Valid != c.valid || !ok || got != c.want {
			t.Errorf("%s: %v, %v, valid %v, %s = %g, want %g", c.file, scenario, mode, s.Valid, c.label, got, c.want)
		}
	}
	s := readSummary(t, "v4.0", readTestdata(t, "old", "v4.0-singlestream.summary.txt"))
	if v, ok := s.Estimate(90); !ok || v != 592556 {
		t.Errorf("Estimate(90) = %d, %v, want 592556", v, ok)
	}
	if v, ok := s.Estimate(95); ok {
		t.Errorf("Estimate(95) = %d, but there is none", v)
	}
}

func TestValues(t *testing.T) {
	const python, cpp, wrong = "", "refused", "error" // a value that Python's JSON reads, that only LoadGen writes, that neither does
	for _, c := range []struct {
		value string
		want  any
		ok    string
	}{
		{`"a \"b\" \u00e4"`, `a "b" ä`, python}, {"true", true, python}, {"false", false, python}, {"null", nil, python},
		{"-7", int64(-7), python}, {"18446744073709551615", uint64(math.MaxUint64), python}, {"0.25", 0.25, python}, {"1.5e-05", 1.5e-05, python},
		{"Infinity", math.Inf(1), python}, {"NaN", math.NaN(), python}, {"[1, 2]", Compound("[1, 2]"), python}, {`{"a": "b"}`, Compound(`{"a": "b"}`), python},
		{"inf", math.Inf(1), cpp}, {"-inf", math.Inf(-1), cpp}, {"nan", math.NaN(), cpp}, {"-nan", math.NaN(), cpp},
		{`"a "quoted" SUT \ name"`, `a "quoted" SUT \ name`, cpp}, {`"value": , "time_ms": "`, `value": , "time_ms": `, cpp},
		{"oops", nil, wrong}, {"1x", nil, wrong},
	} {
		d, err := parseDetail("d", strings.NewReader(rawValue("k", c.value)))
		if (err != nil) != (c.ok == wrong) || (d.Refused != nil) != (c.ok != python) {
			t.Errorf("%s: error %v, refused %v", c.value, err, d.Refused)
		}
		if e, ok := d.First("k"); ok == (c.ok == wrong) || !cmp.Equal(e.Value, c.want, cmpopts.EquateNaNs()) {
			t.Errorf("%s is read as %#v, want %#v", c.value, e.Value, c.want)
		}
	}
	long := readDetail(t, "d", rawValue("k", "["+strings.Repeat("1,", 1<<20)+"1]"))
	if e, _ := long.First("k"); len(e.Value.(Compound)) > 200 {
		t.Errorf("a list of a million numbers is kept with %d bytes", len(e.Value.(Compound)))
	}
}

func TestDamagedDetailLogs(t *testing.T) {
	good := messageOf("k", 1)
	const old = `"pid": 1, "tid": 1, "ts": 1ns : `
	for _, c := range []struct {
		name, text, want string // want: the error
		refused          int    // the line
		entries          int
	}{
		{"empty", "", "d:1: the log is empty", 0, 0},
		{"another file", "hello\n", `d:1: expected a line that begins with :::MLLOG, got "hello"`, 1, 0},
		{"byte order mark", "\ufeff" + good + good, "d:1: expected a line that begins with :::MLLOG", 1, 1},
		{"broken line", good + good[:40] + "\n" + good, "d:2: not JSON: ", 2, 2},
		{"broken line without a value", good + `:::MLLOG {"value": "a", "time_ms": 0` + "\n", "d:2: not JSON", 2, 1},
		{"line between", good + "\n" + good, `d:2: expected a line that begins with :::MLLOG, got ""`, 0, 2},
		{"not UTF-8", good + "# \xff\n", "d:2: expected a line that begins", 2, 1},
		{"no key", good + `:::MLLOG {"value": 1, "time_ms": 0}`, "d:2: the message has no key", 2, 1},
		{"no is_error", good + `:::MLLOG {"key": "k", "value": 1, "time_ms": 0}`, "", 2, 2},
		{"Windows", strings.ReplaceAll(good+good, "\n", "\r\n"), "", 0, 2},
		{"client of endpoints", strings.ReplaceAll(good, ":::MLLOG", ":::ENDPTS"), "", 0, 1},
		{"line of 64 MiB", good + strings.Repeat("x", longestLine), "d:2: the line is longer than 64 MiB", 2, 1},
		{"old log, plain line", old + "hello\nhello\n", `d:2: expected a message of a detail log, got "hello"`, 2, 1},
		{"old log, broken line", old + "hello\n" + `"pid": 1, "tid"`, "d:2: expected a message of a detail log", 2, 1},
		{"old log, line after a number", old + "QSL total size : 7\nhello\n", `d:2: expected a message of a detail log, got "hello"`, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := parseDetail("d", strings.NewReader(c.text))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || len(d.Entries) != c.entries {
				t.Errorf("%d entries, error %.300v; want %d, %s", len(d.Entries), err, c.entries, c.want)
			}
			if (d.Refused == nil) != (c.refused == 0) || d.Refused != nil && d.Refused.Line != c.refused {
				t.Errorf("refused: %v, want line %d", d.Refused, c.refused)
			}
		})
	}
	_, err := parseDetail("noise", strings.NewReader(strings.Repeat("x\n", 100)))
	if !strings.HasSuffix(err.Error(), "noise: 80 more lines are wrong") {
		t.Errorf("error %v", err)
	}
	if _, err := parseDetail("long", strings.NewReader(strings.Repeat("9", 1<<20))); err == nil || len(err.Error()) > 400 {
		t.Errorf("an error of %d bytes", len(fmt.Sprint(err)))
	}
}

func TestDamagedSummaries(t *testing.T) {
	good := readTestdata(t, "reference", "server.summary.txt")
	for _, c := range []struct{ name, old, new, want string }{
		{"no trailer", "No errors encountered during test.\n", "", "the log ends before its counts of warnings and errors"},
		{"title", "Additional Stats", "Other Stats", `s:17: expected one of the titles of a summary log, got "Other Stats"`},
		{"result", "VALID", "MAYBE", "s:8: Result is MAYBE: must be VALID or INVALID"},
		{"constraint", "satisfied : Yes", "satisfied : Perhaps", "is Perhaps: must be Yes or NO"},
		{"word for a number", "target_qps : 1500", "target_qps : fast", `target_qps is "fast": must be a number`},
		{"no number", "target_qps : 1500", "target_qps : ", "target_qps has no value"},
		{"no label", "target_qps : 1500", "target_qps", `expected a label and a value, got "target_qps"`},
		{"no result", "Result is : VALID\n", "", "the log has no result"},
		{"text before the title", "====", "hello\n====", `s:1: expected a summary log, got "hello"`},
		{"item without a bullet", "Early Stopping Result:\n * ", "Early Stopping Result:\n   no bullet\n * ", "no bullet"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if _, err := parseSummary("s", text); text == good || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := parseSummary("s", ""); err == nil || !strings.Contains(err.Error(), "s:1: the log ends") {
		t.Errorf("an empty summary gives %v", err)
	}
}

func TestValuesOfTheWrongKind(t *testing.T) {
	d := readDetail(t, "d", messageOf("text", "x")+messageOf("whole", 7)+messageOf("real", 2e6)+messageOf("part", 0.5)+
		messageOf("negative", -1)+messageOf("on", true)+messageOf("large", uint64(math.MaxUint64))+
		messageOf("long_duration_ms", 9223372036855)+messageOf("result_validity", "MAYBE")+messageOf("text", "later"))
	if v, err := d.Uint("real"); err != nil || v != 2000000 {
		t.Errorf("Uint(real) = %d, %v", v, err)
	}
	if v, err := d.Uint("large"); err != nil || v != math.MaxUint64 {
		t.Errorf("Uint(large) = %d, %v", v, err)
	}
	wrong := func(_ any, err error) error { return err }
	_, _, invalid := d.Valid()
	for want, err := range map[string]error{
		"d:1 … text … x … whole number … negative":           wrong(d.Uint("text")),
		"d:4 … part … 0.5 … whole number … negative":         wrong(d.Uint("part")),
		"d:5 … negative … -1 … whole number … negative":      wrong(d.Uint("negative")),
		"d:6 … on … true … number":                           wrong(d.Float("on")),
		"d:2 … whole … 7 … text":                             wrong(d.Text("whole")),
		"d:1 … text … x … true … false":                      wrong(d.Bool("text")),
		"d:8 … long_duration_ms … 9223372036855 … 292 years": wrong(d.Time("long_duration_ms")),
		"d:9 … result_validity … MAYBE … VALID … INVALID":    invalid,
		"d … gone … no such key":                             wrong(d.Uint("gone")),
	} {
		if !testenv.Names(err, want) {
			t.Errorf("error = %v, want %s", err, want)
		}
	}
	for key, value := range map[string]any{
		"effective_scenario": "Sever", "effective_test_mode": "Fast", "effective_min_query_count": "many",
		"effective_target_qps": true, "effective_performance_issue_same": 1, "effective_min_duration_ms": uint64(math.MaxUint64),
	} {
		if _, err := readDetail(t, "d", messageOf(key, value)).Effective(); err == nil || !strings.HasPrefix(err.Error(), "d:1: ") {
			t.Errorf("%s = %v: %v", key, value, err)
		}
	}
}

// randomSettings have times of whole milliseconds where the log has them so.
func randomSettings(r *rand.Rand) loadgen.TestSettings {
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
	if r.IntN(2) == 0 {
		s.ServerArrivals = loadgen.Arrivals{Factor: 1 + r.Float64(), Burst: time.Microsecond + time.Duration(r.IntN(int(time.Minute)))}
	}
	return s
}

func TestRequestedSettings(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 82))
	for range 150 {
		s, base := randomSettings(r), randomSettings(r)
		base.InferTokenLatencies = true
		result := judged()
		if s.Scenario == loadgen.MultiStream && r.IntN(2) == 0 {
			s.MultiStreamQPS, result.Effective.FixedInterval = 1+r.Float64(), true
		}
		result.Requested, result.Effective.Scenario = s, s.Scenario
		got, err := readDetail(t, "detail.txt", detailOf(t, result)).Requested(base)
		// A log has what its scenario uses; the rest is the base's. Token latencies are logged only if they are on.
		if s.Scenario != loadgen.SingleStream {
			s.SingleStreamTargetLatencyPercentile = base.SingleStreamTargetLatencyPercentile
		}
		if s.Scenario != loadgen.MultiStream {
			s.MultiStreamTargetLatencyPercentile, s.MultiStreamSamplesPerQuery = base.MultiStreamTargetLatencyPercentile, base.MultiStreamSamplesPerQuery
		}
		if s.Scenario != loadgen.Server {
			s.ServerTargetLatency, s.ServerTargetLatencyPercentile = base.ServerTargetLatency, base.ServerTargetLatencyPercentile
			s.ServerArrivals = loadgen.Arrivals{}
			s.ServerCoalesceQueries, s.ServerMaxAsyncQueries = base.ServerCoalesceQueries, base.ServerMaxAsyncQueries
		}
		s.InferTokenLatencies = true // unknown without a result
		if s.Scenario != loadgen.Offline {
			s.OfflineExpectedQPS = base.OfflineExpectedQPS
		}
		if !s.UseTokenLatencies || s.Scenario == loadgen.Offline {
			s.ServerTTFTLatency, s.ServerTPOTLatency = base.ServerTTFTLatency, base.ServerTPOTLatency
		}
		if diff := cmp.Diff(s, got, rounded); diff != "" || err != nil {
			t.Fatalf("settings: %v (-want +got):\n%s", err, diff)
		}
	}
}

// TestSettingsAreReadAsTheyAreWritten: in the unit that the key names.
func TestSettingsAreReadAsTheyAreWritten(t *testing.T) {
	for _, key := range []string{"requested_gap_ms", "requested_gap_ns", "requested_gap"} {
		var b strings.Builder
		d := &detailWriter{w: bufio.NewWriter(&b)}
		gap, got := 7*time.Millisecond, time.Duration(0)
		d.setting(key, &gap)
		testenv.Must(t, d.w.Flush())
		if err := readDetail(t, "d", b.String()).read(key, &got, false); err != nil || got != gap {
			t.Errorf("%s: %v is read as %v, %v", key, gap, got, err)
		}
	}
}

func TestRequestedKeepsTheBase(t *testing.T) {
	base := loadgen.DefaultSettings()
	base.MinQueryCount, base.QSLRNGSeed = 5, 6
	d := readDetail(t, "d", rawValue("requested_min_query_count", "1.5")+rawValue("requested_max_query_count", "{}")+rawValue("requested_qsl_rng_seed", "7"))
	got, err := d.Requested(base)
	if err == nil || got.MinQueryCount != 5 || got.QSLRNGSeed != 7 || strings.Count(err.Error(), "must be a whole number") != 2 {
		t.Errorf("%d queries, seed %d, %v", got.MinQueryCount, got.QSLRNGSeed, err)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	l := readCases(t)[0].run(t)
	_, err := WriteFiles(dir, l.result, aboutTest)
	testenv.Must(t, errors.Join(err, WriteTraceFile(dir, l.result, aboutTest)))
	if d, err := ReadDetail(filepath.Join(dir, DetailFile)); err != nil || len(d.Entries) == 0 {
		t.Errorf("ReadDetail = %v, %v", d, err)
	}
	if s, err := ReadSummary(filepath.Join(dir, SummaryFile)); err != nil || !s.HasResult {
		t.Errorf("ReadSummary = %v, %v", s, err)
	}
	missing := filepath.Join(dir, "none", DetailFile)
	if d, err := ReadDetail(missing); d != nil || err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("ReadDetail = %v", err)
	}
	if _, err := WriteFiles(filepath.Join(dir, "none"), l.result, aboutTest); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("WriteFiles = %v", err)
	}
}

func FuzzReadDetail(f *testing.F) {
	f.Add(messageOf("k", "v") + messageOf("n", 1.5))
	f.Add(readTestdata(f, "old", "v0.7-server.detail.txt.gz"))
	f.Add(rawValue("k", `"a "b" c"`) + rawValue("k", "-nan"))
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDetail("fuzz", strings.NewReader(text))
		if err != nil && !strings.Contains(err.Error(), "fuzz:") {
			t.Fatalf("error without a line: %v", err)
		}
		_, _ = d.Effective()
		for _, e := range d.Entries {
			if _, ok := e.Value.(Compound); ok {
				continue // cut: the rest is not known
			}
			again, err := parseDetail("again", strings.NewReader(messageOf(e.Key, e.Value)))
			if err != nil || len(again.Entries) != 1 {
				t.Fatalf("%v: %q = %#v cannot be written and read", err, e.Key, e.Value)
			}
			got := again.Entries[0].Value
			switch v := e.Value.(type) {
			case float64: // rounded
			case string:
				if utf8.ValidString(v) && got != v {
					t.Fatalf("%q is read back as %q", v, got)
				}
			default:
				if got != v {
					t.Fatalf("%#v is read back as %#v", v, got)
				}
			}
		}
	})
}

func FuzzReadSummary(f *testing.F) {
	for _, name := range []string{"server-tokens", "singlestream-equal-issue", "accuracy", "multistream-few-queries"} {
		f.Add(readTestdata(f, "reference", name+".summary.txt"))
	}
	f.Add(readTestdata(f, "old", "v0.7-multistream.summary.txt"))
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSummary("fuzz", text)
		if err == nil && len(s.fields) > 0 && !s.HasResult {
			t.Fatalf("accepted %+v", s)
		}
		s.Estimate(90)
	})
}

func ExampleDetail_Float() {
	d, err := parseDetail("mlperf_log_detail.txt", strings.NewReader(rawValue("result_validity", `"VALID"`)+rawValue("result_samples_per_second", "1234.5")))
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
