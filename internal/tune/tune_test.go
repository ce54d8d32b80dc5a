package tune

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/config/profile"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A recorder is an Observer, and may stop the search.
type recorder struct {
	measured []Measurement
	on       func(n int)
}

func (r *recorder) Begin(Objective, int) {}

func (r *recorder) Measured(m Measurement, _ time.Duration) {
	r.measured = append(r.measured, m)
	if r.on != nil {
		r.on(len(r.measured))
	}
}

// material makes a folder with a small classifier and data, goes there, and asks for a search of
// batches on an engine that takes 20 ms for any.
func material(t *testing.T, scenario string) Request {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("MLPERF_CACHE_DIR", filepath.Join(dir, "cache"))
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(dir, "data"))
	testenv.Must(t, synth.WriteImageNet(t.Context(), "imagenet", synth.ImageNetSpec{Seed: 1, Images: 4, Classes: 3, Jitter: 0.1}, nil))
	b := arch.NewBuilder("tiny", 1)
	x := b.Input("image", onnx.Float32, onnx.Batched(3, 224, 224))
	x = b.MaxPool("grid", x, arch.Pool{Kernel: arch.Axes{56}, Strides: arch.Axes{56}})
	b.Output(b.ArgMax("class", b.Dense("scores", b.Flatten("features", x), arch.Dense{Units: 1000}), 1))
	model, _, err := b.Model()
	if err == nil {
		err = errors.Join(model.WriteFile(t.Context(), "tiny.onnx"), model.WriteFile(t.Context(), "small.onnx"))
	}
	testenv.Must(t, err)
	return Request{
		Run: run.Request{
			Program: "mlperf test", Model: "resnet50", Scenario: scenario, DatasetPath: "imagenet", Output: "out",
			Engine:   engine.Config{Name: engine.Simulated, Latency: 20 * time.Millisecond},
			NewPacer: func() loadgen.Pacer { return loadgen.TimerPacer{} },
		},
		ModelFiles: []string{"tiny.onnx"},
		Budget:     time.Minute, Axes: Axes{Instances: []int{1}, Threads: []int{1}, Batches: []int{1, 4}}, Output: filepath.Join("profiles", "p.json"),
	}
}

// find searches in fake time.
func find(t *testing.T, q Request, o Observer) (out *Outcome, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { out, err = Find(t.Context(), q, o, harness.Silent{}) })
	return out, err
}

func TestProfileOfTheFastestWay(t *testing.T) {
	q := material(t, "offline")
	out, err := find(t, q, &recorder{})
	if err != nil || !out.Finished || out.Winner.MaxBatch != 4 {
		t.Fatalf("found %+v, %v: want batches of 4, which take no longer", out, err)
	}
	p, err := profile.Read(q.Output)
	if err != nil || p.MaxBatch != 4 || p.Instances != 1 || p.Program != "mlperf test" || p.Value <= 0 || p.Default <= 0 || p.Points != 2 || filepath.Base(p.ModelPath) != "tiny.onnx" || !filepath.IsAbs(p.ModelPath) {
		t.Errorf("profile %+v, %v", p, err)
	}
	again := q.Run
	again.Profile = q.Output
	resolved, err := run.Resolve(again)
	if err != nil || resolved.Request.MaxBatch != 4 || resolved.Request.ModelPath != p.ModelPath {
		t.Errorf("a run with the profile: %+v, %v", resolved, err)
	}
}

func TestProfileNamesTheWinningFile(t *testing.T) {
	q := material(t, "single-stream")
	q.ModelFiles = []string{"lite=small.onnx", "tiny.onnx"} // equally fast
	out, err := find(t, q, &recorder{})
	if err != nil || out.Winner.Variant != "lite" {
		t.Fatalf("found %+v, %v: want the first file", out, err)
	}
	if p := out.Profile; filepath.Base(p.ModelPath) != "small.onnx" || p.Precision != "" || p.Points != 4 {
		t.Errorf("the profile is %+v", p)
	}
}

func TestInterruptedSearchWritesNoProfile(t *testing.T) {
	q := material(t, "single-stream")
	q.Axes = Axes{Instances: []int{1}, Threads: []int{1, 2}}
	stopped := errors.New("stopped")
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		out, err := Find(ctx, q, &recorder{on: func(int) { stop(stopped) }}, harness.Silent{})
		if !errors.Is(err, stopped) || out == nil || out.Finished || len(out.Done) != 1 || out.Profile == nil {
			t.Errorf("found %+v, %v: want the measurements so far", out, err)
		}
	})
	if _, err := os.Stat(q.Output); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the profile exists: %v", err)
	}
}

func TestNoWayKeepsTheBound(t *testing.T) {
	q := material(t, "server")
	q.Run.Engine.Latency = 50 * time.Millisecond // the bound is 15
	q.Axes.Batches = []int{1}
	var none *NoneError
	if _, err := find(t, q, &recorder{}); !errors.As(err, &none) || none.Bound != 15*time.Millisecond ||
		!testenv.Names(err, "15 ms") {
		t.Errorf("nothing keeps the bound: %v", err)
	}
	if _, err := os.Stat(q.Output); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the profile exists: %v", err)
	}
	err := (&Outcome{Done: []Measurement{{Point: Point{Instances: 1, Threads: 2, MaxBatch: 4}, Err: "out of memory"}}, Bound: none.Bound}).none()
	if !errors.As(err, &none) || none.Bound != 0 || !testenv.Names(err, "1 × 2 threads … batch 4 … out of memory") {
		t.Errorf("nothing could be measured: %v", err)
	}
}

func TestFindNamesTheWrongField(t *testing.T) {
	good := material(t, "offline")
	for _, c := range []struct {
		name   string
		change func(*Request)
		field  string
		want   string
	}{
		{"no time", func(q *Request) { q.Budget = 0 }, "budget", "budget is 0s: must be a time to search"},
		{"no workers", func(q *Request) { q.Axes.Instances = []int{1, 0} }, "instances", "instances is 0: must be positive numbers"},
		{"no batch", func(q *Request) { q.Axes.Batches = []int{0} }, "max_batchsize", "max_batchsize is 0"},
		{"a delay before the sample", func(q *Request) { q.Axes.Delays = []time.Duration{0, -time.Second} }, "max_batch_delay", "-1s is not a time"},
		{"more workers than any machine has", func(q *Request) { q.Axes.Instances = []int{1, 1 << 20} }, "instances", "must be at most 4096"},
		{"a file without a path", func(q *Request) { q.ModelFiles = []string{"fp32="} }, "model_path", "fp32=: must be a file, or label=file"},
		{"two files of one name", func(q *Request) { q.ModelFiles = []string{"a/m.onnx", "b/m.onnx"} }, "model_path", "b/m.onnx: another file is called m, too; give them labels"},
		{"precisions of several files", func(q *Request) { q.ModelFiles, q.Precisions = []string{"a.onnx", "b.onnx"}, []string{"int8"} }, "precision", "not of 2"},
		{"an unknown precision", func(q *Request) { q.Precisions = []string{"fp32", "int5"} }, "precision", `precision is "int5"`},
		{"an unknown model", func(q *Request) { q.Run.Model = "alexnet" }, "model", "alexnet"},
	} {
		q := good
		c.change(&q)
		_, err := Find(t.Context(), q, &recorder{}, harness.Silent{})
		var of *userinput.Error
		if !errors.As(err, &of) || of.Field != c.field || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q of the field %s", c.name, err, c.want, c.field)
		}
	}
}

func TestBaseIsTheChoiceOfARunAmongTheAxes(t *testing.T) {
	for _, c := range []struct {
		name string
		axes Axes
		want Point
	}{
		{"nothing is given", Axes{}, Point{Instances: 2, Threads: 1, MaxBatch: 1}},
		{"one value of each", Axes{Instances: []int{5}, Threads: []int{3}, Batches: []int{7}}, Point{Instances: 5, Threads: 3, MaxBatch: 7}},
		{"several, with the choice of a run", Axes{Instances: []int{4, 2}, Batches: []int{8, 1}}, Point{Instances: 2, Threads: 1, MaxBatch: 1}},
		{"several, without", Axes{Instances: []int{4, 8}, Batches: []int{8, 16}}, Point{Instances: 4, Threads: 1, MaxBatch: 8}},
		{"files", Axes{Variants: []string{"fp32", "int8"}}, Point{Variant: "fp32", Instances: 2, Threads: 1, MaxBatch: 1}},
	} {
		s := searcher{settings: settingsOf(loadgen.Server), axes: c.axes, open: func(_ context.Context, p Point) (model, error) {
			if p.Instances == 0 {
				p.Instances, p.Threads, p.MaxBatch = 2, 1, 1
			}
			return &fakeModel{point: p, fixed: 3}, nil
		}}
		if base, facts, err := s.base(t.Context()); err != nil || base != c.want || facts.fixedBatch != 3 || facts.bound != 20*time.Millisecond {
			t.Errorf("%s: base %+v, %+v, %v, want %+v", c.name, base, facts, err, c.want)
		}
	}
}

func TestSearchEndsIfTheModelDoesNotOpen(t *testing.T) {
	broken := errors.New("the file is cut off")
	s := searcher{settings: settingsOf(loadgen.Offline), budget: time.Minute, observer: &recorder{}, open: func(context.Context, Point) (model, error) { return nil, broken }}
	if out, err := s.search(t.Context()); out != nil || !errors.Is(err, broken) {
		t.Errorf("search = %+v, %v", out, err)
	}
}

// TestSearchFindsTheFastestPoint has models that are the faster the larger batches are, and no room for one worker.
func TestSearchFindsTheFastestPoint(t *testing.T) {
	for _, scenario := range loadgen.Scenarios() {
		t.Run(scenario.String(), func(t *testing.T) {
			r, opened := &recorder{}, []*fakeModel{}
			s := searcher{
				settings: settingsOf(scenario), budget: time.Hour, axes: Axes{Batches: []int{1, 2, 4}}, cores: 2, observer: r,
				open: func(_ context.Context, p Point) (model, error) {
					if p.Instances == 0 {
						p = Point{p.Variant, 2, 1, 1, 0}
					}
					if p.Instances == 1 {
						return nil, errors.New("no room")
					}
					m := &fakeModel{point: p, first: 10 * time.Millisecond, perSample: 2 * time.Millisecond, fixed: -1, capacity: 1e9}
					opened = append(opened, m)
					return m, nil
				},
			}
			out, err := s.search(t.Context())
			if err != nil || !out.Finished || !out.Found || len(r.measured) != len(out.Done) {
				t.Fatalf("search = %+v, %v; %d measurements observed", out, err, len(r.measured))
			}
			if scenario == loadgen.Offline && out.Winner.Point != (Point{Instances: 2, Threads: 1, MaxBatch: 4}) {
				t.Errorf("winner = %v", out.Winner)
			}
			for _, m := range opened {
				if !m.closed {
					t.Errorf("%v is not closed", m.point)
				}
			}
			for _, m := range out.Done {
				if m.Instances == 1 && (m.Err != "no room" || m.Stage > 0) {
					t.Errorf("a point that fails is measured as %+v", m)
				}
			}
			p := out.profile(profile.Subject{Model: "mobilenet", Scenario: "Offline", Device: "cpu", Machine: profile.Machine{CPU: "A Processor @ 2 GHz", Cores: 2}})
			if err := p.Check(); err != nil || p.Points == 0 || p.Value != out.Winner.Value || p.Default <= 0 {
				t.Errorf("profile = %+v, %v", p, err)
			}
		})
	}
}
