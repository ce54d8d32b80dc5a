package compliance

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestRunsThatDoNotFit(t *testing.T) {
	all := []string{test01, test04, test05, test06, test07, test08, test09}
	l := Logs{Performance: t.TempDir(), Accuracy: t.TempDir(), Audit: t.TempDir()}
	of := func(names ...string) []string { return names }
	for _, c := range []struct {
		name  string
		where string // ref, acc or run
		set   map[string]any
		tests []string // that refuse it
		want  string
	}{
		{"nothing", "run", nil, nil, ""},
		{"an accuracy run", "run", map[string]any{"effective_test_mode": "AccuracyOnly"}, all, "effective_test_mode is AccuracyOnly: must be PerformanceOnly: the run was not made with the audit.config of "},
		{"a search", "run", map[string]any{"effective_test_mode": "FindPeakPerformance"}, all, "effective_test_mode is FindPeakPerformance: must be PerformanceOnly"},
		{"a result of accuracy", "ref", map[string]any{"effective_test_mode": "AccuracyOnly"}, of(test01, test04, test05), "effective_test_mode is AccuracyOnly: must be PerformanceOnly: the result's run measures performance"},
		{"a result of both", "ref", map[string]any{"effective_test_mode": "SubmissionRun"}, nil, ""},
		{"a performance run for the accuracy", "acc", map[string]any{"effective_test_mode": "PerformanceOnly"}, of(test01, test08), "effective_test_mode is PerformanceOnly: must be AccuracyOnly: responses are compared with those of an accuracy run"},
		{"both for the accuracy", "acc", map[string]any{"effective_test_mode": "SubmissionRun"}, nil, ""},
		{"other data in the accuracy run", "acc", map[string]any{"effective_accuracy_sample_count": 9}, of(test01, test08), "effective_accuracy_sample_count is 9: must be 8: another model or data set than "},
		{"other data in the result", "ref", map[string]any{"effective_performance_sample_count": 9}, of(test01, test04, test05), "effective_performance_sample_count is 8: must be 9: another model or data set than "},
		{"another scenario", "ref", map[string]any{"effective_scenario": "Server"}, of(test01, test04, test05), "effective_scenario is Offline: must be Server: the scenario of "},
		{"other seeds", "run", map[string]any{"effective_qsl_rng_seed": 77}, of(test01, test04), "effective_qsl_rng_seed is 77: must be 1: seeds of another round than "},
		{"one seed of the result", "run", map[string]any{"effective_sample_index_rng_seed": 2}, of(test05), "effective_sample_index_rng_seed is 2: must be another: the run has the seeds of the result; TEST05 needs other ones"},
		{"no sampling", "run", map[string]any{"effective_accuracy_log_rng_seed": 0}, of(test01, test06, test07, test08, test09), "effective_accuracy_log_rng_seed is 0: must be 720381539243781796: the run was not made with the audit.config of "},
		{"unique samples", "run", map[string]any{"effective_performance_issue_unique": true}, of(test04), "effective_performance_issue_same is true: must be true"},
		{"the sample before", "run", map[string]any{"effective_performance_issue_same_index": 2}, of(test04), "effective_performance_issue_same_index is 2: must be 3"},
	} {
		for _, test := range all {
			response := "0 " + numbers(1, 7, 0.8, 1)
			if test == test08 {
				response = "0 " + numbers(1, 7, 0.8)
			}
			f := fakeRun{scenario: "Offline", metric: 100, responses: []string{response}}
			runs := map[string]*fakeRun{}
			for _, name := range []string{"ref", "acc", "run"} {
				one := f
				one.settings = map[string]any{}
				runs[name] = &one
			}
			runs["acc"].mode, runs["run"].settings = "AccuracyOnly", settingsOf(test, nil)
			runs["acc"].responses = []string{"0 " + numbers(1, 7, 0.8, 1, 1, 1)}
			runs["run"].extra = `, "token_data" : "", "token_count" : 4`
			maps.Copy(runs[c.where].settings, c.set)
			o := Options{Score: "echo \"'exact_match': 70\" {accuracy_log}"}
			switch test {
			case test01:
				o.DType = "float32"
			case test05:
				o.Rules = "v4.1"
			}
			runs["ref"].rewrite(t, l.Performance)
			runs["acc"].rewrite(t, l.Accuracy)
			runs["run"].rewrite(t, l.Audit)
			_, err := Verify(t.Context(), test, l, o)
			switch refused := slices.Contains(c.tests, test); {
			case !refused && err != nil:
				t.Errorf("%s: %s: %v", c.name, test, err)
			case refused && (!testenv.Names(err, c.want) || !strings.Contains(err.Error(), "mlperf_log_detail.txt:")):
				t.Errorf("%s: %s: %v, want %q with its line", c.name, test, err, c.want)
			}
		}
	}
}

// A result that is 0 or infinite is within any share of another one.
func TestResultsThatCannotBeCompared(t *testing.T) {
	for _, c := range []struct {
		test, rules, scenario string
		ref, run              float64
		bound                 int // of Server in the test's run, in ns
		want                  string
	}{
		{test01, "", "Offline", 0, 0, 0, "result_samples_per_second is 0: must be a number above 0"},
		{test01, "", "SingleStream", 1e6, 0, 0, "early_stopping_latency_ss is 0: must be a number above 0"},
		{test01, "", "Server", 100, -100, 0, "result_completed_samples_per_sec is -100: must be a number above 0"},
		{test01, "", "Server", 100, 100, 20, ": effective_target_latency_ns is 20: must be 0: the bound of "},
		{test04, "", "MultiStream", 1e6, 0, 0, "the estimate of the 99th percentile is 0: must be a number above 0"},
		{test05, "v4.1", "Server", 100, 0, 0, "Completed samples per second is 0: must be a number above 0"},
	} {
		ref := fakeRun{scenario: c.scenario, metric: c.ref, responses: []string{"0 00"}}
		acc, run := ref, ref
		acc.mode, run.metric, run.settings = "AccuracyOnly", c.run, settingsOf(c.test, map[string]any{"effective_target_latency_ns": c.bound})
		_, err := Verify(t.Context(), c.test, Logs{Performance: ref.write(t), Accuracy: acc.write(t), Audit: run.write(t)}, Options{Rules: c.rules})
		if !testenv.Names(err, c.want) {
			t.Errorf("%s of %s: error %v, want %q", c.test, c.scenario, err, c.want)
		}
	}
	if checkResult("log", "rate", math.Inf(1)) == nil || checkResult("log", "rate", math.NaN()) == nil {
		t.Error("Inf and NaN can be compared")
	}
}

func TestBrokenLogs(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"another file as detail log", "mlperf_log_detail.txt", "hello\n", "mlperf_log_detail.txt:1"},
		{"an accuracy log that was cut", "mlperf_log_accuracy.json", `[{"qsl_idx": 0, "data": "0`, "mlperf_log_accuracy.json"},
		{"an accuracy log without responses", "mlperf_log_accuracy.json", "[\n]\n", "has no responses"},
		{"results that were cut", report.FileName, "{", report.FileName},
	} {
		l := pair01(t, []string{"0 00"}, []string{"0 00"})
		writeText(t, l.Accuracy, c.file, c.text)
		if _, err := Verify(t.Context(), test01, l, Options{}); !testenv.Names(err, c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	_, err := Verify(t.Context(), test01, Logs{Performance: t.TempDir(), Accuracy: t.TempDir(), Audit: t.TempDir()}, Options{})
	if !testenv.Names(err, "mlperf_log_detail.txt … performance/run_1 … mlperf_log_detail.txt … performance/run_1") || !testenv.Names(err, "mlperf_log_accuracy.json … accuracy") {
		t.Errorf("empty folders: %v", err)
	}
}

func TestLogsInTheFoldersOfAResult(t *testing.T) {
	flat := pair01(t, []string{"0 00"}, []string{"0 00"})
	result := t.TempDir()
	for from, to := range map[string]string{flat.Performance: "performance/run_1", flat.Accuracy: "accuracy"} {
		if err := os.CopyFS(filepath.Join(result, to), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range []Logs{{Performance: result, Accuracy: result, Audit: flat.Audit}, {Performance: result, Audit: flat.Audit}} {
		if v := verified(t, test01, l, Options{}); !v.Passed {
			t.Errorf("%+v: %+v", l, v)
		}
	}
}

func TestWrongOptions(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		field string
		o     Options
	}{
		{"tolerance", Options{Tolerance: nan}}, {"tolerance", Options{Tolerance: 1}}, {"min_tokens", Options{LeastTokens: nan}}, {"max_tokens", Options{MostTokens: math.Inf(1)}},
		{"accuracy_threshold", Options{LeastScore: -1}}, {"score_pattern", Options{Pattern: "no group"}}, {"rules", Options{Rules: "v9.9"}},
	} {
		var wrong *userinput.Error
		if _, err := Verify(t.Context(), test08, Logs{}, c.o); !errors.As(err, &wrong) || wrong.Field != c.field {
			t.Errorf("%+v: error %v, want one about %s", c.o, err, c.field)
		}
	}
}

// verifyChanged verifies TEST01 with a changed log of the result, or of the test.
func verifyChanged(t *testing.T, rules string, ofResult bool, change map[string]any, summary func(string) string) *Verdict {
	t.Helper()
	f := fakeRun{scenario: "Offline", metric: 100, responses: []string{"0 00"}}
	acc, run := f, f
	acc.mode, run.settings = "AccuracyOnly", settings01
	changed := &run
	if ofResult {
		changed = &f
	}
	changed.settings = maps.Clone(changed.settings)
	if changed.settings == nil {
		changed.settings = map[string]any{}
	}
	maps.Copy(changed.settings, change)
	l := Logs{Performance: f.write(t), Accuracy: acc.write(t), Audit: run.write(t)}
	if summary != nil {
		writeText(t, map[bool]string{true: l.Performance, false: l.Audit}[ofResult], "mlperf_log_summary.txt", summary(changed.summary()))
	}
	return verified(t, test01, l, Options{Rules: rules})
}

func TestInvalidRuns(t *testing.T) {
	invalid := func(s string) string { return strings.ReplaceAll(s, "VALID", "INVALID") }
	for _, c := range []struct {
		name, rules string
		change      map[string]any
		summary     func(string) string
		finding     string // empty: it passes
		note        string
	}{
		{"INVALID in the detail log", "", map[string]any{"result_validity": "INVALID"}, nil, "mlperf_log_detail.txt … INVALID", ""},
		{"INVALID in the summary", "", nil, invalid, "mlperf_log_summary.txt … INVALID", ""},
		{"no validity in the detail log", "v5.1", map[string]any{"result_validity": nil}, nil, "mlperf_log_detail.txt … VALID", ""},
		{"another word for it", "v5.1", map[string]any{"result_validity": "valid"}, nil, "mlperf_log_detail.txt … VALID", ""},
		{"no validity before v5.1, which reads summaries", "v5.0", map[string]any{"result_validity": nil}, nil, "", ""},
		{"errors", "", map[string]any{"num_errors": 3}, nil, "mlperf_log_detail.txt … 3 errors", ""},
		{"no errors", "", map[string]any{"num_errors": 0}, nil, "", ""},
		{"errors before v5.1", "v5.0", map[string]any{"num_errors": 3}, nil, "", "mlperf_log_detail.txt … 3 errors … passes"},
	} {
		for _, ofResult := range []bool{true, false} {
			v := verifyChanged(t, c.rules, ofResult, c.change, c.summary)
			if passes := c.finding == ""; v.Passed != passes || strings.Contains(v.texts[performanceFile], "PASS") != passes || !passes && !testenv.Tells(v.Findings[0], c.finding) {
				t.Errorf("%s, of the result %v: passed %v, %q, want %q", c.name, ofResult, v.Passed, v.Findings, c.finding)
			}
			if notes := strings.Join(v.Notes, "\n"); !testenv.Tells(notes, c.note) || (notes == "") != (c.note == "") {
				t.Errorf("%s: notes %q, want %q", c.name, notes, c.note)
			}
		}
	}
	l := pair01(t, []string{"0 00"}, []string{"0 00"})
	text := fakeRun{scenario: "Offline", metric: 100, settings: settings01}.detail()
	writeText(t, l.Audit, "mlperf_log_detail.txt", strings.Replace(text, `"is_error": false`, `"is_error": true`, 1))
	if v := verified(t, test01, l, Options{}); v.Passed || !testenv.Tells(v.Findings[0], "mlperf_log_detail.txt … 1 errors") {
		t.Errorf("an error without num_errors: %+v", v)
	}
	for _, test := range []string{test04, test05} {
		ref := fakeRun{scenario: "Offline", metric: 100}
		run := fakeRun{scenario: "Offline", metric: 100, invalid: true, settings: settingsOf(test, nil)}
		v := verified(t, test, Logs{Performance: ref.write(t), Audit: run.write(t)}, Options{Rules: map[string]string{test05: "v4.1"}[test]})
		if v.Passed || v.texts[performanceFile] != "TEST FAIL\n" {
			t.Errorf("%s of an INVALID run: %+v", test, v)
		}
	}
}

// testdata/rates.json has the newest scripts; these are those of older rounds, and bounds at their edges.
func TestResultsOfOlderRounds(t *testing.T) {
	for _, c := range []struct {
		test, scenario, rules string
		ref, run              float64
		want                  bool
	}{
		{test05, "Offline", "v4.1", 100, 95, false}, {test05, "Offline", "v4.1", 100, 95.01, true},
		{test05, "Server", "v4.1", 100, 300, true}, {test05, "Server", "v3.0", 100, 300, false}, {test05, "Server", "v3.0", 100, 105, false},
		{test05, "Offline", "v3.0", 100, 95, false}, {test05, "Offline", "v3.0", 100, 95.01, true},
		{test05, "SingleStream", "v4.0", 1e6, 1.05e6, false}, {test05, "SingleStream", "v4.0", 200000, 238000, true},
		{test05, "Offline", "v0.5", 100, 109.9, true}, {test05, "Offline", "v0.5", 100, 110.1, false}, {test05, "Offline", "v0.7", 100, 106, false},
		{test05, "MultiStream", "v1.0", 100, 106, false}, {test05, "MultiStream", "v2.0", 1600000, 1900000, false}, {test05, "SingleStream", "v2.0", 200000, 238000, true}, {test05, "Server", "v2.0", 100, 94, false},
		{test01, "Offline", "v5.0", 100, 90, false}, {test01, "Offline", "v5.0", 100, 90.01, true}, {test01, "Offline", "v5.1", 100, 90, true},
		{test01, "MultiStream", "", 1600000, 1900000, true}, {test01, "MultiStream", "", 1600001, 1900000, false},
		{test01, "MultiStream", "v1.0", 100, 109, true}, {test01, "MultiStream", "v1.0", 100, 115, false}, {test01, "SingleStream", "v1.0", 200000, 238000, true},
		{test01, "MultiStream", "v2.0", 1600000, 1900000, true}, {test01, "Server", "v2.0", 100, 90.1, true},
		{test04, "Offline", "", 100, 110.00000001, false}, {test04, "SingleStream", "", 1190, 1000, false},
	} {
		f := fakeRun{scenario: c.scenario, metric: c.ref, responses: []string{"0 00"}}
		ref, run := f, f
		run.metric, run.settings = c.run, settingsOf(c.test, nil)
		if c.rules != "" && c.rules < "v2.1" {
			ref, run = older(ref, c.rules), older(run, c.rules)
			for _, r := range []fakeRun{ref, run} { // keys of later rounds
				r.settings["early_stopping_latency_ss"], r.settings["early_stopping_latency_ms"], r.settings["result_completed_samples_per_sec"] = nil, nil, nil
			}
		}
		if c.test == test01 && c.rules == "v0.5" {
			run.settings["effective_accuracy_log_rng_seed"] = 456
		}
		acc := ref
		acc.mode = "AccuracyOnly"
		v := verified(t, c.test, Logs{Performance: ref.write(t), Accuracy: acc.write(t), Audit: run.write(t)}, Options{Rules: c.rules})
		if v.Passed != c.want || strings.Contains(v.texts[performanceFile], "TEST PASS") != c.want {
			t.Errorf("%s of %s, %s, %v and %v: %+v, want passed %v", c.test, c.rules, c.scenario, c.ref, c.run, v, c.want)
		}
		if !c.want && (len(v.Causes) == 0 || !strings.Contains(v.Findings[0], "%")) {
			t.Errorf("findings %q and causes %q do not say by how much and why", v.Findings, v.Causes)
		}
	}
}

func TestTwoRunsOfTEST04(t *testing.T) {
	for _, c := range []struct {
		name, scenario, rules string
		unique, same          float64
		want                  bool
	}{
		{"about the same rate", "Offline", "v0.5", 100, 109.9, true},
		{"more than 10 % faster", "Offline", "v0.7", 100, 110.1, false},
		{"much slower", "Server", "v1.0", 100, 20, true},
		{"10 % lower latency", "SingleStream", "v1.1", 1e6, 0.9e6, false},
		{"a little lower latency", "SingleStream", "v1.1", 1e6, 0.91e6, true},
		{"much higher latency", "SingleStream", "v2.0", 1e6, 3e6, true},
		{"a fast stream that is 19 % faster", "SingleStream", "v0.5", 200000, 162000, true},
		{"a fast stream that is 20 % faster", "SingleStream", "v0.5", 200000, 160000, false},
		{"more samples a query", "MultiStream", "v0.5", 10, 12, false},
		{"a higher latency of MultiStream in v2.0", "MultiStream", "v2.0", 1e6, 1.2e6, false},
		{"a lower latency of MultiStream in v2.0", "MultiStream", "v2.0", 1e6, 0.5e6, true},
	} {
		a := older(fakeRun{scenario: c.scenario, metric: c.unique, settings: map[string]any{"effective_performance_issue_unique": true}, invalid: true}, c.rules)
		b := older(fakeRun{scenario: c.scenario, metric: c.same, settings: settings04, invalid: true}, c.rules) // the reference ignores it
		v := verified(t, test04, Logs{Performance: a.write(t), Audit: b.write(t)}, Options{Rules: c.rules})
		limit := "within 10 %, or slower, passes"
		if c.unique == 200000 {
			limit = "within 20 %, or slower, passes"
		}
		if v.Passed != c.want || !strings.Contains(v.Facts[0], limit) {
			t.Errorf("%s: passed %v, want %v, and %s: %v %v", c.name, v.Passed, c.want, limit, v.Facts, v.Findings)
		}
		dir := t.TempDir()
		if err := v.Write(dir, false); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "TEST04-A", performanceFile))
		if has := strings.Contains(string(text), "TEST PASS"); err != nil || has != c.want {
			t.Errorf("TEST04-A/%s: %v, %s", performanceFile, err, text)
		}
		for _, path := range []string{"TEST04-A/performance/run_1/mlperf_log_detail.txt", "TEST04-B/performance/run_1/mlperf_log_summary.txt"} {
			if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
				t.Error(err)
			}
		}
	}
	a := older(fakeRun{scenario: "Offline", metric: 100}, "v0.7")
	b := older(fakeRun{scenario: "Offline", metric: 100, settings: settings04}, "v0.7")
	_, err := Verify(t.Context(), test04, Logs{Performance: a.write(t), Audit: b.write(t)}, Options{Rules: "v0.7"})
	if !testenv.Names(err, "effective_performance_issue_unique … false … true … audit.config … TEST04-A") {
		t.Errorf("a run without TEST04-A's settings: %v", err)
	}
}

func TestSeedsOfV05(t *testing.T) {
	ref := older(fakeRun{scenario: "Offline", metric: 100, responses: []string{"0 00"}}, "v0.5")
	acc, run := ref, ref
	acc.mode, run.settings = "AccuracyOnly", maps.Clone(ref.settings)
	run.settings["effective_accuracy_log_rng_seed"] = 456
	l := Logs{Performance: ref.write(t), Accuracy: acc.write(t), Audit: run.write(t)}
	if v := verified(t, test01, l, Options{Rules: "v0.5"}); !v.Passed {
		t.Errorf("%+v", v)
	}
	if _, err := Verify(t.Context(), test01, l, Options{Rules: "v0.7"}); !testenv.Names(err, "456 … 720381539243781796") {
		t.Errorf("with the seed of another round: %v", err)
	}
}

func TestLimitationsOfRuns(t *testing.T) {
	l := pair01(t, []string{"0 00"}, []string{"0 00"})
	quick, simulated := limitation.Limitation{ID: limitation.Setting, Key: "min_duration", Origin: "quick run: 100 queries would take 1 min", Role: limitation.QuickRun}, limitation.Limitation{ID: limitation.SimulatedEngine}
	slower := quick
	slower.Origin = "quick run: 100 queries would take 2 min"
	with(t, l.Performance, report.Results{Model: "bert", Limitations: report.Limitations{quick, quick}})
	with(t, l.Audit, report.Results{Model: "bert", Limitations: report.Limitations{slower, {ID: limitation.Setting, Key: "test05", Origin: "my.conf:2", Role: limitation.AuditConf}, simulated}})
	if v, want := verified(t, test01, l, Options{}), (report.Limitations{quick, simulated}); !slices.Equal(v.Limitations, want) {
		t.Errorf("limitations %v, want %v", v.Limitations, want)
	}
	with(t, l.Accuracy, report.Results{Model: "mobilenet"})
	_, err := Verify(t.Context(), test01, l, Options{})
	if want := filepath.Join(l.Accuracy, report.FileName) + " … mobilenet … bert"; !testenv.Names(err, want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// Verdicts on fewer responses, or with wider bounds than the rules', are marked.
func TestLimitationsOfEasierTests(t *testing.T) {
	answer, long := tokens(5, 6), answerOf(1200)
	for _, c := range []struct {
		test, model string
		target      any // responses to keep; nil: the log does not say it
		responses   []string
		o           Options
		want        string
	}{
		{test01, "resnet50", 4096, []string{"0 00"}, Options{}, ""},
		{test01, "resnet50", 1, []string{"0 00"}, Options{}, "TEST01 fewer_logged: 1: must be 4096"},
		{test01, "retinanet", 256, []string{"0 00"}, Options{}, ""},
		{test01, "retinanet", 255, []string{"0 00"}, Options{}, "TEST01 fewer_logged: 255: must be 256"},
		{test01, "", 1, []string{"0 00"}, Options{}, ""},
		{test01, "resnet50", nil, []string{"0 00"}, Options{}, ""},
		{test06, "", 100, []string{"0 " + answer}, Options{}, ""},
		{test06, "", 99, []string{"0 " + answer}, Options{}, "TEST06 fewer_logged: 99: must be 100"},
		{test06, "llama3.1-8b", 100, []string{"0 " + answer}, Options{EOS: 7}, ""},
		{test06, "llama3.1-8b", 100, []string{"0 " + answer}, Options{EOS: 4}, "TEST06 other_end_token: 4: must be [9 7]"},
		{test07, "gpt-oss-120b", 990, slices.Repeat([]string{"0 00"}, 990), Options{}, ""},
		{test07, "gpt-oss-120b", 990, slices.Repeat([]string{"0 00"}, 989), Options{}, "TEST07 fewer_responses: 989: must be 990"},
		{test07, "", 990, slices.Repeat([]string{"0 00"}, 990), Options{LeastScore: 60}, "TEST07 lower_score: 60: must be 60.698"},
		{test07, "bert", 990, slices.Repeat([]string{"0 00"}, 990), Options{LeastScore: 60}, ""},
		{test08, "", 4096, []string{"0 " + numbers(1, 7, 0.8)}, Options{Tolerance: 0.5}, "TEST08 wider_entropies: 50 %: must be 0.1 %"},
		{test08, "", 4096, []string{"0 " + numbers(1, 7, 0.8)}, Options{Tolerance: 0.0001}, ""},
		{test09, "e2e-rag-qna", 10000, slices.Repeat([]string{"0 " + answerOf(270)}, 824), Options{}, ""},
		{test09, "e2e-rag-qna", 10000, slices.Repeat([]string{"0 " + answerOf(270)}, 823), Options{}, "TEST09 fewer_responses: 823: must be 824"},
		{test09, "gpt-oss-120b", 10000, []string{"0 " + long}, Options{}, "TEST09 fewer_responses: 1: must be 6396"},
		{test09, "e2e-rag-qna", 10000, slices.Repeat([]string{"0 " + answerOf(270)}, 824), Options{LeastTokens: 1}, "TEST09 wider_lengths: 1 to 301.19: must be 246.43 to 301.19"},
		{test09, "e2e-rag-qna", 10000, slices.Repeat([]string{"0 " + answerOf(270)}, 824), Options{MostTokens: 302}, "TEST09 wider_lengths: 246.43 to 302: must be 246.43 to 301.19"},
		{test09, "e2e-rag-qna", 10000, slices.Repeat([]string{"0 " + answerOf(270)}, 824), Options{LeastTokens: 247, MostTokens: 301}, ""},
	} {
		acc := []string{c.responses[0]}
		if c.test == test08 {
			acc[0] = "0 " + numbers(1, 7, 0.8, 1, 1, 1)
		}
		l := pair01(t, acc, nil)
		run := fakeRun{scenario: "Offline", metric: 100, responses: c.responses, extra: `, "token_data" : "05000000", "token_count" : 2`,
			settings: settingsOf(c.test, map[string]any{"effective_accuracy_log_sampling_target": c.target})}
		if run.rewrite(t, l.Audit); c.model != "" {
			with(t, l.Audit, report.Results{Model: c.model, Input: report.Input{EndTokens: []int32{9, 7}}})
		}
		c.o.Score = "echo \"'exact_match': 70\" {accuracy_log}"
		v := verified(t, c.test, l, c.o)
		var list []string
		for _, l := range v.Limitations {
			list = append(list, fmt.Sprintf("%s %s: %s: must be %s", l.Key, l.ID, l.Value, l.Want))
		}
		if got := strings.Join(list, "\n"); got != c.want || !v.Passed {
			t.Errorf("%s of %q, %+v: passed %v %v, limitations %q, want %q", c.test, c.model, c.o, v.Passed, v.Findings, got, c.want)
		}
	}
}

func TestWriteReplacesOnlyByForce(t *testing.T) {
	v := verified(t, test01, pair01(t, []string{"0 00", "1 01"}, []string{"1 09"}),
		Options{Scorer: scoresOf(&report.Accuracy{Value: 1, Lines: []string{"a"}}, &report.Accuracy{Value: 1, Lines: []string{"b"}})})
	dir := t.TempDir()
	if err := v.Write(dir, false); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{baselineFile: "a\n", complianceFile: "b\n", scoreFile: "b\n"} {
		if text, err := os.ReadFile(filepath.Join(dir, test01, "accuracy", name)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v, want %q", name, text, err, want)
		}
	}
	v = verified(t, test01, pair01(t, []string{"0 00"}, []string{"0 00"}), Options{})
	if err := v.Write(dir, false); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("the second Write returns %v", err)
	}
	if err := v.Write(dir, true); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string][]string{"performance/run_1": {"mlperf_log_detail.txt", "mlperf_log_summary.txt"}, "accuracy": {scoreFile, "mlperf_log_accuracy.json"}} {
		if got := namesIn(t, filepath.Join(dir, test01, folder)); !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", folder, got, want)
		}
	}
	l := pair01(t, []string{"0 00"}, nil)
	l.Audit = filepath.Join(dir, test01)
	if v = verified(t, test01, l, Options{}); !v.Passed {
		t.Errorf("the files of Write are verified as %+v", v)
	}
	if err := v.Write(dir, true); err != nil { // onto the logs themselves
		t.Error(err)
	}
	if v := verified(t, test01, l, Options{}); !v.Passed {
		t.Errorf("after a copy onto themselves the logs are verified as %+v", v)
	}
}

func ExampleNeeds() {
	needs, err := Needs("v6.1", "resnet50", "offline")
	fmt.Println(needs, err)
	_, err = Needs("v6.1", "gnmt", "")
	fmt.Println(strings.SplitAfter(err.Error(), ";")[0])
	// Output:
	// [{resnet50 Offline [TEST01 TEST04]}] <nil>
	// model: rules v6.1 have no benchmark "gnmt";
}

func ExampleConf() {
	text, err := Conf("TEST04", "resnet50", "v6.1")
	fmt.Print(text, err)
	// Output:
	// # TEST04 of resnet50
	// *.*.mode = 2
	// *.*.performance_issue_unique = 0
	// *.*.performance_issue_same = 1
	// *.*.performance_issue_same_index = 3
	// <nil>
}
