//go:build ort

package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/harness"
)

func TestORTMake(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())

	path, err := MakeModel(t.Context(), "test", "dlrm", "", Size{Rows: 1000}, harness.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 || !strings.HasPrefix(path, os.Getenv("MLPERF_CACHE_DIR")) {
		t.Errorf("%s: %v", path, err)
	}
	var all []MadeDataset
	done := func(s MadeDataset) { all = append(all, s) }
	if err := MakeDataset(t.Context(), "test", "squad", "", false, harness.Silent{}, done); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Dir != all[0].Dir || s.Metric == "" || s.Score != 0 {
			t.Errorf("made %+v and %+v", all[0], s)
		}
		if _, err := os.Stat(filepath.Join(s.Dir, "dev-v1.1.json")); err != nil {
			t.Error(err)
		}
	}
	if len(all) == 0 {
		t.Error("no model has questions about texts")
	}
}
