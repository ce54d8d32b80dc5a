package importlog

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

// logsOf opens logs with these keys and values, one after the other, and a summary.
func logsOf(t *testing.T, summary string, entries ...any) *logs {
	t.Helper()
	entries = append([]any{"requested_scenario", "Server", "effective_scenario", "Server"}, entries...)
	var b strings.Builder
	for i := 0; i < len(entries); i += 2 {
		key, err := json.Marshal(entries[i])
		value, err2 := json.Marshal(entries[i+1])
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		fmt.Fprintf(&b, `:::MLLOG {"key": %s, "value": %s, "time_ms": 1.5, "namespace": "mlperf::logging", "event_type": "POINT_IN_TIME", `+
			`"metadata": {"is_error": false, "is_warning": false, "file": "x.cc", "line_no": 1, "pid": 1, "tid": 2}}`+"\n", key, value)
	}
	l, err := open(folder(t, "logs", b.String(), summary))
	if err != nil {
		t.Fatal(err)
	}
	l.findings = nil // those of the readers: that the files are not whole
	return l
}

// summaryOf is a summary log with these lines.
func summaryOf(lines ...string) string {
	const rule = "================================================\n"
	return rule + "MLPerf Results Summary\n" + rule + "SUT name : a system\nScenario : Server\nMode     : PerformanceOnly\n" +
		strings.Join(lines, "\n") + "\n\n" + rule + "Additional Stats\n" + rule
}

func TestNumbersAreThoseOfTheDetailLogOrElseOfTheSummary(t *testing.T) {
	for _, c := range []struct {
		name    string
		value   any // in the detail log; nil: it is not there
		summary string
		want    float64
		ok      bool
		finding string
	}{
		{"in the detail log", 7.5, "Rate : 9", 7.5, true, ""},
		{"in the summary only", nil, "Rate : 9", 9, true, ""},
		{"in neither", nil, "", 0, false, ""},
		{"a text in the detail log", "seven", "Rate : 9", 9, true, "rate is seven"},
		{"a text in both", "seven", "Rate : nine", 0, false, "rate is seven"},
		{"no number in the summary", nil, "Rate : nan", 0, false, "rate (in the summary: Rate) is NaN, want a number"},
		{"an endless one", nil, "Rate : inf", 0, false, "rate (in the summary: Rate) is +Inf, want a number"},
	} {
		var entries []any
		if c.value != nil {
			entries = []any{"rate", c.value}
		}
		l := logsOf(t, summaryOf("Result is : VALID", c.summary), entries...)
		got, ok := l.number(name{"rate", "Rate"})
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %g, %v, want %g, %v", c.name, got, ok, c.want, c.ok)
		}
		if text := strings.Join(l.findings, "\n"); !strings.Contains(text, c.finding) || (text == "") != (c.finding == "") {
			t.Errorf("%s: findings %q, want %q", c.name, text, c.finding)
		}
	}
}

func TestTimesAreNanoseconds(t *testing.T) {
	for _, c := range []struct {
		value any
		want  time.Duration
		ok    bool
	}{
		{0, 0, true}, {1500, 1500, true}, {1.5e9, 1500 * time.Millisecond, true}, {-1, 0, false}, {9.3e18, 0, false}, {"1", 0, false},
	} {
		l := logsOf(t, "", "a", c.value)
		got, ok := l.time(name{"a", "A"})
		if got != c.want || ok != c.ok || !ok && len(l.findings) == 0 {
			t.Errorf("%v is %v, %v with findings %q, want %v, %v", c.value, got, ok, l.findings, c.want, c.ok)
		}
	}
}

func TestCountsAreWholeNumbers(t *testing.T) {
	for _, c := range []struct {
		value   any
		want    uint64
		finding bool
	}{
		{12, 12, false}, {0, 0, false}, {-3, 0, true}, {1.5, 0, true}, {"many", 0, true}, {true, 0, true},
	} {
		l := logsOf(t, "", "n", c.value)
		if got := l.count("n"); got != c.want || (len(l.findings) > 0) != c.finding {
			t.Errorf("%v is %d with findings %q, want %d", c.value, got, l.findings, c.want)
		}
	}
	if l := logsOf(t, ""); l.count("n") != 0 || l.findings != nil {
		t.Errorf("what is not there is a finding: %q", l.findings)
	}
}

// The verdict of both logs, where they have one; where they differ it is the worse one.
func TestTheVerdictIsThatOfBothLogs(t *testing.T) {
	const differ = "the detail log and the summary have different verdicts: the result counts as INVALID"
	for _, c := range []struct {
		detail, summary string
		valid, found    bool
		finding         string
	}{
		{"VALID", "VALID", true, true, ""}, {"INVALID", "INVALID", false, true, ""}, {"VALID", "INVALID", false, true, differ}, {"INVALID", "VALID", false, true, differ},
		{"VALID", "", true, true, ""}, {"INVALID", "", false, true, ""}, {"", "VALID", true, true, ""}, {"", "INVALID", false, true, ""}, {"", "", false, false, ""},
	} {
		var entries []any
		summary := ""
		if c.detail != "" {
			entries = []any{"result_validity", c.detail}
		}
		if c.summary != "" {
			summary = summaryOf("Result is : " + c.summary)
		}
		l := logsOf(t, summary, entries...)
		valid, found := l.verdict()
		if valid != c.valid || found != c.found || strings.Join(l.findings, "") != c.finding {
			t.Errorf("%q and %q: valid %v, found %v, findings %q, want %v, %v, %q", c.detail, c.summary, valid, found, l.findings, c.valid, c.found, c.finding)
		}
	}
}

func TestConstraintsThatLogsDoNotMentionDidNotExist(t *testing.T) {
	for _, c := range []struct {
		detail     any
		summary    string
		met, found bool
	}{
		{true, "", true, true}, {false, "  Min duration satisfied : Yes", false, true}, {nil, "  Min duration satisfied : Yes", true, true}, {nil, "  Min duration satisfied : NO", false, true}, {nil, "", true, false}, {nil, "  Min duration satisfied : perhaps", false, true},
	} {
		var entries []any
		if c.detail != nil {
			entries = []any{"it", c.detail}
		}
		l := logsOf(t, summaryOf("Result is : VALID", c.summary), entries...)
		if met, found := l.met("it", "Min duration satisfied"); met != c.met || found != c.found {
			t.Errorf("%v and %q: %v, %v, want %v, %v", c.detail, c.summary, met, found, c.met, c.found)
		}
	}
}

func TestStatisticsAreFoundByTheirNames(t *testing.T) {
	names := statName("first_token_", "_latency_ns", "_percentile_latency_ns", "first token latency (ns)")
	for stat, want := range map[string]name{
		"min":   {"result_first_token_min_latency_ns", "Min first token latency (ns)"},
		"mean":  {"result_first_token_mean_latency_ns", "Mean first token latency (ns)"},
		"99.90": {"result_first_token_99.90_percentile_latency_ns", "99.90 percentile first token latency (ns)"},
	} {
		if got := names(stat); got != want {
			t.Errorf("%s is %+v, want %+v", stat, got, want)
		}
	}
	l := logsOf(t, summaryOf("Result is : VALID", "Max latency (ns) : 900"),
		"result_min_latency_ns", 10, "result_mean_latency_ns", 50, "result_99.00_percentile_latency_ns", 800, "result_50.00_percentile_latency_ns", 40)
	s := l.latencies(0.99, statName("", "_latency_ns", "_percentile_latency_ns", "latency (ns)"))
	if s.Min != 10 || s.Mean != 50 || s.Max != 900 || s.Target != 800 || s.Count != 1 {
		t.Errorf("statistics %+v", s)
	}
	for i, p := range loadgen.Percentiles() {
		if want := map[float64]time.Duration{0.5: 40, 0.99: 800}[p]; s.Percentiles[i] != want {
			t.Errorf("percentile %g is %d, want %d", p, s.Percentiles[i], want)
		}
	}
	if s := l.latencies(0.98, statName("", "_latency_ns", "_percentile_latency_ns", "latency (ns)")); s.Target != 0 {
		t.Errorf("a percentile that is not logged is %v", s.Target)
	}
	if s := logsOf(t, "").latencies(0.99, names); s != (loadgen.LatencyStats{}) {
		t.Errorf("statistics of nothing: %+v", s)
	}
}

func TestQueriesAreCountedAsTheVersionLogsThem(t *testing.T) {
	for _, c := range []struct {
		name             string
		scenario         loadgen.Scenario
		per              uint64
		entries          []any
		queries, samples uint64
		without          bool
	}{
		{"since v2.0", loadgen.Server, 1, []any{"result_query_count", 100, "generated_query_count", 120}, 100, 100, false},
		{"before, Server", loadgen.Server, 1, []any{"generated_query_count", 120}, 120, 120, false},
		{"before, Offline", loadgen.Offline, 500, []any{"generated_query_count", 1}, 1, 500, false},
		{"before, the streams", loadgen.SingleStream, 1, []any{"generated_query_count", 120}, 0, 0, true},
		{"MultiStream of eight", loadgen.MultiStream, 8, []any{"result_query_count", 100}, 100, 800, false},
		{"with equal issue there are more in a query", loadgen.Offline, 500, []any{"result_query_count", 1, "generated_samples_per_query", 600}, 1, 600, false},
		{"nothing", loadgen.Server, 1, nil, 0, 0, true},
		{"no samples in a query", loadgen.Server, 0, []any{"result_query_count", 5}, 5, 5, false},
		{"more than can be", loadgen.Server, 1 << 40, []any{"result_query_count", 1 << 40}, 0, 0, true},
	} {
		f := &figures{logs: logsOf(t, "", c.entries...), performance: &loadgen.Performance{}}
		f.performance.Effective.Scenario, f.performance.Effective.SamplesPerQuery = c.scenario, c.per
		f.counts()
		if p := f.performance; p.QueryCount != c.queries || p.SampleCount != c.samples || f.withoutCount != c.without {
			t.Errorf("%s: %d queries and %d samples, without a count %v, want %d and %d, %v", c.name, p.QueryCount, p.SampleCount, f.withoutCount, c.queries, c.samples, c.without)
		}
		if much := strings.Contains(strings.Join(f.findings, ""), "are more than can be"); much != (c.name == "more than can be") {
			t.Errorf("%s: findings %q", c.name, f.findings)
		}
	}
}

func TestIntervalsOfMultiStreamAreCounts(t *testing.T) {
	key := func(p string) string { return "result_" + p + "_percentile_num_intervals_between_queries" }
	f := &figures{logs: logsOf(t, "", key("50.00"), 1, key("90.00"), 2, key("99.00"), 3, key("99.90"), -1, key("97.00"), "two", key("95.00"), 9.1e15), performance: &loadgen.Performance{}}
	f.intervals(0.99)
	for i, p := range loadgen.Percentiles() {
		if want := map[float64]uint64{0.5: 1, 0.9: 2, 0.99: 3}[p]; f.performance.Intervals[i] != want {
			t.Errorf("at percentile %g there are %d intervals, want %d", p, f.performance.Intervals[i], want)
		}
	}
	if f.performance.IntervalsTarget != 3 {
		t.Errorf("the target has %d", f.performance.IntervalsTarget)
	}
	// The largest number of which a float64 has all digits.
	f = &figures{logs: logsOf(t, "", key("50.00"), 1<<53-1, key("90.00"), 1<<53), performance: &loadgen.Performance{}}
	f.intervals(0.5)
	if got := f.performance.Intervals; got[0] != 1<<53-1 || got[1] != 0 || f.performance.IntervalsTarget != 1<<53-1 {
		t.Errorf("intervals %v, target %d", got, f.performance.IntervalsTarget)
	}
}

func TestDurationsFollowFromRates(t *testing.T) {
	const note = "the observed duration is the number of samples by the completed samples per second, which have six digits"
	for _, c := range []struct {
		name    string
		rate    float64
		samples uint64
		least   time.Duration
		met     bool
		what    string
		want    time.Duration
		without bool
	}{
		{"a rate", 100, 60001, time.Minute, true, "completed samples per second", 10 * time.Minute, false},
		{"rounding must not contradict the logs", 100.2, 6001, time.Minute, true, "completed samples per second", time.Minute, false},
		{"which say that it was too short", 100.2, 6001, time.Minute, false, "completed samples per second", 59880240 * time.Microsecond, false},
		{"a rate whose note is another's", 100, 60001, time.Minute, true, "", 10 * time.Minute, false},
		{"no rate", 0, 60001, time.Minute, true, "completed samples per second", 0, true},
		{"a rate below nothing", -5, 60001, time.Minute, true, "completed samples per second", 0, true},
		{"one sample has no rate", 100, 1, time.Minute, true, "completed samples per second", 0, true},
		{"longer than a duration can be", 1e-9, 1 << 40, time.Minute, true, "completed samples per second", 0, true},
	} {
		f := &figures{logs: logsOf(t, ""), performance: &loadgen.Performance{SampleCount: c.samples, MinDurationMet: c.met}}
		f.performance.Effective.MinDuration = c.least
		if got := f.lasted(c.rate, c.what); got != c.want || f.withoutDuration != c.without {
			t.Errorf("%s: %v, without %v, want %v, %v", c.name, got, f.withoutDuration, c.want, c.without)
		}
		if said := slices.Contains(f.notes, note); said != (c.what != "" && !c.without) {
			t.Errorf("%s: notes %q", c.name, f.notes)
		}
	}
}

func TestPowerHasItsTimesOfDay(t *testing.T) {
	for _, c := range []struct {
		begin, end string
		want       time.Duration
	}{
		{"06-15-2021 10:00:00.500", "06-15-2021 10:10:01.250", 10*time.Minute + 750*time.Millisecond},
		{"06-15-2021 23:59:59", "06-16-2021 00:00:01", 2 * time.Second},
		{"06-15-2021 10:00:00", "06-15-2021 10:00:00", 0},
		{"06-15-2021 10:00:01", "06-15-2021 10:00:00", 0},
		{"2021-06-15 10:00:00", "06-15-2021 10:00:00", 0},
		{"", "06-15-2021 10:00:00", 0},
	} {
		f := &figures{logs: logsOf(t, "", "power_begin", c.begin, "power_end", c.end)}
		if got := f.powered(); got != c.want || (len(f.notes) > 0) != (c.want > 0) {
			t.Errorf("%s to %s: %v with notes %q, want %v", c.begin, c.end, got, f.notes, c.want)
		}
		f.powered()
		if len(f.notes) > 1 {
			t.Errorf("it is noted twice: %q", f.notes)
		}
	}
}

func TestTokensAreCountedByTheirRate(t *testing.T) {
	for _, c := range []struct {
		name     string
		scenario loadgen.Scenario
		uses     bool
		entries  []any
		tokens   int64
		rate     float64
	}{
		{"Offline", loadgen.Offline, true, []any{"result_tokens_per_second", 50.5}, 505, 50.5},
		{"Server", loadgen.Server, true, []any{"result_completed_tokens_per_second", 50.5}, 1010, 50.5},
		{"the other scenario's key", loadgen.Server, true, []any{"result_tokens_per_second", 50.5}, 0, 0},
		{"no token latencies", loadgen.Offline, false, []any{"result_tokens_per_second", 50.5}, 0, 0},
		{"nothing", loadgen.Offline, true, nil, 0, 0},
		{"more than can be", loadgen.Offline, true, []any{"result_tokens_per_second", 1e300}, 0, 1e300},
		{"less than nothing", loadgen.Offline, true, []any{"result_tokens_per_second", -1}, 0, -1},
	} {
		f := &figures{logs: logsOf(t, "", c.entries...), performance: &loadgen.Performance{FinalQueryCompleted: 20 * time.Second}}
		f.performance.SampleLatency.Max = 10 * time.Second
		f.performance.Effective.Scenario, f.performance.Effective.UseTokenLatencies = c.scenario, c.uses
		f.tokens()
		if f.performance.TokenCount != c.tokens || f.tokenRate != c.rate {
			t.Errorf("%s: %d tokens at %g/s, want %d at %g", c.name, f.performance.TokenCount, f.tokenRate, c.tokens, c.rate)
		}
	}
}

// What follows from a rate is replaced by the logged rate itself; a metric of nothing is none.
func TestMetricsAreTheLoggedRates(t *testing.T) {
	for _, c := range []struct {
		metric string
		value  float64
		want   float64 // 0: there is no metric
	}{
		{"samples", 1, 10}, {"completed samples", 1, 10}, {"scheduled samples", 1, 20}, {"tokens", 1, 30}, {"completed tokens", 1, 30}, {"latency", 7, 7}, {"latency", 0, 0}, {"latency", -1, 0}, {"samples", 0, 10},
	} {
		f := &figures{rate: 10, scheduled: 20, tokenRate: 30}
		r := &report.Results{Metric: &report.Metric{Name: c.metric, Value: c.value}}
		f.measured(r)
		got := 0.0
		if r.Metric != nil {
			got = r.Metric.Value
		}
		if got != c.want {
			t.Errorf("%s of %g is %g, want %g", c.metric, c.value, got, c.want)
		}
	}
	f, r := &figures{}, &report.Results{Metric: &report.Metric{Name: "samples", Value: 3}}
	if f.measured(r); r.Metric == nil || r.Metric.Value != 3 {
		t.Errorf("without a logged rate the metric is %+v", r.Metric)
	}
	f.measured(&report.Results{}) // without a metric there is none
}

func TestWhatLogsHaveOfAConstraint(t *testing.T) {
	target := loadgen.LatencyStats{Target: 5}
	for _, c := range []struct {
		id      loadgen.ConstraintID
		figures figures
		want    bool
	}{
		{loadgen.ConstraintQueries, figures{}, true}, {loadgen.ConstraintQueries, figures{withoutCount: true}, false},
		{loadgen.ConstraintSamples, figures{withoutCount: true}, false},
		{loadgen.ConstraintDuration, figures{}, true}, {loadgen.ConstraintDuration, figures{withoutDuration: true}, false},
		{loadgen.ConstraintEarlyStopping, figures{}, true}, {loadgen.ConstraintEarlyStopping, figures{withoutNeeded: true}, false},
		{loadgen.ConstraintFirstTokenStopping, figures{withoutNeeded: true}, false},
		{loadgen.ConstraintLatency, figures{}, false}, {loadgen.ConstraintLatency, figures{performance: &loadgen.Performance{SampleLatency: target}}, true},
		{loadgen.ConstraintFirstToken, figures{performance: &loadgen.Performance{SampleLatency: target}}, false},
		{loadgen.ConstraintFirstToken, figures{performance: &loadgen.Performance{FirstToken: target}}, true},
		{loadgen.ConstraintPerToken, figures{performance: &loadgen.Performance{FirstToken: target}}, false},
		{loadgen.ConstraintPerToken, figures{performance: &loadgen.Performance{TimePerOutputToken: target}}, true},
		{loadgen.ConstraintGenerator, figures{withoutCount: true, withoutDuration: true, withoutNeeded: true}, true},
	} {
		if c.figures.performance == nil {
			c.figures.performance = &loadgen.Performance{}
		}
		constraint := &report.Constraint{Constraint: loadgen.Constraint{ID: c.id}}
		if got := c.figures.correct(constraint); got != c.want {
			t.Errorf("%s with %+v: known %v, want %v", c.id, c.figures, got, c.want)
		}
	}
}

// The logs have one verdict for queries and samples: where it is good both were enough, else what follows from the numbers stays.
func TestTheCountIsJudgedByTheLogs(t *testing.T) {
	for _, c := range []struct {
		enough, without, before, want bool
	}{
		{true, false, false, true}, {true, false, true, true}, {false, false, false, false}, {false, false, true, true}, {false, true, true, false}, {true, true, false, true},
	} {
		f := &figures{performance: &loadgen.Performance{MinQueriesMet: c.enough}, withoutCount: c.without}
		constraint := &report.Constraint{Constraint: loadgen.Constraint{ID: loadgen.ConstraintQueries, Met: c.before}}
		if f.counted(constraint); constraint.Met != c.want {
			t.Errorf("%+v: met %v", c, constraint.Met)
		}
	}
}

func TestADurationOfTheLogsIsObserved(t *testing.T) {
	own := loadgen.Quantity{Value: 7, Unit: "ns"}
	for _, c := range []struct {
		observed *loadgen.Quantity
		without  bool
		want     float64 // -1: none
	}{
		{nil, false, 5e9}, {&own, false, 7}, {nil, true, -1}, {&own, true, 7},
	} {
		f := &figures{performance: &loadgen.Performance{LastCompletion: 5 * time.Second}, withoutDuration: c.without}
		constraint := &report.Constraint{Constraint: loadgen.Constraint{Observed: c.observed}}
		known := f.lastedFor(constraint)
		got := -1.0
		if constraint.Observed != nil {
			got = constraint.Observed.Value
		}
		if known == c.without || got != c.want {
			t.Errorf("%+v: %g, known %v", c, got, known)
		}
	}
}

func TestTheTimeOfATestMayBeWrittenInTwoWays(t *testing.T) {
	for text, want := range map[string]string{
		"2024-07-15T10:11:12Z":       "2024-07-15 10:11:12 +0000 UTC",
		"2024-07-15T10:11:12.345678": "2024-07-15 10:11:12.345678 +0000 UTC",
		"15.7.2024":                  "0001-01-01 00:00:00 +0000 UTC",
		"":                           "0001-01-01 00:00:00 +0000 UTC",
	} {
		l := logsOf(t, "", "test_datetime", text)
		if got := l.created().String(); got != want || (len(l.notes) > 0) != strings.HasPrefix(want, "0001") {
			t.Errorf("%q is %s with notes %q, want %s", text, got, l.notes, want)
		}
	}
}

func TestSettingsNameTheirLines(t *testing.T) {
	l := logsOf(t, "", "requested_min_duration_ms", 600000, "requested_single_stream_target_latency_percentile", 0.9, "requested_server_target_latency_percentile", 0.99, "effective_min_duration_ms", 1)
	var got []string
	for _, s := range l.settings() {
		got = append(got, s.Key+" "+s.Value+" "+s.Origin)
	}
	want := []string{
		"scenario Server mlperf_log_detail.txt:1", "min_duration_ms 600000 mlperf_log_detail.txt:3",
		"single_stream_target_latency_percentile 0.9 mlperf_log_detail.txt:4", "server_target_latency_percentile 0.99 mlperf_log_detail.txt:5",
	}
	if !slices.Equal(got, want) {
		t.Errorf("settings %q, want %q", got, want)
	}
	for setting, want := range map[string]string{
		"min_duration":              "mlperf_log_detail.txt:3, requested settings",
		"target_latency_percentile": "mlperf_log_detail.txt:5, requested settings", // of the scenario
		"max_duration":              "mlperf_log_detail.txt does not have it",
		"scenario":                  "mlperf_log_detail.txt:1, requested settings",
	} {
		if got := l.origin(setting); got != want {
			t.Errorf("%s is from %q, want %q", setting, got, want)
		}
	}
}

func TestTextsOfLogsAreShort(t *testing.T) {
	for n, want := range map[int]int{0: 0, 300: 300, 301: 300 + len("…"), 5000: 300 + len("…")} {
		if got := shorten(strings.Repeat("x", n)); len(got) != want {
			t.Errorf("%d bytes are cut to %d, want %d", n, len(got), want)
		}
	}
	if got := shorten(strings.Repeat("é", 151) + strings.Repeat("é", 100)); !strings.HasSuffix(got, "é…") {
		t.Errorf("a character was cut: %q", got[len(got)-6:])
	}
	if got := shorten("x" + strings.Repeat("é", 200)); strings.ContainsRune(got, '\ufffd') || !strings.HasSuffix(got, "é…") {
		t.Errorf("half a character is left: %q", got[len(got)-6:])
	}
}

// A percentile that is none is said to be, and nothing calculated by it.
func TestAPercentileThatIsNone(t *testing.T) {
	for _, p := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		l := logsOf(t, "", "result_validity", "VALID")
		f := l.figures(loadgen.EffectiveSettings{TargetLatencyPercentile: p})
		want := fmt.Sprintf("effective_target_latency_percentile is %g, want a fraction", p)
		if !slices.Contains(l.findings, want) || f.performance.Effective.TargetLatencyPercentile != 0 {
			t.Errorf("%g: findings %q, the percentile is %g", p, l.findings, f.performance.Effective.TargetLatencyPercentile)
		}
	}
	for _, p := range []float64{0, 0.5, 1} {
		if l := logsOf(t, "", "result_validity", "VALID"); l.figures(loadgen.EffectiveSettings{TargetLatencyPercentile: p}) != nil && l.findings != nil {
			t.Errorf("%g: findings %q", p, l.findings)
		}
	}
}
