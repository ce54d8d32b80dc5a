package compliance

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
)

func TestRatesAtTheEdgesOfThresholds(t *testing.T) {
	for _, c := range []struct {
		name, test, scenario, rules string
		ref, run                    float64
		want                        bool
	}{
		{"TEST04 fails what is 10 % faster", Test04, "Offline", "", 100, 110.00000001, false},
		{"TEST04 passes what is a little less than 10 % faster", Test04, "Offline", "", 100, 109.99, true},
		{"TEST04 passes what is slower", Test04, "Server", "", 100, 50, true},
		{"TEST04 fails a cache in Server", Test04, "Server", "", 100, 300, false},
		{"TEST04 passes streams that are 19 % faster", Test04, "SingleStream", "", 1190000, 1000000, true},
		{"TEST04 fails a cache in SingleStream", Test04, "SingleStream", "", 1e6, 1e4, false},
		{"TEST04 fails streams that are 21 % faster", Test04, "MultiStream", "", 1210000, 1e6, false},
		{"TEST04 counts queries/s: 10 % for streams above 200000", Test04, "SingleStream", "", 1190, 1000, false},
		{"TEST05 fails Offline that is 5 % slower", Test05, "Offline", "v4.1", 100, 95, false},
		{"TEST05 passes Offline that is less than 5 % slower", Test05, "Offline", "v4.1", 100, 95.01, true},
		{"TEST05 passes Server that is much faster", Test05, "Server", "v4.1", 100, 300, true},
		{"TEST05 before v3.1 fails what is much faster", Test05, "Server", "v3.0", 100, 300, false},
		{"TEST05 before v3.1 fails what is just 5 % faster", Test05, "Server", "v3.0", 100, 105, false},
		{"TEST05 before v3.1 fails what is just 5 % slower", Test05, "Offline", "v3.0", 100, 95, false},
		{"TEST05 before v3.1 passes what is a little less than 5 % slower", Test05, "Offline", "v3.0", 100, 95.01, true},
		{"TEST01 before v5.1 fails what is just 10 % slower", Test01, "Offline", "v5.0", 100, 90, false},
		{"TEST01 before v5.1 passes what is a little less than 10 % slower", Test01, "Offline", "v5.0", 100, 90.01, true},
		{"TEST05 of v0.5 has 10 %", Test05, "Offline", "v0.5", 100, 109.9, true},
		{"TEST05 of v0.5 has 10 % and no more", Test05, "Offline", "v0.5", 100, 110.1, false},
		{"TEST05 fails a stream that is 5 % slower", Test05, "SingleStream", "v4.0", 1e6, 1.05e6, false},
		{"TEST05 passes a fast stream that is 19 % slower", Test05, "SingleStream", "v4.0", 200000, 238000, true},
		{"TEST01 passes what is 10 % slower", Test01, "Offline", "", 100, 90, true},
		{"TEST01 fails what is more than 10 % slower", Test01, "Offline", "", 100, 89.99, false},
		{"TEST01 fails what is more than 10 % faster", Test01, "Server", "", 100, 110.02, false},
		{"TEST01 lets fast streams differ by 20 %", Test01, "MultiStream", "", 1600000, 1900000, true},
		{"TEST01 does not let slower streams differ by 20 %", Test01, "MultiStream", "", 1600001, 1900000, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ref := fakeRun{scenario: c.scenario, metric: c.ref, responses: []string{"0 00"}}
			run := ref
			run.metric, run.settings = c.run, settingsOf(c.test, nil)
			accuracy := ref
			accuracy.mode = "AccuracyOnly"
			v, err := Verify(t.Context(), c.test, Logs{Performance: ref.write(t), Accuracy: accuracy.write(t), Audit: run.write(t)}, Options{Rules: c.rules})
			if err != nil {
				t.Fatal(err)
			}
			if v.Passed != c.want {
				t.Errorf("passed = %v, want %v: %v %v", v.Passed, c.want, v.Facts, v.Findings)
			}
			if has := strings.Contains(v.texts[performanceFile], "TEST PASS"); has != c.want {
				t.Errorf("%s has TEST PASS: %v, want %v", performanceFile, has, c.want)
			}
			if !c.want && (len(v.Causes) == 0 || !strings.Contains(v.Findings[0], "%")) {
				t.Errorf("findings %q and causes %q do not say by how much and why", v.Findings, v.Causes)
			}
		})
	}
}

func TestResponsesAreComparedByTheirFirstNumber(t *testing.T) {
	for _, c := range []struct {
		name, dtype   string
		accuracy, run []string
		want          bool
		says          string
	}{
		{"the same", "", []string{"0 00", "1 01"}, []string{"1 01", "1 01"}, true, "2 of 2 responses"},
		{"another class", "", []string{"0 00", "5 01"}, []string{"0 00", "5 02"}, false, "sample 5 (record 1"},
		{"nothing against something", "", []string{"0 00"}, []string{"0 "}, false, "this run nothing"},
		{"another second byte", "", []string{"0 0001"}, []string{"0 0002"}, true, "1 responses differ from the accuracy run's behind"},
		{"the second byte counts in an int32", "int32", []string{"0 00010000"}, []string{"0 00020000"}, false, "answered 256, this run 512"},
		{"zeros of either sign are equal floats", "float32", []string{"0 00000000"}, []string{"0 00000080"}, true, "1 of 1"},
		{"no sample in common", "", []string{"0 00"}, []string{"3 00"}, false, "no sample in common"},
		{"a sample that is missing is accepted", "", []string{"0 00"}, []string{"3 00", "0 00"}, true, "1 responses are of samples"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := Verify(t.Context(), Test01, pair01(t, c.accuracy, c.run), Options{DType: c.dtype})
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(slices.Concat(v.Facts, v.Findings, v.Notes), "\n")
			if v.Passed != c.want || !strings.Contains(all, c.says) {
				t.Errorf("passed = %v, want %v; %q should say %q", v.Passed, c.want, all, c.says)
			}
			if has := slices.Contains(strings.Split(v.texts[accuracyFile], "\n"), "TEST PASS"); has != c.want {
				t.Errorf("%s has the line TEST PASS: %v, want %v", accuracyFile, has, c.want)
			}
		})
	}
}

// pair01 makes the logs of TEST01 with these responses.
func pair01(t *testing.T, accuracy, run []string) Logs {
	f := fakeRun{scenario: "Offline", metric: 100}
	ref := f.write(t)
	f.responses, f.mode = accuracy, "AccuracyOnly"
	acc := f.write(t)
	f.responses, f.mode, f.settings = run, "", settings01
	return Logs{Performance: ref, Accuracy: acc, Audit: f.write(t)}
}

func TestVaryingResponsesAreJudgedByTheirScores(t *testing.T) {
	for _, c := range []struct {
		name          string
		baseline, run float64
		want          bool
	}{
		{"almost one percent less", 75, 75 / 1.0099, true}, {"more than one percent less", 75, 74.25, false},
		{"more than one percent more", 75, 76.5, false}, {"no score", 0, math.NaN(), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := pair01(t, []string{"0 00", "1 01", "2 02"}, []string{"1 09"})
			var logs []string
			v, err := Verify(t.Context(), Test01, l, Options{Scorer: func(_ context.Context, log string) (*report.Accuracy, error) {
				text, err := os.ReadFile(log)
				logs = append(logs, string(text))
				return &report.Accuracy{Value: []float64{c.baseline, c.run}[len(logs)-1], Lines: []string{"accuracy=1%"}}, err
			}})
			if err != nil {
				t.Fatal(err)
			}
			if v.Passed != c.want {
				t.Errorf("passed = %v, want %v: %v", v.Passed, c.want, v.Facts)
			}
			if !c.want && (len(v.Findings) != 3 || v.Findings[0] != "1 of 1 responses differ from the accuracy run's" || !strings.Contains(v.Findings[1], "sample 1 ")) {
				t.Errorf("the findings are %q, want how many responses differ, which, and the scores", v.Findings)
			}
			if strings.Count(logs[0], "qsl_idx") != 1 || !strings.Contains(logs[0], `"qsl_idx" : 1, "data" : "01"`) {
				t.Errorf("the baseline has the log\n%s\nwant the sample of the test", logs[0])
			}
			dir := t.TempDir()
			if err := v.Write(dir, false); err != nil {
				t.Fatal(err)
			}
			want := []string{"accuracy.txt", "baseline_accuracy.txt", "compliance_accuracy.txt", "mlperf_log_accuracy.json"}
			if got := namesIn(t, filepath.Join(dir, "TEST01", "accuracy")); !slices.Equal(got, want) {
				t.Errorf("TEST01/accuracy has %v, want %v", got, want)
			}
		})
	}
}

func namesIn(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestWriteReplacesNothingUnasked(t *testing.T) {
	v, err := Verify(t.Context(), Test01, pair01(t, []string{"0 00"}, []string{"0 00"}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := v.Write(dir, false); err != nil {
		t.Fatal(err)
	}
	if err := v.Write(dir, false); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("the second Write returns %v", err)
	}
	if err := v.Write(dir, true); err != nil {
		t.Error(err)
	}
	want := []string{"mlperf_log_detail.txt", "mlperf_log_summary.txt"}
	if got := namesIn(t, filepath.Join(dir, "TEST01/performance/run_1")); !slices.Equal(got, want) {
		t.Errorf("run_1 has %v, want %v", got, want)
	}
	l := pair01(t, []string{"0 00"}, nil)
	l.Audit = filepath.Join(dir, "TEST01")
	if v, err := Verify(t.Context(), Test01, l, Options{}); err != nil || !v.Passed {
		t.Errorf("what Write wrote is verified as %+v, %v", v, err)
	}
}

func TestInvalidRunsFail(t *testing.T) {
	ref := fakeRun{scenario: "Offline", metric: 100}
	run := fakeRun{scenario: "Offline", metric: 100, invalid: true, settings: settings04}
	v, err := Verify(t.Context(), Test04, Logs{Performance: ref.write(t), Audit: run.write(t)}, Options{})
	if err != nil || v.Passed || !strings.Contains(v.Findings[0], "INVALID") {
		t.Errorf("Verify = %+v, %v, want a failure that says INVALID", v, err)
	}
}

func TestLogsThatDoNotFitAreNamed(t *testing.T) {
	good := fakeRun{scenario: "Offline", metric: 100}
	for _, c := range []struct {
		name, test, rules, want string
		change                  func(ref, run *fakeRun)
	}{
		{"another scenario", Test04, "", "effective_scenario is Server, want Offline", func(_, run *fakeRun) { run.scenario = "Server" }},
		{"no audit.config", Test04, "", "effective_performance_issue_same is false, want true", func(_, run *fakeRun) { run.settings = nil }},
		{"another sample", Test04, "", "same_index is 4, want 3", func(_, run *fakeRun) {
			run.settings = settingsOf(Test04, map[string]any{"effective_performance_issue_same_index": 4})
		}},
		{"another data set", Test04, "", "effective_accuracy_sample_count is 9, want 8: another model", func(_, run *fakeRun) {
			run.settings = settingsOf(Test04, map[string]any{"effective_accuracy_sample_count": 9})
		}},
		{"another round", Test04, "", "effective_schedule_rng_seed is 9, want 3: seeds of another round", func(_, run *fakeRun) {
			run.settings = settingsOf(Test04, map[string]any{"effective_schedule_rng_seed": 9})
		}},
		{"the seeds of the result", Test05, "v4.1", "effective_qsl_rng_seed is 1, want another", func(_, run *fakeRun) { run.settings = nil }},
		{"responses that were not sampled", Test01, "", "effective_accuracy_log_rng_seed is 0, want 720381539243781796", func(_, run *fakeRun) { run.settings = nil }},
		{"an accuracy run", Test04, "", "effective_test_mode is AccuracyOnly, want PerformanceOnly", func(_, run *fakeRun) { run.mode = "AccuracyOnly" }},
		{"a round without the test", Test05, "v5.0", "TEST05 is of the rules up to v4.1, not of v5.0", func(_, _ *fakeRun) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ref, run := good, good
			ref.responses = []string{"0 00"}
			run.settings = settingsOf(c.test, nil)
			c.change(&ref, &run)
			acc := ref
			acc.mode = "AccuracyOnly"
			_, err := Verify(t.Context(), c.test, Logs{Performance: ref.write(t), Accuracy: acc.write(t), Audit: run.write(t)}, Options{Rules: c.rules})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Verify: %v, want %q", err, c.want)
			}
		})
	}
}

func TestBrokenLogsAreNamed(t *testing.T) {
	for _, c := range []struct {
		name, file, text, want string
	}{
		{"a detail log that is no log", "mlperf_log_detail.txt", "hello\n", "mlperf_log_detail.txt:1"},
		{"an accuracy log that was cut", "mlperf_log_accuracy.json", `[{"qsl_idx": 0, "data": "0`, "mlperf_log_accuracy.json"},
		{"an accuracy log without responses", "mlperf_log_accuracy.json", "[\n]\n", "has no responses"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := pair01(t, []string{"0 00"}, []string{"0 00"})
			if err := os.WriteFile(filepath.Join(l.Accuracy, c.file), []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := Verify(t.Context(), Test01, l, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Verify: %v, want %q", err, c.want)
			}
		})
	}
	_, err := Verify(t.Context(), Test04, Logs{Performance: t.TempDir(), Audit: t.TempDir()}, Options{})
	if err == nil || strings.Count(err.Error(), "no mlperf_log_detail.txt") != 2 {
		t.Errorf("Verify of empty folders: %v", err)
	}
}
