package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestASmallerModelSaysWhatItLacks(t *testing.T) {
	bert, err := models.Lookup("bert")
	if err != nil {
		t.Fatal(err)
	}
	small, full := Maker{Dir: "dir"}, Maker{Dir: "dir", FullSize: true}
	if got := small.Smaller(bert); got != "3 of 24 layers" {
		t.Errorf("the default lacks %q", got)
	}
	if got := full.Smaller(bert); got != "" {
		t.Errorf("the full size lacks %q", got)
	}
	a, err := small.modelPath(bert)
	if err != nil {
		t.Fatal(err)
	}
	b, err := full.modelPath(bert)
	if err != nil || a == b || !strings.HasPrefix(b, filepath.Join("dir", "models", "bert-")) {
		t.Errorf("files %s and %s, %v", a, b, err)
	}
}

// Rows of tables can be chosen, and lie in a file of their own. Those of vocabularies cannot.
func TestTablesHaveTheRowsThatAreAskedFor(t *testing.T) {
	dlrm, err := models.Lookup("dlrm")
	if err != nil {
		t.Fatal(err)
	}
	gnmt, err := models.Lookup("gnmt")
	if err != nil {
		t.Fatal(err)
	}
	m := Maker{Dir: t.TempDir(), Rows: 1000, Observer: &observer{t: t}}
	if got := m.Smaller(dlrm); got != "1000 of 40000000 rows in its tables" {
		t.Errorf("it lacks %q", got)
	}
	if a, b := m.Smaller(gnmt), (Maker{}).Smaller(gnmt); a != b {
		t.Errorf("the vocabulary of GNMT lacks %q, want %q", a, b)
	}
	path, err := m.Model(t.Context(), dlrm)
	if err != nil {
		t.Fatal(err)
	}
	for name, least := range map[string]int64{path: 1 << 20, path + onnx.DataSuffix: 1000 * 128 * 4 * 10} {
		info, err := os.Stat(name)
		if err != nil || name != path && info.Size() < least || name == path && info.Size() > 16*least {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	full := Maker{Dir: m.Dir, Rows: 1000, FullSize: true}
	if same, err := full.modelPath(dlrm); err != nil || same != path {
		t.Errorf("with all layers it is %s, %v; want %s", same, err, path)
	}
	if other, err := (Maker{Dir: m.Dir}).modelPath(dlrm); err != nil || other == path {
		t.Errorf("with the default rows it is %s, %v", other, err)
	}
}

func TestTheQuestionsAreThoseThatTheModelKnows(t *testing.T) {
	bert, err := models.Lookup("bert")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := Maker{Dir: t.TempDir(), count: 12, Observer: &observer{t: t}}.Dataset(t.Context(), bert)
	if err != nil {
		t.Fatal(err)
	}
	ports, err := bert.Open(setupOf(dir))
	if err != nil || ports.Samples < 12 {
		t.Errorf("the data set cannot be opened: %v", err)
	}
}

// setupOf opens a model for questions about texts with ports like those of the built-in one.
func setupOf(dir string) workload.Setup {
	in := func(name string) backend.Port {
		return backend.Port{Name: name, Type: tensor.Int64, Shape: tensor.Shape{-1, -1}}
	}
	out := func(name string) backend.Port {
		return backend.Port{Name: name, Type: tensor.Float32, Shape: tensor.Shape{-1, -1}}
	}
	return workload.Setup{DatasetDir: dir, Ports: map[string]workload.Ports{workload.Only: {
		Inputs:  []backend.Port{in("input_ids"), in("input_mask"), in("segment_ids")},
		Outputs: []backend.Port{out("output_start_logits"), out("output_end_logits")},
	}}}
}
