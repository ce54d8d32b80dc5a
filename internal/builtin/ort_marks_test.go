//go:build ort

package builtin

import (
	"math"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// Data sets that are made now, unlike those of the other tests, which are kept: the score that is kept with them is as far
// from all and nothing as it is meant to be. Long tests see that a run has the same.
func TestORTDataAreMarkedByTheirModels(t *testing.T) {
	for _, c := range []struct {
		name        string
		model       workload.Model
		count       int
		least, most float64
	}{
		{"pictures", lookup(t, "stable-diffusion-xl"), 2, 25, 40},
		{"prompts", decoderOf(t, workload.Part{Role: workload.Only, Architecture: "llama-60m", Layers: 1, Rows: 1000}), 2, 20, 80},
		{"masks", lookup(t, "deeplab-v3plus"), 1, 0.05, 0.95},
		{"objects", lookup(t, "ssd-mobilenet"), 2, 10, 90},
		{"clicks", lookup(t, "dlrm"), 2, 55, 99},
		{"images", lookup(t, "mobilenet"), 0, 40, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := Maker{Dir: t.TempDir(), Engine: orttest.Engine(t), Observer: &observer{t: t}, Program: "test", images: small, count: c.count, Rows: 1000}
			score, err := m.Reference(t.Context(), c.model)
			if err != nil || !(score >= c.least && score <= c.most) {
				t.Fatalf("the reference is %v, %v, want %v to %v", score, err, c.least, c.most)
			}
			dir, err := m.Dataset(t.Context(), c.model)
			if err != nil {
				t.Fatal(err)
			}
			manifest, err := synth.ReadManifest(dir)
			if err != nil || len(manifest.Scores) != 1 {
				t.Errorf("scores %v, %v, want that of the model", manifest.Scores, err)
			}
			if !testenv.Long() {
				return
			}
			path, err := m.Model(t.Context(), c.model)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := m.measure(t.Context(), c.model, path, dir); err != nil || math.Abs(again-score) > 1e-3 {
				t.Errorf("a run scores %v, %v, want %v", again, err, score)
			}
		})
	}
}
