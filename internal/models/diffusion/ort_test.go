//go:build ort

package diffusion_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest"
	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/models/diffusion"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// A studio has the built-in pipeline with a few captions.
type studio struct {
	model  workload.Model
	engine backend.Engine
	setup  workload.Setup
	batch  int
}

const pictures = 4

func newStudio(t *testing.T) *studio {
	t.Helper()
	s := &studio{model: diffusion.Models()[0], engine: orttest.Engine(t), batch: 1}
	recipe := s.model.BuiltIn.(workload.Recipe)
	recipe.Samples = pictures
	s.model.BuiltIn = recipe
	maker := builtin.Maker{Dir: t.TempDir(), Engine: s.engine, Observer: harness.Silent{}}
	var err error
	if s.setup.DatasetDir, err = maker.Dataset(t.Context(), s.model); err != nil {
		t.Fatal(err)
	}
	if s.setup.ModelPath, err = maker.Model(t.Context(), s.model); err != nil {
		t.Fatal(err)
	}
	files, err := s.model.FilesOf(s.setup.ModelPath)
	if err != nil {
		t.Fatal(err)
	}
	if s.setup.Ports, err = workload.PortsOf(t.Context(), s.engine, files, backend.Options{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// images has all captions painted.
func (s *studio) images(t *testing.T, damage diffusion.Damage) (images [][]byte) {
	t.Helper()
	w, err := diffusion.OpenDamaged(s.setup, damage)
	if err != nil {
		t.Fatal(err)
	}
	files, _ := s.model.FilesOf(s.setup.ModelPath)
	sessions := workload.Sessions{}
	for _, f := range files {
		if sessions[f.Role], err = s.engine.Open(t.Context(), backend.Options{ModelPath: f.Path, Outputs: w.Outputs(f.Role)}); err != nil {
			t.Fatal(err)
		}
		defer sessions[f.Role].Close()
	}
	store, err := workload.NewStore(w.Samples, func(i int) []workload.Slot { return w.Row(i) })
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	p, err := w.NewPredictor(sessions, s.batch)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Use(store); err != nil {
		t.Fatal(err)
	}
	var items []workload.Item
	for i := range w.Samples {
		if err := w.Prepare(i, store.Row(i)); err != nil {
			t.Fatal(err)
		}
		items = append(items, workload.Item{Row: i, Index: i, Ticket: i})
	}
	got := &album{images: make([][]byte, w.Samples)}
	for part := range slices.Chunk(items, s.batch) {
		if err := p.Predict(t.Context(), part, got); err != nil {
			t.Fatal(err)
		}
	}
	return got.images
}

// An album takes images.
type album struct{ images [][]byte }

func (*album) FirstToken(int, []byte)                 {}
func (a *album) Done(ticket int, image []byte, _ int) { a.images[ticket] = slices.Clone(image) }

// score scores images.
func (s *studio) score(t *testing.T, images [][]byte) (clip, fid float64) {
	t.Helper()
	var log bytes.Buffer
	for i, image := range images {
		fmt.Fprintf(&log, "%c{\"qsl_idx\":%d,\"data\":\"%X\"}\n", "[,"[min(i, 1)], i, image)
	}
	log.WriteString("]")
	score, err := s.model.Score(t.Context(), accuracy.Named("log", &log), workload.Scoring{DatasetDir: s.setup.DatasetDir, Engine: s.engine})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := score.Lookup(accuracy.CLIPScore)
	f, _ := score.Lookup(accuracy.FIDScore)
	return c.Value, f.Value
}

// The images of the FP32 model are in the middle of both ranges, alone or in a batch. Whatever the
// pipeline does wrong takes them out.
func TestORTDamagedPipelineMissesRanges(t *testing.T) {
	s := newStudio(t)
	s.batch = 2
	clip, fid := s.score(t, s.images(t, nil))
	if math.Abs(clip/32-1) > 2e-4 || math.Abs(fid/23.5-1) > 2e-3 {
		t.Fatalf("the right pipeline scores %v and %v, want 32 and 23.5", clip, fid)
	}
	s.batch = 1
	q := s.model.Quality
	for name, damage := range diffusion.Damages() {
		c, f := s.score(t, s.images(t, damage))
		if c >= clip*q.Fraction || f <= fid*1.005 {
			t.Errorf("%s: the scores are %.4f and %.4f, want less than %.4f and more than %.4f", name, c, f, clip*q.Fraction, fid)
		}
	}
}
