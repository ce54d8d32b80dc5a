package mlperflog

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

func mustReadDetail(t testing.TB, name, text string) *Detail {
	t.Helper()
	d, err := parseDetail(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func mustReadSummary(t testing.TB, name, text string) *Summary {
	t.Helper()
	s, err := parseSummary(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// about is a comparison for numbers that a log rounds to six digits.
var about = cmpopts.EquateApprox(1e-5, 0)

func TestADetailLogSaysWhatTheTestDid(t *testing.T) {
	for _, c := range readCases(t) {
		t.Run(c.name, func(t *testing.T) {
			l := c.run(t)
			d := mustReadDetail(t, "detail.txt", l.detail)
			want := l.result.Effective
			want.ServerCoalesceQueries, want.IssueQueryThreads = false, 0 // not among the effective_ keys
			want.InferTokenLatencies, want.TokenLatencyScalingFactor = false, 0
			if !want.UseTokenLatencies || want.Scenario == loadgen.Offline {
				want.ServerTTFTLatency, want.ServerTPOTLatency = 0, 0
			}
			got, err := d.Effective()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, about); diff != "" {
				t.Errorf("effective settings (-want +got):\n%s", diff)
			}
			if len(d.Errors()) != l.result.Errors() || len(d.Warnings()) != l.result.Warnings() {
				t.Errorf("%d errors and %d warnings, want %d and %d", len(d.Errors()), len(d.Warnings()), l.result.Errors(), l.result.Warnings())
			}
			valid, hasResult, err := d.Valid()
			if err != nil || hasResult != (l.result.Performance != nil) || hasResult && valid != l.result.Valid() {
				t.Errorf("Valid() = %v, %v, %v", valid, hasResult, err)
			}
			checkMetrics(t, d, l.result.Performance)
		})
	}
}

// checkMetrics compares the scenario's metric with the measurements.
func checkMetrics(t *testing.T, d *Detail, p *loadgen.Performance) {
	t.Helper()
	if p == nil {
		return
	}
	metrics := map[loadgen.Scenario]map[string]float64{
		loadgen.SingleStream: {
			"result_90.00_percentile_latency_ns": float64(p.SampleLatency.Percentiles[1]), "result_qps_with_loadgen_overhead": p.QPSWithOverhead(),
		},
		loadgen.MultiStream: {"result_99.00_percentile_per_query_latency_ns": float64(p.QueryLatency.Percentiles[4])},
		loadgen.Server: {
			"result_completed_samples_per_sec": p.CompletedQPS(), "result_scheduled_samples_per_sec": p.ScheduledQPS(),
			"result_overlatency_query_count": float64(p.Overlatency),
		},
		loadgen.Offline: {"result_samples_per_second": p.SamplesPerSecond(), "result_query_count": 1},
	}
	for key, want := range metrics[p.Effective.Scenario] {
		if got, err := d.Float(key); err != nil || !cmp.Equal(got, want, about) {
			t.Errorf("%s = %g, %v, want %g", key, got, err, want)
		}
	}
}

func TestASummarySaysWhatTheTestDid(t *testing.T) {
	for _, c := range readCases(t) {
		t.Run(c.name, func(t *testing.T) {
			l := c.run(t)
			s := mustReadSummary(t, "summary.txt", l.summary)
			p := l.result.Performance
			if s.HasResult != (p != nil) || s.Errors != l.result.Errors() || s.Warnings != l.result.Warnings() {
				t.Fatalf("summary = %+v", s)
			}
			if p == nil {
				return
			}
			if s.SUT != "sleeping SUT" || s.Scenario != p.Effective.Scenario.String() || s.Mode != p.Effective.Mode.String() || s.Valid != l.result.Valid() {
				t.Errorf("%s, %s, %s, valid %v", s.SUT, s.Scenario, s.Mode, s.Valid)
			}
			latency := p.SampleLatency
			if p.Effective.Scenario == loadgen.MultiStream {
				latency = p.QueryLatency
			}
			for label, want := range map[string]float64{
				"Min latency (ns)": float64(latency.Min), "Mean latency (ns)": float64(latency.Mean),
				"99.90 percentile latency (ns)": float64(latency.Percentiles[5]),
				"target_qps":                    p.Effective.TargetQPS, "min_duration (ms)": float64(p.Effective.MinDuration.Milliseconds()),
				"accuracy_sample_count": float64(p.Effective.AccuracySampleCount),
			} {
				if got, ok := s.Float(label); !ok || !cmp.Equal(got, want, about) {
					t.Errorf("%s = %g, %v, want %g", label, got, ok, want)
				}
			}
			for label, want := range map[string]bool{
				"Min duration satisfied": p.MinDurationMet, "Min queries satisfied": p.MinQueriesMet, "Early stopping satisfied": p.EarlyStoppingMet(),
			} {
				if f, ok := s.Field(label); !ok || f.Value != want {
					t.Errorf("%s = %v, want %v", label, f.Value, want)
				}
			}
		})
	}
}

func TestEstimatesAreFoundInASummary(t *testing.T) {
	l := testCase{"", map[string]string{"scenario": "SingleStream", "min_q": "700", "sleep_us": "200"}}.run(t)
	s := mustReadSummary(t, "summary.txt", l.summary)
	for percentile, want := range map[float64]time.Duration{
		90: l.result.Performance.EarlyStopping.Estimate, 99: l.result.Performance.EarlyStopping.MultiStreamEstimate,
	} {
		if got, ok := s.Estimate(percentile); !ok || got != int64(want) {
			t.Errorf("Estimate(%g) = %d, %v, want %d", percentile, got, ok, int64(want))
		}
	}
	if v, ok := s.Estimate(95); ok {
		t.Errorf("Estimate(95) = %d, but there is none", v)
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
				s := mustReadSummary(t, name, text)
				if hasResult := !strings.Contains(name, "accuracy"); s.HasResult != hasResult {
					t.Errorf("%s has a result: %v", name, s.HasResult)
				}
			case strings.Contains(name, ".detail."):
				d := mustReadDetail(t, name, text)
				if _, err := d.Effective(); err != nil {
					t.Error(err)
				}
				if e, ok := d.First("sut_name"); !ok || e.Value != "sleeping SUT" {
					t.Errorf("%s: sut_name = %v", name, e.Value)
				}
			}
		}
	}
}

func TestDetailLogsOfOldVersionsHaveTodaysKeys(t *testing.T) {
	for _, version := range []string{"v0.5", "v0.7", "v1.0", "v2.0", "v4.0"} {
		d := mustReadDetail(t, version, readTestdata(t, "old", version+"-server.detail.txt.gz"))
		e, err := d.Effective()
		if err != nil {
			t.Fatal(err)
		}
		want := loadgen.EffectiveSettings{
			Scenario: loadgen.Server, Mode: loadgen.PerformanceOnly, SamplesPerQuery: 1, TargetQPS: 1000, TargetLatency: 100,
			TargetLatencyPercentile: 0.99, TargetDuration: 300 * time.Millisecond, MinDuration: 300 * time.Millisecond,
			MinQueryCount: 100, MinSampleCount: 100, QSLRNGSeed: 1, SampleIndexRNGSeed: 2, ScheduleRNGSeed: 3, PerformanceSampleCount: 10,
		}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
		for key, want := range map[string]any{
			"loadgen_version": "OLDVER @ 0123456789", "qsl_name": "null QSL", "qsl_reported_total_count": int64(20),
			"qsl_reported_performance_count": int64(10), "requested_scenario": "Server", "requested_test_mode": "PerformanceOnly",
			"requested_server_target_qps": int64(1000), "requested_server_coalesce_queries": false,
			"generated_samples_per_query": int64(1), "logger_start_reading_entries_retry_count": int64(0),
			"loadgen_file_sha1": map[string]string{
				"/a.cc": "012aad77e5206c89d50718c46c119d1f3cb056b2", "/b.cc": "112aad77e5206c89d50718c46c119d1f3cb056b2",
			},
		} {
			if got, ok := d.First(key); !ok || !cmp.Equal(got.Value, want) {
				t.Errorf("%s: %s = %#v, %v, want %#v", version, key, got.Value, ok, want)
			}
		}
		for key, want := range map[string]string{"power_begin": "11-20-2026 11:", "loadgen_git_status_message": "nothing to commit"} {
			if got, err := d.Text(key); err != nil || !strings.Contains(got, want) {
				t.Errorf("%s: %s = %q, %v, want …%s…", version, key, got, err, want)
			}
		}
		if set, ok := d.First("loaded_qsl_set"); !ok || len(set.Value.([]uint64)) != 10 {
			t.Errorf("%s: loaded_qsl_set = %v", version, set.Value)
		}
		if errs := d.Errors(); len(errs) != 1 || errs[0].Value != "Loadgen built with uncommitted changes!" {
			t.Errorf("%s: errors = %v", version, errs)
		}
	}
}

func TestSummariesOfOldVersions(t *testing.T) {
	for _, c := range []struct {
		file, scenario, mode, label string
		valid                       bool
		want                        float64
	}{
		{"v0.5-singlestream", "SingleStream", "PerformanceOnly", "90th percentile latency (ns)", true, 622892},
		{"v0.7-multistream", "MultiStream", "PerformanceOnly", "Samples per query", true, 4},
		{"v0.7-server", "Server", "PerformanceOnly", "Scheduled samples per second", false, 0},
		{"v0.7-offline", "Offline", "PerformanceOnly", "Samples per second", true, 249.886},
		{"v1.0-multistream", "MultiStream", "PerformanceOnly", "target_qps", true, 100},
		{"v4.0-singlestream", "SingleStream", "PerformanceOnly", "90th percentile latency (ns)", true, 591984},
	} {
		s := mustReadSummary(t, c.file, readTestdata(t, "old", c.file+".summary.txt"))
		got, ok := s.Float(c.label)
		if s.Scenario != c.scenario || s.Mode != c.mode || s.Valid != c.valid || !ok {
			t.Errorf("%s: %s, %s, valid %v, %s: %v", c.file, s.Scenario, s.Mode, s.Valid, c.label, ok)
		}
		if c.want != 0 && got != c.want {
			t.Errorf("%s: %s = %g, want %g", c.file, c.label, got, c.want)
		}
	}
	s := mustReadSummary(t, "v0.7", readTestdata(t, "old", "v0.7-multistream.summary.txt"))
	groups := map[string]int{}
	for _, f := range s.Fields {
		if f.Section == statsSection {
			groups[f.Group]++
		}
	}
	want := map[string]int{"Intervals between each IssueQuery": 6, "Per-query latency": 6, "Per-sample latency": 9}
	if diff := cmp.Diff(want, groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if f, ok := s.Field("print_timestamps"); !ok || f.Value != false {
		t.Errorf("print_timestamps = %v, want false", f.Value)
	}
	v4 := mustReadSummary(t, "v4.0", readTestdata(t, "old", "v4.0-singlestream.summary.txt"))
	if v, ok := v4.Estimate(90); !ok || v != 592556 {
		t.Errorf("Estimate(90) = %d, %v, want 592556", v, ok)
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	var b strings.Builder
	values := []any{
		"", "a text", `"quoted" \ back`, "line\nbreak\ttab", "<é&\u2028>", true, false, int64(0), int64(-5), int64(math.MaxInt64),
		uint64(math.MaxUint64), 0.5, 1e-9, 1.5e300, math.Inf(1), math.Inf(-1), []uint64{}, []uint64{1, 2, 3},
		map[string]string{}, map[string]string{"a": "1", "b": `"`},
	}
	for _, v := range values {
		b.WriteString(messageOf("key", v))
	}
	d := mustReadDetail(t, "detail.txt", b.String())
	for i, want := range values {
		if got := d.Entries[i]; got.Line != i+1 || !cmp.Equal(got.Value, want) {
			t.Errorf("%#v is read back as %#v in line %d", want, got.Value, got.Line)
		}
	}
	if got := mustReadDetail(t, "d", messageOf("k", math.NaN())).Entries[0].Value.(float64); !math.IsNaN(got) {
		t.Errorf("NaN is read back as %g", got)
	}
}

// messageOf returns a line of a detail log.
func messageOf(key string, value any) string {
	var b strings.Builder
	d := newDetailWriter(&b, About{}, time.Time{})
	d.log(key, value)
	if err := d.w.Flush(); err != nil {
		panic(err)
	}
	return b.String()
}

func TestLinesThatLoadGenSpoilsAreReadAnyway(t *testing.T) {
	line := func(value string) string {
		return `:::MLLOG {"key": "k", "value": ` + value + `, "time_ms": 18446744073709.359087, "namespace": "mlperf::logging", ` +
			`"event_type": "POINT_IN_TIME", "metadata": {"is_error": true, "is_warning": false, "file": "f", "line_no": 1, "pid": 1, "tid": 1}}`
	}
	for text, want := range map[string]any{
		`"a "quoted" SUT \ name"`: `a "quoted" SUT \ name`,
		"inf":                     math.Inf(1),
		"-inf":                    math.Inf(-1),
		"Infinity":                math.Inf(1),
		`"value": , "time_ms": "`: `value": , "time_ms": `,
	} {
		d := mustReadDetail(t, "d", line(text))
		if got := d.Entries[0]; !cmp.Equal(got.Value, want) || !got.IsError {
			t.Errorf("%s is read as %#v", text, got)
		}
	}
	for _, text := range []string{"nan", "-nan", "NaN"} {
		if got, ok := mustReadDetail(t, "d", line(text)).Entries[0].Value.(float64); !ok || !math.IsNaN(got) {
			t.Errorf("%s is read as %v", text, got)
		}
	}
}

func TestGarbageInADetailLogIsNamed(t *testing.T) {
	good := messageOf("k", 1)
	for _, c := range []struct{ name, text, want string }{
		{"empty file", "", "d:1: the log is empty"},
		{"another file", "hello\n", `d:1: want a line that begins with :::MLLOG, got "hello"`},
		{"a broken line", good + good[:40] + "\n" + good, "d:2: not JSON: "},
		{"a line between", good + "\n" + good, `d:2: want a line that begins with :::MLLOG, got ""`},
		{"no key", `:::MLLOG {"value": 1, "time_ms": 0}`, "d:1: want a message with key, value and time_ms"},
		{"no value", `:::MLLOG {"key": "k", "time_ms": 0}`, "d:1: want a message with key, value and time_ms"},
		{"no time", `:::MLLOG {"key": "k", "value": 0}`, "d:1: want a message with key, value and time_ms"},
		{"a strange list", `:::MLLOG {"key": "k", "value": ["a"], "time_ms": 0}`, `d:1: k has a value of no known kind: "[\"a\"]"`},
		{"a strange map", `:::MLLOG {"key": "k", "value": {"a": 1}, "time_ms": 0}`, "d:1: k has a value of no known kind"},
		{"null", `:::MLLOG {"key": "k", "value": null, "time_ms": 0}`, "d:1: k has a value of no known kind"},
		{"a spoilt line without text", `:::MLLOG {"key": "k", "value": oops, "time_ms": 0}`, "d:1: not JSON"},
		{"a plain line in an old log", `"pid": 1, "tid": 1, "ts": 1ns : hello` + "\nhello\n", `d:2: want a message of a detail log, got "hello"`},
		{"a broken line in an old log", `"pid": 1, "tid": 1, "ts": 1ns : hello` + "\n" + `"pid": 1, "tid"`, "d:2: want a message of a detail log"},
		{"a broken first line", `"pid": 1, nonsense`, "d:1: want a message of a detail log"},
		{"no check sum", `"pid": 1, "tid": 1, "ts": 1ns : SHA1 of files :` + "\nabc\n", `d:2: want a message of a detail log, got "abc"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := parseDetail("d", c.text)
			var syntax *syntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("ReadDetail = %v, want %s", err, c.want)
			}
			if n := strings.Count(c.text, good); len(d.Entries) < n {
				t.Errorf("%d entries, want the %d good ones", len(d.Entries), n)
			}
		})
	}
	_, err := parseDetail("noise", strings.Repeat("x\n", 100))
	if !strings.HasSuffix(err.Error(), "noise: 80 more lines are wrong") {
		t.Errorf("ReadDetail = %v", err)
	}
}

func TestGarbageInASummaryIsNamed(t *testing.T) {
	good := readTestdata(t, "reference", "server.summary.txt")
	for _, c := range []struct{ name, old, new, want string }{
		{"no trailer", "No errors encountered during test.\n", "", "the log ends before its counts of warnings and errors"},
		{"a strange title", "Additional Stats", "Other Stats", `s:17: want one of the titles of a summary log, got "Other Stats"`},
		{"a strange result", "VALID", "MAYBE", "s:8: Result is MAYBE, want VALID or INVALID"},
		{"a strange answer", "satisfied : Yes", "satisfied : Perhaps", "is Perhaps, want Yes or NO"},
		{"a word for a number", "target_qps : 1500", "target_qps : fast", `target_qps is "fast", want a number`},
		{"no number", "target_qps : 1500", "target_qps : ", "target_qps has no value"},
		{"no label", "target_qps : 1500", "target_qps", `want a label and a value, got "target_qps"`},
		{"no result", "Result is : VALID\n", "", "the log has no result"},
		{"a text before the title", "====", "hello\n====", `s:1: want a summary log, got "hello"`},
		{"more errors than there are numbers", "No errors encountered during test.", "99999999999999999999 ERRORS encountered. See detailed log.", "is no count"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.old, c.new, 1)
			if text == good {
				t.Fatal("nothing was replaced")
			}
			_, err := parseSummary("s", text)
			var syntax *syntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("ReadSummary = %v, want %s", err, c.want)
			}
		})
	}
	if _, err := parseSummary("s", ""); err == nil || !strings.Contains(err.Error(), "s:1: the log ends") {
		t.Errorf("an empty summary gives %v", err)
	}
}

func TestValuesOfTheWrongKindAreErrors(t *testing.T) {
	text := messageOf("text", "x") + messageOf("whole", 7) + messageOf("real", 2e6) + messageOf("part", 0.5) +
		messageOf("negative", -1) + messageOf("on", true) + messageOf("large", uint64(math.MaxUint64))
	d := mustReadDetail(t, "d", text)
	if v, err := d.Uint("real"); err != nil || v != 2000000 {
		t.Errorf("Uint(real) = %d, %v", v, err)
	}
	if v, err := d.Uint("large"); err != nil || v != math.MaxUint64 {
		t.Errorf("Uint(large) = %d, %v", v, err)
	}
	if v, err := d.Float("large"); err != nil || v != math.MaxUint64 {
		t.Errorf("Float(large) = %g, %v", v, err)
	}
	wrong := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"d:1: text is x, want a whole number that is not negative":      wrong(d.Uint("text")),
		"d:4: part is 0.5, want a whole number that is not negative":    wrong(d.Uint("part")),
		"d:5: negative is -1, want a whole number that is not negative": wrong(d.Uint("negative")),
		"d:6: on is true, want a number":                                wrong(d.Float("on")),
		"d:2: whole is 7, want a text":                                  wrong(d.Text("whole")),
		"d:1: text is x, want true or false":                            wrong(d.Bool("text")),
		"d: gone: no such key in the log":                               wrong(d.Uint("gone")),
		"d: none: no such key in the log":                               wrong(d.Bool("none")),
		"d: nil: no such key in the log":                                wrong(d.Float("nil")),
	} {
		if err == nil || err.Error() != name {
			t.Errorf("error = %v, want %s", err, name)
		}
	}
}

func TestSettingsOfTheWrongKindAreErrors(t *testing.T) {
	for key, value := range map[string]any{
		"effective_scenario": "Sever", "effective_test_mode": "Fast", "effective_min_query_count": "many",
		"effective_target_qps": true, "effective_performance_issue_same": 1, "effective_min_duration_ms": uint64(math.MaxUint64),
	} {
		text := strings.Replace(readTestdata(t, "reference", "server.detail.txt.gz"), `"`+key+`", "value"`, `"moved", "value"`, 1)
		d := mustReadDetail(t, "d", text+messageOf(key, value))
		if _, err := d.Effective(); err == nil {
			t.Errorf("%s = %v is accepted", key, value)
		}
	}
	d := mustReadDetail(t, "d", messageOf("result_validity", "MAYBE"))
	if _, _, err := d.Valid(); err == nil || !strings.Contains(err.Error(), "d:1: result_validity is MAYBE, want VALID or INVALID") {
		t.Errorf("Valid() = %v", err)
	}
	if _, _, err := mustReadDetail(t, "d", messageOf("result_validity", 1)).Valid(); err == nil {
		t.Error("a numeric validity is accepted")
	}
}

func TestFilesAreReadByTheirPath(t *testing.T) {
	dir := t.TempDir()
	l := readCases(t)[0].run(t)
	if err := WriteFiles(dir, l.result, aboutTest); err != nil {
		t.Fatal(err)
	}
	if err := WriteTraceFile(dir, l.result, aboutTest); err != nil {
		t.Fatal(err)
	}
	if d, err := ReadDetail(filepath.Join(dir, DetailFile)); err != nil || len(d.Entries) == 0 {
		t.Errorf("ReadDetail = %v, %v", d, err)
	}
	if s, err := ReadSummary(filepath.Join(dir, SummaryFile)); err != nil || !s.HasResult {
		t.Errorf("ReadSummary = %v, %v", s, err)
	}
	if info, err := os.Stat(filepath.Join(dir, TraceFile)); err != nil || info.Size() == 0 {
		t.Errorf("trace: %v, %v", info, err)
	}
	missing := filepath.Join(dir, "none", DetailFile)
	if _, err := ReadDetail(missing); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("ReadDetail = %v", err)
	}
	if _, err := ReadSummary(missing); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("ReadSummary = %v", err)
	}
	if err := WriteFiles(filepath.Join(dir, "none"), l.result, aboutTest); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("WriteFiles = %v", err)
	}
}

func TestFieldsOfASummary(t *testing.T) {
	text := readTestdata(t, "reference", "server.summary.txt")
	s := mustReadSummary(t, "s", strings.Replace(text, "qsl_rng_seed : 1\n", "qsl_rng_seed : 18446744073709551615\n", 1))
	if v, ok := s.Float("qsl_rng_seed"); !ok || v != math.MaxUint64 {
		t.Errorf("qsl_rng_seed = %g, %v", v, ok)
	}
	if v, ok := s.Float("min_query_count"); !ok || v != 500 {
		t.Errorf("min_query_count = %g, %v", v, ok)
	}
	if f, ok := s.Field("no such label"); ok {
		t.Errorf("Field = %+v", f)
	}
	for _, label := range []string{"no such label", "Result is", "Min queries satisfied"} {
		if v, ok := s.Float(label); ok {
			t.Errorf("%s = %g, want no number", label, v)
		}
	}
}

func TestLongLinesAreCutInMessages(t *testing.T) {
	_, err := parseDetail("d", strings.Repeat("x", 5000))
	if err == nil || len(err.Error()) > 200 || !strings.HasSuffix(err.Error(), `xxx…"`) {
		t.Errorf("ReadDetail = %v", err)
	}
}

func TestWhatDoesNotContinueAnything(t *testing.T) {
	const prefix = `"pid": 1, "tid": 1, "ts": 1ns : `
	for _, c := range []struct{ name, text, want string }{
		{"a line after a number", prefix + "QSL total size : 7\nhello\n", `d:2: want a message of a detail log, got "hello"`},
		{"a time of 400 digits", `"pid": 1, "tid": 1, "ts": ` + strings.Repeat("9", 400) + "ns : hello\n", "is no time"},
		{"a broken line that is no message", `:::MLLOG {"value": "a", "time_ms": 0`, "d:1: not JSON"},
	} {
		if _, err := parseDetail("d", c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	// A set that is no list is kept as a text.
	text := prefix + `Loading QSL : "set" : oops` + "\n"
	d := mustReadDetail(t, "d", text)
	if e := d.Entries[0]; e.Key != "generic_message" || e.Value != `Loading QSL : "set" : oops` {
		t.Errorf("%+v", e)
	}
	// Text below a heading needs a bullet to continue.
	good := readTestdata(t, "reference", "server.summary.txt")
	spoilt := strings.Replace(good, "Early Stopping Result:\n * ", "Early Stopping Result:\n   no bullet\n * ", 1)
	if _, err := parseSummary("s", spoilt); good == spoilt || err == nil || !strings.Contains(err.Error(), "no bullet") {
		t.Errorf("ReadSummary = %v", err)
	}
}

func TestErrorsAboutForeignLogsAreShort(t *testing.T) {
	long := strings.Repeat("9", 1<<20)
	for name, text := range map[string]string{
		"a number":       `:::MLLOG {"key": "k", "value": ` + long + `x, "time_ms": 0.5}`,
		"a time":         `:::MLLOG {"key": "k", "value": 1, "time_ms": ` + long + `}`,
		"a key":          `:::MLLOG {"key": "` + long + `", "value": x, "time_ms": 1}`,
		"an old time":    `"pid": 1, "tid": 1, "ts": ` + long + `ns : text`,
		"an old message": `"pid": 1, "tid": 1, "ts" ` + long,
		"anything":       long,
	} {
		if _, err := parseDetail("log", text); err != nil && len(err.Error()) > 400 {
			t.Errorf("%s: an error of %d bytes: %.200s", name, len(err.Error()), err)
		}
	}
	for name, text := range map[string]string{
		"a count": long + " warnings encountered. See detailed log.", "anything": long, "a title": rule + "\n" + long,
		"a result": rule + "\n" + resultsSection + "\n" + rule + "\nResult is : " + long, "a label": rule + "\n" + resultsSection + "\n" + rule + "\n" + long + " :",
	} {
		if _, err := parseSummary("log", text); err == nil || len(err.Error()) > 1000 {
			t.Errorf("%s: an error of %d bytes", name, len(fmt.Sprint(err)))
		}
	}
	d := mustReadDetail(t, "log", messageOf("effective_min_query_count", strings.Repeat("x", 1<<20)))
	if _, err := d.Uint("effective_min_query_count"); err == nil || len(err.Error()) > 400 {
		t.Errorf("an error of %d bytes", len(fmt.Sprint(err)))
	}
}

func TestMessagesOfBeforeTheLogHaveNegativeTimes(t *testing.T) {
	for text, want := range map[string]float64{
		`:::MLLOG {"key": "k", "value": 1, "time_ms": 18446744073709.359087}`: -0.192465,
		`:::MLLOG {"key": "k", "value": 1, "time_ms": -2.5}`:                  -2.5,
		`:::MLLOG {"key": "k", "value": 1, "time_ms": 600000.5}`:              600000.5,
		`"pid": 1, "tid": 1, "ts": -2500000ns : text`:                         -2.5,
		`"pid": 1, "tid": 1, "ts": 18446744073707051616ns : text`:             -2.5,
	} {
		d, err := parseDetail("log", text)
		if err != nil || len(d.Entries) != 1 || math.Abs(d.Entries[0].TimeMS-want) > 0.003 {
			t.Errorf("%s: %+v, %v; want %g ms", text, d.Entries, err, want)
		}
	}
	d := mustReadDetail(t, "log", messageOf("effective_target_latency_ns", -5))
	if _, err := d.Effective(); err == nil || !strings.Contains(err.Error(), "effective_target_latency_ns is -5, want a whole number that is not negative") {
		t.Errorf("a negative setting: %v", err)
	}
}
