package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/quantize"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
)

// inData goes to an empty folder, below which data is kept.
func inData(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(dir, "data"))
	t.Setenv("MLPERF_CACHE_DIR", filepath.Join(dir, "cache"))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestVerbsThatMakeModelsNameWhatIsMissingOrWrong(t *testing.T) {
	inData(t)
	write(t, "empty/checkpoint", "")
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "quantize without a model", Args: []string{"quantize"}, Status: cli.ExitUsage, Want: []string{"quantize needs --model"}},
		{Name: "quantize a model that is none", Args: []string{"quantize", "--model", "alexnet"}, Status: cli.ExitUsage, Want: []string{`unknown model "alexnet"`}},
		{Name: "quantize to what is no precision", Args: []string{"quantize", "--model", "resnet50", "--precision", "int3"}, Status: cli.ExitUsage, Want: []string{"precision", "int3"}},
		{Name: "quantize with a part of the data and no target", Args: []string{"quantize", "--model", "resnet50", "--count", "5"}, Status: cli.ExitUsage, Want: []string{"--count is of --target, which is not given"}},
		{Name: "sensitivity written to a file", Args: []string{"quantize", "--model", "resnet50", "--sensitivity", "--output", "x.onnx"}, Status: cli.ExitUsage, Want: []string{"--output is of a model that is made, and --sensitivity makes none"}},
		{Name: "sensitivity with a target", Args: []string{"quantize", "--model", "resnet50", "--sensitivity", "--target", "0.9"}, Status: cli.ExitUsage, Want: []string{"--target is of a model that is made"}},
		{Name: "sensitivity of a model that is none", Args: []string{"quantize", "--sensitivity", "--json", "--model", "alexnet"}, Status: cli.ExitUsage, Want: []string{`unknown model "alexnet"`}, Not: []string{"{"}},
		{Name: "preprocess without images", Args: []string{"preprocess", "--model", "resnet50"}, Status: cli.ExitUsage, Want: []string{"preprocess needs --model and image files"}},
		{Name: "preprocess without a model", Args: []string{"preprocess", "a.png"}, Status: cli.ExitUsage, Want: []string{"preprocess needs --model and image files"}},
		{Name: "preprocess a file that is not there", Args: []string{"preprocess", "--model", "resnet50", "nowhere.png"}, Status: cli.ExitError, Want: []string{"nowhere.png"}},
		{Name: "convert without a checkpoint", Args: []string{"convert", "gnmt"}, Status: cli.ExitUsage, Want: []string{"convert needs --checkpoint"}},
		{Name: "convert a checkpoint that is none", Args: []string{"convert", "gnmt", "--checkpoint", "empty"}, Status: cli.ExitError, Want: []string{"empty"}},
		{Name: "convert what has an official file", Args: []string{"convert", "resnet50", "--checkpoint", "empty"}, Status: cli.ExitUsage, Want: []string{`model is "resnet50", want gnmt: checkpoints of others`}},
		{Name: "synth without a name", Args: []string{"synth", "model"}, Status: cli.ExitUsage, Want: []string{"model: want NAME"}},
		{Name: "synth a model that is none", Args: []string{"synth", "model", "alexnet"}, Status: cli.ExitUsage, Want: []string{"alexnet"}},
		{Name: "synth rows below nothing", Args: []string{"synth", "model", "dlrm-v2", "--rows", "-5"}, Status: cli.ExitUsage, Want: []string{"rows", "-5"}},
		{Name: "synth data that is none", Args: []string{"synth", "dataset", "cifar", "--json"}, Status: cli.ExitUsage, Want: []string{"cifar"}, Not: []string{"{"}},
	})
}

// TestAGroupOfVerbsHelpsByItself: each command below another says what it is for, with an example.
func TestAGroupOfVerbsHelpsByItself(t *testing.T) {
	for _, verb := range []string{"cache", "download", "synth", "verify"} {
		o := clitest.Run(t, Commands(), verb)
		if o.Status != cli.ExitDone || !strings.Contains(o.Stdout, "Available Commands:") {
			t.Errorf("%s: status %d:\n%s%s", verb, o.Status, o.Stdout, o.Err)
		}
	}
	for _, cmd := range Commands() {
		for _, c := range append(cmd.Commands(), cmd) {
			if c.Short == "" || !strings.Contains(c.Example, "  "+strings.Fields("mlperf " + cmd.Name())[0]+" "+cmd.Name()) {
				t.Errorf("%s: %q, example %q", c.CommandPath(), c.Short, c.Example)
			}
		}
	}
}

// picture writes an image of a colour.
func picture(t *testing.T, path string) {
	t.Helper()
	im := image.NewRGBA(image.Rect(0, 0, 8, 6))
	for i := range im.Pix {
		im.Pix[i] = 255
	}
	im.Set(1, 1, color.Black)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(f, im); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestPreprocessWritesATensorForEachImage(t *testing.T) {
	inData(t)
	write(t, "in/sub/note", "")
	picture(t, "in/a.png")
	picture(t, "in/sub/b.png")
	o := clitest.Run(t, Commands(), "preprocess", "--model", "resnet50", "--root", "in", "--output", "out", "--json", "in/a.png", "in/sub/b.png")
	var d map[string]any
	if err := json.Unmarshal([]byte(o.Stdout), &d); err != nil {
		t.Fatalf("%v: %s%s", err, o.Stdout, o.Err)
	}
	want := map[string]any{"schema": "mlperf-go/preprocess/1", "model": "resnet50", "folder": "out", "files": 2.0}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range []string{"out/a.png.npy", "out/sub/b.png.npy"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		x, err := npy.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if want := []int64{3, 224, 224}; !slices.Equal(x.Shape, want) {
			t.Errorf("%s: %v, want %v", name, x.Shape, want)
		}
	}
}

func TestWhatWasQuantizedIsSaid(t *testing.T) {
	made := &run.Quantized{Model: "m.onnx", Description: "m.md", Report: &quantize.Report{
		Layers: make([]quantize.QuantizedLayer, 3), Excluded: make([]quantize.ExcludedLayer, 1), BytesBefore: 4_000_000, BytesAfter: 1_100_000,
		Search: &quantize.SearchRecord{Score: 75.123456, Target: 76},
	}}
	for _, c := range []struct {
		name   string
		change func(q *run.Quantized)
		text   string
		keys   int
	}{
		{"a target that is met", func(*run.Quantized) {}, "3 layers with 8-bit weights, 1 in FP32; weights 1.1 MB instead of 4.0 MB\nscore 75.123, target 76\nm.onnx\nm.md\n", 9},
		{"a target that is missed", func(q *run.Quantized) { q.Missed = true }, "the target is missed: this is the best that was found\n", 9},
		{"no target", func(q *run.Quantized) { r := *q.Report; r.Search = nil; q.Report = &r }, "4.0 MB\nm.onnx\nm.md\n", 7},
		{"float16", func(q *run.Quantized) { q.Report = nil }, "m.onnx\nm.md\n", 3},
	} {
		q := *made
		c.change(&q)
		var b strings.Builder
		if err := showQuantized(&b, &q); err != nil || !strings.HasSuffix(b.String(), c.text) {
			t.Errorf("%s: %q, %v, want %q", c.name, b.String(), err, c.text)
		}
		if doc := quantized(&q); len(doc) != c.keys || doc["target_missed"] != q.Missed || doc["path"] != "m.onnx" {
			t.Errorf("%s: %v, want %d keys", c.name, doc, c.keys)
		}
	}
}
