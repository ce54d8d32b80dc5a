package run_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/builtin/arch"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
)

// TestWhatWasMadeHereIsMarkedWhereverItLies: whoever gives the paths of the built-in model and data does not lose their marks.
func TestWhatWasMadeHereIsMarkedWhereverItLies(t *testing.T) {
	good := request(t)
	good.Settings = nil
	drawModel(t, "drawn.onnx")
	for dir, change := range map[string]func(dir string) error{
		"copied":  func(string) error { return nil },
		"damaged": func(dir string) error { return os.WriteFile(filepath.Join(dir, "builtin.json"), []byte("{"), 0o600) },
		"theirs":  func(dir string) error { return os.Remove(filepath.Join(dir, "builtin.json")) },
	} {
		if err := os.CopyFS(dir, os.DirFS("imagenet")); err != nil {
			t.Fatal(err)
		}
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("drawn.onnx", "link.onnx"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		model, data string
		want        []string
	}{
		{"tiny.onnx", "theirs", nil},
		{"tiny.onnx", "copied", []string{report.CaveatBuiltInData}},
		{"tiny.onnx", "damaged", []string{report.CaveatBuiltInData}},
		{"tiny.onnx", "imagenet/val_map.txt", []string{report.CaveatBuiltInData}},
		{"drawn.onnx", "theirs", []string{report.CaveatBuiltInModel}},
		{"link.onnx", "theirs", []string{report.CaveatBuiltInModel}},
		{"link.onnx", "imagenet", []string{report.CaveatBuiltInModel, report.CaveatBuiltInData}},
		{"nowhere.onnx", "nowhere", nil},
	} {
		q := good
		q.ModelPath, q.DatasetPath = c.model, c.data
		r, err := run.Resolve(q)
		if err != nil {
			t.Fatal(err)
		}
		foretold := r.Foretold()
		for caveat, word := range map[string]string{report.CaveatBuiltInModel: "model", report.CaveatBuiltInData: "data"} {
			_, text, _ := strings.Cut(foretold, "built-in ")
			if got := strings.Contains(text, word); got != slices.Contains(c.want, caveat) {
				t.Errorf("%s on %s: foretold %q, want %v", c.model, c.data, foretold, c.want)
			}
		}
	}
}

func TestResultsOnDataThatWereMadeHereSaySo(t *testing.T) {
	r, err := runFake(t, request(t), quiet{})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Input.BuiltInData || r.Input.BuiltIn || !slices.Contains(r.Caveats, report.CaveatBuiltInData) || slices.Contains(r.Caveats, report.CaveatBuiltInModel) {
		t.Errorf("built-in data %v, model %v, caveats %q", r.Input.BuiltInData, r.Input.BuiltIn, r.Caveats)
	}
}

// drawModel writes the first layer of a built-in model.
func drawModel(t *testing.T, path string) {
	t.Helper()
	a, err := arch.Lookup("mobilenet")
	if err != nil {
		t.Fatal(err)
	}
	model, _, err := a.Build(arch.Options{Outputs: []string{"MobilenetV1/Conv2d_0:0"}})
	if err == nil {
		err = model.WriteFile(t.Context(), path)
	}
	if err != nil {
		t.Fatal(err)
	}
}
