package compliance

import (
	"slices"
	"strings"
	"testing"
)

// What the official checker and people read of a test, word by word.
func TestTextsOfVerdicts(t *testing.T) {
	recommended := []string{"0 " + response(1, 7, 0.8, 1, 1, 1)}
	for _, c := range []struct {
		name, test     string
		accuracy, run  []string
		o              Options
		file           string
		text           string
		facts, notes   []string
		causesOfFaults bool
	}{
		{"the same responses", Test01, []string{"0 00"}, []string{"0 00"}, Options{}, accuracyFile,
			"TEST01: responses\nnum_acc_log_entries = 1\nnum_acc_log_duplicate_keys = 0\nnum_acc_log_data_mismatch = 0\nnum_perf_log_entries = 1\nnum_perf_log_qsl_idx_match = 1\n" +
				"num_perf_log_data_mismatch = 0\nnum_missing_qsl_idxs = 0\nTEST PASS\n\n",
			[]string{"1 of 1 responses are those of the accuracy run"}, nil, false},
		{"a response of another sample", Test01, []string{"0 00"}, []string{"0 00", "4 00"}, Options{}, accuracyFile,
			"TEST01: responses\nnum_acc_log_entries = 1\nnum_acc_log_duplicate_keys = 0\nnum_acc_log_data_mismatch = 0\nnum_perf_log_entries = 2\nnum_perf_log_qsl_idx_match = 1\n" +
				"num_perf_log_data_mismatch = 0\nnum_missing_qsl_idxs = 1\nTEST PASS\n\n",
			[]string{"1 of 2 responses are those of the accuracy run"}, []string{"1 responses are of samples that the accuracy log does not have, which the reference accepts"}, false},
		{"the performance of TEST01", Test01, []string{"0 00"}, []string{"0 00"}, Options{}, performanceFile,
			"TEST01: performance\nReference score = 100.0\nTest score = 100.0\nTEST PASS\n", nil, nil, false},
		{"the same entropy", Test08, recommended, []string{"0 " + response(1, 7, 0.8)}, Options{}, accuracyFile,
			"TEST08: entropy\nnum_acc_log_entries = 1\nnum_perf_log_entries = 1\nnum_matched = 1\nnum_unmatched = 0\nnum_ne_mismatch = 0\ntolerance = 0.1 %\nTEST PASS\n",
			[]string{"1 of 1 recommendations have the entropy of the accuracy run's, within 0.1 %"}, nil, false},
		{"another entropy", Test08, recommended, []string{"0 " + response(1, 7, 0.7), "0 " + response(1, 9, 0.8)}, Options{Tolerance: 0.02}, accuracyFile,
			"TEST08: entropy\nnum_acc_log_entries = 1\nnum_perf_log_entries = 2\nnum_matched = 1\nnum_unmatched = 1\nnum_ne_mismatch = 1\ntolerance = 2 %\nTEST FAIL\n",
			[]string{"0 of 2 recommendations have the entropy of the accuracy run's, within 2 %"}, nil, true},
		{"a score", Test07, nil, []string{"0 00"}, Options{Score: "echo \"'exact_match': 60.7\" {accuracy_log}"}, accuracyFile,
			"'exact_match': 60.7 LOG\nTEST07: score in performance mode\nscore = 60.7\nleast score = 60.698\nTEST PASS\n",
			[]string{"the score in performance mode is 60.7; 60.698 or more passes"}, nil, false},
		{"a length", Test09, nil, []string{"0 " + tokens(1, 2), "1 " + tokens(1, 2, 3)}, Options{LeastTokens: 2, MostTokens: 3}, "verify_output_len.txt",
			"TEST09: length of answers\nmean = 2.5 of 2 answers\nTEST PASS\n", []string{"answers have 2.50 tokens on average; 2 to 3 passes"}, nil, false},
		{"too long", Test09, nil, []string{"0 " + tokens(1, 2), "1 " + tokens(1, 2, 3)}, Options{LeastTokens: 1, MostTokens: 2}, "verify_output_len.txt",
			"TEST09: length of answers\nmean = 2.5 of 2 answers\nTEST FAIL\n", []string{"answers have 2.50 tokens on average; 1 to 2 passes"}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fakeRun{scenario: "Offline", metric: 100}
			ref, acc, run := f, f, f
			acc.mode, acc.responses, run.responses, run.settings = "AccuracyOnly", c.accuracy, c.run, settings01
			l := Logs{Performance: ref.write(t), Accuracy: acc.write(t), Audit: run.write(t)}
			v, err := Verify(t.Context(), c.test, l, c.o)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(v.texts[c.file], l.Audit+"/mlperf_log_accuracy.json", "LOG"); got != c.text {
				t.Errorf("%s is\n%s\nwant\n%s", c.file, got, c.text)
			}
			for _, fact := range c.facts {
				if !slices.Contains(v.Facts, fact) {
					t.Errorf("facts %q, want %q", v.Facts, fact)
				}
			}
			if !slices.Equal(v.Notes, c.notes) {
				t.Errorf("notes %q, want %q", v.Notes, c.notes)
			}
			if passes := strings.Contains(c.text, "TEST PASS"); v.Passed != passes || (len(v.Findings) > 0) == passes || (len(v.Causes) > 0) != c.causesOfFaults {
				t.Errorf("passed %v, findings %q, causes %q", v.Passed, v.Findings, v.Causes)
			}
		})
	}
}

// Of a run that is INVALID nothing is compared, and the verdict is there all the same.
func TestRunsThatAreInvalidHaveAVerdictInEveryTest(t *testing.T) {
	for _, test := range []string{Test01, Test04, Test05} {
		f := fakeRun{scenario: "Offline", metric: 100, responses: []string{"0 00"}}
		acc, run := f, f
		acc.mode, run.invalid, run.settings = "AccuracyOnly", true, settingsOf(test, nil)
		v, err := Verify(t.Context(), test, Logs{Performance: f.write(t), Accuracy: acc.write(t), Audit: run.write(t)}, Options{Rules: map[string]string{Test05: "v4.1"}[test]})
		if err != nil || v.Passed || v.texts[performanceFile] != "TEST FAIL\n" {
			t.Errorf("%s: %+v, %v, want that %s says so", test, v, err, performanceFile)
		}
	}
}

func TestBenchmarksOfTheTableAreSorted(t *testing.T) {
	for _, rules := range []string{"v5.0", "v5.1", "v6.0", "v6.1"} {
		needs, err := Needs(rules, "", "offline")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(needs, func(a, b Need) int { return strings.Compare(a.Model, b.Model) }) || len(needs) < 10 {
			t.Errorf("%s: %v", rules, needs)
		}
	}
}

func TestBoundsOfLengthsMayBeGivenWhereTheRulesHaveNone(t *testing.T) {
	for _, c := range []struct {
		o           Options
		least, most float64
	}{
		{Options{Model: "bert", LeastTokens: 2, MostTokens: 5}, 2, 5}, {Options{Model: "bert", MostTokens: 5}, 0, 5}, {Options{Model: "e2e-rag-qna"}, 246.43, 301.19}, {Options{Model: "e2e-rag-qna", MostTokens: 1000}, 246.43, 1000},
	} {
		least, most, err := lengthBounds(Logs{Audit: t.TempDir()}, c.o)
		if err != nil || least != c.least || most != c.most {
			t.Errorf("%+v: %v to %v, %v, want %v to %v", c.o, least, most, err, c.least, c.most)
		}
	}
}
