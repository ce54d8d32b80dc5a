//go:build ort

package builtin

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// An altered session gets other pictures, or gives other scores.
type altered struct {
	backend.Session
	picture func(planes [3][]float32)
	scores  func(all []float32)
}

func (s altered) Run(ctx context.Context, inputs, outputs []backend.Value) error {
	if s.picture != nil {
		in := tensor.Data[float32](inputs[0].Tensor())
		n := len(in) / 3
		s.picture([3][]float32{in[:n], in[n : 2*n], in[2*n:]})
	}
	err := s.Session.Run(ctx, inputs, outputs)
	if err == nil && s.scores != nil {
		s.scores(tensor.Data[float32](outputs[0].Tensor()))
	}
	return err
}

// What the pictures show counts: without paint, or with blue and red swapped, the score is lower.
func TestORTPaintCounts(t *testing.T) {
	const frames = 2
	model := lookup(t, "pointpainting")
	m := Maker{Dir: t.TempDir(), Engine: orttest.Engine(t), Observer: &observer{t: t}, Program: "test", count: frames}
	dir, err := m.Dataset(t.Context(), model)
	testenv.Must(t, err)
	path, err := m.Model(t.Context(), model)
	testenv.Must(t, err)
	files, err := model.FilesOf(path)
	testenv.Must(t, err)
	ports, err := workload.PortsOf(t.Context(), m.Engine, files, backend.Options{})
	testenv.Must(t, err)
	w, err := model.Open(workload.Setup{ModelPath: path, DatasetDir: dir, Ports: ports})
	testenv.Must(t, err)
	sessions, err := m.openAll(t.Context(), files, w)
	testenv.Must(t, err)
	defer func() {
		for _, s := range sessions {
			testenv.Must(t, s.Close())
		}
	}()
	scoreOf := func(a altered) float64 {
		used := maps.Clone(sessions)
		a.Session = sessions["segmentation"]
		used["segmentation"] = a
		responses, err := m.answerAll(t.Context(), w, used)
		testenv.Must(t, err)
		scores, err := m.scores(t.Context(), model, dir, responses)
		testenv.Must(t, err)
		if len(scores) != 1 {
			t.Fatal(errors.New("no score"))
		}
		return slices.Collect(maps.Values(scores))[0]
	}
	right := scoreOf(altered{})
	swapped := scoreOf(altered{picture: func(p [3][]float32) {
		for i, v := range p[0] {
			p[0][i], p[2][i] = p[2][i], v
		}
	}})
	unpainted := scoreOf(altered{scores: func(all []float32) { clear(all) }})
	t.Logf("mAP %.4f, red and blue swapped %.4f, without paint %.4f", right, swapped, unpainted)
	if right < 0.2 || right > 0.95 || swapped > 0.9*right || unpainted > 0.9*right {
		t.Error("the score hardly depends on the pictures")
	}
}
