//go:build ort

package builtin

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/machine/home"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// These tests run the real built-in models with the library that MLPERF_ORT_LIB names:
//
//	MLPERF_ORT_LIB=$(scripts/install_onnxruntime.sh --print-path) go test -tags ort -run TestORT ./internal/builtin
//
// Long tests and benchmarks have the data and models of users, which are kept in their cache directory; the others have fewer images and classes.

// ortMaker makes built-in models where a user's are.
func ortMaker(t testing.TB) Maker {
	t.Helper()
	dir, err := home.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(home.Hold(dir)) // the programs that other tests run at the same time would remove what lies there as leftovers
	m := Maker{Dir: dir, Engine: orttest.Engine(t), Observer: &observer{t: t}, Program: "test"}
	if _, isTest := t.(*testing.T); isTest && !testenv.Long() {
		m.images = synth.ImageNetSpec{Seed: 1, Images: subset, Classes: 64, Jitter: 0.12}
	}
	return m
}

func lookup(t testing.TB, name string) workload.Model {
	t.Helper()
	m, err := models.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// builtIn is an accuracy run of a built-in model on built-in data.
func builtIn(t testing.TB, m Maker, model workload.Model, count int) harness.Config {
	t.Helper()
	dir, err := m.Dataset(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	path, err := m.Model(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	s := loadgen.DefaultSettings()
	s.Scenario, s.Mode = loadgen.Offline, loadgen.AccuracyOnly
	return harness.Config{
		Model: model, Settings: s, Calibrate: true, Engine: m.Engine, Backend: backend.Options{ModelPath: path},
		DatasetDir: dir, CacheDir: filepath.Join(m.Dir, "samples"), Count: count, OutputDir: t.TempDir(), Observer: m.Observer,
	}
}

// mustScore is an accuracy run that is valid.
func mustScore(t testing.TB, cfg harness.Config) *report.Results {
	t.Helper()
	r, err := results(harness.Run(t.Context(), cfg))
	if err != nil {
		t.Fatal(err)
	}
	if !r.Valid() || r.Accuracy == nil {
		t.Fatalf("the run is %s: %v", r.Result, r.Problems)
	}
	return r
}

// accurate runs an accuracy run and returns the labels that it logged, by sample.
func accurate(t testing.TB, cfg harness.Config) (*report.Accuracy, []int) {
	t.Helper()
	r := mustScore(t, cfg)
	f, err := os.Open(filepath.Join(cfg.OutputDir, mlperflog.AccuracyFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	labels := make([]int, r.Input.Samples)
	for i := range labels {
		labels[i] = -1
	}
	for record, err := range accuracy.Records(f) {
		if err != nil {
			t.Fatal(err)
		}
		label := math.Float32frombits(binary.LittleEndian.Uint32(record.Data))
		labels[record.QSLIndex] = int(label)
	}
	return r.Accuracy, labels
}

// right is the percentage of labels that are right.
func right(t testing.TB, dir string, labels []int) float64 {
	t.Helper()
	truth, err := dataset.ReadValMap(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, label := range labels {
		if int64(label) == truth[i].Label {
			n++
		}
	}
	return 100 * float64(n) / float64(len(labels))
}

func distinct(labels []int) int {
	seen := map[int]bool{}
	for _, label := range labels {
		seen[label] = true
	}
	return len(seen)
}

// reference measures the reference score, or finds it, and wants a score that a better or
// a worse model could have.
func reference(t testing.TB, m Maker, model workload.Model) float64 {
	t.Helper()
	score, err := m.Reference(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	if score < 60 || score > 95 {
		t.Errorf("the reference score is %v %%, want 60 to 95", score)
	}
	dir, err := m.Dataset(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := synth.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	path, err := m.Model(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	if kept, ok := manifest.Scores[strings.TrimSuffix(filepath.Base(path), ".onnx")]; !ok || kept != score {
		t.Errorf("kept with the data is %v (%v), want %v", kept, ok, score)
	}
	began := time.Now()
	if again, err := m.Reference(t.Context(), model); err != nil || again != score || time.Since(began) > time.Second {
		t.Errorf("the second time, the reference is %v (%v) after %v", again, err, time.Since(began))
	}
	return score
}

func TestORTMobileNetReproducesItsReference(t *testing.T) {
	t.Parallel()
	m := ortMaker(t)
	model := lookup(t, "mobilenet")
	score := reference(t, m, model)
	cfg := builtIn(t, m, model, 0)
	cfg.Reference = score
	a, labels := accurate(t, cfg)
	if a.Value != score || !a.Met || int(a.Samples) != m.spec().Images || a.Partial {
		t.Errorf("accuracy %+v, want exactly the reference %v", a, score)
	}
	if got := right(t, cfg.DatasetDir, labels); got != score {
		t.Errorf("%v %% of the labels are right, the score is %v", got, score)
	}
	if n := distinct(labels); n < m.spec().Classes/2 {
		t.Errorf("the answers are only %d different classes", n)
	}
	scoreTruncated(t, cfg)
}

// scoreTruncated wants a log that was cut off anywhere not to be scored.
func scoreTruncated(t *testing.T, cfg harness.Config) {
	t.Helper()
	whole, err := os.ReadFile(filepath.Join(cfg.OutputDir, mlperflog.AccuracyFile))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cut.json")
	for _, n := range []int{0, 1, len(whole) / 3, len(whole) / 2, len(whole) - 40, len(whole) - 3} {
		if err := os.WriteFile(path, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		a, err := harness.Score(t.Context(), path, cfg.Model, workload.Scoring{DatasetDir: cfg.DatasetDir}, harness.Target{Quality: cfg.Model.QualityIn(cfg.Rules)})
		if err == nil || !strings.Contains(err.Error(), "cut.json") {
			t.Errorf("the first %d of %d bytes score %+v, %v", n, len(whole), a, err)
		}
	}
}

// subset is how many images the comparisons use, so that they take a second each.
const subset = 128

func TestORTAnswersDependOnNeitherScenarioNorBatch(t *testing.T) {
	t.Parallel()
	m := ortMaker(t)
	singleStream := func(c *harness.Config) { c.Settings.Scenario = loadgen.SingleStream }
	multiStream := func(c *harness.Config) { c.Settings.Scenario = loadgen.MultiStream }
	waiting := func(c *harness.Config) {
		c.Settings.Scenario, c.MaxBatch, c.MaxDelay = loadgen.Server, 4, 20*time.Millisecond
	}
	oneWorker := func(c *harness.Config) { c.Instances, c.MaxBatch = 1, 16 }
	threeWorkers := func(c *harness.Config) { c.Instances, c.MaxBatch = 3, 5 }
	for _, test := range []struct {
		model   string
		count   int
		changes map[string]func(*harness.Config)
	}{
		{"mobilenet", subset / 2, map[string]func(*harness.Config){
			"SingleStream": singleStream, "MultiStream": multiStream, "Server with batches that wait": waiting,
			"one worker": oneWorker, "three workers with odd batches": threeWorkers,
		}},
		{"resnet50", subset / 4, map[string]func(*harness.Config){"SingleStream": singleStream, "three workers with odd batches": threeWorkers}},
	} {
		if test.model == "resnet50" && !testenv.Long() {
			continue
		}
		model := lookup(t, test.model)
		_, want := accurate(t, builtIn(t, m, model, test.count))
		for name, change := range test.changes {
			t.Run(test.model+", "+name, func(t *testing.T) {
				cfg := builtIn(t, m, model, test.count)
				change(&cfg)
				_, labels := accurate(t, cfg)
				for i := range want {
					if labels[i] != want[i] {
						t.Errorf("image %d is answered %d, by Offline %d", i, labels[i], want[i])
					}
				}
			})
		}
	}
}

// TestORTWrongPixelsMissTheTarget feeds models in other ways than the reference does.
func TestORTWrongPixelsMissTheTarget(t *testing.T) {
	t.Parallel()
	m := ortMaker(t)
	tests := []struct {
		name   string
		model  string
		change func(*harness.Config)
	}{
		{"ResNet-50's pixels for MobileNet", "mobilenet", func(c *harness.Config) { c.Options = workload.Values{"preprocess": "resnet50_vgg_224"} }},
		{"PyTorch's pixels for MobileNet", "mobilenet", func(c *harness.Config) { c.Options = workload.Values{"preprocess": "imagenet_pytorch_224"} }},
		{"labels off by one", "mobilenet", func(c *harness.Config) { c.Options = workload.Values{"label-offset": "0"} }},
		{"no mean subtracted", "resnet50", func(c *harness.Config) { c.Model = changed(c.Model, "no mean", addMean) }},
		{"red and blue swapped", "mobilenet", func(c *harness.Config) { c.Model = changed(c.Model, "bgr", swapColours) }},
	}
	rights := map[string]float64{}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			count := subset
			if test.model == "resnet50" {
				testenv.SkipLong(t, "8 billion operations for each image")
				count = subset / 4
			}
			cfg := builtIn(t, m, lookup(t, test.model), count)
			if rights[test.model] == 0 {
				a, _ := accurate(t, cfg)
				rights[test.model] = a.Value
				cfg.OutputDir = t.TempDir()
			}
			cfg.CacheDir, cfg.Reference = "", rights[test.model]
			test.change(&cfg)
			a, labels := accurate(t, cfg)
			t.Logf("%.2f %% instead of %.2f %%, %d classes", a.Value, a.Reference, distinct(labels))
			if a.Met {
				t.Errorf("accuracy %v reaches the target %v", a.Value, a.Target)
			}
		})
	}
}

// changed returns a model whose samples are changed after they were prepared.
func changed(m workload.Model, how string, change func(pixels []float32)) workload.Model {
	open := m.Open
	m.Open = func(s workload.Setup) (*workload.Workload, error) {
		w, err := open(s)
		if err != nil {
			return nil, err
		}
		own := *w
		own.CacheKey = func() string { return w.CacheKey() + how }
		own.Prepare = func(index int, row []tensor.Tensor) error {
			err := w.Prepare(index, row)
			if err == nil {
				change(tensor.Data[float32](row[0]))
			}
			return err
		}
		return &own, nil
	}
	return m
}

// addMean takes back what the pipeline of ResNet-50 subtracts.
func addMean(pixels []float32) {
	for c, mean := range []float32{123.68, 116.78, 103.94} {
		plane := pixels[c*len(pixels)/3:][:len(pixels)/3]
		for i := range plane {
			plane[i] += mean
		}
	}
}

func swapColours(pixels []float32) {
	n := len(pixels) / 3
	for i := range n {
		pixels[i], pixels[2*n+i] = pixels[2*n+i], pixels[i]
	}
}

func TestORTResNet50IsRightAsOftenAsOnAllImages(t *testing.T) {
	testenv.SkipLong(t, "1,024 images through ResNet-50")
	t.Parallel()
	m := ortMaker(t)
	model := lookup(t, "resnet50")
	score := reference(t, m, model)
	cfg := builtIn(t, m, model, subset)
	cfg.Reference = score
	a, labels := accurate(t, cfg)
	if got := right(t, cfg.DatasetDir, labels); got != a.Value {
		t.Errorf("%v %% of the labels are right, the score is %v", got, a.Value)
	}
	// The score of 64 images has a standard deviation of 3.3 %.
	if math.Abs(a.Value-score) > 12 || distinct(labels) < subset/2 {
		t.Errorf("accuracy %+v with %d classes, on all images %v", a, distinct(labels), score)
	}
}

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
		{"prompts", decoderOf(t, workload.Part{Role: workload.Only, Network: arch.SmallLlama(arch.FusedDecoder), Layers: 1, Rows: 1000}), 2, 20, 80},
		{"masks", lookup(t, "deeplab-v3plus"), 1, 0.05, 0.95},
		{"objects", lookup(t, "ssd-mobilenet"), 2, 10, 90},
		{"clicks", lookup(t, "dlrm"), 2, 55, 99},
		{"images", lookup(t, "mobilenet"), 0, 40, 100},
		{"papers", lookup(t, "rgat"), 10, 0.3, 0.95},
		{"frames", lookup(t, "pointpainting"), 1, 0.1, 0.95},
		{"requests", lookup(t, "dlrm-v3"), 12, 0.4, 0.95},
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
