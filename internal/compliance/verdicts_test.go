package compliance

import (
	"cmp"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// A golden is random logs, and what the reference's scripts say of them; see
// testdata/make_verdicts.py.
type golden struct {
	Test, DType, Scenario string
	Least, Most           float64
	Accuracy, Log         json.RawMessage
	Verdict               []string
}

// counted are the lines of a verdict that count.
var counted = regexp.MustCompile(`(?m)^(?:num_\w+ = \d+|TEST PASS|TEST FAIL)$`)

func TestVerdictsAreThoseOfTheReferencesScripts(t *testing.T) {
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
	case Test06:
		return v, strings.Split(strings.TrimSpace(text), "\n")
	case Test09:
		return v, counted.FindAllString(v.texts["verify_output_len.txt"], -1)
	default:
		return v, counted.FindAllString(text, -1)
	}
}
