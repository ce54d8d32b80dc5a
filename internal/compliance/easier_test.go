package compliance

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
)

func TestBoundsThatAreEasierThanTheRulesAreMarked(t *testing.T) {
	for _, c := range []struct {
		name, test, model string
		o                 Options
		want              string
	}{
		{"another end token", Test06, "llama3.1-8b", Options{EOS: 5}, "TEST06: answers of the model end with [9 7], and 5 was looked for"},
		{"one of the model's end tokens", Test06, "llama3.1-8b", Options{EOS: 7}, ""},
		{"no end token given", Test06, "llama3.1-8b", Options{}, ""},
		{"an end token where nobody knows better", Test06, "", Options{EOS: 5}, ""},
		{"a lower score", Test07, "gpt-oss-120b", Options{LeastScore: 60}, "TEST07: a score of 60 was enough, by the rules 60.698"},
		{"a lower score of logs that do not say their model", Test07, "", Options{LeastScore: 1}, "TEST07: a score of 1 was enough, by the rules 60.698"},
		{"the rules' score", Test07, "gpt-oss-120b", Options{LeastScore: 60.698}, ""},
		{"a score where the rules have none", Test07, "bert", Options{LeastScore: 1}, ""},
		{"a wide tolerance", Test08, "", Options{Tolerance: 0.5}, "TEST08: entropies could differ by 50 %, by the rules 0.1 %"},
		{"a narrow tolerance", Test08, "", Options{Tolerance: 0.0001}, ""},
		{"shorter answers", Test09, "gpt-oss-120b", Options{LeastTokens: 1}, "TEST09: the bounds of lengths were wider than the rules', 1150.38 to 1406.02 tokens"},
		{"longer answers", Test09, "gpt-oss-120b", Options{MostTokens: 1407}, "TEST09: the bounds of lengths were wider than the rules', 1150.38 to 1406.02 tokens"},
		{"narrower bounds", Test09, "gpt-oss-120b", Options{LeastTokens: 1151, MostTokens: 1406}, ""},
		{"lengths where the rules have none", Test09, "bert", Options{LeastTokens: 1, MostTokens: 2}, ""},
		{"a model that nobody knows", Test09, "hal-9000", Options{LeastTokens: 1, MostTokens: 2}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.model != "" {
				with(t, dir, report.Results{Model: c.model, Input: report.Input{EndTokens: []int32{9, 7}}})
			}
			v := &Verdict{Test: c.test}
			if err := v.easier(Logs{Audit: dir}, c.o); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(v.Caveats, "\n"); got != c.want {
				t.Errorf("caveats %q, want %q", got, c.want)
			}
		})
	}
}

func TestAVerdictKeepsTheMarkBesideThoseOfItsRuns(t *testing.T) {
	acc := fakeRun{scenario: "Offline", mode: "AccuracyOnly", responses: []string{"0 " + response(1, 7, 0.8, 1, 1, 1)}}.write(t)
	run := fakeRun{scenario: "Offline", metric: 1, settings: settings01, responses: []string{"0 " + response(1, 7, 0.8)}}.write(t)
	with(t, run, report.Results{Model: "dlrm-v3", Caveats: []string{"built-in model"}})
	v, err := Verify(t.Context(), Test08, Logs{Accuracy: acc, Audit: run}, Options{Tolerance: 0.01})
	if err != nil || len(v.Caveats) != 2 || !strings.HasPrefix(v.Caveats[0], "TEST08: entropies could") || v.Caveats[1] != "built-in model" {
		t.Errorf("%+v, %v, want the tolerance and the model marked", v, err)
	}
}
