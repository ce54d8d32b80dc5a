package compliance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestResponses(t *testing.T) {
	for _, c := range []struct {
		name, dtype   string
		accuracy, run []string
		want          bool
		says          string
	}{
		{"the same", "", []string{"0 00", "1 01"}, []string{"1 01", "1 01"}, true, "2 of 2 responses"},
		{"another class", "", []string{"0 00", "5 01"}, []string{"0 00", "5 02"}, false, "sample 5 (record 1"},
		{"an empty one", "", []string{"0 00"}, []string{"0 "}, false, "this run nothing"},
		{"another second byte", "", []string{"0 0001"}, []string{"0 0002"}, true, "1 responses differ from the accuracy run's behind"},
		{"another second byte of an int32", "int32", []string{"0 00010000"}, []string{"0 00020000"}, false, "answered 256, this run 512"},
		{"zeros of either sign", "float32", []string{"0 00000000"}, []string{"0 00000080"}, true, "1 of 1"},
		{"another float", "float32", []string{"0 00000000"}, []string{"0 0000c03f"}, false, "answered 0, this run 1.5"},
		{"int32 as float32", "float32", []string{"0 ffffffff", "1 ffffffff", "2 07000000"}, []string{"0 ffffffff", "1 feffffff", "2 07000000"}, false,
			"1 of these have the same bytes, which are no numbers as float32: the logs are of another type; with dtype int32 1 of 3 responses differ"},
		{"no sample in common", "", []string{"0 00"}, []string{"3 00"}, false, "no sample in common"},
		{"a sample that is missing", "", []string{"0 00"}, []string{"3 00", "0 00"}, true, "1 responses are of samples"},
		{"another response the second time", "", []string{"0 00"}, []string{"0 00", "0 01"}, false, "this run answered before 0, this run 1"},
		{"two responses of a sample that is missing", "", []string{"0 00"}, []string{"0 00", "3 05", "3 06"}, false, "this run answered before 5, this run 6"},
		{"the first of two of the accuracy run", "", []string{"0 00", "0 01"}, []string{"0 00"}, true, "1 of 1 responses"},
		{"the second of two of the accuracy run", "", []string{"0 00", "0 01"}, []string{"0 01"}, false, "the accuracy run answered 0, this run 1"},
	} {
		v := verified(t, test01, pair01(t, c.accuracy, c.run), Options{DType: c.dtype})
		all := strings.Join(slices.Concat(v.Facts, v.Findings, v.Notes), "\n")
		if v.Passed != c.want || !strings.Contains(all, c.says) {
			t.Errorf("%s: passed %v, want %v; %q should say %q", c.name, v.Passed, c.want, all, c.says)
		}
	}
	var known, wrong []string
	for i := range 9 {
		known, wrong = append(known, fmt.Sprintf("%d 0%d", i, i)), append(wrong, fmt.Sprintf("%d ff", i))
	}
	v := verified(t, test01, pair01(t, known, wrong), Options{})
	if n := len(v.Findings); n != 1+mostExamples+1 || v.Findings[0] != "9 of 9 responses differ from the accuracy run's" || v.Findings[n-1] != "and 4 more" {
		t.Errorf("findings %q", v.Findings)
	}
}

// Each metric of a model is compared, as submission_checker's compliance_check.py does, by the numbers that scripts print.
func TestScoresOfVaryingResponses(t *testing.T) {
	const fid, acc = "{'FID_SCORE': '%s', 'CLIP_SCORE': '%s'}", "accuracy=%s%%"
	const clip, f1 = "CLIP_SCORE of the same 7 samples: ", "F1 of the same 7 samples: "
	for _, c := range []struct {
		name, model, rules string
		format             string
		baseline, run      []any
		passes             bool
		says               string
	}{
		{"almost one percent less", "resnet50", "", acc, []any{"75"}, []any{"74.27"}, true, "acc of the same 7 samples: 75 in the accuracy run, 74.27 in the test; within 1 % passes"},
		{"more than one percent less", "resnet50", "", acc, []any{"75"}, []any{"74.25"}, false, "acc of the"},
		{"more than one percent more", "resnet50", "", acc, []any{"75"}, []any{"76.5"}, false, "acc of the"},
		{"the last of two lines", "resnet50", "", "accuracy=9%%\naccuracy=%s%%", []any{"75"}, []any{"75"}, true, "acc of the same 7 samples: 75 in"},
		{"two metrics within", "stable-diffusion-xl", "", fid, []any{"23.5", "31.7"}, []any{"23.9", "31.5"}, true, clip + "31.7 in the accuracy run, 31.5 in the test; within 1 % passes"},
		{"FID within two percent", "stable-diffusion-xl", "", fid, []any{"100", "31.7"}, []any{"98.1", "31.7"}, true, "98.1 in the test; within 2 % passes"},
		{"FID beyond two percent", "stable-diffusion-xl", "", fid, []any{"100", "31.7"}, []any{"98", "31.7"}, false, "FID_SCORE of the same 7 samples: 100 in the accuracy run, 98 in the test; within 2 % passes"},
		{"only CLIP differs, by the catalogue's name", "sdxl", "", fid, []any{"23.5", "31.7"}, []any{"23.5", "32.2"}, false, clip},
		{"one is not printed", "stable-diffusion-xl", "", "{'FID_SCORE': '%s', 'clip': '%s'}", []any{"23.5", "31.7"}, []any{"23.5", "31.7"}, false, clip + "0 in the accuracy run, 0 in the test"},
		{"one is not a number", "stable-diffusion-xl", "", fid, []any{"23.5", "3.1.7"}, []any{"23.5", "3.1.7"}, false, clip},
		{"a precise model", "bert-99.9", "v6.1", `{"exact_match": 80, "f1": %s}`, []any{"90.8"}, []any{"90.9"}, false, f1 + "90.8 in the accuracy run, 90.9 in the test; within 0.1 % passes"},
		{"a round before the table's", "bert-99", "v3.1", `{"exact_match": 80, "f1": %s}`, []any{"90.8"}, []any{"90.9"}, true, f1},
		{"an unknown model, by its score", "", "", "%s", []any{"x"}, []any{"x"}, true, "own of the same 7 samples: 1 in"},
	} {
		score := func(values []any) *report.Accuracy {
			return &report.Accuracy{Metric: "own", Value: 1, Samples: 7, Lines: append([]string{"loading"}, strings.Split(fmt.Sprintf(c.format, values...), "\n")...)}
		}
		v := verified(t, test01, pair01(t, []string{"0 00", "1 01"}, []string{"1 09"}), Options{Model: c.model, Rules: c.rules, Scorer: scoresOf(score(c.baseline), score(c.run))})
		if facts := strings.Join(v.Facts, "\n"); v.Passed != c.passes || !strings.Contains(facts, c.says) {
			t.Errorf("%s: passed %v, want %v; facts\n%s\nwant %q", c.name, v.Passed, c.passes, facts, c.says)
		}
		if !c.passes && (len(v.Findings) != 3 || v.Findings[0] != "1 of 1 responses differ from the accuracy run's" || !strings.Contains(v.Findings[1], "sample 1 ")) {
			t.Errorf("%s: the findings are %q, want how many responses differ, which, and the score", c.name, v.Findings)
		}
	}
	if m := (comparedMetric{"m", math.NaN(), 1, 1}); m.passes() {
		t.Error("NaN passes")
	}
}

// The scorer gets the samples of the test, and the user's folders stay as they are.
func TestScorer(t *testing.T) {
	l := pair01(t, []string{"0 00", "1 01", "1 02"}, []string{"1 09"})
	var logs, folders []string
	verified(t, test01, l, Options{Scorer: func(_ context.Context, log string) (*report.Accuracy, error) {
		text, err := os.ReadFile(log)
		logs, folders = append(logs, string(text)), append(folders, filepath.Dir(log))
		return &report.Accuracy{Value: 1}, errors.Join(err, os.WriteFile(filepath.Join(filepath.Dir(log), "score.txt"), nil, 0o644))
	}})
	if want := "[\n{ \"seq_id\" : 1, \"qsl_idx\" : 1, \"data\" : \"01\" },\n{ \"seq_id\" : 2, \"qsl_idx\" : 1, \"data\" : \"02\" }\n]\n"; len(logs) != 2 || logs[0] != want || !strings.Contains(logs[1], `"09"`) {
		t.Errorf("the logs are %q, want %q, and that of the test", logs, want)
	}
	for _, dir := range []string{l.Performance, l.Accuracy, l.Audit} {
		if names := namesIn(t, dir); len(names) != 3 {
			t.Errorf("%s has %v", dir, names)
		}
	}
	for _, folder := range folders {
		if _, err := os.Stat(folder); err == nil {
			t.Errorf("%s is left", folder)
		}
	}
	broken := errors.New("no truth")
	for n, want := range []string{"accuracy run … no truth", "responses … no truth"} {
		calls := 0
		_, err := Verify(t.Context(), test01, l, Options{Scorer: func(context.Context, string) (*report.Accuracy, error) {
			if calls++; calls > n {
				return nil, broken
			}
			return &report.Accuracy{Value: 1}, nil
		}})
		if !errors.Is(err, broken) || !testenv.Names(err, want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// What the reference's script accepts is noted, and what it cannot read is a fault of the check.
func TestFirstTokens(t *testing.T) {
	for _, c := range []struct{ name, record, outcome, says string }{
		{"none", `"data" : "07000000", "token_data" : "", "token_count" : 1`, "True", "1 answers report no first token, or more than they have, which the reference accepts"},
		{"more than the answer has", `"data" : "07000000", "token_data" : "0700000008000000", "token_count" : 1`, "True", "1 answers report no first token, or more"},
		{"no token_data", `"data" : "07000000", "token_count" : 1`, "False", "sample 5 (record 0 of "},
		{"half a token", `"data" : "07000000", "token_data" : "0700", "token_count" : 1`, "False", "token_data: 2 bytes are not tokens of 4 bytes"},
		{"another one", `"data" : "07000000", "token_data" : "08000000", "token_count" : 1`, "False", "first token 0 was reported as 8, the answer has 7"},
		{"the right one", `"data" : "07000000", "token_data" : "07000000", "token_count" : 1`, "True", ""},
	} {
		dir := fakeRun{scenario: "Server", metric: 1, settings: settings01}.write(t)
		writeText(t, dir, "mlperf_log_accuracy.json", `[{ "seq_id" : 0, "qsl_idx" : 5, `+c.record+" }]\n")
		v := verified(t, test06, Logs{Audit: dir}, Options{EOS: 2})
		all := strings.Join(append(v.Notes, v.Findings...), "\n")
		if !strings.Contains(v.texts[accuracyFile], "First token check pass: "+c.outcome+"\n") || !strings.Contains(all, c.says) || (all == "") != (c.says == "") {
			t.Errorf("%s: the text is\n%sand it says %q, want %s and %q", c.name, v.texts[accuracyFile], all, c.outcome, c.says)
		}
	}
}

// A log of another type than was taken is named where the numbers of tokens show it.
func TestTokensOfAnotherType(t *testing.T) {
	const hint = "the log is of another type: as %s no answer has as many tokens as its token_count, as %s all have; give dtype %s"
	for _, c := range []struct{ name, dtype, records, taken, want string }{
		{"int64", "", `"data" : "07000000000000000800000000000000", "token_count" : 2`, "int32", "int64"},
		{"int16", "", `"data" : "07000800", "token_count" : 2`, "int32", "int16"},
		{"int32", "int16", `"data" : "0700000008000000", "token_count" : 2`, "int16", "int32"},
		{"int32 as it is", "int32", `"data" : "0700000008000000", "token_count" : 2`, "", ""},
		{"a wrong count", "", `"data" : "0700000008000000", "token_count" : 3`, "", ""},
		{"no count", "", `"data" : "0700000008000000"`, "", ""},
	} {
		dir := fakeRun{scenario: "Offline", metric: 1, settings: settings01}.write(t)
		writeText(t, dir, "mlperf_log_accuracy.json", `[{ "seq_id" : 0, "qsl_idx" : 5, `+c.records+" }]\n")
		v := verified(t, test06, Logs{Audit: dir}, Options{EOS: 2, DType: c.dtype})
		all := strings.Join(v.Findings, "\n")
		if got := strings.Contains(all, fmt.Sprintf(hint, c.taken, c.want, c.want)); got != (c.want != "") || !got && strings.Contains(all, "another type") {
			t.Errorf("%s: findings %q", c.name, all)
		}
	}
}

func TestEndTokens(t *testing.T) {
	for _, c := range []struct {
		name   string
		model  []int32
		eos    int32
		passes bool
		noted  bool
	}{
		{"the model's", []int32{9, 7}, 0, false, false},
		{"a given one", []int32{9, 7}, 2, true, false},
		{"an unknown one", nil, 0, true, true},
		{"a given one of an unknown model", nil, 9, false, false},
	} {
		run := fakeRun{scenario: "Offline", metric: 1, settings: settings01, responses: []string{"4 " + tokens(5, 9, 9)}, extra: `, "token_count" : 3`}.write(t)
		with(t, run, report.Results{Model: "llama3.1-8b", Input: report.Input{EndTokens: c.model}})
		v := verified(t, test06, Logs{Audit: run}, Options{EOS: c.eos})
		if noted := strings.Contains(strings.Join(v.Notes, "\n"), "the token that ends answers is unknown: 2"); v.Passed != c.passes || noted != c.noted {
			t.Errorf("%s: passed %v, notes %q, want %v and a note %v", c.name, v.Passed, v.Notes, c.passes, c.noted)
		}
	}
}

func TestScoreInPerformanceMode(t *testing.T) {
	run := filepath.Join(t.TempDir(), "a $(false) 'b") // the shell gets it as one argument
	if err := os.Mkdir(run, 0o755); err != nil {
		t.Fatal(err)
	}
	fakeRun{scenario: "Offline", metric: 1, settings: settings01, responses: []string{"0 00"}}.rewrite(t, run)
	for _, c := range []struct {
		name, command, pattern string
		least                  float64
		want                   bool
		fails                  string
	}{
		{"at gpt-oss-120b's bound", `echo "{'exact_match': 60.698}" && test -s {accuracy_log}`, "", 0, true, ""},
		{"below it", `echo "'exact_match': 60.6; log {accuracy_log}"`, "", 0, false, ""},
		{"another pattern and bound", `echo score=3 {accuracy_log}`, `score=(\d+)`, 3, true, ""},
		{"the first number counts", `printf "'exact_match': 70\n'exact_match': 10\n" {accuracy_log}`, "", 0, true, ""},
		{"no number", `echo nothing {accuracy_log}`, "", 0, false, "prints no"},
		{"a command that fails", `echo broken; false {accuracy_log}`, "", 0, false, `exit status 1; it printed "broken"`},
		{"a command without the log", `echo 'exact_match': 70`, "", 0, false, "{accuracy_log} for the log"},
		{"dots", `echo "'exact_match': 1.2.3" {accuracy_log}`, "", 0, false, `prints "1.2.3", expected a number`},
		{"infinity", `echo score=-Infinity {accuracy_log}`, `score=(\S+)`, 0, false, `prints "-Infinity", expected a number`},
	} {
		v, err := Verify(t.Context(), test07, Logs{Audit: run}, Options{Score: c.command, Pattern: c.pattern, LeastScore: c.least})
		switch {
		case c.fails != "":
			if !testenv.Names(err, c.fails) {
				t.Errorf("%s: error %v, want %q", c.name, err, c.fails)
			}
		case err != nil || v.Passed != c.want || strings.Contains(v.texts[accuracyFile], "TEST PASS") != c.want:
			t.Errorf("%s: %+v, %v, want passed %v", c.name, v, err, c.want)
		}
	}
	for score, want := range map[float64]bool{60.698: true, 60.69: false} {
		v := verified(t, test07, Logs{Audit: run}, Options{Scorer: scoresOf(&report.Accuracy{Metric: "exact_match", Value: score, Unit: "%"})})
		if v.Passed != want || !strings.HasPrefix(v.texts[accuracyFile], fmt.Sprintf("exact_match = %v %%\n", score)) {
			t.Errorf("a scorer's %v: %+v, want passed %v", score, v, want)
		}
	}
	_, err := Verify(t.Context(), test07, Logs{Audit: run}, Options{Model: "bert"})
	if err == nil || !strings.Contains(err.Error(), "TEST07") {
		t.Errorf("a model without the test: %v", err)
	}
}

func TestEntropy(t *testing.T) {
	known := []string{"0 " + numbers(1, 7, 0.8, 0.3, 1, 0, 1, 2, 2), "1 " + numbers(1, 8, 0.5, 1, 1, 1)}
	for _, c := range []struct {
		name      string
		tolerance float64
		run       []string
		want      bool
		says      string
	}{
		{"within 0.1 %", 0, []string{"0 " + numbers(1, 7, 0.8001, 0.3)}, true, "1 of 1"},
		{"more than 0.1 %", 0, []string{"0 " + numbers(1, 7, 0.8, 0.301)}, false, "time 1, query 7 (record 0"},
		{"within a wider bound", 0.01, []string{"0 " + numbers(1, 7, 0.8, 0.301)}, true, "1 of 1"},
		{"an unknown query", 0, []string{"0 " + numbers(1, 7, 0.8, 0.3), "5 " + numbers(2, 7, 0.8)}, false, "time 2, query 7"},
		{"nothing", 0, nil, false, "0 match"},
	} {
		v := verified(t, test08, pair01(t, known, c.run), Options{Tolerance: c.tolerance})
		all := strings.Join(append(v.Facts, v.Findings...), "\n")
		if v.Passed != c.want || !strings.Contains(all, c.says) {
			t.Errorf("%s: passed %v, want %v; %q should say %q", c.name, v.Passed, c.want, all, c.says)
		}
	}
	nan := math.NaN() // the reference's script passes one NaN
	for pair, want := range map[[2]float64]bool{{nan, nan}: true, {0.5, nan}: false, {nan, 0.5}: false, {0, 0}: true, {0, 0.1}: false, {1, 1.001}: true, {1, 1.0011}: false} {
		if got := sameEntropy(pair[0], pair[1], 0.001); got != want {
			t.Errorf("sameEntropy(%v) = %v, want %v", pair, got, want)
		}
	}
}

// The logs are those of the score of DLRMv3 (package accuracy); run_verification.py passed the first run of performance, whose predictions are
// equal, and printed the entropies of the second one, whose predictions are 0.4 % higher.
func TestEntropiesAreThoseOfTheScript(t *testing.T) {
	records := func(path string) (list []string) {
		for _, r := range testenv.JSON[[]struct {
			Index int    `json:"qsl_idx"`
			Data  string `json:"data"`
		}](t, path) {
			list = append(list, fmt.Sprint(r.Index, " ", r.Data))
		}
		return list
	}
	known := records("../../accuracy/testdata/logs/dlrmv3/log_a.json.gz")
	if v := verified(t, test08, pair01(t, known, records("testdata/dlrmv3/test08_a.json.gz")), Options{}); !v.Passed || !strings.Contains(strings.Join(v.Facts, ""), "15 of 15 recommendations") {
		t.Errorf("equal predictions: %+v", v)
	}
	v := verified(t, test08, pair01(t, known, records("testdata/dlrmv3/test08_c.json.gz")), Options{})
	all := strings.Join(append(v.Facts, v.Findings...), "\n")
	if v.Passed || !strings.Contains(all, "8 of 15 recommendations") {
		t.Errorf("other predictions: %s", all)
	}
	found := 0
	for line := range strings.Lines(string(testenv.Read(t, "testdata/dlrmv3/test08_c_score.txt"))) {
		var time, query int
		var a, b float64
		if n, _ := fmt.Sscanf(strings.TrimSpace(line), "NE mismatch at (%d, %d): acc_ne=%f, perf_ne=%f,", &time, &query, &a, &b); n < 4 {
			continue
		}
		if found++; found <= mostExamples && !strings.Contains(all, fmt.Sprintf("time %d, query %d (record", time, query)) || found <= mostExamples && !strings.Contains(all, fmt.Sprintf("entropy %.6f, the accuracy run's %.6f", b, a)) {
			t.Errorf("the script says %s, and not %s", strings.TrimSpace(line), all)
		}
	}
	if found != 7 {
		t.Errorf("the script found %d, want 7", found)
	}
}

func TestMeanLengthOfAnswers(t *testing.T) {
	for _, c := range []struct {
		name, given, model string // given by the user, or in the results
		tokens             int
		o                  Options
		want               bool
		fails              string
	}{
		{"gpt-oss-120b's bounds of unknown logs", "", "", 1200, Options{}, true, ""},
		{"gpt-oss-120b's bounds", "", "gpt-oss-120b", 270, Options{}, false, ""},
		{"e2e-rag-qna's bounds by the results", "", "e2e-rag-qna", 270, Options{}, true, ""},
		{"e2e-rag-qna's bounds by the user", "e2e-rag-qna", "gpt-oss-120b", 1200, Options{}, false, ""},
		{"the given least", "", "", 5, Options{LeastTokens: 5}, true, ""},
		{"below the given least", "", "", 4, Options{LeastTokens: 5}, false, ""},
		{"the given most", "", "", 2000, Options{MostTokens: 2000}, true, ""},
		{"above the given most", "", "", 2001, Options{MostTokens: 2000}, false, ""},
		{"both given of an unknown model", "hal-9000", "", 2, Options{LeastTokens: 1, MostTokens: 2}, true, ""},
		{"the given most of a model without the test", "bert", "", 1, Options{MostTokens: 5}, true, ""},
		{"the given most below the model's least", "", "", 1, Options{MostTokens: 5}, false, "at most the greatest mean length, 5"},
		{"the given least of a model without the test", "bert", "", 1, Options{LeastTokens: 5}, false, "has no bounds for this model"},
		{"one given of an unknown model", "hal-9000", "", 1, Options{LeastTokens: 5}, false, `unknown model "hal-9000"`},
	} {
		run := auditOf(t, "0 "+answerOf(c.tokens))
		if c.model != "" {
			with(t, run, report.Results{Model: c.model})
		}
		c.o.Model = c.given
		v, err := Verify(t.Context(), test09, Logs{Audit: run}, c.o)
		switch {
		case c.fails != "":
			if !testenv.Names(err, c.fails) {
				t.Errorf("%s: error %v, want %q", c.name, err, c.fails)
			}
		case err != nil || v.Passed != c.want:
			t.Errorf("%s: %+v, %v, want passed %v", c.name, v, err, c.want)
		}
	}
	v := verified(t, test09, Logs{Audit: auditOf(t, "0 0700000008", "1 070000000800000009", "2 07000000")}, Options{LeastTokens: 1.3, MostTokens: 1.4})
	if !v.Passed || len(v.Notes) != 1 || !testenv.Tells(v.Notes[0], "2 answers … part of a token") {
		t.Errorf("%+v, want a mean of 4/3 and a note about 2 answers", v)
	}
}

func TestResponsesThatCannotBeRead(t *testing.T) {
	known := "0 " + numbers(1, 7, 0.8, 0.3, 1, 0, 1, 2, 2)
	for _, c := range []struct{ test, dtype, accuracy, run, want string }{
		{test01, "int32", "0 0000", "0 00000000", "record 0: the response has 2 bytes, which are not numbers of type int32: expected dtype byte"},
		{test01, "int64", "0 00000000", "0 00", "which are not numbers of type int64: expected dtype byte, dtype float32 or dtype int32"},
		{test01, "int64", "0 0000000000000000", "0 00", "record 0: the response has 1 bytes, which are not numbers of type int64"},
		{test01, "int16", "0 00", "0 00", `dtype is "int16": must be byte, float32, int32 or int64`},
		{test06, "", "", "0 070000", "record 0: 3 bytes are not tokens of 4 bytes"},
		{test06, "byte", "", "0 07", "int16, int32 or int64"},
		{test06, "", "", "", "has no responses"},
		{test09, "", "", "", "has no responses"},
		{test08, "", known, "0 " + numbers(1, 7, 0.8), "record 0: 1 predictions for time 1, query 7, the accuracy log has 2"},
		{test08, "", known, "0 " + numbers(1), "record 0: 1 numbers, expected a time, a query, and predictions"},
		{test08, "", known, "0 0000", "record 0: 2 bytes are not numbers of 4 bytes"},
		{test08, "", known, "0 " + numbers(float32(math.NaN()), 7, 0.8), "the time is NaN: must be a whole number"},
		{test08, "", known, "0 " + numbers(1, 1e30, 0.8), "the query is 1e+30: must be a whole number"},
		{test08, "", "0 " + numbers(1, 7, 0.8, 1, 1, 3), "", "record 0: 6 numbers for 3 candidates, expected 12"},
		{test08, "", "0 " + numbers(1, 7, -1), "", "3 numbers for -1 candidates, expected 0"},
		{test08, "", "0 " + numbers(1, 7, float32(math.Inf(-1))), "", "the number of candidates is -Inf: must be a whole number"},
	} {
		list := func(response string) []string {
			return slices.DeleteFunc([]string{response}, func(s string) bool { return s == "" })
		}
		if v, err := Verify(t.Context(), c.test, pair01(t, list(c.accuracy), list(c.run)), Options{DType: c.dtype}); !testenv.Names(err, c.want) {
			t.Errorf("%s of %s: %+v, %v, want %q", c.test, c.run, v, err, c.want)
		}
	}
	var wrong *userinput.Error
	if _, err := Verify(t.Context(), test06, Logs{Audit: auditOf(t, "0 07")}, Options{DType: "float32"}); !errors.As(err, &wrong) || wrong.Field != "dtype" {
		t.Errorf("tokens of type float32: %v", err)
	}
}

func TestCustomData(t *testing.T) {
	for _, c := range []struct {
		name             string
		official, custom []string
		metric           float64
		want             bool
		says             string
	}{
		{"other answers", []string{"0 00", "1 01"}, []string{"0 05", "1 01"}, 105, true, "1 of 2 responses differ"},
		{"the same answers", []string{"0 00", "1 01"}, []string{"0 00", "1 01"}, 100, false, "all 2 responses on the changed data are those"},
		{"much faster", []string{"0 00"}, []string{"0 05"}, 200, false, "+100.0 %"},
	} {
		ref := older(fakeRun{scenario: "Offline", metric: 100}, "v0.5")
		acc := fakeRun{scenario: "Offline", mode: "AccuracyOnly", responses: c.official}
		other := acc
		other.responses = c.custom
		run := older(fakeRun{scenario: "Offline", metric: c.metric}, "v0.5")
		dir := t.TempDir()
		for folder, made := range map[string]string{"performance/run_1": run.write(t), "accuracy": other.write(t)} {
			if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(made)); err != nil {
				t.Fatal(err)
			}
		}
		v := verified(t, test03, Logs{Performance: ref.write(t), Accuracy: acc.write(t), Audit: dir}, Options{Rules: "v0.5"})
		if all := strings.Join(append(v.Facts, v.Findings...), "\n"); v.Passed != c.want || !strings.Contains(all, c.says) {
			t.Errorf("%s: passed %v, want %v; %q should say %q", c.name, v.Passed, c.want, all, c.says)
		}
		if err := v.Write(t.TempDir(), false); err != nil {
			t.Error(err)
		}
	}
}

func TestDataAreChanged(t *testing.T) {
	picture := image.NewRGBA(image.Rect(0, 0, 16, 8))
	for i := range 16 * 8 {
		picture.Set(i%16, i/16, color.RGBA{200, 100, 50, 255})
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, picture, nil); err != nil {
		t.Fatal(err)
	}
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "data")
	for name, text := range map[string]string{"val/a.JPEG": b.String(), "val_map.txt": "val/a.JPEG 5\n", "newstest2014.tok.bpe.32000.en": "A dog is here .\nNo\n12 34\n", "newstest2014.tok.bpe.32000.de": "Ein Hund ist da .\n"} {
		if err := fileio.CopyIn(from, name, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := changeData(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(to, "val/a.JPEG"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if r, g, blue, _ := out.At(5, 5).RGBA(); blue>>8 > 8 || r>>8 < 190 || g>>8 < 90 {
		t.Errorf("the image's colour is %d %d %d, want about 200 100 0", r>>8, g>>8, blue>>8)
	}
	for name, want := range map[string]string{"val_map.txt": "val/a.JPEG 5\n", "newstest2014.tok.bpe.32000.en": "dog A was here .\nNo\n84 49\n", "newstest2014.tok.bpe.32000.de": "Ein Hund ist da .\n"} {
		if text, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v, want %q", name, text, err, want)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := changeData(cancelled, from, to+"2"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := changeData(t.Context(), t.TempDir(), to+"2"); !testenv.Names(err, "JPEG … sentences") {
		t.Errorf("an empty data set: %v", err)
	}
	if err := os.WriteFile(filepath.Join(from, "val/b.JPEG"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := changeData(t.Context(), from, to+"2"); err == nil || !strings.Contains(err.Error(), "b.JPEG") {
		t.Errorf("a text called b.JPEG: %v", err)
	}
}
