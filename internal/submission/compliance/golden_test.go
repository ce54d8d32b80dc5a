package compliance

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// scoreLines are the lines of a verification with a score or a verdict.
func scoreLines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, "score = ") || strings.HasPrefix(line, "TEST") && !strings.Contains(line, ":") {
			lines = append(lines, strings.ToLower(strings.TrimSpace(line)))
		}
	}
	return strings.Join(lines, "\n")
}

// The reference's scripts and checker passed this tree (internal/submission/checker/testdata).
func TestGoldenTree(t *testing.T) {
	tree := t.TempDir()
	testenv.Extract(t, "../checker/testdata/v6.1.tar.gz", tree)
	for _, scenario := range []string{"SingleStream", "MultiStream", "Offline"} {
		for _, test := range []string{test01, test04} {
			folder := filepath.Join(tree, "closed/ExampleOrg/results/board1/resnet50", scenario)
			want, err := os.ReadFile(filepath.Join(folder, test, performanceFile))
			if err != nil {
				t.Fatal(err)
			}
			v := &verification{Verdict: &Verdict{Test: test, Passed: true, texts: map[string]string{}}, Options: Options{Rules: "v6.1"},
				Logs: Logs{Performance: filepath.Join(folder, "performance/run_1"), Audit: filepath.Join(folder, test, "performance/run_1")}}
			if test == test04 {
				err = v.verify04(t.Context())
			} else if ref, run, e := v.bothRuns(); e == nil { // the accuracy logs of the tree are cut
				err = v.compareDetails(ref, run)
			} else {
				err = e
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, want := scoreLines(v.texts[performanceFile]), scoreLines(string(want)); got != want {
				t.Errorf("%s %s: the scores are\n%s\nwant\n%s", scenario, test, got, want)
			}
		}
	}
}

// A rate is a golden of testdata/make_rates.py.
type rate struct {
	Test, Scenario string
	Ref, Run       float64
	Scores         []float64
	Passes         bool
}

var printedScore = regexp.MustCompile(`score = (\S+)`)

func TestGoldenRates(t *testing.T) {
	data, err := os.ReadFile("testdata/rates.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []rate
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	dirs := [3]string{}
	for i := range dirs {
		dirs[i] = fakeRun{scenario: "Offline", metric: 1, responses: []string{"0 00"}}.write(t)
	}
	for _, r := range all {
		ref := fakeRun{scenario: r.Scenario, metric: r.Ref, responses: []string{"0 00"}}
		acc, run := ref, ref
		acc.mode, run.metric, run.settings = "AccuracyOnly", r.Run, settingsOf(r.Test, nil)
		for i, f := range []fakeRun{ref, acc, run} {
			f.rewrite(t, dirs[i])
		}
		v := verified(t, r.Test, Logs{Performance: dirs[0], Accuracy: dirs[1], Audit: dirs[2]}, Options{})
		if v.Passed != r.Passes {
			t.Errorf("%+v: passed %v: %q", r, v.Passed, v.Facts)
		}
		for i, m := range printedScore.FindAllStringSubmatch(v.texts[performanceFile], -1) {
			if score, err := strconv.ParseFloat(m[1], 64); err != nil || score != r.Scores[i] {
				t.Errorf("%+v: score %d is %s, the reference's %v", r, i, m[1], r.Scores[i])
			}
		}
	}
}

// A golden is random logs with the verdict of the reference's scripts; see
// testdata/make_verdicts.py.
type golden struct {
	Test, DType, Scenario string
	Least, Most           float64
	Accuracy, Log         json.RawMessage
	Verdict               []string
}

// counted are the lines of a verdict that count.
var counted = regexp.MustCompile(`(?m)^(?:num_\w+ = \d+|TEST PASS|TEST FAIL)$`)

func TestGoldenVerdicts(t *testing.T) {
	data, err := os.ReadFile("testdata/verdicts.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []golden
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	folders := map[string]Logs{}
	for _, scenario := range []string{"Offline", "Server", "SingleStream", "MultiStream"} {
		ref := fakeRun{scenario: scenario, metric: 100}
		acc, run := ref, ref
		acc.mode, run.settings = "AccuracyOnly", settings01
		folders[scenario] = Logs{Performance: ref.write(t), Accuracy: acc.write(t), Audit: run.write(t)}
	}
	for i, g := range all {
		v, got := g.verify(t, folders[cmp.Or(g.Scenario, "Offline")])
		if diff := gocmp.Diff(g.Verdict, got); diff != "" {
			t.Errorf("%s %d of %s %s: %s, log %s (-reference +here)\n%s", g.Test, i, g.DType, g.Scenario, g.Accuracy, g.Log, diff)
		}
		if passed := slices.Contains([]string{"TEST PASS", "TEST06 verification complete"}, g.Verdict[len(g.Verdict)-1]); v.Passed != passed {
			t.Errorf("%s %d: passed %v, want %v: %q", g.Test, i, v.Passed, passed, v.Findings)
		}
	}
}

// verify judges the logs of a golden in the folders of runs, and returns the lines that count.
func (g golden) verify(t *testing.T, l Logs) (*Verdict, []string) {
	t.Helper()
	writeText(t, l.Accuracy, "mlperf_log_accuracy.json", string(g.Accuracy))
	writeText(t, l.Audit, "mlperf_log_accuracy.json", string(g.Log))
	v, err := Verify(t.Context(), g.Test, l, Options{DType: g.DType, LeastTokens: g.Least, MostTokens: g.Most})
	if err != nil {
		t.Fatalf("%s of %s: %v", g.Test, g.Log, err)
	}
	switch text := v.texts[accuracyFile]; g.Test {
	case test06:
		return v, strings.Split(strings.TrimSpace(text), "\n")
	case test09:
		return v, counted.FindAllString(v.texts[lengthFile], -1)
	default:
		return v, counted.FindAllString(text, -1)
	}
}

// The official checker reads the files, and people the facts and notes.
func TestTextsOfVerdicts(t *testing.T) {
	recommended := []string{"0 " + numbers(1, 7, 0.8, 1, 1, 1)}
	for _, c := range []struct {
		name, test    string
		accuracy, run []string
		o             Options
		file, text    string
		facts, notes  []string
	}{
		{"a response of another sample", test01, []string{"0 00"}, []string{"0 00", "4 00"}, Options{}, accuracyFile,
			"TEST01: responses\nnum_acc_log_entries = 1\nnum_acc_log_duplicate_keys = 0\nnum_acc_log_data_mismatch = 0\nnum_perf_log_entries = 2\nnum_perf_log_qsl_idx_match = 1\n" +
				"num_perf_log_data_mismatch = 0\nnum_missing_qsl_idxs = 1\nTEST PASS\n\n",
			[]string{"1 of 2 responses are those of the accuracy run"}, []string{"1 responses are of samples that the accuracy log does not have, which the reference accepts"}},
		{"the performance of TEST01", test01, []string{"0 00"}, []string{"0 00"}, Options{}, performanceFile,
			"TEST01: performance\nReference score = 100.0\nTest score = 100.0\nTEST PASS\n", nil, nil},
		{"another entropy", test08, recommended, []string{"0 " + numbers(1, 7, 0.7), "0 " + numbers(1, 9, 0.8)}, Options{Tolerance: 0.02}, accuracyFile,
			"TEST08: entropy\nnum_acc_log_entries = 1\nnum_perf_log_entries = 2\nnum_matched = 1\nnum_unmatched = 1\nnum_ne_mismatch = 1\ntolerance = 2 %\nTEST FAIL\n",
			[]string{"0 of 2 recommendations have the entropy of the accuracy run's, within 2 %"}, nil},
		{"a score", test07, nil, []string{"0 00"}, Options{Score: "echo \"'exact_match': 60.7\" {accuracy_log}"}, accuracyFile,
			"'exact_match': 60.7 LOG\nTEST07: score in performance mode\nscore = 60.7\nleast score = 60.698\nTEST PASS\n",
			[]string{"the score in performance mode is 60.7; 60.698 or more passes"}, nil},
		{"a length", test09, nil, []string{"0 " + tokens(1, 2), "1 " + tokens(1, 2, 3)}, Options{LeastTokens: 1, MostTokens: 2}, lengthFile,
			"TEST09: length of answers\nmean = 2.5 of 2 answers\nTEST FAIL\n", []string{"answers have 2.50 tokens on average; 1 to 2 passes"}, nil},
	} {
		l := pair01(t, c.accuracy, c.run)
		v := verified(t, c.test, l, c.o)
		if got := strings.ReplaceAll(v.texts[c.file], l.Audit+"/mlperf_log_accuracy.json", "LOG"); got != c.text {
			t.Errorf("%s: %s is\n%s\nwant\n%s", c.name, c.file, got, c.text)
		}
		for _, fact := range c.facts {
			if !slices.Contains(v.Facts, fact) {
				t.Errorf("%s: facts %q, want %q", c.name, v.Facts, fact)
			}
		}
		if passes := strings.Contains(c.text, "TEST PASS"); v.Passed != passes || (len(v.Findings) > 0) == passes || (len(v.Causes) > 0) == passes || !slices.Equal(v.Notes, c.notes) {
			t.Errorf("%s: passed %v, findings %q, causes %q, notes %q, want %q", c.name, v.Passed, v.Findings, v.Causes, v.Notes, c.notes)
		}
	}
}
