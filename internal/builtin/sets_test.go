package builtin

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A boxEngine runs SSD-MobileNet and finds some boxes in every image, whose places and
// classes follow from the pixels.
type boxEngine struct {
	opened atomic.Int64
	fail   error
}

func (e *boxEngine) Name() string { return "onnxruntime" }
func (e *boxEngine) Close() error { return nil }

func (e *boxEngine) Ports(_ context.Context, opts backend.Options) (inputs, outputs []backend.Port, err error) {
	return backend.ReadPorts(opts.ModelPath)
}

func (e *boxEngine) Open(ctx context.Context, opts backend.Options) (backend.Session, error) {
	e.opened.Add(1)
	in, out, err := backend.ReadPorts(opts.ModelPath)
	if err != nil {
		return nil, err
	}
	engine, err := simulated.New(simulated.Config{Inputs: in, Outputs: out, Answer: e.answer})
	if err != nil {
		return nil, err
	}
	return engine.Open(ctx, backend.Options{Outputs: opts.Outputs})
}

const boxesFound = 8

// answer has the outputs in the order of boxes, scores, classes, count.
func (e *boxEngine) answer(in, out []tensor.Tensor) error {
	pixels := tensor.Data[uint8](in[0])
	images := int(in[0].Shape[0])
	for k := range images {
		image := pixels[k*len(pixels)/images:][:len(pixels)/images]
		sum := uint64(7)
		for _, p := range image {
			sum = sum*31 + uint64(p)
		}
		r := newChance("boxes", sum)
		for i := range boxesFound {
			y, x := 0.8*r.uniform(), 0.8*r.uniform()
			corners := []float64{y, x, y + 0.1 + 0.1*r.uniform(), x + 0.1 + 0.1*r.uniform()}
			for c, v := range corners {
				tensor.Data[float32](out[0])[k*400+4*i+c] = float32(v)
			}
			tensor.Data[float32](out[1])[k*100+i] = float32(0.9 - 0.05*float64(i))
			tensor.Data[float32](out[2])[k*100+i] = float32(1 + r.below(5))
		}
		tensor.Data[float32](out[3])[k] = boxesFound
	}
	return e.fail
}

func boxMaker(t testing.TB, images int) (Maker, *boxEngine) {
	e := &boxEngine{}
	return Maker{Dir: t.TempDir(), Engine: e, Observer: &observer{t: t}, Program: "test", count: images}, e
}

func TestADetectorIsAboutHalfRightOnItsOwnData(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	m, engine := boxMaker(t, 24)
	model := lookupModel(t, "ssd-mobilenet")
	score, err := m.Reference(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	if score < 30 || score > 70 {
		t.Errorf("mAP %v %%, want 30 to 70", score)
	}
	o := m.Observer.(*observer)
	if said := o.phases(); said != "making the built-in data set coco; making the built-in model ssd-mobilenet; running the built-in model ssd-mobilenet to mark its data set" {
		t.Errorf("phases %q", said)
	}
	if engine.opened.Load() != 1 {
		t.Errorf("the model was opened %d times", engine.opened.Load())
	}
	dir, err := m.Dataset(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.Reference(t.Context(), model); err != nil || again != score || engine.opened.Load() != 1 || o.phases() != "" {
		t.Errorf("the second time: %v, %v", again, err)
	}
	checkTruth(t, dir)
	for _, scenario := range []loadgen.Scenario{loadgen.MultiStream, loadgen.Offline} {
		if a := scoreOf(t, m, model, scenario, score); a == nil || a.Value != score || !a.Met {
			t.Errorf("%v: accuracy %+v, want the reference %v", scenario, a, score)
		}
	}
}

// checkTruth wants about as many annotations as boxes are found in 24 images, few of them crowds and one image without any.
func checkTruth(t *testing.T, dir string) {
	t.Helper()
	truth, err := dataset.ReadCOCO(dir)
	if err != nil {
		t.Fatal(err)
	}
	crowds, inImage := 0, map[int64]int{}
	for _, a := range truth.Annotations {
		inImage[a.ImageID]++
		if a.Crowd {
			crowds++
		}
		if a.Area <= 0 || a.Area > a.Box.Area() || math.Abs(a.Box.X*100-math.Round(a.Box.X*100)) > 1e-6 {
			t.Errorf("annotation %+v", a)
		}
	}
	if n := len(truth.Annotations); n < 24*boxesFound/2 || n > 24*boxesFound*5/4 || crowds < n/100 || crowds > n/10 || len(inImage) != 23 {
		t.Errorf("%d annotations in %d images, %d crowds", n, len(inImage), crowds)
	}
}

// scoreOf is the accuracy of a built-in model on its built-in data.
func scoreOf(t *testing.T, m Maker, model workload.Model, scenario loadgen.Scenario, reference float64) *report.Accuracy {
	t.Helper()
	path, err := m.Model(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := m.Dataset(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	s := loadgen.DefaultSettings()
	s.Scenario, s.Mode = scenario, loadgen.AccuracyOnly
	r, err := harness.Run(t.Context(), harness.Config{
		Model: model, Settings: s, Calibrate: true, Engine: m.Engine, Backend: backend.Options{ModelPath: path},
		DatasetDir: dir, CacheDir: filepath.Join(m.Dir, "samples"), Reference: reference, OutputDir: t.TempDir(), Observer: m.Observer,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.Accuracy
}

func lookupModel(t testing.TB, name string) workload.Model {
	t.Helper()
	m, err := models.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestNothingIsLeftOfADataSetThatCannotBeMarked(t *testing.T) {
	testenv.SkipLong(t, "takes long")
	m, engine := boxMaker(t, 6)
	model := lookupModel(t, "ssd-mobilenet")
	engine.fail = errors.New("out of memory")
	if _, err := m.Dataset(t.Context(), model); err == nil || !strings.Contains(err.Error(), "making the built-in coco: ") || !strings.Contains(err.Error(), "out of memory") {
		t.Errorf("error %v", err)
	}
	stopped := errors.New("interrupted by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	engine.fail = nil
	m.Observer = &observer{t: t, on: func(what string) {
		if strings.HasPrefix(what, "running the built-in model") {
			cancel(stopped)
		}
	}}
	if _, err := m.Dataset(ctx, model); !errors.Is(err, stopped) {
		t.Errorf("error %v, want the interruption", err)
	}
	if left := files(t, m.Dir); len(left) != 1 || !strings.HasPrefix(left[0], "models/ssd-mobilenet-") {
		t.Errorf("files %v, want the model alone", left)
	}
}

// A rehearsal with the simulated engine needs data, too.
func TestWithoutAnEngineDataSetsAreMadeOfWhatIsDrawn(t *testing.T) {
	for name, open := range map[string]func(dir string) error{
		"ssd-mobilenet": func(dir string) error {
			truth, err := dataset.ReadCOCO(dir)
			if err == nil && len(truth.Annotations) == 0 {
				err = errors.New("there are no objects")
			}
			return err
		},
		"retinanet":      func(dir string) error { _, err := dataset.OpenOpenImages(dir, dataset.Options{}); return err },
		"deeplab-v3plus": func(dir string) error { _, err := dataset.OpenADE20K(dir, dataset.Options{}); return err },
		"3d-unet":        func(dir string) error { _, err := dataset.OpenKiTS19(dir, dataset.Options{}); return err },
	} {
		m := Maker{Dir: t.TempDir(), Observer: &observer{t: t}, count: 1}
		model := lookupModel(t, name)
		dir, err := m.Dataset(t.Context(), model)
		if err != nil {
			t.Fatal(err)
		}
		if err := open(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if full, there := HasDataset(m.Dir, model); there || full == dir {
			t.Errorf("%s: a data set without a truth counts as the built-in one", name)
		}
	}
}

func TestEveryDetectorHasADataSetOfItsOwn(t *testing.T) {
	folders, keys := map[string]string{}, map[string]bool{}
	for _, model := range models.All() {
		folder, _ := HasDataset("dir", model)
		key := strings.TrimSuffix(strings.TrimSuffix(model.Name, "-99.9"), "-edge")
		if model.Dataset == "imagenet" || model.Dataset == "squad" {
			key = model.Dataset // all models share it
		}
		if other, ok := folders[folder]; ok != (other == key) || folder == "" {
			t.Errorf("%s has the data set %q of %s", model.Name, folder, other)
		}
		folders[folder], keys[key] = key, true
	}
	if len(folders) != len(keys) {
		t.Errorf("there are %d data sets, want %d: %v", len(folders), len(keys), folders)
	}
}

func TestLabelsMayBeNumbersOfCategories(t *testing.T) {
	categories := synth.COCO.Categories()
	response := make([]byte, 28)
	response[26], response[27] = 0xa0, 0x42 // 80
	for numbered, want := range map[bool]int64{true: 90, false: 80} {
		if got := readBoxes(response, numbered, categories); len(got) != 1 || got[0].category != want {
			t.Errorf("numbered %v: %+v, want category %d", numbered, got, want)
		}
	}
}

func TestDisturbedMasksAreMostlyTheModels(t *testing.T) {
	classes := make([]uint8, maskSide*maskSide)
	for i := range classes {
		classes[i] = uint8(i/maskSide/64%4*8 + i%maskSide/64 + 1)
	}
	mask := disturbedMask(newChance("test"), classes, 512, 384)
	same := 0
	for i, class := range mask {
		if i/maskSide >= 384 && class != 0 {
			t.Fatalf("pixel %d of the padding has class %d", i, class)
		}
		if i/maskSide < 384 && class == classes[i] {
			same++
		}
	}
	if share := float64(same) / (512 * 384); share < 0.5 || share > 0.97 {
		t.Errorf("%v of the pixels are the model's", share)
	}
	if !slices.Equal(mask, disturbedMask(newChance("test"), classes, 512, 384)) {
		t.Error("the second time it differs")
	}
}

func TestDisturbedLabelsAreMostlyTheModels(t *testing.T) {
	n := [3]int{128, 128, 192}
	labels := make([]uint8, n[0]*n[1]*n[2])
	for i := range labels {
		labels[i] = uint8(i / 32 % 3)
	}
	disturbed := disturbedLabels(newChance("test"), labels, n)
	same := 0
	for i, label := range disturbed {
		if label == labels[i] {
			same++
		}
		if label > 2 {
			t.Fatalf("voxel %d has label %d", i, label)
		}
	}
	if share := float64(same) / float64(len(labels)); share < 0.6 || share > 0.99 {
		t.Errorf("%v of the voxels are the model's", share)
	}
}

// The boxes with the lowest scores of all images are no objects.
func TestDoubtfulBoxesAreNoObjects(t *testing.T) {
	var all [][]found
	for i := range 10 {
		var boxes []found
		for k := range 10 {
			boxes = append(boxes, found{score: float64(10*k+i) / 100})
		}
		all = append(all, boxes)
	}
	n := 0
	for i, boxes := range sure(all) {
		for _, f := range boxes {
			n++
			if f.score < doubtful {
				t.Errorf("image %d has an object with the score %v", i, f.score)
			}
		}
	}
	if n != 70 {
		t.Errorf("%d of 100 boxes are objects, want 70", n)
	}
	if got := sure(make([][]found, 3)); len(got) != 3 {
		t.Errorf("of three images without boxes %d are left", len(got))
	}
}
