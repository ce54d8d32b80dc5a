//go:build ort

package convert

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest"
	"github.com/mlperf-go/mlperf/internal/convert/quantize"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// real is a converter with the library that MLPERF_ORT_LIB names.
func real(t *testing.T) Converter {
	t.Helper()
	c := tiny(t)
	c.Engine, c.Threads, c.Program = orttest.Engine(t), 1, "test"
	return c
}

// isQuantised reports whether a model has weights of 8-bit integers.
func isQuantised(m *onnx.Model) bool {
	return slices.ContainsFunc(m.Graph.Initializers, func(w *onnx.Tensor) bool {
		return len(w.Dims) > 1 && (w.Type == onnx.Int8 || w.Type == onnx.Uint8)
	})
}

func TestORTCachedIntegerModelRuns(t *testing.T) {
	c := real(t)
	path, err := c.Cached(t.Context(), Request{Precision: INT8}, filepath.Join(t.TempDir(), "converted"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := onnx.ReadFile(path)
	if err != nil || !isQuantised(m) {
		t.Errorf("%s has no 8-bit weights, %v", path, err)
	}
	if notes, err := os.ReadFile(DescriptionFile(path)); err != nil || !strings.Contains(string(notes), "smallest and the largest value seen") {
		t.Errorf("the description does not say how it was calibrated: %q, %v", notes, err)
	}
	if score, err := c.score(t.Context(), path, 0); err != nil || score < 0 || score > 100 {
		t.Errorf("the integer model scores %v, %v", score, err)
	}
}

func TestORTTarget(t *testing.T) {
	c := real(t)
	for _, byNoise := range []bool{false, true} {
		s, err := c.search(t.Context(), Request{Target: 0.5, ScoreCount: 4, RankByNoise: byNoise})
		if err != nil {
			t.Fatal(err)
		}
		fp32, err := onnx.ReadWhole(c.Source)
		if err != nil {
			t.Fatal(err)
		}
		// The model compared with itself reaches twice the half of its score.
		if score, err := s.Score(t.Context(), fp32); err != nil || score*0.5 != s.Target {
			t.Errorf("the FP32 model scores %v, %v; the target is %v, want half of it", score, err, s.Target)
		}
		if (s.Rank == nil) != byNoise {
			t.Errorf("with ranking by noise %t, layers are ranked by the score: %t", byNoise, s.Rank != nil)
		}
	}
	if m, d, err := c.Make(t.Context(), Request{Precision: INT8, Target: 0.5}); m == nil || d == nil || err != nil && !errors.Is(err, quantize.ErrTargetMissed) {
		t.Errorf("Make with a target = %v, %v, %v", m != nil, d, err)
	}
}

func TestORTSensitivity(t *testing.T) {
	scores, err := real(t).Sensitivity(t.Context(), Request{Samples: []int{0, 1, 2}})
	if err != nil || len(scores) != 1 || !strings.Contains(scores[0].Layer, "scores") || scores[0].Score <= 0 {
		t.Errorf("Sensitivity = %+v, %v, want the layer scores, with a signal above the noise", scores, err)
	}
}

func TestORTScoreErrors(t *testing.T) {
	c := real(t)
	missing := c
	missing.Source = filepath.Join(t.TempDir(), "nowhere.onnx")
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("enough"))
	if _, err := missing.search(t.Context(), Request{Target: 0.9}); err == nil || !strings.Contains(err.Error(), "nowhere.onnx") {
		t.Errorf("search without a model: %v, want an error that names it", err)
	}
	if _, err := missing.Sensitivity(t.Context(), Request{}); err == nil || !strings.Contains(err.Error(), "nowhere.onnx") {
		t.Errorf("Sensitivity without a model: %v, want an error that names it", err)
	}
	if _, err := c.Sensitivity(t.Context(), Request{Samples: []int{99}}); err == nil || !strings.Contains(err.Error(), "no sample 99") {
		t.Errorf("Sensitivity of sample 99: %v", err)
	}
	if _, err := c.score(stopped, c.Source, 0); err == nil {
		t.Error("a stopped score has a value")
	}
}
