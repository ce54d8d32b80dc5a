package compliance

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// said is what a language model answered: its tokens, those that were reported first, and
// how many it said there are.
type said struct {
	tokens, first []int32
	count         int
}

func hexOf(tokens []int32) string {
	var data []byte
	for _, token := range tokens {
		data = binary.LittleEndian.AppendUint32(data, uint32(token))
	}
	return hex.EncodeToString(data)
}

// log is the accuracy log of answers.
func logOf(answers []said) string {
	records := make([]string, len(answers))
	for i, a := range answers {
		records[i] = fmt.Sprintf(`{ "seq_id" : %d, "qsl_idx" : %d, "data" : "%s", "token_data" : "%s", "token_count" : %d }`, i, i, hexOf(a.tokens), hexOf(a.first), a.count)
	}
	return "[\n" + strings.Join(records, ",\n") + "\n]\n"
}

// The last column is what compliance/TEST06/run_verification.py writes of the three checks.
func TestAnswersAreJudgedAsTheReferencesScriptJudgesThem(t *testing.T) {
	for _, c := range []struct {
		name, scenario string
		answers        []said
		want           string
	}{
		{"a good answer", "Server", []said{{tokens: []int32{7, 8, 2}, first: []int32{7}, count: 3}}, "True True True"},
		{"several first tokens", "Server", []said{{tokens: []int32{7, 8, 2}, first: []int32{7, 8}, count: 3}}, "True True True"},
		{"a second first token that is another", "Server", []said{{tokens: []int32{7, 8, 2}, first: []int32{7, 9}, count: 3}}, "False True True"},
		{"another first token in the last answer", "Server", []said{{tokens: []int32{7, 8}, first: []int32{7}, count: 2}, {tokens: []int32{7, 8}, first: []int32{8}, count: 2}}, "False True True"},
		{"another first token that Offline does not look at", "Offline", []said{{tokens: []int32{7, 8}, first: []int32{9}, count: 2}}, "Skipped True True"},
		{"one end token", "Offline", []said{{tokens: []int32{7, 8, 2}, count: 3}}, "Skipped True True"},
		{"no end token", "Offline", []said{{tokens: []int32{7, 8}, count: 2}}, "Skipped True True"},
		{"two end tokens", "Offline", []said{{tokens: []int32{7, 2, 2}, count: 3}}, "Skipped False True"},
		{"three end tokens", "SingleStream", []said{{tokens: []int32{7, 2, 2, 2}, first: []int32{7}, count: 4}}, "True False True"},
		{"two end tokens apart", "Offline", []said{{tokens: []int32{7, 2, 8, 2}, count: 4}}, "Skipped True True"},
		{"two end tokens and nothing else", "Offline", []said{{tokens: []int32{2, 2}, count: 2}}, "Skipped True True"},
		{"three end tokens and nothing else", "Offline", []said{{tokens: []int32{2, 2, 2}, count: 3}}, "Skipped False True"},
		{"one end token and nothing else", "Offline", []said{{tokens: []int32{2}, count: 1}}, "Skipped True True"},
		{"end tokens in the second answer", "MultiStream", []said{{tokens: []int32{7}, first: []int32{7}, count: 1}, {tokens: []int32{7, 2, 2}, first: []int32{7}, count: 3}}, "True False True"},
		{"an answer of nothing", "Offline", []said{{tokens: []int32{}, count: 0}}, "Skipped True True"},
		{"a token below 0", "Offline", []said{{tokens: []int32{-2, -1}, count: 2}}, "Skipped True True"},
		{"one token more than counted", "Offline", []said{{tokens: []int32{7, 8}, count: 1}}, "Skipped True False"},
		{"one token less than counted", "Offline", []said{{tokens: []int32{7, 8}, count: 3}}, "Skipped True False"},
		{"a wrong count in the second answer", "Offline", []said{{tokens: []int32{7, 8}, count: 2}, {tokens: []int32{7, 8}, count: 0}}, "Skipped True False"},
		{"all wrong", "Server", []said{{tokens: []int32{7, 2, 2}, first: []int32{8}, count: 9}}, "False False False"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := fakeRun{scenario: c.scenario, metric: 1, settings: settings01}.write(t)
			writeText(t, dir, "mlperf_log_accuracy.json", logOf(c.answers))
			v, err := Verify(t.Context(), Test06, Logs{Audit: dir}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			outcomes := strings.Fields(c.want)
			want, end := "", "complete"
			for i, name := range tokenChecks {
				want += name + ": " + outcomes[i] + "\n"
				if outcomes[i] == "False" {
					end = "failed"
				}
			}
			want += "TEST06 verification " + end + "\n"
			if got := v.texts[accuracyFile]; got != want || v.Passed != (end == "complete") {
				t.Errorf("passed %v, %s is\n%s\nwant\n%s", v.Passed, accuracyFile, got, want)
			}
		})
	}
}

func TestAnEndTokenMayBeAnother(t *testing.T) {
	answers := []said{{tokens: []int32{7, 128001, 128001}, count: 3}}
	for eos, want := range map[int32]bool{0: true, 2: true, 128001: false} {
		dir := fakeRun{scenario: "Offline", metric: 1, settings: settings01}.write(t)
		writeText(t, dir, "mlperf_log_accuracy.json", logOf(answers))
		v, err := Verify(t.Context(), Test06, Logs{Audit: dir}, Options{EOS: eos})
		if err != nil || v.Passed != want || (len(v.Notes) > 0) != (eos == 0) {
			t.Errorf("end token %d: passed %v, notes %v, %v, want %v", eos, v.Passed, v.Notes, err, want)
		}
	}
}

func TestResponsesThatAreNoTokensAreErrors(t *testing.T) {
	for name, c := range map[string]struct{ test, record, want string }{
		"half a token":            {Test06, `"data" : "070000", "token_count" : 1`, "record 0: 3 bytes are not tokens of 4 bytes"},
		"no responses":            {Test06, "", "has no responses"},
		"no responses to measure": {Test09, "", "has no responses"},
	} {
		dir := fakeRun{scenario: "Server", metric: 1, settings: settings01}.write(t)
		log := "[\n]\n"
		if c.record != "" {
			log = `[{ "seq_id" : 0, "qsl_idx" : 0, ` + c.record + " }]\n"
		}
		writeText(t, dir, "mlperf_log_accuracy.json", log)
		if _, err := Verify(t.Context(), c.test, Logs{Audit: dir}, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// What the reference's script lets pass is noted, and what it cannot read is a fault of the check.
func TestFirstTokensThatSayLittleAreNoted(t *testing.T) {
	for _, c := range []struct{ name, record, outcome, says string }{
		{"none", `"data" : "07000000", "token_data" : "", "token_count" : 1`, "True", "1 answers report no first token, or more than they have, which the reference accepts"},
		{"more than the answer has", `"data" : "07000000", "token_data" : "0700000008000000", "token_count" : 1`, "True", "1 answers report no first token, or more"},
		{"no token_data", `"data" : "07000000", "token_count" : 1`, "False", "sample 5 (record 0 of "},
		{"half a token", `"data" : "07000000", "token_data" : "0700", "token_count" : 1`, "False", "token_data: 2 bytes are not tokens of 4 bytes"},
		{"one that is right", `"data" : "07000000", "token_data" : "07000000", "token_count" : 1`, "True", ""},
	} {
		dir := fakeRun{scenario: "Server", metric: 1, settings: settings01}.write(t)
		writeText(t, dir, "mlperf_log_accuracy.json", `[{ "seq_id" : 0, "qsl_idx" : 5, `+c.record+" }]\n")
		v, err := Verify(t.Context(), Test06, Logs{Audit: dir}, Options{EOS: 2})
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(append(v.Notes, v.Findings...), "\n")
		if !strings.Contains(v.texts[accuracyFile], "First token check pass: "+c.outcome+"\n") || !strings.Contains(all, c.says) || (all == "") != (c.says == "") {
			t.Errorf("%s: the text is\n%sand it says %q, want %s and %q", c.name, v.texts[accuracyFile], all, c.outcome, c.says)
		}
	}
}

func TestTokensHaveTheSizeOfTheirType(t *testing.T) {
	for dtype, data := range map[string]string{"": "07000000FFFFFFFF", "int32": "07000000FFFFFFFF", "int16": "0700FFFF", "int64": "0700000000000000FFFFFFFFFFFFFFFF"} {
		dir := fakeRun{scenario: "Offline", metric: 1, settings: settings01, responses: []string{"0 " + data}, extra: `, "token_count" : 2`}.write(t)
		if v, err := Verify(t.Context(), Test06, Logs{Audit: dir}, Options{DType: dtype, EOS: -1}); err != nil || !v.Passed {
			t.Errorf("tokens of type %q: %+v, %v, want two of them, of which one ends the answer", dtype, v, err)
		}
	}
	dir := fakeRun{scenario: "Offline", metric: 1, settings: settings01}.write(t)
	for _, dtype := range []string{"byte", "float32"} {
		var wrong *userinput.Error
		if _, err := Verify(t.Context(), Test06, Logs{Audit: dir}, Options{DType: dtype}); !errors.As(err, &wrong) || wrong.Field != "dtype" || !strings.Contains(err.Error(), "int16, int32 or int64") {
			t.Errorf("tokens of type %s: %v", dtype, err)
		}
	}
}

// 32 bits of 64 that are an end token are none.
func TestALargeTokenIsNotTheEndTokenOfItsLowBits(t *testing.T) {
	c := &tokenCheck{eos: []int32{2}}
	if n := c.endsWith([]int64{7, 2, 1<<32 + 2}); n != 0 {
		t.Errorf("%d end tokens, want none", n)
	}
	if n := c.endsWith([]int64{7, 2, 2}); n != 2 {
		t.Errorf("%d end tokens, want 2", n)
	}
}

func TestPartsOfTokensAreNotCountedAndNoted(t *testing.T) {
	dir := fakeRun{scenario: "Offline", metric: 1, settings: settings01, responses: []string{"0 0700000008", "1 070000000800000009", "2 07000000"}}.write(t)
	v, err := Verify(t.Context(), Test09, Logs{Audit: dir}, Options{LeastTokens: 1.3, MostTokens: 1.4})
	if err != nil || !v.Passed || len(v.Notes) != 1 || !strings.HasPrefix(v.Notes[0], "2 answers end in part of a token") {
		t.Errorf("%+v, %v, want a mean of 4/3 and a note about 2 answers", v, err)
	}
}

func TestRecommendationsHaveWholeNumbersInFront(t *testing.T) {
	numbers := func(list ...float64) []byte {
		var data []byte
		for _, x := range list {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(x)))
		}
		return data
	}
	for _, c := range []struct {
		name     string
		data     []byte
		labelled bool
		want     string
	}{
		{"time that is no number", numbers(math.NaN(), 1, 0.5), false, "the time is NaN, want a whole number"},
		{"query without end", numbers(1, math.Inf(1), 0.5), false, "the query is +Inf, want a whole number"},
		{"candidates without end", numbers(1, 2, 0.5, 1, 1, math.Inf(-1)), true, "the number of candidates is -Inf, want a whole number"},
		{"fewer than no candidates", numbers(1, 2, -1), true, "3 numbers for -1 candidates, want 0"},
		{"one candidate too many", numbers(1, 2, 0.5, 1, 1, 2), true, "6 numbers for 2 candidates, want 9"},
		{"a time and nothing else", numbers(1), false, "1 numbers, want a time, a query, and predictions"},
		{"half a number", []byte{1, 2, 3}, false, "3 bytes are not numbers of 4 bytes"},
	} {
		if _, err := parseRecommendation(c.data, c.labelled); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	r, err := parseRecommendation(numbers(3, 4, 0.5, 0.25, 1, 0, 2, 1, 2), true)
	if err != nil || r.time != 3 || r.query != 4 || fmt.Sprint(r.predictions, r.labels, r.weights) != "[0.5 0.25] [1 0] [2 1]" {
		t.Errorf("%+v, %v, want time 3, query 4, two predictions, labels and weights", r, err)
	}
}
