package builtin

import (
	"errors"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestMakeNamesWrongFields(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	model := func(name, library string, rows int64) error {
		_, err := MakeModel(t.Context(), "test", name, library, Size{Rows: rows}, harness.Silent{})
		return err
	}
	data := func(name, library string) error {
		return MakeDataset(t.Context(), "test", name, library, false, harness.Silent{}, nil)
	}
	for _, c := range []struct {
		err         error
		field, want string
	}{
		{model("alexnet", "", 0), "model", "unknown model"},
		{model("resnet50", "", 5000), "rows", "resnet50 has no tables of categories"},
		{model("dlrm", "", 10), "rows", "want 1000 or more rows of each table"},
		{model("resnet50", "nowhere.so", 0), "", "nowhere.so"},
		{data("mnist", ""), "dataset", `unknown data set "mnist", want one of `},
		{data("imagenet", "nowhere.so"), "", "nowhere.so"},
		{data("resnet50", "nowhere.so"), "", "nowhere.so"},
	} {
		of := &userinput.Error{}
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) || c.field != "" && (!errors.As(c.err, &of) || of.Field != c.field) {
			t.Errorf("%v, want %s: %s", c.err, c.field, c.want)
		}
	}
}
