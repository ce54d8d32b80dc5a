package builtin

import (
	"context"
	"errors"
	"math"
	"os"
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
	"github.com/mlperf-go/mlperf/internal/onnx"
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

// Who asks for the first samples does not wait for the answers to the others.
func TestMostSamples(t *testing.T) {
	m, _ := boxMaker(t, 0)
	m.Most = 2
	dir, err := m.Dataset(t.Context(), lookupModel(t, "ssd-mobilenet"))
	if err != nil {
		t.Fatal(err)
	}
	truth, err := dataset.ReadCOCO(dir)
	if err != nil || len(truth.Images) != 2 {
		t.Errorf("%d images, %v, want 2", len(truth.Images), err)
	}
	whole, err := Maker{Dir: m.Dir, Engine: m.Engine}.set(lookupModel(t, "ssd-mobilenet"))
	if m.Most = 1000; err != nil {
		t.Fatal(err)
	}
	if got, err := m.set(lookupModel(t, "ssd-mobilenet")); err != nil || got.key != whole.key || whole.key == filepath.Base(dir) {
		t.Errorf("the set of at most 1000 is %s, %v, want the whole one, %s", got.key, err, whole.key)
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
		"3d-unet-brats19": func(dir string) error {
			truth, err := dataset.ReadBraTS19Truth(dir, "", 0)
			if err == nil && len(truth[0].Truth) < 100 {
				err = errors.New("there is no tumour")
			}
			return err
		},
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
		if model.Name == "yolo-99" {
			key = "yolo-95" // the same model
		}
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
	disturbed := disturbedLabels(newChance("test"), labels, n, 3)
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
	for i, boxes := range sure(all, 0) {
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
	n = 0
	for _, boxes := range sure(all, 0.945) {
		n += len(boxes)
	}
	if n != 5 { // of ten with 0.9 and more
		t.Errorf("%d boxes have 0.945 or more, want 5", n)
	}
	if got := sure(make([][]found, 3), 0); len(got) != 3 {
		t.Errorf("of three images without boxes %d are left", len(got))
	}
}

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

// The mean of a number that is drawn again and again, and its deviation.
func moments(n int, draw func() float64) (mean, deviation float64) {
	sum, squares := 0.0, 0.0
	for range n {
		v := draw()
		sum, squares = sum+v, squares+v*v
	}
	mean = sum / float64(n)
	return mean, math.Sqrt(squares/float64(n) - mean*mean)
}

func TestChancesAreWhatTheySay(t *testing.T) {
	const n = 20000
	c := newChance("test", 1)
	if mean, deviation := moments(n, c.uniform); math.Abs(mean-0.5) > 0.01 || math.Abs(deviation-1/math.Sqrt(12)) > 0.01 {
		t.Errorf("uniform numbers have the mean %v and the deviation %v", mean, deviation)
	}
	if mean, deviation := moments(n, c.bell); math.Abs(mean) > 0.03 || math.Abs(deviation-1) > 0.03 {
		t.Errorf("bell-shaped numbers have the mean %v and the deviation %v", mean, deviation)
	}
	for _, p := range []float64{0, 0.15, 0.5, 1} {
		yes := 0
		for range n {
			if c.happens(p) {
				yes++
			}
		}
		if share := float64(yes) / n; math.Abs(share-p) > 0.012 || p == 0 && yes > 0 || p == 1 && yes < n {
			t.Errorf("with a probability of %v it happens %d times of %d", p, yes, n)
		}
	}
	counts := make([]int, 7)
	for range n {
		counts[c.below(7)]++
	}
	for i, count := range counts {
		if math.Abs(float64(count)-n/7.0) > 300 {
			t.Errorf("%d comes %d times of %d", i, count, n)
		}
	}
	if c.below(1) != 0 {
		t.Error("of one number another one was drawn")
	}
}

func TestNumbersAreInTheirRange(t *testing.T) {
	c := newChance("test", 2)
	for range 20000 {
		if u := c.uniform(); u < 0 || u >= 1 {
			t.Fatalf("a uniform number is %v", u)
		}
		if b := c.bell(); b < -6 || b > 6 {
			t.Fatalf("a bell-shaped number is %v", b)
		}
	}
}

// Data sets are kept by their seeds: what is drawn may not change.
func TestWhatIsDrawnFollowsFromItsPurpose(t *testing.T) {
	same, again := newChance("clicks", 1), newChance("clicks", 1)
	for range 10 {
		if a, b := same.uniform(), again.uniform(); a != b {
			t.Fatalf("the same purpose draws %v and %v", a, b)
		}
	}
	first := func(purpose string, numbers ...uint64) float64 { return newChance(purpose, numbers...).uniform() }
	seen := map[float64]string{}
	for name, v := range map[string]float64{
		"clicks 1": first("clicks", 1), "clicks 2": first("clicks", 2), "clicks 1 1": first("clicks", 1, 1), "clicks": first("clicks"), "other 1": first("other", 1),
	} {
		if other, ok := seen[v]; ok {
			t.Errorf("%s and %s draw the same", name, other)
		}
		seen[v] = name
	}
	if got := newChance("clicks", 1).below(1000000); got != 121455 {
		t.Errorf("the first number is %d: data sets that were kept are of another", got)
	}
}
