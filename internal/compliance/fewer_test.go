package compliance

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
)

// The fewer responses are looked at, the easier all of them are right; the reference's scripts do
// not count them.
func TestFewerResponsesThanTheTestHasAreMarked(t *testing.T) {
	const key = "effective_accuracy_log_sampling_target"
	answer := tokens(5, 6)
	for _, c := range []struct {
		name, test, model string
		target            any // nil: the log does not say it
		responses         []string
		want              string
	}{
		{"as many as asked for", Test01, "resnet50", 4096, []string{"0 00"}, ""},
		{"more", Test01, "resnet50", 50000, []string{"0 00"}, ""},
		{"one", Test01, "resnet50", 1, []string{"0 00"}, "TEST01: the run was to keep 1 responses, by the rules 4096"},
		{"all that a large model is asked for", Test01, "retinanet", 256, []string{"0 00"}, ""},
		{"fewer of it", Test01, "retinanet", 255, []string{"0 00"}, "TEST01: the run was to keep 255 responses, by the rules 256"},
		{"of a model that nobody names", Test01, "", 1, []string{"0 00"}, ""},
		{"of a LoadGen that did not know it", Test01, "resnet50", nil, []string{"0 00"}, ""},
		{"TEST06 asks for 100", Test06, "", 100, []string{"0 " + answer}, ""},
		{"not for 99", Test06, "", 99, []string{"0 " + answer}, "TEST06: the run was to keep 99 responses, by the rules 100"},
		{"TEST09 asks for all questions", Test09, "e2e-rag-qna", 10000, slices.Repeat([]string{"0 " + answerOf(270)}, 824), ""},
		{"not for one less", Test09, "e2e-rag-qna", 10000, slices.Repeat([]string{"0 " + answerOf(270)}, 823), "TEST09: 823 responses were judged, by the rules 824"},
		{"of GPT-OSS for more", Test09, "gpt-oss-120b", 10000, []string{"0 " + answerOf(1200)}, "TEST09: 1 responses were judged, by the rules 6396"},
		{"TEST07 asks for 990", Test07, "gpt-oss-120b", 990, slices.Repeat([]string{"0 00"}, 990), ""},
		{"not for 989", Test07, "gpt-oss-120b", 990, slices.Repeat([]string{"0 00"}, 989), "TEST07: 989 responses were judged, by the rules 990"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fakeRun{scenario: "Offline", metric: 100, responses: c.responses}
			ref, acc, run := f, f, f
			acc.mode, run.extra = "AccuracyOnly", `, "token_data" : "05000000", "token_count" : 2`
			run.settings = settingsOf(c.test, nil)
			if delete(run.settings, key); c.target != nil {
				run.settings[key] = c.target
			}
			v, err := Verify(t.Context(), c.test, Logs{Performance: ref.write(t), Accuracy: acc.write(t), Audit: run.write(t)}, Options{
				Model: c.model, Score: "echo \"'exact_match': 70\" {accuracy_log}",
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(v.Caveats, "\n"); got != c.want || !v.Passed {
				t.Errorf("passed %v %v, caveats %q, want %q", v.Passed, v.Findings, got, c.want)
			}
		})
	}
}

func TestARunThatNobodyNamesIsOfTheModelOfItsResults(t *testing.T) {
	l := pair01(t, []string{"0 00"}, []string{"0 00"})
	text := fakeRun{scenario: "Offline", metric: 100, settings: settingsOf(Test01, map[string]any{"effective_accuracy_log_sampling_target": 300})}
	writeText(t, l.Audit, "mlperf_log_detail.txt", text.detail())
	for model, want := range map[string]int{"retinanet": 0, "bert": 1, report.NotKnown: 0} {
		with(t, l.Audit, report.Results{Model: model})
		v, err := Verify(t.Context(), Test01, l, Options{})
		if err != nil || len(v.Caveats) != want {
			t.Errorf("%s: %v, %v, want %d caveats", model, v, err, want)
		}
	}
}

// A result of nothing, or of no end, is one that every rate and no rate agrees with.
func TestResultsThatNothingCanBeComparedWithAreErrors(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name, test, rules, scenario string
		ref, run                    float64
		want                        string
	}{
		{"a rate of 0", Test01, "", "Offline", 0, 100, "result_samples_per_second is 0, want a number above 0"},
		{"two rates of 0", Test01, "", "Offline", 0, 0, "result_samples_per_second is 0, want a number above 0"},
		{"a rate below 0", Test01, "", "Server", 100, -100, "result_completed_samples_per_sec is -100, want a number above 0"},
		{"no latency at all", Test01, "", "SingleStream", 1e6, 0, "early_stopping_latency_ss is 0, want a number above 0"},
		{"a latency of 0 in the summary", Test04, "", "SingleStream", 0, 1e6, "the estimate of the 90th percentile is 0, want a number above 0"},
		{"a latency of 0 in a stream of many", Test04, "", "MultiStream", 1e6, 0, "the estimate of the 99th percentile is 0, want a number above 0"},
		{"a rate of 0 in the summary", Test04, "", "Offline", 0, 1, "Samples per second is 0, want a number above 0"},
		{"with other seeds", Test05, "v4.1", "Server", 100, 0, "Completed samples per second is 0, want a number above 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ref := fakeRun{scenario: c.scenario, metric: c.ref, responses: []string{"0 00"}}
			acc, run := ref, ref
			acc.mode, run.metric, run.settings = "AccuracyOnly", c.run, settingsOf(c.test, nil)
			_, err := Verify(t.Context(), c.test, Logs{Performance: ref.write(t), Accuracy: acc.write(t), Audit: run.write(t)}, Options{Rules: c.rules})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	for value, want := range map[float64]string{1: "", math.SmallestNonzeroFloat64: "", inf: "log: rate is +Inf, want a number above 0", -inf: "log: rate is -Inf, want a number above 0"} {
		if err := usable("log", "rate", value); fmt.Sprint(err) != want && (err != nil || want != "") {
			t.Errorf("usable(%v) = %v, want %q", value, err, want)
		}
	}
	if usable("log", "rate", math.NaN()) == nil {
		t.Error("what is no number can be compared with")
	}
}

func TestAScoreWithoutEndIsNoNumber(t *testing.T) {
	run := fakeRun{scenario: "Offline", metric: 1, settings: settings01, responses: []string{"0 00"}}.write(t)
	for _, printed := range []string{"inf", "-Infinity", "NaN"} {
		_, err := Verify(t.Context(), Test07, Logs{Audit: run}, Options{Score: "echo score=" + printed + " {accuracy_log}", Pattern: `score=(\S+)`})
		if want := fmt.Sprintf("the command of the score prints %q, which is no number", printed); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %q", printed, err, want)
		}
	}
}
