package compliance

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
)

// with has a folder of logs say what this program knows of the run.
func with(t *testing.T, dir string, r report.Results) string {
	t.Helper()
	r.Schema, r.Result = report.Schema, "VALID"
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// answerOf is the data of an answer with so many tokens.
func answerOf(tokens int) string {
	return hex.EncodeToString(binary.LittleEndian.AppendUint32(make([]byte, 0, 4*tokens), 7)) + strings.Repeat("08000000", tokens-1)
}

func TestLengthsHaveTheBoundsOfTheModel(t *testing.T) {
	for _, c := range []struct {
		name, given, made string // the model, as the user and as the results say
		tokens            int
		want              bool
		fails             string
	}{
		{"gpt-oss-120b's where nothing says the model", "", "", 1200, true, ""},
		{"gpt-oss-120b's", "", "gpt-oss-120b", 270, false, ""},
		{"e2e-rag-qna's, as the results say", "", "e2e-rag-qna", 270, true, ""},
		{"e2e-rag-qna's, as the user says", "e2e-rag-qna", "gpt-oss-120b", 1200, false, ""},
		{"a model without the test", "", "bert", 270, false, "no bounds of its own"},
		{"a model that nobody knows", "hal-9000", "", 270, false, `unknown model "hal-9000"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := fakeRun{scenario: "Offline", metric: 1, settings: settings01, responses: []string{"0 " + answerOf(c.tokens)}}.write(t)
			if c.made != "" {
				with(t, run, report.Results{Model: c.made})
			}
			v, err := Verify(t.Context(), Test09, Logs{Audit: run}, Options{Model: c.given})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("error %v, want %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if v.Passed != c.want {
				t.Errorf("passed = %v, want %v: %v", v.Passed, c.want, v.Facts)
			}
		})
	}
}

func TestEndTokensAreThoseOfTheRunsModel(t *testing.T) {
	for _, c := range []struct {
		name string
		made []int32
		eos  int32
		want string
	}{
		{"of the results", []int32{9, 7}, 0, "False"},
		{"the user's before those of the results", []int32{9, 7}, 2, "True"},
		{"2 where nobody says it", nil, 0, "True"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fakeRun{scenario: "Offline", metric: 1, settings: settings01, responses: []string{"4 " + tokens(5, 7, 9)}, extra: `, "token_count" : 3`}
			run := with(t, f.write(t), report.Results{Model: "llama3.1-8b", Input: report.Input{EndTokens: c.made}})
			v, err := Verify(t.Context(), Test06, Logs{Audit: run}, Options{EOS: c.eos})
			if err != nil {
				t.Fatal(err)
			}
			if want := "EOS check pass: " + c.want; !strings.Contains(v.texts[accuracyFile], want) {
				t.Errorf("the text is\n%s\nwant %s", v.texts[accuracyFile], want)
			}
			if guessed := strings.Contains(strings.Join(v.Notes, "\n"), "nothing says which token"); guessed != (c.made == nil && c.eos == 0) {
				t.Errorf("notes %q", v.Notes)
			}
		})
	}
}

func TestScoreInPerformanceModeMayBeTheModelsOwn(t *testing.T) {
	run := fakeRun{scenario: "Offline", metric: 1, settings: settings01, responses: []string{"0 00"}}.write(t)
	scored := 0.0
	o := Options{Scorer: func(_ context.Context, log string) (*report.Accuracy, error) {
		if !strings.HasPrefix(log, run) || scored < 0 {
			return nil, errors.New("no ground truth")
		}
		return &report.Accuracy{Metric: "exact_match", Value: scored, Unit: "%"}, nil
	}}
	for value, want := range map[float64]string{60.698: "TEST PASS", 60.69: "TEST FAIL"} {
		scored = value
		v, err := Verify(t.Context(), Test07, Logs{Audit: run}, o)
		if err != nil {
			t.Fatal(err)
		}
		if v.Passed != (want == "TEST PASS") || !strings.Contains(v.texts[accuracyFile], want) {
			t.Errorf("%v: passed = %v, %q, want %s", value, v.Passed, v.texts[accuracyFile], want)
		}
	}
	scored = -1
	if _, err := Verify(t.Context(), Test07, Logs{Audit: run}, o); err == nil || !strings.Contains(err.Error(), "no ground truth") {
		t.Errorf("a log that cannot be scored: %v", err)
	}
	o.Model = "bert"
	if _, err := Verify(t.Context(), Test07, Logs{Audit: run}, o); err == nil || !strings.Contains(err.Error(), "no least score of its own") {
		t.Errorf("a model without the test: %v", err)
	}
}
