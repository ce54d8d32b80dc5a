package build

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withPower gives files of measured power to the golden run of Offline, and returns its folder.
func withPower(t *testing.T, q Request) string {
	t.Helper()
	folder := filepath.Join(q.Runs[0], home, "results/board1/resnet50/Offline/performance")
	for _, name := range []string{"mlperf_log_summary.txt", "mlperf_log_detail.txt"} {
		write(t, filepath.Join(folder, "ranging", name), read(t, folder, "run_1", name)+"\n")
	}
	for path := range powered {
		if filepath.Base(path) != "mlperf_log_summary.txt" && filepath.Base(path) != "mlperf_log_detail.txt" {
			write(t, filepath.Join(folder, path), "of "+path)
		}
	}
	write(t, filepath.Join(folder, "power/notes.txt"), "of nobody")
	return folder
}

// powered are the files that power_checker.py asks for.
var powered = map[string]bool{
	"power/client.json": true, "power/client.log": true, "power/ptd_logs.txt": true, "power/server.json": true, "power/server.log": true,
	"ranging/mlperf_log_detail.txt": true, "ranging/mlperf_log_summary.txt": true, "ranging/spl.txt": true,
	"run_1/mlperf_log_detail.txt": true, "run_1/mlperf_log_summary.txt": true, "run_1/spl.txt": true,
}

func TestMeasuredPowerGoesWithItsRun(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
	from := withPower(t, q)
	built, err := Build(t.Context(), q)
	ok(t, err)
	if len(built.LeftOut) > 0 || len(built.Results) != 3 {
		t.Errorf("%d results, left out %q, want 3 results and nothing left out", len(built.Results), built.LeftOut)
	}
	to := filepath.Join(q.Tree, home, "results/board1/resnet/Offline/performance")
	for path := range powered {
		if got, want := read(t, to, path), read(t, from, path); got != want {
			t.Errorf("%s has %d bytes, want the %d that were measured", path, len(got), len(want))
		}
	}
	if there(filepath.Join(to, "power/notes.txt")) {
		t.Error("a file that nobody asked for is in the tree")
	}
}

func TestPowerWithoutOneOfItsFilesIsAnError(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
	missing := filepath.Join(withPower(t, q), "power", "server.json")
	ok(t, os.Remove(missing))
	if _, err := Build(t.Context(), q); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) || there(q.Tree) {
		t.Errorf("error %v, want one about %s, and no tree", err, missing)
	}
}

// A folder that is only called so has a run like any other.
func TestARunInAFolderCalledRangingIsTakenWhereNoneCounts(t *testing.T) {
	t.Parallel()
	q := foreign(t, "v6.1")
	folder := filepath.Join(q.Runs[0], home, "results/board1/resnet50/Offline/performance")
	ok(t, os.Rename(filepath.Join(folder, "run_1"), filepath.Join(folder, "ranging")))
	built, err := Build(t.Context(), q)
	ok(t, err)
	if len(built.Results) != 3 {
		t.Errorf("%d results, want 3", len(built.Results))
	}
}
