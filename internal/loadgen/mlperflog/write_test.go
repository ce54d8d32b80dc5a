package mlperflog

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A brokenWriter takes so many bytes.
type brokenWriter struct{ left int }

var errFull = errors.New("disk full")

func (w *brokenWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		return 0, errFull
	}
	w.left -= len(p)
	return len(p), nil
}

func TestFullDisk(t *testing.T) {
	r := readCases(t)[0].run(t).result
	for name, write := range map[string]func(io.Writer) error{
		"writing the summary log": func(w io.Writer) error { return writeSummary(w, r) },
		"writing the detail log":  func(w io.Writer) error { return writeDetail(w, r, aboutTest) },
		"writing the trace log":   func(w io.Writer) error { return writeTrace(w, r, aboutTest) },
	} {
		if err := write(&brokenWriter{}); !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, SummaryFile)
	testenv.Must(t, os.Mkdir(path, 0o755)) // in the place of the file
	if _, err := WriteFiles(dir, judged(), aboutTest); err == nil || !strings.HasPrefix(err.Error(), path+": ") {
		t.Errorf("WriteFiles = %v", err)
	}
	if _, err := ReadDetail(filepath.Join(dir, DetailFile)); err != nil {
		t.Errorf("the detail log was not written: %v", err)
	}
	log := NewAccuracyLog(&brokenWriter{left: 1 << 16}, loadgen.Server)
	record := loadgen.AccuracyRecord{Data: make([]byte, 20000)}
	var err error
	for range 10 {
		err = log.Append(record)
	}
	if !errors.Is(err, errFull) {
		t.Errorf("Append = %v", err)
	}
	if err := log.Close(); !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), "writing the accuracy log: ") {
		t.Errorf("Close = %v", err)
	}
}

func TestAccuracyRecords(t *testing.T) {
	record := loadgen.AccuracyRecord{SeqID: 7, QSLIndex: 3, Data: []byte{0xab, 0x01}, TokenData: []byte{0xff}, NTokens: 12}
	tokens := record
	tokens.HasTokens = true
	noToken := tokens
	noToken.TokenData = nil
	for _, c := range []struct {
		name     string
		scenario loadgen.Scenario
		record   loadgen.AccuracyRecord
		want     string
	}{
		{"without tokens", loadgen.Server, record, `{ "seq_id" : 7, "qsl_idx" : 3, "data" : "AB01" }`},
		{"with tokens", loadgen.Server, tokens, `{ "seq_id" : 7, "qsl_idx" : 3, "data" : "AB01", "token_data" : "FF", "token_count" : 12 }`},
		{"with tokens in Offline", loadgen.Offline, tokens, `{ "seq_id" : 7, "qsl_idx" : 3, "data" : "AB01", "token_count" : 12 }`},
		{"without a first token", loadgen.SingleStream, noToken, `{ "seq_id" : 7, "qsl_idx" : 3, "data" : "AB01", "token_data" : "", "token_count" : 12 }`},
		{"without data", loadgen.Server, loadgen.AccuracyRecord{}, `{ "seq_id" : 0, "qsl_idx" : 0, "data" : "" }`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			log := NewAccuracyLog(&b, c.scenario)
			testenv.Must(t, errors.Join(log.Append(c.record), log.Append(c.record), log.Close()))
			if want := "[\n" + c.want + ",\n" + c.want + "\n]\n"; b.String() != want {
				t.Errorf("log =\n%s, want\n%s", b.String(), want)
			}
		})
	}
}

// judged is a Server run in which everything is wrong that can be.
func judged() *loadgen.Result {
	e := loadgen.DefaultSettings().Effective(10, 20)
	e.Scenario = loadgen.Server
	return &loadgen.Result{
		SUTName:   "a \"SUT\"\nof two lines",
		StartTime: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("elsewhere", 3600)),
		Effective: e,
		Requested: loadgen.DefaultSettings(),
		Events: []loadgen.Event{
			{Key: "error_runtime", Value: "one\nerror", IsError: true},
			{Key: "error_runtime", Value: "another", IsError: true},
			{Key: "warning_generic_message", Value: "warned", IsWarning: true},
		},
		Performance: &loadgen.Performance{
			Effective: e, QueryCount: 5, TTFTMet: true, TPOTMet: true, MaxIssueDelay: time.Millisecond,
			GeneratorDelay: loadgen.LatencyStats{Count: 5, Target: 2 * time.Millisecond},
			EarlyStopping:  loadgen.EarlyStopping{Processed: 5, Needed: 459, Percentile: 0.99},
		},
		Faults:      []error{errors.New("it\nfailed")},
		Interrupted: errors.New("someone pressed\nCtrl-C"),
	}
}

func TestInvalidReasons(t *testing.T) {
	s := readSummary(t, "summary.txt", summaryOf(t, judged()))
	want := []string{
		"* latency: nothing measured, must be at most 0 s at the 90th percentile; measure again on a machine that is less busy: " +
			"the generator's own delay is part of this latency.",
		"* duration: nothing measured, must be at least 10 s; the test ended early; the detail log says why.",
		"* queries: 5 queries, must be at least 100 queries; the test ended early; the detail log says why.",
		"* generator: 2 ms, must be at most 1 ms at the 90th percentile; this machine was too busy to keep the schedule, " +
			"which says nothing about the SUT: leave a core to the load generator, or lower the load of the machine.",
		"* The SUT or a log failed: it failed.",
		"* The test was stopped before its end: someone pressed Ctrl-C.",
	}
	if diff := cmp.Diff(want, s.Recommendations); diff != "" {
		t.Errorf("recommendations (-want +got):\n%s", diff)
	}
	if sut, _ := s.Field("SUT name"); s.Valid || sut != `a "SUT" of two lines` {
		t.Errorf("valid %v, SUT %v", s.Valid, sut)
	}
	if !strings.Contains(summaryOf(t, judged()), "\n2 ERRORS encountered. See detailed log.\n") {
		t.Error("the errors are not counted as the official scripts expect")
	}
	d := readDetail(t, "detail.txt", detailOf(t, judged()))
	if utc, _ := d.Text("test_datetime"); utc != "2026-01-02T02:04:05Z" {
		t.Errorf("test_datetime = %s, want UTC", utc)
	}
	reason, err := d.Text("result_invalid_reason")
	if err != nil || strings.Contains(reason, "\n") {
		t.Errorf("result_invalid_reason = %q, %v", reason, err)
	}
	for _, text := range want {
		if text = strings.TrimPrefix(text, "* "); !strings.Contains(strings.Join(strings.Fields(reason), " "), text) {
			t.Errorf("result_invalid_reason lacks %q", text)
		}
	}
}

func TestTokenLimits(t *testing.T) {
	r := judged()
	p := r.Performance
	p.Effective.UseTokenLatencies = true
	p.TTFTMet, p.TPOTMet = false, false
	text := strings.Join(advice(r), "\n")
	if !strings.Contains(text, "time to first token: ") || !strings.Contains(text, "time per output token: ") || strings.Contains(text, "\nlatency: ") {
		t.Errorf("advice = %s", text)
	}
	p.TTFTMet = true
	if text := strings.Join(advice(r), "\n"); strings.Contains(text, "time to first token: ") {
		t.Errorf("advice = %s", text)
	}
}

func TestLogsAreASCII(t *testing.T) {
	r := judged()
	r.Performance.GeneratorDelay.Target, r.Performance.MaxIssueDelay = 5*time.Microsecond, time.Microsecond
	for name, text := range map[string]string{"summary": summaryOf(t, r), "detail": detailOf(t, r)} {
		if i := strings.IndexFunc(text, func(c rune) bool { return c > '~' }); i >= 0 {
			t.Errorf("the %s log has %q", name, text[max(0, i-20):i+10])
		}
	}
}

// TestUnmeasuredIsNotWritten has phases that were interrupted before anything
// was answered, or after one sample, which makes no rate.
func TestUnmeasuredIsNotWritten(t *testing.T) {
	for _, scenario := range loadgen.Scenarios() {
		for _, tokens := range []bool{false, true} {
			r := judged()
			r.Performance.Effective.Scenario, r.Performance.Effective.UseTokenLatencies = scenario, tokens
			r.Performance.Effective.InferTokenLatencies = true
			d := readDetail(t, "detail.txt", detailOf(t, r))
			for _, e := range d.Entries {
				if v, ok := e.Value.(float64); strings.Contains(e.Key, "per_sec") || strings.Contains(e.Key, "throughput") || strings.Contains(e.Key, "_qps_w") || ok && math.IsNaN(v) ||
					strings.HasPrefix(e.Key, "result_") && strings.Contains(e.Key, "latency_ns") {
					t.Errorf("%v, tokens %v: the detail log has %s = %v", scenario, tokens, e.Key, e.Value)
				}
			}
			for line := range strings.Lines(summaryOf(t, r)) {
				if strings.HasPrefix(line, parametersSection) {
					break
				}
				if strings.Contains(line, "per second") || strings.Contains(line, "QPS w") || strings.Contains(line, "TPS w") || strings.Contains(line, "(ns)") {
					t.Errorf("%v, tokens %v: the summary has %s", scenario, tokens, line)
				}
			}
		}
	}
}

// Rates are over the samples after the first one (loadgen/results.cc: sample_count - 1), and official programs
// look for them in every log.
func TestRateOfOneSample(t *testing.T) {
	for scenario, want := range map[loadgen.Scenario]struct {
		summary []string
		detail  map[string]float64
	}{
		loadgen.Server: {
			[]string{"Completed samples per second    : 0.00", "Scheduled samples per second : 0.00", "Completed tokens per second (inferred): 0.00", "Completed tokens per second: 0.00"},
			map[string]float64{"result_completed_samples_per_sec": 0, "result_scheduled_samples_per_sec": 0, "result_completed_tokens_per_second": 0},
		},
		loadgen.SingleStream: {
			[]string{"QPS w/ loadgen overhead         : 0.00", "QPS w/o loadgen overhead        : 4.00", "TPS w/ loadgen overhead         : 0.00", "TPS w/o loadgen overhead        : 0.00"},
			map[string]float64{"result_qps_with_loadgen_overhead": 0, "result_qps_without_loadgen_overhead": 4},
		},
		loadgen.Offline: {
			[]string{"Samples per second: 4", "Tokens per second: 0", "Tokens per second (inferred): 40"},
			map[string]float64{"result_samples_per_second": 4},
		},
	} {
		r := judged()
		p := r.Performance
		p.Effective.Scenario, p.Effective.UseTokenLatencies, p.Effective.InferTokenLatencies, p.Effective.TokenLatencyScalingFactor = scenario, true, true, 10
		quarter := 250 * time.Millisecond
		p.SampleCount, p.FinalQueryCompleted, p.FinalQueryScheduled, p.FinalQueryIssued = 1, time.Second, time.Second, time.Second
		p.SampleLatency = loadgen.LatencyStats{Count: 1, Min: quarter, Max: quarter, Mean: quarter, Target: quarter}
		lines := strings.Split(summaryOf(t, r), "\n")
		for _, line := range want.summary {
			if !slices.Contains(lines, line) {
				t.Errorf("%v: the summary has no line %q:\n%s", scenario, line, strings.Join(lines, "\n"))
			}
		}
		d := readDetail(t, "detail.txt", detailOf(t, r))
		for key, value := range want.detail {
			if got, err := d.Float(key); err != nil || got != value {
				t.Errorf("%v: %s is %v, %v, want %v", scenario, key, got, err, value)
			}
		}
	}
}

func TestEarlyWarningsComeFirst(t *testing.T) {
	s := loadgen.DefaultSettings()
	s.Test05, s.Test05QSLRNGSeed, s.Mode = true, 99, loadgen.AccuracyOnly
	s.MinDuration, s.MinQueryCount = 0, 1
	d := readDetail(t, "detail.txt", runInFakeTime(t, sleepingSUT{nap: time.Millisecond}, s).detail)
	warning, _ := d.First("warning_generic_message")
	scenario, _ := d.First("requested_scenario")
	if !warning.IsWarning || warning.Line+1 != scenario.Line {
		t.Errorf("the warning stands in line %d, the first setting in line %d", warning.Line, scenario.Line)
	}
	if seed, err := d.Uint("requested_qsl_rng_seed"); err != nil || seed != 99 {
		t.Errorf("requested_qsl_rng_seed = %d, %v, want that of TEST05, as in the reference", seed, err)
	}
	if mode, err := d.Text("requested_test_mode"); err != nil || mode != "PerformanceOnly" {
		t.Errorf("requested_test_mode = %s, %v", mode, err)
	}
}

func TestTraceOfUnansweredSample(t *testing.T) {
	var b strings.Builder
	tr := &traceWriter{w: bufio.NewWriter(&b), pid: 1}
	lost := loadgen.SampleRecord{Start: 1500, Issued: 1700, Completed: -1, FirstToken: -1}
	tr.life(lost, true)
	testenv.Must(t, tr.w.Flush())
	want := `{"name":"Sample","cat":"default","ph":"b","pid":1,"id":0,"ts":1.500,"args":` +
		`{"sample_seq":0,"query_seq":0,"sample_idx":0,"issue_start_ns":200,"complete_ns":-1}},` + "\n"
	if b.String() != want {
		t.Errorf("trace = %s, want %s", b.String(), want)
	}
}

func TestTraceOfAccuracyMode(t *testing.T) {
	accuracy := testCase{"", map[string]string{"scenario": "Offline", "mode": "1"}}.run(t).trace
	if n := strings.Count(accuracy, `"name":"Sample","cat":"default","ph":"e"`); n != 20 || !json.Valid([]byte(accuracy)) {
		t.Errorf("%d samples of 20, valid %v:\n%s", n, json.Valid([]byte(accuracy)), accuracy)
	}
	both := unevenly(t, loadgen.SingleStream, func(s *loadgen.TestSettings) {
		s.Mode, s.MinDuration, s.MinQueryCount = loadgen.SubmissionRun, 0, 5
	}).trace
	if n := strings.Count(both, `"ph":"b"`); n != 25 || strings.Count(both, `"id":24,`) != 2 {
		t.Errorf("%d samples, want 20 and 5 with one numbering:\n%s", n, both)
	}
}

func TestTraceOfFirstTokens(t *testing.T) {
	few := func(s *loadgen.TestSettings) { s.UseTokenLatencies, s.MinDuration, s.MinQueryCount = true, 0, 3 }
	for scenario, event := range map[loadgen.Scenario]string{
		loadgen.SingleStream: `"name":"Token","cat":"default","ph":"e"`, loadgen.Server: `"name":"Token_Latency","ph":"C"`,
	} {
		trace := unevenly(t, scenario, few).trace
		if n := strings.Count(trace, event); n != 3 || !json.Valid([]byte(trace)) {
			t.Errorf("%v: %d first tokens, want 3:\n%s", scenario, n, trace)
		}
	}
}

func BenchmarkAccuracyLog(b *testing.B) {
	log := NewAccuracyLog(io.Discard, loadgen.Server)
	record := loadgen.AccuracyRecord{Data: make([]byte, 4)}
	b.ReportAllocs()
	for b.Loop() {
		if err := log.Append(record); err != nil {
			b.Fatal(err)
		}
		record.SeqID++
	}
}

func TestNoSummaryWithoutDetail(t *testing.T) {
	dir := t.TempDir()
	testenv.Must(t, os.Mkdir(filepath.Join(dir, DetailFile), 0o755))
	if _, err := WriteFiles(dir, judged(), aboutTest); err == nil || !strings.Contains(err.Error(), DetailFile) {
		t.Errorf("WriteFiles = %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, SummaryFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a verdict without a detail log: %v", err)
	}
}

// A stuckWriter takes nothing until it is released.
type stuckWriter chan struct{}

func (w stuckWriter) Write(b []byte) (int, error) {
	<-w
	return 0, errors.New("released")
}

func TestCloseOnBlockedStorage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := make(stuckWriter)
		defer close(w)
		log := NewAccuracyLog(w, loadgen.Server)
		appended := make(chan error, 1)
		go func() { appended <- log.Append(loadgen.AccuracyRecord{Data: make([]byte, 1<<20)}) }()
		synctest.Wait()
		began := time.Now()
		if err := log.Close(); !testenv.Names(err, "accuracy log … 10 s") || time.Since(began) != 10*time.Second {
			t.Errorf("Close = %v after %v", err, time.Since(began))
		}
	})
}
