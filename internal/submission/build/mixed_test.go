package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
)

// stranger puts the runs of Offline, and its tests, once more beside the others, as those of
// another model.
func stranger(t *testing.T, q Request, model string) string {
	t.Helper()
	runs := filepath.Join(q.Runs[0], home, "results/board1")
	to := filepath.Join(runs, model)
	ok(t, os.CopyFS(to, os.DirFS(filepath.Join(runs, "resnet50/Offline"))))
	for _, folder := range []string{"performance/run_1", "accuracy", "TEST01/performance/run_1", "TEST04/performance/run_1"} {
		r, err := report.Read(filepath.Join(to, folder))
		ok(t, err)
		r.Model = model
		ok(t, r.Write(filepath.Join(to, folder)))
	}
	return to
}

// Folders of many runs have those of many models: what the round does not have, or the division may
// not, is left out and said.
func TestRunsOfOtherModelsAreLeftOut(t *testing.T) {
	t.Parallel()
	for model, why := range map[string]string{
		"alexnet":   `rules v6.1 have no benchmark "alexnet"`,
		"mobilenet": "mobilenet is not resnet: the division closed has the reference's model",
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			q := made(t, foreign(t, "v6.1"), "", nil)
			other := stranger(t, q, model)
			built, err := Build(t.Context(), q)
			ok(t, err)
			if len(built.Results) != 3 {
				t.Errorf("%d results, want 3", len(built.Results))
			}
			var want []string
			for _, folder := range []string{"TEST01/performance/run_1", "TEST04/performance/run_1", "accuracy", "performance/run_1"} {
				want = append(want, filepath.Join(other, folder)+": "+why)
			}
			if !slices.Equal(built.LeftOut, want) {
				t.Errorf("left out:\n%s\nwant\n%s", strings.Join(built.LeftOut, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func TestAFolderOfOtherModelsAloneIsAnErrorThatSaysWhy(t *testing.T) {
	t.Parallel()
	q := made(t, foreign(t, "v6.1"), "", nil)
	q.Runs = []string{stranger(t, q, "alexnet")}
	_, err := Build(t.Context(), q)
	for _, want := range []string{"no runs in " + q.Runs[0] + ": want folders with mlperf_log_detail.txt", `rules v6.1 have no benchmark "alexnet"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// What somebody can say is asked for, and not left out.
func TestANetworkThatMayEnterUnderANameOfItsOwnIsNotLeftOut(t *testing.T) {
	t.Parallel()
	q := made(t, foreign(t, "v6.1"), "", nil)
	q.Division, q.Description = "open", whole(t, "open", "edge")
	stranger(t, q, "mobilenet")
	if _, err := Build(t.Context(), q); err == nil || !strings.Contains(err.Error(), "mobilenet is not resnet: want a name of its own") {
		t.Errorf("error %v", err)
	}
}
