package importlog

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
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

func TestCountsByVersion(t *testing.T) {
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
		if much := strings.Contains(strings.Join(f.findings, ""), "are more than 64 bits hold"); much != (c.name == "more than can be") {
			t.Errorf("%s: findings %q", c.name, f.findings)
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
		"early_stopping":            "mlperf_log_detail.txt does not have it",
		"infer_token_latencies":     "mlperf_log_detail.txt, by its results",
		"scenario":                  "mlperf_log_detail.txt:1, requested settings",
	} {
		if got := l.origin(setting); got != want {
			t.Errorf("%s is from %q, want %q", setting, got, want)
		}
	}
}

// TestEstimateFromTheSummary takes it out of the detail log, whose summary has it in its texts.
func TestEstimateFromTheSummary(t *testing.T) {
	for _, scenario := range []loadgen.Scenario{loadgen.SingleStream, loadgen.MultiStream} {
		dir := t.TempDir()
		test := tested(t, shortSettings(scenario), 2*time.Millisecond)
		if _, err := mlperflog.WriteFiles(dir, test, mlperflog.About{Version: "5.1"}); err != nil {
			t.Fatal(err)
		}
		want, err := Read(dir, About{})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, mlperflog.DetailFile)
		detail, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		less := without(without(string(detail), "early_stopping_latency_ss"), "early_stopping_latency_ms")
		if err := os.WriteFile(path, []byte(less), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := Read(dir, About{})
		if err != nil || len(less) == len(detail) || got.Metric == nil || *got.Metric != *want.Metric || !strings.Contains(got.Metric.Name, "estimate") {
			t.Errorf("%v: the metric is %+v, %v, want %+v", scenario, got.Metric, err, want.Metric)
		}
	}
}

// TestReasonsAreGivenOnce has both logs say it, one of them, and none.
func TestReasonsAreGivenOnce(t *testing.T) {
	detail, summary := published(t, "v5.1-offline-invalid")
	advice := changed(t, detail, "Increase expected QPS", "The detail log says so")
	mute := without(detail, "result_invalid_reason")
	for _, c := range []struct {
		name, detail, summary string
		want                  string // how the last problem begins
	}{
		{"both", advice, summary, "the logs say: Increase expected QPS"},
		{"the detail log", advice, "", "the logs say: The detail log says so"},
		{"none", mute, "", "duration: 9 min 48 s, must be at least 10 min"},
		{"none, and all is met", changed(t, mute, `"result_min_duration_met", "value": false`, `"result_min_duration_met", "value": true`), "", "the logs do not say why"},
	} {
		r, err := Read(folder(t, "logs", c.detail, c.summary), About{Model: "resnet50"})
		if err != nil {
			t.Fatal(err)
		}
		if last := r.Problems[len(r.Problems)-1]; r.Result != report.Invalid || !strings.HasPrefix(last, c.want) {
			t.Errorf("%s: %s, %q, want %q", c.name, r.Result, r.Problems, c.want)
		}
		if said := len(slices.DeleteFunc(slices.Clone(r.Problems), func(p string) bool { return !strings.HasPrefix(p, "the logs say") })); said > 1 {
			t.Errorf("%s: the logs say it %d times: %q", c.name, said, r.Problems)
		}
	}
}

// TestDurationFromPowerTimes takes the rate out of a log of SingleStream.
func TestDurationFromPowerTimes(t *testing.T) {
	detail, _ := published(t, "v2.0-multistream")
	const note = "the observed duration is that between power_begin and power_end"
	observed := func(detail string) (string, []string) {
		r, err := Read(folder(t, "logs", detail, ""), About{Model: "ssd-resnet34"})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.Constraints, func(c report.Constraint) bool { return c.ID == loadgen.ConstraintDuration })
		if r.Constraints[i].Words != nil {
			return r.Constraints[i].Words.Observed, r.Notes
		}
		return r.Constraints[i].ObservedText(), r.Notes
	}
	if text, notes := observed(detail); text != "11 min 44 s" || !slices.Contains(notes, note) {
		t.Errorf("the test lasted %s, notes %q", text, notes)
	}
	if text, notes := observed(without(detail, "power_end")); text != missing || slices.Contains(notes, note) {
		t.Errorf("without its end it lasted %s, notes %q", text, notes)
	}
	line := detail[strings.Index(detail, `"key": "power_end"`):]
	_, end, _ := strings.Cut(line, `"value": "`)
	end, _, _ = strings.Cut(end, `"`)
	if text, _ := observed(changed(t, detail, `"`+end+`"`, `"`+strings.Replace(end, "202", "201", 1)+`"`)); text != missing {
		t.Errorf("with an end before its beginning it lasted %s", text)
	}
}

// TestMissingNumbers takes lines out of a log.
func TestMissingNumbers(t *testing.T) {
	for _, c := range []struct {
		name, log string
		lines     []string // the keys of lines that are taken out
		change    []string
		id        loadgen.ConstraintID
		met       bool
		observed  string
	}{
		{"the number of queries", "v5.1-offline-invalid", []string{"result_query_count", "generated_query_count"}, nil, loadgen.ConstraintQueries, true, missing},
		{"the number of samples", "v5.1-offline-invalid", []string{"result_query_count", "generated_query_count"}, nil, loadgen.ConstraintSamples, true, missing},
		{"the longest latency", "v5.1-offline-invalid", []string{"result_max_latency_ns"}, nil, loadgen.ConstraintDuration, false, missing},
		{"first tokens", "v5.1-server-tokens", []string{"result_first_token_99.00_percentile_latency_ns"}, nil, loadgen.ConstraintFirstToken, true, missing},
		{"first tokens of a test that is too slow", "v5.1-server-tokens", []string{"result_first_token_99.00_percentile_latency_ns"},
			[]string{`"result_perf_constraints_met", "value": true`, `"result_perf_constraints_met", "value": false`}, loadgen.ConstraintFirstToken, false, missing},
		{"other tokens", "v5.1-server-tokens", []string{"result_time_per_output_token_99.00_percentile_ns"}, nil, loadgen.ConstraintPerToken, true, missing},
	} {
		t.Run(c.name, func(t *testing.T) {
			detail, _ := published(t, c.log)
			detail = changed(t, detail, c.change...)
			for _, key := range c.lines {
				detail = without(detail, key)
			}
			r, err := Read(folder(t, "logs", detail, ""), About{Model: "resnet50"})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(r.Constraints, func(x report.Constraint) bool { return x.ID == c.id })
			if i < 0 {
				t.Fatalf("no constraint %v", c.id)
			}
			got := r.Constraints[i]
			if got.Met != c.met || got.Words == nil || got.Words.Observed != c.observed || got.Observed != nil {
				t.Errorf("%v is met: %v, observed %+v %v, want %v and %q", c.id, got.Met, got.Words, got.Observed, c.met, c.observed)
			}
		})
	}
}

// TestNeededQueries reads how many queries a criterion needs from the texts of both programs.
func TestNeededQueries(t *testing.T) {
	for text, want := range map[string]uint64{
		" * Run successful.":            0,
		" * There were enough queries.": 0,
		" * Run unsuccessful.  * Processed 100 queries.  * Would need to run at least 12471 more queries,  with the run being successful if every additional  query were under latency.":       12571,
		" * There were not enough queries.  * Processed 100 queries.  * At least 1250 more queries are needed,  and the run will do if all of those  meet the latency limit.":                  1350,
		" * Processed at least 662 queries (6285).  * Would discard 43 highest latency queries.  * Early stopping 99th percentile estimate: 120236881":                                         662,
		" * Only processed 50 queries.  * Need to process at least 64 queries for early stopping.":                                                                                             64,
		" * Processed 70 queries, of at least 64.  * Left out the 0 slowest queries.  * There are too few queries for an estimate  of the 99.0th percentile: at least 662  are needed in all.": 64,
		" * Processed no more than 50 queries.  * At least 64 queries are needed.":                                                                                                             64,
		" * Would need to run at least 18446744073709551615 more queries,":                                                                                                                     0,
		"": 0,
	} {
		f := &figures{logs: logsOf(t, "", "early_stopping_ttft_result", text), performance: &loadgen.Performance{QueryCount: 100}}
		if got := f.needed("early_stopping_ttft_result"); got != want {
			t.Errorf("%q needs %d queries, want %d", text, got, want)
		}
	}
}

// TestLogsOfDifferentRuns changes results in one of the two logs.
func TestLogsOfDifferentRuns(t *testing.T) {
	for _, c := range []struct {
		name, log, old, with string
		differ               bool
	}{
		{"as published", "v5.1-server-tokens", "", "", false},
		{"MultiStream, whose summary has the latencies of queries", "v2.0-multistream", "", "", false},
		{"a rate", "v5.1-offline-invalid", "Samples per second: ", "Samples per second: 1", true},
		{"a latency", "v5.1-offline-invalid", "Max latency (ns)                : ", "Max latency (ns)                : 1", true},
	} {
		detail, summary := published(t, c.log)
		if c.old != "" {
			summary = changed(t, summary, c.old, c.with)
		}
		r, err := Read(folder(t, "logs", detail, summary), About{})
		if err != nil {
			t.Fatal(err)
		}
		said := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "of different runs") })
		if said != c.differ {
			t.Errorf("%s: warnings %q", c.name, r.Warnings)
		}
	}
}

// TestInferredTokens has logs of GPT-J: the rate is the metric, and neither setting is in the logs.
func TestInferredTokens(t *testing.T) {
	for _, c := range []struct {
		name     string
		scenario loadgen.Scenario
		factor   uint64 // 0: without
		metric   string
		setting  string // that is easier than the rules
	}{
		{"Offline", loadgen.Offline, 69, report.InferredTokens, ""},
		{"Server", loadgen.Server, 69, report.CompletedInferredTokens, ""},
		{"more tokens than the rules have", loadgen.Offline, 690, report.InferredTokens, "token_latency_scaling_factor 690"},
		{"none", loadgen.Offline, 0, "samples", "infer_token_latencies false"},
		{"SingleStream, whose logs cannot tell", loadgen.SingleStream, 0, "90th percentile latency (early stopping estimate)", ""},
	} {
		s := shortSettings(c.scenario)
		s.InferTokenLatencies, s.TokenLatencyScalingFactor = c.factor > 0, c.factor
		test, dir := tested(t, s, 2*time.Millisecond), t.TempDir()
		if _, err := mlperflog.WriteFiles(dir, test, mlperflog.About{Version: "4.1"}); err != nil {
			t.Fatal(err)
		}
		got, err := Read(dir, About{Model: "gpt-j", Rules: "v4.1"})
		if err != nil {
			t.Fatal(err)
		}
		want := &report.Results{Rules: "v4.1"}
		want.Fill(test, func(string) string { return "" })
		if m := got.Metric; m == nil || m.Name != c.metric || want.Metric.Name != c.metric || !near(m.Value, want.Metric.Value) {
			t.Errorf("%s: the metric is %+v, of the run itself %+v, want %s", c.name, m, want.Metric, c.metric)
		}
		var settings []string
		for _, l := range got.Limitations {
			if strings.Contains(l.Key, "token_latenc") {
				settings = append(settings, l.Key+" "+l.Value)
			}
		}
		if strings.Join(settings, ", ") != c.setting {
			t.Errorf("%s: limitations %v, want %q", c.name, got.Limitations, c.setting)
		}
	}
}
