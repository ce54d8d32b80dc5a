//go:build ort

package run_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/quantize"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// real is a request with the library that MLPERF_ORT_LIB names.
func real(t *testing.T) run.Request {
	t.Helper()
	library := os.Getenv("MLPERF_ORT_LIB")
	if library == "" {
		t.Fatal("MLPERF_ORT_LIB is not set")
	}
	q := request(t)
	q.Engine = run.Engine{Library: library}
	return q
}

func TestORTAConvertedModelRunsAndIsConvertedOnce(t *testing.T) {
	q := real(t)
	q.Precision, q.NoReport = "int8", true
	var paths []string
	for _, output := range []string{"first", "second"} {
		q.Output = output
		r, err := run.Resolve(q)
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.Provide(t.Context(), quiet{})
		if err != nil {
			t.Fatal(err)
		}
		results, err := p.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if in := results.Input; in.Precision != "int8" || results.Performance.Samples < 5 {
			t.Errorf("%s: precision %q, %d samples, want int8 and 5 or more", output, in.Precision, results.Performance.Samples)
		}
		paths = append(paths, p.ModelPath())
		probe, err := p.Open(t.Context(), run.Way{Instances: 1, Threads: 1, Samples: 2})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(probe.Close(), p.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if paths[0] != paths[1] || paths[0] == q.ModelPath {
		t.Errorf("the models are %q, want one that was converted", paths)
	}
	text, err := os.ReadFile(strings.TrimSuffix(paths[0], ".onnx") + ".md")
	if err != nil || !strings.Contains(string(text), `Starting weights: "tiny.onnx", SHA-256 `) {
		t.Errorf("the description is %.80q, %v", text, err)
	}
}

func TestORTModelsAreQuantisedAsAsked(t *testing.T) {
	from := real(t)
	if err := os.WriteFile("list.txt", []byte("0\n2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	good := run.QuantizeRequest{Program: "test", Model: "resnet50", ModelPath: from.ModelPath, DatasetPath: from.DatasetPath, Engine: from.Engine, Samples: 2}
	for _, c := range []struct {
		name, field string // field: that the error is about; empty: none
		change      func(*run.QuantizeRequest)
	}{
		{"int8", "", func(*run.QuantizeRequest) {}},
		{"fp16", "", func(q *run.QuantizeRequest) { q.Precision = "fp16" }},
		{"a calibration list", "", func(q *run.QuantizeRequest) { q.Samples, q.Calibration = 0, "list.txt" }},
		{"a layer that stays", "", func(q *run.QuantizeRequest) { q.Quantize.ExcludeOps = []string{"Softmax"} }},
		{"a layer that is not there", "exclude", func(q *run.QuantizeRequest) { q.Quantize.Exclude = []string{"nolayer"} }},
		{"a list that is not there", "calibration", func(q *run.QuantizeRequest) { q.Samples, q.Calibration = 0, "nolist" }},
		{"an option of another model", "box-order", func(q *run.QuantizeRequest) { q.Options = map[string]string{"box-order": "yxyx"} }},
		{"a model that is not there", "model", func(q *run.QuantizeRequest) { q.Model = "alexnet" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := good
			q.Quantize, q.Output = quantize.Options{}, c.name+".onnx"
			c.change(&q)
			made, err := run.Quantize(t.Context(), q, quiet{})
			var of *userinput.Error
			if c.field != "" {
				if !errors.As(err, &of) || of.Field != c.field {
					t.Errorf("got %v, want an error about %s", err, c.field)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{made.Model, made.Description} {
				if info, err := os.Stat(path); err != nil || info.Size() == 0 {
					t.Errorf("%s: %v", path, err)
				}
			}
			if (made.Report == nil) != (c.name == "fp16") {
				t.Errorf("a report of integers: %v", made.Report)
			}
		})
	}
	scores, err := run.Sensitivity(t.Context(), good, quiet{})
	if err != nil || len(scores) != 1 || scores[0].Layer != "scores" {
		t.Errorf("sensitivities %v, %v, want that of the only layer", scores, err)
	}
}

// The files of a model need not be what it takes: they are converted one by one.
func TestORTAllFilesOfAModelAreQuantised(t *testing.T) {
	from := real(t)
	if err := os.Mkdir("two", 0o755); err != nil {
		t.Fatal(err)
	}
	writeModel(t, "two/encoder.onnx", 1)
	writeModel(t, "two/decoder.onnx", 2)
	good := run.QuantizeRequest{Program: "test", Model: "gnmt", ModelPath: "two", DatasetPath: from.DatasetPath, Engine: from.Engine}
	for precision, layers := range map[string]int{"int8": 2, "fp16": 0} {
		q := good
		q.Precision, q.Output = precision, precision
		made, err := run.Quantize(t.Context(), q, quiet{})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{made.Description, "two/encoder.onnx", "two/decoder.onnx"} {
			path = strings.Replace(path, "two/", precision+"/", 1)
			if info, err := os.Stat(path); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", path, err)
			}
		}
		if (made.Report != nil) != (layers > 0) || made.Report != nil && (len(made.Report.Layers) != layers || made.Report.BytesAfter >= made.Report.BytesBefore) {
			t.Errorf("%s: the report is %+v, want %d layers", precision, made.Report, layers)
		}
		if _, err := run.Quantize(t.Context(), q, quiet{}); !errors.Is(err, os.ErrExist) {
			t.Errorf("%s: the second time: %v, want an error that the folder is there", precision, err)
		}
	}
	q := good
	q.Quantize.Exclude = []string{"scores"}
	if err := os.Remove("two/decoder.onnx"); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Quantize(t.Context(), q, quiet{}); err == nil || !strings.Contains(err.Error(), "decoder") {
		t.Errorf("without a file: %v, want an error that names it", err)
	}
}

func TestORTWhatIsBuiltInIsMadeWhereTheCacheIs(t *testing.T) {
	engine := real(t).Engine
	path, err := run.SynthModel(t.Context(), "test", "dlrm", engine, run.Size{Rows: 1000}, quiet{})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 || !strings.HasPrefix(path, os.Getenv("MLPERF_CACHE_DIR")) {
		t.Errorf("%s: %v", path, err)
	}
	var all []run.Synthesized
	done := func(s run.Synthesized) { all = append(all, s) }
	if err := run.SynthDataset(t.Context(), "test", "squad", engine, false, quiet{}, done); err != nil {
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

// phases is an observer that keeps what is done.
type phases struct {
	quiet
	done []string
}

func (o *phases) Phase(text string) { o.done = append(o.done, text) }

// The score of a part of the built-in data is compared with nothing: its reference, a run over the whole, is
// not measured for it.
func TestORTThePartOfASetNeedsNoReference(t *testing.T) {
	base := real(t)
	const measuring = "measuring the reference accuracy of dlrm"
	for count, measured := range map[int]bool{3: false, 0: true} {
		q := run.Request{
			Program: "test", Model: "dlrm", Scenario: "offline", Mode: "accuracy", Rows: 1000, Count: count,
			Engine: base.Engine, NoReport: true, Output: fmt.Sprint("of", count), NewPacer: base.NewPacer,
		}
		var o phases
		results, err := runFake(t, q, &o)
		if err != nil || slices.Contains(o.done, measuring) != measured {
			t.Fatalf("of %d samples: %v after %q, want the reference measured: %t", count, err, o.done, measured)
		}
		if a := results.Accuracy; (a.NoTarget == "") != measured || (count > 0 && len(a.Warnings) > 0) {
			t.Errorf("of %d samples: %+v", count, a)
		}
	}
}

func TestORTTheLibraryIsFoundAndNamed(t *testing.T) {
	library := real(t).Engine.Library
	d, err := run.Diagnose(t.Context(), "test", library)
	if err != nil {
		t.Fatal(err)
	}
	if d.Library != library || d.Version == "" || len(d.Providers) == 0 {
		t.Errorf("library %q, version %q, %d providers, want %s with a version and one or more", d.Library, d.Version, len(d.Providers), library)
	}
	if name := run.Framework(library); name != "ONNX Runtime "+d.Version {
		t.Errorf("the framework is %q, want ONNX Runtime %s", name, d.Version)
	}
	d, err = run.Diagnose(t.Context(), "test", "nowhere.so")
	if err != nil || len(d.Missing) == 0 || d.Missing[len(d.Missing)-1].Installs || run.Framework("nowhere.so") != "" {
		t.Errorf("of a library that is not there: %+v, %v", d, err)
	}
}
