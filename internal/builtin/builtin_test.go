package builtin

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/vision"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestFilesAreNamedByWhatTheyFollowFrom(t *testing.T) {
	a, b := arch.MobileNet(), arch.ResNet50()
	other := small
	other.Jitter = 0.31
	seen := map[string]string{}
	for what, path := range map[string]func() (string, error){
		"MobileNet":                    func() (string, error) { return modelPath("dir", a, small, true) },
		"MobileNet that cannot answer": func() (string, error) { return modelPath("dir", a, small, false) },
		"MobileNet for other images":   func() (string, error) { return modelPath("dir", a, other, true) },
		"ResNet-50":                    func() (string, error) { return modelPath("dir", b, small, true) },
	} {
		p, err := path()
		if err != nil {
			t.Fatal(err)
		}
		if same, ok := seen[p]; ok {
			t.Errorf("%s and %s are the same file, %s", what, same, p)
		}
		seen[p] = what
		if filepath.Dir(p) != filepath.Join("dir", "models") || filepath.Ext(p) != ".onnx" {
			t.Errorf("%s is %s", what, p)
		}
	}
	one, err := modelPath("dir", a, small, false)
	two, err2 := modelPath("dir", a, other, false)
	if err != nil || err2 != nil || one != two {
		t.Errorf("a model that cannot answer depends on images: %s, %s (%v, %v)", one, two, err, err2)
	}
}

func TestHasModelAndHasDatasetLookForWhatIsMade(t *testing.T) {
	dir := t.TempDir()
	folder, has := HasDataset(dir, mobileNet(t))
	if has || HasModel(dir, mobileNet(t)) {
		t.Error("an empty folder has something")
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	spec := imageNet()
	if err := (synth.Manifest{Version: synth.FormatVersion, Spec: &spec}).Write(folder); err != nil {
		t.Fatal(err)
	}
	if same, has := HasDataset(dir, mobileNet(t)); !has || same != folder {
		t.Errorf("HasDataset = %s, %v", same, has)
	}
	if _, has := HasDataset(dir, workload.Model{Dataset: "squirrels", BuiltIn: vision.BuiltIn{}}); has {
		t.Error("there is a data set that is none of ours")
	}
	path, err := modelPath(dir, arch.MobileNet(), imageNet(), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if !HasModel(dir, mobileNet(t)) || HasModel(dir, workload.Model{BuiltIn: vision.BuiltIn{Network: arch.ResNet50()}}) {
		t.Error("HasModel is wrong about MobileNet or ResNet-50")
	}
	m := Maker{Dir: dir, Observer: &observer{t: t}} // finds the data set, and makes nothing
	if got, err := m.Dataset(t.Context(), mobileNet(t)); err != nil || got != folder || m.Observer.(*observer).phases() != "" {
		t.Errorf("Dataset = %s, %v", got, err)
	}
}

func TestWhatIsNotBuiltInIsAnError(t *testing.T) {
	m := maker(t)
	if _, err := m.Dataset(t.Context(), workload.Model{Dataset: "squirrels", BuiltIn: vision.BuiltIn{}}); !testenv.Names(err, `"squirrels"`) {
		t.Errorf("error %v", err)
	}
	if _, err := m.Dataset(t.Context(), workload.Model{Name: "squirrelnet", Dataset: "imagenet"}); !testenv.Names(err, "squirrelnet … built-in") {
		t.Errorf("error %v", err)
	}
	m.Engine = nil
	if _, err := m.Reference(t.Context(), mobileNet(t)); !testenv.Names(err, "reference score … engine") {
		t.Errorf("error %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	m = Maker{Dir: file, Observer: &observer{t: t}, images: small}
	if _, err := m.Dataset(t.Context(), mobileNet(t)); err == nil || !strings.HasPrefix(err.Error(), "making the built-in data set: ") {
		t.Errorf("error %v", err)
	}
	if _, err := m.Model(t.Context(), mobileNet(t)); err == nil || !strings.HasPrefix(err.Error(), "making the built-in model: ") {
		t.Errorf("error %v", err)
	}
}

func TestWithoutAnEngineModelsAreMadeThatOnlyPretend(t *testing.T) {
	m := maker(t)
	m.Engine = nil
	o := m.Observer.(*observer)
	path, err := m.Model(t.Context(), mobileNet(t))
	if err != nil {
		t.Fatal(err)
	}
	in, out, err := backend.ReadPorts(path)
	if err != nil || len(in) != 1 || len(out) != 1 || out[0].Shape[1] != 1001 {
		t.Errorf("the model has inputs %v and outputs %v, %v", in, out, err)
	}
	if said := o.phases(); said != "making the built-in model mobilenet" {
		t.Errorf("phases %q", said)
	}
	if again, err := m.Model(t.Context(), mobileNet(t)); err != nil || again != path || o.phases() != "" {
		t.Errorf("the second time: %s, %v", again, err)
	}
	if left := files(t, m.Dir); len(left) != 1 || left[0] != "models/"+filepath.Base(path) {
		t.Errorf("files %v", left)
	}
	if HasModel(m.Dir, mobileNet(t)) {
		t.Error("a model that only pretends counts as the built-in one")
	}
}

// TestMakersAtOnceMakeTheSame has two programs, as it were, make everything in one folder.
func TestMakersAtOnceMakeTheSame(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	m := maker(t)
	learn(t, m)
	type made struct {
		dir, path string
		score     float64
		err       error
	}
	var results [2]made
	var wg sync.WaitGroup
	for i := range results {
		own := m
		own.Observer = &observer{t: t}
		wg.Go(func() {
			r := &results[i]
			if r.dir, r.err = own.Dataset(t.Context(), mobileNet(t)); r.err != nil {
				return
			}
			if r.path, r.err = own.Model(t.Context(), mobileNet(t)); r.err != nil {
				return
			}
			r.score, r.err = own.Reference(t.Context(), mobileNet(t))
		})
	}
	wg.Wait()
	for _, r := range results {
		if r.err != nil || r != results[0] {
			t.Errorf("made %+v, want %+v", r, results[0])
		}
	}
	alone := maker(t)
	path, err := alone.Model(t.Context(), mobileNet(t))
	if err != nil {
		t.Fatal(err)
	}
	one, err := os.ReadFile(path)
	two, err2 := os.ReadFile(results[0].path)
	if err != nil || err2 != nil || !bytes.Equal(one, two) {
		t.Errorf("a Maker that is alone makes another file (%v, %v)", err, err2)
	}
	checkWhole(t, m)
}

// checkWhole wants no temporary files, and as many others as there should be.
func checkWhole(t *testing.T, m Maker) {
	t.Helper()
	count := map[string]int{}
	for _, name := range files(t, m.Dir) {
		if strings.Contains(name, "tmp") || strings.HasPrefix(name, "features") || strings.HasPrefix(name, "reference") {
			t.Errorf("%s is left", name)
		}
		count[strings.Split(name, "/")[0]]++
	}
	for part, n := range count {
		switch want := map[string]int{"models": 1, "datasets": small.Images + 2, "samples": 2}[part]; {
		case n != want:
			t.Errorf("%s has %d files, want %d", part, n, want)
		}
	}
}

func TestTheReferenceIsMeasuredOnceAndKept(t *testing.T) {
	testenv.SkipLong(t, "takes long")
	m := maker(t)
	learn(t, m)
	o, engine, model := m.Observer.(*observer), m.Engine.(*poolEngine), mobileNet(t)
	score, err := m.Reference(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	if score <= 100/float64(small.Classes) || score > 100 {
		t.Errorf("the score is %v %%", score)
	}
	if said := o.phases(); !strings.HasPrefix(said, "making the built-in data set imagenet; making the built-in model mobilenet; measuring the reference accuracy of mobilenet: ") || strings.Contains(said, "; traffic") {
		t.Errorf("phases %q", said)
	}
	dir, err := m.Dataset(t.Context(), mobileNet(t))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := synth.ReadManifest(dir)
	if err != nil || len(manifest.Scores) != 1 {
		t.Fatalf("scores %v, %v", manifest.Scores, err)
	}
	for name, kept := range manifest.Scores {
		if !strings.HasPrefix(name, "mobilenet-") || kept != score {
			t.Errorf("kept is %v of %s, want %v", kept, name, score)
		}
	}
	opened := engine.opened.Load()
	if again, err := m.Reference(t.Context(), model); err != nil || again != score || engine.opened.Load() != opened || o.phases() != "" {
		t.Errorf("the second time: %v, %v", again, err)
	}
	checkWhole(t, m)
}

// TestEveryScenarioReachesTheReference, and a run with labels that are off by one does not.
func TestEveryScenarioReachesTheReference(t *testing.T) {
	testenv.SkipLong(t, "takes long")
	m := maker(t)
	learn(t, m)
	reference, err := m.Reference(t.Context(), mobileNet(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range loadgen.Scenarios() {
		if a := run(t, m, scenario, nil, reference).Accuracy; a.Value != reference || a.Reference != reference || !a.Met {
			t.Errorf("%v: accuracy %+v, want the reference %v", scenario, a, reference)
		}
	}
	if a := run(t, m, loadgen.Offline, workload.Values{"label-offset": "0"}, reference).Accuracy; a.Met || a.Value > reference/2 {
		t.Errorf("with labels off by one: accuracy %+v", a)
	}
}

// results are those of a test that harness.Run returned.
func results(test *harness.Test, err error) (*report.Results, error) {
	if test == nil {
		return nil, err
	}
	r := test.Results()
	r.Input.Samples = test.Input.Samples // which is of the record of a run
	return r, err
}

// run runs the built-in MobileNet in accuracy mode.
func run(t testing.TB, m Maker, scenario loadgen.Scenario, options workload.Values, reference float64) *report.Results {
	t.Helper()
	model := mobileNet(t)
	dir, err := m.Dataset(t.Context(), model)
	path, err2 := m.Model(t.Context(), model)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	s := loadgen.DefaultSettings()
	s.Scenario, s.Mode = scenario, loadgen.AccuracyOnly
	r, err := results(harness.Run(t.Context(), harness.Config{
		Model: model, Settings: s, Calibrate: true, Engine: m.Engine, Backend: backend.Options{ModelPath: path},
		DatasetDir: dir, CacheDir: filepath.Join(m.Dir, "samples"), Options: options, Reference: reference,
		OutputDir: t.TempDir(), Observer: m.Observer,
	}))
	if err != nil {
		t.Fatal(err)
	}
	if !r.Valid() {
		t.Fatalf("the run is %s: %v", r.Result, r.Problems)
	}
	return r
}

// TestAnInterruptionLeavesNothingBehind interrupts the same work again and again, each
// time a little later. What was complete is kept, and nothing else.
func TestAnInterruptionLeavesNothingBehind(t *testing.T) {
	testenv.SkipLong(t, "takes long")
	stopped := errors.New("interrupted by the user")
	m := maker(t)
	learn(t, m)
	for _, moment := range []struct {
		what  string // what the observer is told,
		times int    // so many times
		files int    // that are there afterwards
	}{
		{"making the built-in data set imagenet", 1, 0},
		{"loading", small.Images / 2, 0},
		{"making the built-in model mobilenet", 1, small.Images + 2},
		{"loading", 2, small.Images + 2}, // anchors
		{"measuring the reference accuracy of mobilenet: data", 1, small.Images + 3},
		{"measuring the reference accuracy of mobilenet: model", 1, small.Images + 3},
		{"measuring the reference accuracy of mobilenet: warm-up", 1, small.Images + 5}, // the cache of samples
		{"loading", small.Images / 2, small.Images + 5},
		{"measuring the reference accuracy of mobilenet: traffic", 1, small.Images + 5},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		seen := 0
		m.Observer = &observer{t: t, on: func(what string) {
			if what == moment.what {
				if seen++; seen == moment.times {
					cancel(stopped)
				}
			}
		}}
		if _, err := m.Reference(ctx, mobileNet(t)); !errors.Is(err, stopped) {
			t.Errorf("%+v: error %v, want the interruption", moment, err)
		}
		cancel(nil)
		if left := files(t, m.Dir); len(left) != moment.files {
			t.Errorf("%+v: there are %d files: %v", moment, len(left), left)
		}
	}
	m.Observer = &observer{t: t}
	if _, err := m.Reference(t.Context(), mobileNet(t)); err != nil {
		t.Errorf("without an interruption: %v", err)
	}
	checkWhole(t, m)
	if left := files(t, m.Dir); len(left) != small.Images+5 {
		t.Errorf("there are %d files: %v", len(left), left)
	}
}

// Programs that make the same model at once leave the first file alone, which others have opened.
func TestAModelThatAnotherProgramHasMadeIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.onnx")
	for _, content := range []string{"first", "second"} {
		if err := fileio.WriteOnce(path, func(temporary string) error { return os.WriteFile(temporary, []byte(content), 0o644) }); err != nil {
			t.Fatal(err)
		}
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "first" {
		t.Errorf("the file has %q, %v", data, err)
	}
	failed := errors.New("no room")
	if err := fileio.WriteOnce(path, func(string) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestMakeNamesWrongFields(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	model := func(name, library string, rows int64) error {
		_, err := MakeModel(t.Context(), "test", name, library, Size{Rows: rows}, harness.Silent{})
		return err
	}
	data := func(name, library string) error {
		return MakeDataset(t.Context(), "test", name, library, false, harness.Silent{}, nil)
	}
	for _, c := range []struct {
		err         error
		field, want string
	}{
		{model("alexnet", "", 0), "model", "unknown model"},
		{model("resnet50", "", 5000), "rows", "resnet50 has no tables of categories"},
		{model("dlrm", "", 10), "rows", "must be 1000 or more rows of each table"},
		{model("resnet50", "nowhere.so", 0), "", "nowhere.so"},
		{data("mnist", ""), "dataset", `unknown data set "mnist": must be one of `},
		{data("imagenet", "nowhere.so"), "", "nowhere.so"},
		{data("resnet50", "nowhere.so"), "", "nowhere.so"},
	} {
		of := &userinput.Error{}
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) || c.field != "" && (!errors.As(c.err, &of) || of.Field != c.field) {
			t.Errorf("%v, want %s: %s", c.err, c.field, c.want)
		}
	}
}

// The decoder of 8 B parameters takes 5.7 GB: nothing of it is written where it has no room.
func TestAModelThatIsTooLargeIsRefusedWithBothNumbers(t *testing.T) {
	const gb = 1_000_000_000
	for _, test := range []struct {
		name         string
		disk, memory uint64
		full         bool
		want         string
	}{
		{"too little disk", 3 * gb, 100 * gb, true, "has room for 3000 MB"},
		{"too little memory", 100 * gb, 6 * gb, true, "MB of memory, 6000 MB are free"},
		{"a small model on a full disk", 1000, 100 * gb, false, "has room for 0 MB"},
	} {
		m := Maker{
			Dir: t.TempDir(), Observer: &observer{t: t}, FullSize: test.full,
			FreeDisk: func(string) uint64 { return test.disk }, FreeMemory: func() uint64 { return test.memory },
		}
		_, err := m.Model(t.Context(), lookupModel(t, "llama3.1-8b"))
		var named *userinput.Error
		if errors.As(err, &named) != test.full || test.full && named.Field != "full_size" || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
		if test.full && !strings.Contains(err.Error(), "57") { // 5.7 GB
			t.Errorf("%s: %v does not say how much is needed", test.name, err)
		}
		if list, err := os.ReadDir(m.Dir + "/models"); err != nil || len(list) > 0 {
			t.Errorf("%s: %d files were written, %v", test.name, len(list), err)
		}
	}
}
