package run_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestTheCatalogueListsWhatThereIs(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	models, err := run.Models()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(models, func(m run.Model) bool { return m.Name == "resnet50" })
	if i < 0 || models[i].Dataset != "imagenet" || models[i].BuiltIn != "made when first used" {
		t.Errorf("models %+v, want resnet50, not made yet", models)
	}
	sets, err := run.Datasets()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, d := range sets {
		n += len(d.Models)
		if d.Dir != "" {
			t.Errorf("%s lies in %s, where nothing was made", d.Name, d.Dir)
		}
	}
	if n != len(models) {
		t.Errorf("the data sets have %d models, the catalogue %d", n, len(models))
	}
}

// Without a home folder nothing is kept in the root.
func TestWithoutAHomeAVariableIsAskedFor(t *testing.T) {
	q := request(t)
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "MLPERF_CACHE_DIR", "MLPERF_DATA_DIR"} {
		t.Setenv(name, "")
	}
	r, err := run.Resolve(q)
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"Models":   func() error { _, err := run.Models(); return err },
		"Datasets": func() error { _, err := run.Datasets(); return err },
		"Describe": func() error { _, err := run.Describe("resnet50", ""); return err },
		"Diagnose": func() error { _, err := run.Diagnose(t.Context(), "test", ""); return err },
		"Provide":  func() error { _, err := r.Provide(t.Context(), quiet{}); return err },
		"SynthModel": func() error {
			_, err := run.SynthModel(t.Context(), "test", "resnet50", run.Engine{}, run.Size{}, quiet{})
			return err
		},
	} {
		if err := call(); err == nil || !strings.HasSuffix(err.Error(), "; set MLPERF_CACHE_DIR") {
			t.Errorf("%s: %v, want an error that asks for MLPERF_CACHE_DIR", name, err)
		}
	}
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	q.Profile = run.Auto
	_, byProfile := run.Resolve(q)
	_, byDiagnosis := run.Diagnose(t.Context(), "test", "")
	for _, err := range []error{byProfile, byDiagnosis} {
		if err == nil || !strings.HasSuffix(err.Error(), "; set MLPERF_DATA_DIR") {
			t.Errorf("%v, want an error that asks for MLPERF_DATA_DIR", err)
		}
	}
}

func TestACardHasTheSettingsOfItsRules(t *testing.T) {
	card, err := run.Describe("resnet50", "v5.1")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range card.Scenarios {
		if s.Scenario == "Server" && !slices.Contains(s.Settings, run.CardRow{Key: "target_latency", Value: "15", Unit: "ms"}) {
			t.Errorf("Server has %+v, want a target_latency of 15 ms", s.Settings)
		}
	}
	if card.Reference != 76.46 || card.Fraction != 0.99 || card.PerformanceSamples != 1024 {
		t.Errorf("the card is %+v", card)
	}
	for _, c := range []struct{ model, rules, field string }{{"alexnet", "", "model"}, {"resnet50", "v9.9", "rules"}} {
		var of *userinput.Error
		if _, err := run.Describe(c.model, c.rules); !errors.As(err, &of) || of.Field != c.field {
			t.Errorf("Describe(%s, %s) = %v, want an error of the field %s", c.model, c.rules, err, c.field)
		}
	}
}

func TestOptionsAreListedOnceEach(t *testing.T) {
	for _, list := range [][]run.Option{run.ModelOptions(), run.RunOptions(), run.ScoreOptions(), run.ReaderOptions()} {
		seen := map[string]bool{}
		for _, o := range list {
			if seen[o.Name] || o.Help == "" {
				t.Errorf("option %+v is there twice, or has no help", o)
			}
			seen[o.Name] = true
		}
		if len(list) == 0 {
			t.Error("there are no options")
		}
	}
}

func TestInputsAreWrittenUnderTheNamesOfTheirFiles(t *testing.T) {
	request(t)
	val, err := filepath.Glob("imagenet/val/*.JPEG")
	if err != nil || len(val) == 0 {
		val, err = filepath.Glob("imagenet/*.JPEG")
	}
	if err != nil || len(val) == 0 {
		t.Fatal("no images", err)
	}
	q := run.PreprocessRequest{Model: "resnet50", Files: val[:1], Root: "imagenet", Output: "out"}
	if err := run.Preprocess(t.Context(), q, quiet{}); err != nil {
		t.Fatal(err)
	}
	rel, _ := filepath.Rel("imagenet", val[0])
	// A header of .npy has at least 128 bytes here; the numbers are 3·224·224 of 4 bytes.
	if info, err := os.Stat(filepath.Join("out", rel+".npy")); err != nil || info.Size() < 3*224*224*4 || info.Size() > 3*224*224*4+256 {
		t.Errorf("the file is %+v, %v", info, err)
	}
	for _, c := range []struct {
		name, want string
		change     func(*run.PreprocessRequest)
	}{
		{"no model", "model", func(q *run.PreprocessRequest) { q.Model = "" }},
		{"an unknown model", "alexnet", func(q *run.PreprocessRequest) { q.Model = "alexnet" }},
		{"a model of texts", "are not images", func(q *run.PreprocessRequest) { q.Model = "gnmt" }},
		{"a file outside", "it is not below", func(q *run.PreprocessRequest) { q.Files = []string{"tiny.onnx"} }},
		{"an option of another model", "colour", func(q *run.PreprocessRequest) { q.Options = map[string]string{"colour": "red"} }},
		{"a file that is not there", "nowhere.jpg", func(q *run.PreprocessRequest) { q.Files, q.Root = []string{"nowhere.jpg"}, "" }},
		{"a file in the place of a folder", "not a directory", func(q *run.PreprocessRequest) { q.Output = "tiny.onnx" }},
		{"two files of one name", "a/x.jpg and b/x.jpg would both be written to " + filepath.Join("out", "x.jpg.npy"), func(q *run.PreprocessRequest) {
			q.Files, q.Root = []string{"a/x.jpg", "a/x.jpg", "b/x.jpg"}, ""
		}},
		{"no image", "tiny.onnx", func(q *run.PreprocessRequest) { q.Files, q.Root = []string{"tiny.onnx"}, "" }},
	} {
		bad := q
		c.change(&bad)
		if err := run.Preprocess(t.Context(), bad, quiet{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	stopped, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	stop(enough)
	q.Output = "none"
	if err := run.Preprocess(stopped, q, quiet{}); !errors.Is(err, enough) {
		t.Errorf("when nobody waits: %v, want %v", err, enough)
	}
	if _, err := os.Stat("none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
}

func TestAnEngineThatIsNotThereIsAnErrorBeforeAnythingIsMade(t *testing.T) {
	q := request(t)
	none := run.Engine{Name: run.ONNXRuntime, Library: filepath.Join(t.TempDir(), "nowhere.so")}
	q.Engine = none
	r, err := run.Resolve(q)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Provide(t.Context(), quiet{}); err == nil || !strings.Contains(err.Error(), "nowhere.so") {
		t.Errorf("Provide = %v, want an error that names the file", err)
	}
	if _, err := run.SynthModel(t.Context(), "test", "resnet50", none, run.Size{}, quiet{}); err == nil || !strings.Contains(err.Error(), "nowhere.so") {
		t.Errorf("SynthModel = %v, want an error that names the file", err)
	}
	if _, err := os.Stat("cache"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
}

func TestNamesThatNobodyKnowsCannotBeMade(t *testing.T) {
	var of *userinput.Error
	if _, err := run.SynthModel(t.Context(), "test", "alexnet", run.Engine{}, run.Size{}, quiet{}); !errors.As(err, &of) || of.Field != "model" {
		t.Errorf("SynthModel = %v, want an error of the field model", err)
	}
	for model, rows := range map[string]int64{"resnet50": 5000, "dlrm": 10} {
		if _, err := run.SynthModel(t.Context(), "test", model, run.Engine{}, run.Size{Rows: rows}, quiet{}); !errors.As(err, &of) || of.Field != "rows" {
			t.Errorf("%s with %d rows: %v, want an error of the field rows", model, rows, err)
		}
	}
	if err := run.SynthDataset(t.Context(), "test", "mnist", run.Engine{}, false, quiet{}, nil); !errors.As(err, &of) || of.Field != "dataset" {
		t.Errorf("SynthDataset = %v, want an error of the field dataset", err)
	}
}

func TestProvideTakesTheFilesThatWereGiven(t *testing.T) {
	r, err := run.Resolve(request(t))
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Provide(t.Context(), quiet{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.ModelPath() != "tiny.onnx" || p.DatasetDir() != "imagenet" {
		t.Errorf("the model is %s, the data %s", p.ModelPath(), p.DatasetDir())
	}
	var of *userinput.Error
	if _, err := p.InPrecision(t.Context(), "int8"); !errors.As(err, &of) || of.Field != "precision" {
		t.Errorf("a simulated engine in int8: %v, want an error of the field precision", err)
	}
	if o, err := p.InPrecision(t.Context(), "fp32"); err != nil || o.ModelPath != "tiny.onnx" {
		t.Errorf("fp32 = %+v, %v, want the model as it is", o, err)
	}
}
