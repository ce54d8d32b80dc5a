package compliance

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
)

// judged01 is the verdict of TEST01 on runs of which one's logs say something else.
func judged01(t *testing.T, ofResult bool, change map[string]any, summary func(string) string) (*Verdict, error) {
	t.Helper()
	return judgedUnder(t, "", ofResult, change, summary)
}

// judgedUnder is that under the rules of a round.
func judgedUnder(t *testing.T, rules string, ofResult bool, change map[string]any, summary func(string) string) (*Verdict, error) {
	t.Helper()
	f := fakeRun{scenario: "Offline", metric: 100, responses: []string{"0 00"}}
	acc, run := f, f
	acc.mode, run.settings = "AccuracyOnly", settings01
	changed := &run
	if ofResult {
		changed = &f
	}
	settings := maps.Clone(change)
	maps.Copy(settings, changed.settings)
	changed.settings = settings
	l := Logs{Performance: f.write(t), Accuracy: acc.write(t), Audit: run.write(t)}
	if summary != nil {
		dir := l.Audit
		if ofResult {
			dir = l.Performance
		}
		text, err := os.ReadFile(filepath.Join(dir, "mlperf_log_summary.txt"))
		if err != nil {
			t.Fatal(err)
		}
		writeText(t, dir, "mlperf_log_summary.txt", summary(string(text)))
	}
	return Verify(t.Context(), Test01, l, Options{Rules: rules})
}

func TestARunIsInvalidAsSoonAsOneOfItsLogsSaysSo(t *testing.T) {
	for _, ofResult := range []bool{true, false} {
		v, err := judged01(t, ofResult, map[string]any{"result_validity": "INVALID"}, nil)
		if err != nil || v.Passed || !strings.Contains(v.Findings[0], "mlperf_log_detail.txt is of a run that is INVALID") {
			t.Errorf("the detail log of the result %v: %+v, %v", ofResult, v, err)
		}
		v, err = judged01(t, ofResult, map[string]any{}, func(s string) string { return strings.ReplaceAll(s, "VALID", "INVALID") })
		if err != nil || v.Passed || !strings.Contains(v.Findings[0], "mlperf_log_summary.txt is of a run that is INVALID") {
			t.Errorf("the summary of the result %v: %+v, %v", ofResult, v, err)
		}
		if strings.Contains(v.texts[performanceFile], "PASS") {
			t.Errorf("%s is %q", performanceFile, v.texts[performanceFile])
		}
	}
}

// Before v5.1 the reference's script read summaries.
func TestTheDetailLogMustSayThatARunIsValidFromV51On(t *testing.T) {
	for _, ofResult := range []bool{true, false} {
		for _, said := range []any{nil, "valid", 1} {
			change := map[string]any{"result_validity": said}
			if v, err := judgedUnder(t, "v5.0", ofResult, change, nil); err != nil || !v.Passed {
				t.Errorf("v5.0, %v, of the result %v: %+v, %v, want it to pass", said, ofResult, v, err)
			}
			v, err := judgedUnder(t, "v5.1", ofResult, change, nil)
			if err != nil || v.Passed || !strings.HasSuffix(v.Findings[0], "mlperf_log_detail.txt does not say that the run is VALID") || strings.Contains(v.texts[performanceFile], "PASS") {
				t.Errorf("v5.1, %v, of the result %v: %+v, %v, want it to fail", said, ofResult, v, err)
			}
		}
	}
}

func TestErrorsAreNotedBeforeV51(t *testing.T) {
	for _, ofResult := range []bool{true, false} {
		v, err := judgedUnder(t, "v5.0", ofResult, map[string]any{"num_errors": 3}, nil)
		if err != nil || !v.Passed || len(v.Notes) != 1 || !strings.HasSuffix(v.Notes[0], "mlperf_log_detail.txt says that the run had 3 errors, which passes") {
			t.Errorf("of the result %v: %+v, %v, want it to pass with a note", ofResult, v, err)
		}
	}
}

// num_errors counts what the reference's script takes for errors; messages count where it is not.
func TestTEST01FailsRunsWithErrors(t *testing.T) {
	for _, ofResult := range []bool{true, false} {
		for n, want := range map[int]bool{0: true, 3: false} {
			v, err := judged01(t, ofResult, map[string]any{"num_errors": n}, nil)
			if err != nil || v.Passed != want || strings.Contains(v.texts[performanceFile], "TEST PASS") != want {
				t.Errorf("%d errors, of the result %v: %+v, %v, want passed %v", n, ofResult, v, err, want)
			}
			if !want && !strings.HasSuffix(v.Findings[0], "mlperf_log_detail.txt says that the run had 3 errors") {
				t.Errorf("findings %q", v.Findings)
			}
		}
	}
	f := fakeRun{scenario: "Offline", metric: 100, responses: []string{"0 00"}, settings: settings01}
	dir := f.write(t)
	text := strings.Replace(f.detail(), `"is_error": false`, `"is_error": true`, 1)
	writeText(t, dir, "mlperf_log_detail.txt", text)
	acc := fakeRun{scenario: "Offline", metric: 100, responses: []string{"0 00"}, mode: "AccuracyOnly"}
	ref := fakeRun{scenario: "Offline", metric: 100}
	v, err := Verify(t.Context(), Test01, Logs{Performance: ref.write(t), Accuracy: acc.write(t), Audit: dir}, Options{})
	if err != nil || v.Passed || !strings.HasSuffix(v.Findings[0], "says that the run had 1 errors") {
		t.Errorf("a message that is an error: %+v, %v", v, err)
	}
}

func TestASampleThatIsAnsweredAgainMustHaveTheSameAnswer(t *testing.T) {
	for _, c := range []struct {
		name          string
		accuracy, run []string
		want          bool
		says          string
	}{
		{"another answer the second time", []string{"0 00"}, []string{"0 00", "0 01"}, false, "this run answered before 0, this run 1"},
		{"another answer of a sample that the accuracy run has not", []string{"0 00"}, []string{"0 00", "3 05", "3 06"}, false, "this run answered before 5, this run 6"},
		{"the same answer of such a sample", []string{"0 00"}, []string{"3 05", "3 05"}, true, "1 responses are of samples"},
		{"the first of two answers of the accuracy run", []string{"0 00", "0 01"}, []string{"0 00"}, true, "1 of 1 responses"},
		{"the second of two answers of the accuracy run", []string{"0 00", "0 01"}, []string{"0 01"}, false, "the accuracy run answered 0, this run 1"},
	} {
		v, err := Verify(t.Context(), Test01, pair01(t, c.accuracy, c.run), Options{})
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(append(append(v.Facts, v.Findings...), v.Notes...), "\n")
		if v.Passed != c.want || !strings.Contains(all, c.says) {
			t.Errorf("%s: passed %v, want %v; %q should say %q", c.name, v.Passed, c.want, all, c.says)
		}
	}
}

func TestScoresOfPreciseModelsMayDifferLess(t *testing.T) {
	for _, c := range []struct {
		model string
		run   float64
		want  bool
	}{
		{"bert-99", 99.2, true}, {"bert-99.9", 99.2, false}, {"bert-99.9", 99.95, true}, {"bert-99", 98.9, false}, {"", 99.2, true}, {"bert", 99.2, true},
	} {
		v, err := Verify(t.Context(), Test01, pair01(t, []string{"0 00", "1 01"}, []string{"1 09"}),
			Options{Model: c.model, Scorer: scoresOf(&report.Accuracy{Value: 100}, &report.Accuracy{Value: c.run})})
		if err != nil || v.Passed != c.want {
			t.Errorf("%q: %v after 100 passes %+v, %v, want %v", c.model, c.run, v, err, c.want)
		}
	}
}

// scoresOf scores one log after the other.
func scoresOf(scores ...*report.Accuracy) Scorer {
	return func(context.Context, string) (*report.Accuracy, error) {
		a := scores[0]
		scores = scores[1:]
		return a, nil
	}
}

// Each metric of a model is compared, as submission_checker's compliance_check.py does, by the
// numbers that the scripts print.
func TestAllMetricsOfAModelAreCompared(t *testing.T) {
	const fid, clip, f1 = "{'FID_SCORE': '%s', 'CLIP_SCORE': '%s'}", "CLIP_SCORE of the same 7 samples: ", "F1 of the same 7 samples: "
	for _, c := range []struct {
		name, model, rules string
		format             string
		baseline, run      []any
		passes             bool
		says               string
	}{
		{"both within", "stable-diffusion-xl", "", fid, []any{"23.5", "31.7"}, []any{"23.9", "31.5"}, true, clip + "31.7 in the accuracy run, 31.5 in the test; within 1 % passes"},
		{"FID within two percent, not one", "stable-diffusion-xl", "", fid, []any{"100", "31.7"}, []any{"98.1", "31.7"}, true, "98.1 in the test; within 2 % passes"},
		{"FID more than that", "stable-diffusion-xl", "", fid, []any{"100", "31.7"}, []any{"98", "31.7"}, false, "FID_SCORE of the same 7 samples: 100 in the accuracy run, 98 in the test; within 2 % passes"},
		{"only CLIP differs", "stable-diffusion-xl", "", fid, []any{"23.5", "31.7"}, []any{"23.5", "32.2"}, false, clip + "31.7 in the accuracy run, 32.2 in the test; within 1 % passes"},
		{"the name of the catalogue", "sdxl", "", fid, []any{"23.5", "31.7"}, []any{"23.5", "32.2"}, false, clip},
		{"one is not printed", "stable-diffusion-xl", "", "{'FID_SCORE': '%s', 'clip': '%s'}", []any{"23.5", "31.7"}, []any{"23.5", "31.7"}, false, clip + "0 in the accuracy run, 0 in the test"},
		{"one is no number", "stable-diffusion-xl", "", fid, []any{"23.5", "3.1.7"}, []any{"23.5", "3.1.7"}, false, clip},
		{"F1 of the precise", "bert-99.9", "v6.1", `{"exact_match": 80, "f1": %s}`, []any{"90.8"}, []any{"90.9"}, false, f1 + "90.8 in the accuracy run, 90.9 in the test; within 0.1 % passes"},
		{"of a round before those of the table", "bert-99", "v3.1", `{"exact_match": 80, "f1": %s}`, []any{"90.8"}, []any{"90.9"}, true, f1},
	} {
		t.Run(c.name, func(t *testing.T) {
			line := func(values []any) *report.Accuracy {
				return &report.Accuracy{Metric: "own", Value: 1, Samples: 7, Lines: []string{"loading", fmt.Sprintf(c.format, values...), "done"}}
			}
			l := pair01(t, []string{"0 00", "1 01"}, []string{"1 09"})
			v, err := Verify(t.Context(), Test01, l, Options{Model: c.model, Rules: c.rules, Scorer: scoresOf(line(c.baseline), line(c.run))})
			if err != nil {
				t.Fatal(err)
			}
			if facts := strings.Join(v.Facts, "\n"); v.Passed != c.passes || !strings.Contains(facts, c.says) {
				t.Errorf("passed %v, want %v; facts\n%s\nwant %q", v.Passed, c.passes, facts, c.says)
			}
			if len(v.Findings) > 0 == c.passes {
				t.Errorf("findings %q", v.Findings)
			}
		})
	}
}

func TestOneBoundOfLengthsMayBeGivenAlone(t *testing.T) {
	for _, c := range []struct {
		name, model         string
		o                   Options
		wantLeast, wantMost float64
		fails               string
	}{
		{"both are the model's", "", Options{}, 1150.38, 1406.02, ""},
		{"the least is given", "", Options{LeastTokens: 5}, 5, 1406.02, ""},
		{"the greatest is given", "", Options{MostTokens: 2000}, 1150.38, 2000, ""},
		{"both are given", "hal-9000", Options{LeastTokens: 1, MostTokens: 2}, 1, 2, ""},
		{"the greatest is given and below the model's least", "", Options{MostTokens: 5}, 0, 0, "at most the greatest mean length, 5"},
		{"the greatest is given where nobody knows the least", "bert", Options{MostTokens: 5}, 0, 5, ""},
		{"the least is given where nobody knows the greatest", "bert", Options{LeastTokens: 5}, 0, 0, "no bounds of its own"},
		{"one is given of a model that nobody knows", "hal-9000", Options{LeastTokens: 5}, 0, 0, "unknown model"},
	} {
		c.o.Model = c.model
		least, most, err := lengthBounds(Logs{Audit: t.TempDir()}, c.o)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v, want %q", c.name, err, c.fails)
			}
			continue
		}
		if err != nil || least != c.wantLeast || most != c.wantMost {
			t.Errorf("%s: %v to %v, %v, want %v to %v", c.name, least, most, err, c.wantLeast, c.wantMost)
		}
	}
}
