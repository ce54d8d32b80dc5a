package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/machine/power/ptdtest"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestMain(m *testing.M) {
	// The scripts wait most of the time: more of them than cores may run.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	if os.Getenv("TEST_AS_MLPERF") != "" { // this program is run as mlperf
		main()
	}
	testscript.Main(m, map[string]func(){"mlperf": main})
}

// TestScripts runs the command line as a user would: testdata/*.txtar.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/*.txtar")
}

func runScripts(t *testing.T, pattern string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts match %s", pattern)
	}
	made := material(t)
	testscript.Run(t, testscript.Params{
		Files: files,
		Setup: func(env *testscript.Env) error { return setup(env, made) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":   status,
			"finishes": finishes,
			"searches": searches,
			"keeps":    keeps,
		},
		Condition:     condition,
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// TestSubmissionScripts runs testdata/submission/*.txtar. Each script has a tree that the official checker passes, as submission,
// and a stand-in for PTDaemon at $PTD.
func TestSubmissionScripts(t *testing.T) {
	t.Parallel()
	made := material(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/submission",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PTD", ptdtest.New().Serve(t))
			testenv.Extract(t, "../../internal/submission/checker/testdata/v6.1.tar.gz", filepath.Join(env.WorkDir, "submission"))
			return setup(env, made)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status, "finishes": finishes},
	})
}

// condition knows [long]: whether tests that take long are wanted.
func condition(name string) (bool, error) {
	if name == "long" {
		return testenv.Long(), nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// material makes a tiny data set and tiny models, once for all scripts.
func material(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	spec := synth.ImageNetSpec{Seed: 1, Images: 12, Classes: 10, Jitter: 0.1}
	if err := synth.WriteImageNet(t.Context(), filepath.Join(dir, "imagenet"), spec, nil); err != nil {
		t.Fatal(err)
	}
	if err := writeModels(t, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// setup gives each script the material, and folders of its own.
func setup(env *testscript.Env, material string) error {
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("MLPERF_CACHE_DIR", filepath.Join(env.WorkDir, "cache"))
	env.Setenv("MLPERF_ORT_LIB", os.Getenv("MLPERF_ORT_LIB"))
	env.Values[testOf{}] = env.T()
	return os.CopyFS(env.WorkDir, os.DirFS(material))
}

// writeModels writes classifiers as users have them: of all layouts, types and outputs.
func writeModels(t testing.TB, dir string) error {
	for name, build := range map[string]func(*arch.Builder){
		"tiny.onnx": func(b *arch.Builder) { tinyClassifier(b, onnx.Batched(3, 224, 224), 1001, true) },
		"other.onnx": func(b *arch.Builder) { // the ports of tiny.onnx, and not its content
			tinyClassifier(b, onnx.Batched(3, 224, 224), 1001, true)
		},
		"static.onnx": func(b *arch.Builder) {
			tinyClassifier(b, onnx.Shape{onnx.Fixed(4), onnx.Fixed(3), onnx.Fixed(224), onnx.Fixed(224)}, 1000, false)
		},
		"small.onnx":   func(b *arch.Builder) { tinyClassifier(b, onnx.Batched(3, 192, 192), 1000, false) },
		"classes.onnx": func(b *arch.Builder) { tinyClassifier(b, onnx.Batched(3, 224, 224), 17, false) },
		"nhwc.onnx": func(b *arch.Builder) {
			x := b.Input("image", onnx.Float32, onnx.Batched(224, 224, 3))
			tinyLayers(b, b.Transpose("chw", x, 0, 3, 1, 2), 1000, false)
		},
		"uint8.onnx": func(b *arch.Builder) {
			x := b.Input("image", onnx.Uint8, onnx.Batched(224, 224, 3))
			f := b.Node("Cast", "float", []*onnx.Value{x}, []onnx.Attribute{{Name: "to", Value: int64(onnx.Float32)}},
				onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(224, 224, 3)})[0]
			tinyLayers(b, b.Transpose("chw", f, 0, 3, 1, 2), 1001, false)
		},
		"nan.onnx": func(b *arch.Builder) {
			x := b.Input("image", onnx.Float32, onnx.Batched(3, 224, 224))
			tinyLayers(b, b.Unary("Sqrt", "root", x), 1000, false) // of pixels below the mean
		},
		"unknownop.onnx": func(b *arch.Builder) {
			x := b.Input("image", onnx.Float32, onnx.Batched(3, 224, 224))
			tinyLayers(b, b.Unary("Frobnicate", "odd", x), 1000, false)
		},
		"failing.onnx": func(b *arch.Builder) {
			x := b.Input("image", onnx.Float32, onnx.Batched(3, 224, 224))
			shape := b.Constant(onnx.TensorOf("shape", []int64{7, 7}, 2))
			y := b.Node("Reshape", "wrong", []*onnx.Value{x, shape}, nil, x.Type)[0] // an image has not 49 values
			tinyLayers(b, y, 1000, false)
		},
		"twoinputs.onnx": func(b *arch.Builder) {
			x := b.Input("image", onnx.Float32, onnx.Batched(3, 224, 224))
			y := b.Input("mask", onnx.Float32, onnx.Batched(3, 224, 224))
			tinyLayers(b, b.Add("sum", x, y), 1000, false)
		},
	} {
		b := arch.NewBuilder(name, 1)
		build(b)
		model, _, err := b.Model()
		if err != nil {
			return err
		}
		if err := model.WriteFile(t.Context(), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func tinyClassifier(b *arch.Builder, shape onnx.Shape, classes int64, argmax bool) {
	tinyLayers(b, b.Input("image", onnx.Float32, shape), classes, argmax)
}

// tinyLayers classifies an image by the brightest of its colours in a grid.
func tinyLayers(b *arch.Builder, x *onnx.Value, classes int64, argmax bool) {
	x = b.MaxPool("grid", x, arch.Pool{Kernel: arch.Axes{56}, Strides: arch.Axes{56}})
	x = b.Flatten("features", x)
	x = b.Dense("scores", x, arch.Dense{Units: classes})
	if argmax {
		b.Output(b.ArgMax("ArgMax", x, 1))
	}
	b.Output(b.Softmax("softmax", x, 1))
}

// finishes runs a program and wants it to come to a verdict. Which one, VALID or INVALID,
// depends on how busy the machine is where latencies are bounded.
func finishes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: finishes program args…")
	}
	var exit *exec.ExitError
	if err := ts.Exec(args[0], args[1:]...); !errors.As(err, &exit) || exit.ExitCode() != cli.ExitInvalid {
		ts.Check(err)
	}
}

// testOf is the key of a script's test among its values.
type testOf struct{}

// searches runs a search for the highest load. The loads are real: on a machine so busy that an engine of milliseconds keeps no bound,
// as the run reports, the search shows nothing, and the script is skipped.
func searches(ts *testscript.TestScript, neg bool, args []string) {
	finishes(ts, neg, args)
	found := ts.ReadFile("stdout")
	busy := strings.Contains(found, "this machine was too busy to keep the schedule") || crowded(found)
	if busy && (strings.Contains(found, "no load that was tried") || strings.Contains(found, "no load was confirmed")) {
		ts.Value(testOf{}).(testscript.T).Skip("others took too much of this machine for any load to keep its bound")
	}
}

var wantToRun = regexp.MustCompile(`this machine: load average ([0-9.]+) on ([0-9]+) CPUs`)

// crowded reports whether the load average of a run was four times the number of CPUs, or more.
func crowded(text string) bool {
	m := wantToRun.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	processes, err := strconv.ParseFloat(m[1], 64)
	processors, err2 := strconv.Atoi(m[2])
	return err == nil && err2 == nil && processes >= 4*float64(processors)
}

// status runs a program and wants an exit status: status 2 mlperf run.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program args…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	checkStatus(ts, err, want)
}

func checkStatus(ts *testscript.TestScript, err error, want int) {
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, expected %d", got, want)
	}
}

// keeps checks a document by a schema: keeps SCHEMA FILE.
func keeps(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: keeps schema file")
	}
	read := func(name string, into any) {
		text, err := os.ReadFile(ts.MkAbs(name))
		ts.Check(err)
		ts.Check(json.Unmarshal(text, into))
	}
	var s jsonschema.Schema
	read(args[0], &s)
	resolved, err := s.Resolve(nil)
	ts.Check(err)
	var document any
	read(args[1], &document)
	err = resolved.Validate(document)
	if neg && err == nil {
		ts.Fatalf("%s keeps %s", args[1], args[0])
	}
	if !neg {
		ts.Check(err)
	}
}

func TestErrorsDoNotSteerTerminal(t *testing.T) {
	var stdout, stderr strings.Builder
	execute([]string{"explain", "no\x1b[2Jwhere"}, &stdout, &stderr)
	if text := stdout.String() + stderr.String(); strings.Contains(text, "\x1b") || !strings.Contains(text, `no\x1b[2Jwhere`) {
		t.Errorf("said %q", text)
	}
}

// commands lists a command and all commands of ours below it.
func commands(root *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{root}
	for _, cmd := range root.Commands() {
		if cmd.Name() != "help" && cmd.Name() != "completion" {
			list = append(list, commands(cmd)...)
		}
	}
	return list
}
