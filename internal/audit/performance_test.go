package audit

import (
	"context"
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
	return Verify(t.Context(), Test01, l, Options{})
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
		given float64
		run   float64
		want  bool
	}{
		{"bert-99", 0, 99.2, true}, {"bert-99.9", 0, 99.2, false}, {"bert-99.9", 0, 99.95, true}, {"bert-99.9", 1, 99.2, true}, {"bert-99", 0.1, 99.2, false}, {"", 0, 99.2, true},
	} {
		scores := []float64{100, c.run}
		v, err := Verify(t.Context(), Test01, pair01(t, []string{"0 00", "1 01"}, []string{"1 09"}), Options{Model: c.model, MaxLoss: c.given,
			Scorer: func(context.Context, string) (*report.Accuracy, error) {
				a := &report.Accuracy{Value: scores[0], Lines: []string{"accuracy=1%"}}
				scores = scores[1:]
				return a, nil
			}})
		if err != nil || v.Passed != c.want {
			t.Errorf("%q, a bound of %v: %v after 100 passes %+v, %v, want %v", c.model, c.given, c.run, v, err, c.want)
		}
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
