package synth

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/dataset/igbh"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// What reads the official graph reads this one; the judge's labels are those of the samples.
func TestGraphIsReadAndLabelled(t *testing.T) {
	spec := IGBHSpec{Seed: 3, Papers: 1000, Width: 5}
	dir := filepath.Join(t.TempDir(), "igbh")
	classes := []int64{2982, 0, 300, 17, 255}
	err := WriteIGBH(t.Context(), dir, spec, func(folder string) (map[string]float64, error) {
		if err := spec.WriteLabels(folder, classes[1:]); err == nil {
			t.Error("a label too few is taken")
		}
		return nil, spec.WriteLabels(folder, classes)
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := igbh.Open(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	labels, err := d.Labels()
	if err != nil || !slices.Equal(labels, classes) || d.Drawn || !slices.Equal(d.Papers, igbh.Validation(1000)) {
		t.Errorf("labels %v of papers %v, drawn here: %v, %v", labels, d.Papers, d.Drawn, err)
	}
	g, err := d.Graph()
	if err != nil {
		t.Fatal(err)
	}
	related, edges := 0, -1000 // without those of papers from themselves
	cites := slices.IndexFunc(igbh.Relations(), func(r igbh.Relation) bool { return r.Name == "cites" })
	for paper := range uint32(1000) {
		edges += len(g[cites].Into(paper))
		for _, other := range g[cites].Into(paper) {
			if other != paper && spec.group(igbh.Paper, int(paper)) == spec.group(igbh.Paper, int(other)) {
				related++
			}
		}
	}
	if edges < 4000 || edges > 16000 || related < edges/2 {
		t.Errorf("%d of %d citations are among papers of a group", related, edges)
	}
	row := make([]float32, 5)
	r, err := d.Reader()
	testenv.Must(t, err)
	defer r.Close()
	for kind := range igbh.Kind(igbh.Kinds) {
		testenv.Must(t, r.Read(kind, []uint32{uint32(d.Nodes(kind) - 1)}, row))
	}
	for _, name := range []string{"train_idx.pt", "paper/node_label_19.npy"} {
		if _, err := os.Stat(filepath.Join(dir, "tiny", "processed", name)); err != nil {
			t.Error(err)
		}
	}
}
