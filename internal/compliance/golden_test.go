package compliance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// result is where the tree has its results.
const result = "closed/ExampleOrg/results/board1/resnet50"

// extract unpacks the tree that the reference's scripts and checker passed
// (internal/submission/checker/testdata).
func extract(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	testenv.Extract(t, "../submission/checker/testdata/v6.1.tar.gz", dir)
	return dir
}

// scores are the lines of a verification that begin with a word and "score".
func scores(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, "score = ") || strings.HasPrefix(line, "TEST") && !strings.Contains(line, ":") {
			lines = append(lines, strings.ToLower(strings.TrimSpace(line)))
		}
	}
	return lines
}

func TestScoresAreThoseOfTheReferencesScripts(t *testing.T) {
	tree := extract(t)
	for _, scenario := range []string{"SingleStream", "MultiStream", "Offline"} {
		for _, test := range []string{Test01, Test04} {
			t.Run(scenario+" "+test, func(t *testing.T) {
				folder := filepath.Join(tree, result, scenario)
				want, err := os.ReadFile(filepath.Join(folder, test, performanceFile))
				if err != nil {
					t.Fatal(err)
				}
				v := &Verdict{Test: test, Passed: true, texts: map[string]string{}}
				l := Logs{Performance: filepath.Join(folder, "performance/run_1"), Audit: filepath.Join(folder, test, "performance/run_1")}
				if test == Test04 {
					err = verify04(t.Context(), v, l, Options{Rules: "v6.1"})
				} else if ref, run, e := pair(test, l, Options{}); e == nil { // the accuracy logs of the tree are cut
					err = v.compare01(ref, run, "v6.1")
				} else {
					err = e
				}
				if err != nil {
					t.Fatal(err)
				}
				if got, want := strings.Join(scores(v.texts[performanceFile]), "\n"), strings.Join(scores(string(want)), "\n"); got != want {
					t.Errorf("the scores are\n%s\nwant\n%s", got, want)
				}
			})
		}
	}
}
